//! One `tools/call` as it came: the host's words about it, apart from the model's, and whether
//! the host still wants the answer.

use crate::{CallContext, Desk, Door, ProvenSender};
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::handler::server::common::FromContextPart;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// The call before anything is read out of it. As a parameter of a tool it has to come before
/// those that take the arguments apart.
pub(crate) struct Received {
    context: RequestContext<RoleServer>,
    tool: String,
    arguments: Value,
    at: SystemTime,
}

impl<S> FromContextPart<ToolCallContext<'_, S>> for Received {
    fn from_context_part(context: &mut ToolCallContext<'_, S>) -> Result<Self, ErrorData> {
        let arguments = context.arguments.clone().unwrap_or_default();
        Ok(Self {
            context: context.request_context.clone(),
            tool: context.name.to_string(),
            arguments: Value::Object(arguments),
            at: SystemTime::now(),
        })
    }
}

impl Received {
    /// The session that calls. The processes it comes from are looked at now: they may have
    /// changed since the last call.
    pub fn caller(&self, desk: &dyn Desk) -> Result<ProvenSender, String> {
        let door = self.door();
        let host = desk.host(door).map_err(|why| format!("refused: {why}"))?;
        desk.caller(&self.context(door, host))
    }

    /// The connection the call itself came over; a session may have been opened over another.
    fn door(&self) -> Door {
        let parts = self.context.extensions.get::<hyper::http::request::Parts>();
        let door = parts.and_then(|parts| parts.extensions.get::<Door>());
        door.copied().unwrap_or_default()
    }

    fn context(&self, door: Door, host: Vec<crate::HostProcess>) -> CallContext {
        let client = self.context.client_info();
        let meta = serde_json::to_value(&self.context.meta).unwrap_or(Value::Null);
        CallContext {
            client_name: client
                .as_ref()
                .map(|client| client.name.clone())
                .unwrap_or_default(),
            client_version: client.map(|client| client.version).unwrap_or_default(),
            tool: self.tool.clone(),
            params: json!({ "_meta": meta, "arguments": self.arguments }),
            host,
            door,
            received: self.at,
            // The desk knows where that is.
            state: std::path::PathBuf::new(),
        }
    }

    /// Whether the host has given the call up, or is gone.
    pub fn stopped(&self, closing: &Arc<AtomicBool>) -> Stopped {
        let (token, closing) = (self.context.ct.clone(), Arc::clone(closing));
        Stopped(Arc::new(move || {
            token.is_cancelled() || closing.load(Ordering::Acquire)
        }))
    }
}

/// Says whether anybody still waits for a call's answer.
#[derive(Clone)]
pub struct Stopped(Arc<dyn Fn() -> bool + Send + Sync>);

impl Stopped {
    /// Asks.
    pub fn now(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stopped").field(&self.now()).finish()
    }
}
