//! One `tools/call` as it came: the host's words about it, apart from the model's.

use crate::{CallContext, Cancel, Desk, Door, ProvenSender};
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::handler::server::common::FromContextPart;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use std::time::SystemTime;
use tokio_util::sync::CancellationToken;

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
    pub fn caller(&self, desk: &dyn Desk, given_up: Cancel) -> Result<ProvenSender, String> {
        let door = self.door();
        let host = desk.host(door).map_err(|why| format!("refused: {why}"))?;
        desk.caller(&self.context(door, host, given_up))
    }

    /// Set when the host has given the call up.
    pub fn given_up(&self) -> CancellationToken {
        self.context.ct.clone()
    }

    /// The connection the call itself came over; a session may have been opened over another.
    fn door(&self) -> Door {
        let parts = self.context.extensions.get::<hyper::http::request::Parts>();
        let door = parts.and_then(|parts| parts.extensions.get::<Door>());
        door.copied().unwrap_or_default()
    }

    fn context(&self, door: Door, host: Vec<crate::HostProcess>, given_up: Cancel) -> CallContext {
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
            given_up,
            // The desk knows where that is.
            state: std::path::PathBuf::new(),
        }
    }
}
