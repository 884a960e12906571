//! Tools, their descriptions for agents, and the way from a request to the desk.

use crate::call::Received;
use crate::{Desk, Order};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio;
use rmcp::{ErrorData, ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Calls that work at the same time; further ones wait. Most of them wait for a provider.
const AT_ONCE: usize = 64;
/// How long calls under way may finish when the host is gone.
pub(crate) const GOODBYE: Duration = Duration::from_secs(2);

/// The server could not start or ended badly.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The runtime or the transport failed.
    #[error("the MCP server ended: {0}")]
    Io(#[from] std::io::Error),
    /// The host's first messages were no MCP.
    #[error("the MCP host could not be served: {0}")]
    Handshake(String),
    /// Only this machine may call.
    #[error("{0} is no loopback address; use 127.0.0.1 or [::1]")]
    NotLoopback(std::net::IpAddr),
}

/// Serves on standard input and output until the host closes them.
///
/// Hosts may begin with `initialize` or with `server/discover`.
///
/// # Errors
/// When the transport fails, or the host's first messages are no MCP.
pub fn serve(desk: Arc<dyn Desk>) -> Result<(), ServeError> {
    let runtime = runtime()?;
    let closing = Arc::new(AtomicBool::new(false));
    let server = Server::new(desk, Arc::clone(&closing));
    let ended = runtime.block_on(async {
        let service = match server.serve(stdio()).await {
            Ok(service) => service,
            // A host that only looked, or changed its mind, has done nothing wrong.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Handshake(error.to_string())),
        };
        service.waiting().await.map_err(std::io::Error::other)?;
        Ok(())
    });
    closing.store(true, Ordering::Release);
    // What is accepted is in the ledger, and its delivery is another process's work.
    runtime.shutdown_timeout(GOODBYE);
    ended
}

#[derive(Clone)]
pub(crate) struct Server {
    desk: Arc<dyn Desk>,
    closing: Arc<AtomicBool>,
}

impl Server {
    /// One that answers until `closing` is set.
    pub fn new(desk: Arc<dyn Desk>, closing: Arc<AtomicBool>) -> Self {
        Self { desk, closing }
    }
}

/// The runtime of a server: one thread for the protocol, others for the desk's work.
pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(AT_ONCE)
        .enable_all()
        .build()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = one_type_each)]
struct SendArguments {
    /// Name, session id, or provider:node:session of the agent to write to.
    to: String,
    /// The text it will read.
    body: String,
    /// The id of the message this one answers, as its header gives it.
    reply_to: Option<String>,
    /// How far to wait; accepted when left out.
    #[schemars(extend("enum" = ["accepted", "submitted", "seen", "turn", "reply"]))]
    wait: Option<String>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = one_type_each)]
struct StatusArguments {
    /// The id of a message that you sent or got.
    id: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = one_type_each)]
struct InboxArguments {
    /// Only messages accepted at or after this time (RFC 3339, such as 2026-11-30T14:00:00Z).
    since: Option<String>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = one_type_each)]
struct NoArguments {}

/// An argument that may be left out has its one type: hosts that translate schemas for their
/// model refuse lists of types.
fn one_type_each(schema: &mut schemars::Schema) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|all| all.values_mut()) {
        let Some(types) = property.get_mut("type") else {
            continue;
        };
        let one = types
            .as_array()
            .and_then(|types| types.iter().find(|t| *t != "null"));
        if let Some(one) = one.cloned() {
            *types = one;
        }
    }
}

#[tool_router]
impl Server {
    #[tool(
        name = "axiowl_send_message",
        description = "Send a message to another agent session on this machine. You do not say \
            who you are: the session id that your MCP host puts into this call is the stable \
            sender identity key. The receipt says how far the message got; \
            accepted_by_axiowl is a handoff, not a delivery. To answer a message, pass its id \
            as reply_to. With wait=reply the result holds the answer.",
        annotations(
            title = "Send a message to an agent",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false,
            open_world_hint = false
        )
    )]
    async fn send(
        &self,
        call: Received,
        Parameters(arguments): Parameters<SendArguments>,
    ) -> Result<CallToolResult, ErrorData> {
        let order = Order {
            to: arguments.to,
            body: arguments.body,
            reply_to: arguments.reply_to,
            wait: arguments.wait,
        };
        let stopped = call.stopped(&self.closing);
        self.answer(move |desk| {
            let caller = call.caller(desk)?;
            desk.send(caller, order, &stopped)
        })
        .await
    }

    #[tool(
        name = "axiowl_list_agents",
        description = "List the agent sessions that can be written to: name, provider, session \
            id and folder. Use a name or a session id of this list as `to`.",
        annotations(title = "List agents", read_only_hint = true, open_world_hint = false)
    )]
    async fn list_agents(
        &self,
        Parameters(NoArguments {}): Parameters<NoArguments>,
    ) -> Result<CallToolResult, ErrorData> {
        self.answer(|desk| desk.agents()).await
    }

    #[tool(
        name = "axiowl_message_status",
        description = "Show how far a message that you sent or got has come, with the evidence \
            of every stage, and the answers to it. Only `seen` and later stages mean that the \
            other agent has read it.",
        annotations(
            title = "How far a message got",
            read_only_hint = true,
            open_world_hint = false
        )
    )]
    async fn message_status(
        &self,
        call: Received,
        Parameters(arguments): Parameters<StatusArguments>,
    ) -> Result<CallToolResult, ErrorData> {
        self.answer(move |desk| {
            let caller = call.caller(desk)?;
            desk.status(&caller, &arguments.id)
        })
        .await
    }

    #[tool(
        name = "axiowl_inbox",
        description = "Show the messages that were sent to your own session, oldest first, with \
            who sent them and whether you answered. Answer with axiowl_send_message and the \
            message's id as reply_to.",
        annotations(
            title = "Messages for this session",
            read_only_hint = true,
            open_world_hint = false
        )
    )]
    async fn inbox(
        &self,
        call: Received,
        Parameters(arguments): Parameters<InboxArguments>,
    ) -> Result<CallToolResult, ErrorData> {
        self.answer(move |desk| {
            let caller = call.caller(desk)?;
            desk.inbox(&caller, arguments.since.as_deref())
        })
        .await
    }

    #[tool(
        name = "axiowl_whoami",
        description = "Show which session your MCP host says you are, and how that is proven.",
        annotations(
            title = "Who this session is",
            read_only_hint = true,
            open_world_hint = false
        )
    )]
    async fn whoami(
        &self,
        call: Received,
        Parameters(NoArguments {}): Parameters<NoArguments>,
    ) -> Result<CallToolResult, ErrorData> {
        self.answer(move |desk| {
            let caller = call.caller(desk)?;
            Ok(json!({
                "agent_id": caller.key.to_string(),
                "provider": caller.key.provider,
                "provider_session_id": caller.key.session,
                "display_name": caller.display_name,
                "subagent": caller.subagent,
                "class": caller.class,
                "proof": caller.proof,
            }))
        })
        .await
    }

    /// The desk reads files and databases, so it works off the protocol's thread. A refusal is
    /// a tool result the model can read, not a protocol error.
    async fn answer(
        &self,
        work: impl FnOnce(&dyn Desk) -> Result<Value, String> + Send + 'static,
    ) -> Result<CallToolResult, ErrorData> {
        let desk = Arc::clone(&self.desk);
        let done = tokio::task::spawn_blocking(move || work(desk.as_ref())).await;
        match done {
            Ok(Ok(value)) => Ok(CallToolResult::structured(value)),
            Ok(Err(refusal)) => Ok(CallToolResult::error(vec![ContentBlock::text(refusal)])),
            Err(panic) => Err(ErrorData::internal_error(panic.to_string(), None)),
        }
    }
}

#[tool_handler(
    name = "axiowl",
    version = "0.1.0",
    instructions = "AxiOwl carries messages between the agent sessions of this machine. Use the \
        typed axiowl_ tools; do not run axiowl with raw arguments, and do not invent a --from or \
        a sender: your host proves who you are. A message you receive starts with a line \
        [AxiOwl <message id>]; to answer it, call axiowl_send_message with that id as reply_to."
)]
impl ServerHandler for Server {}
