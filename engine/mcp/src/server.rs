//! Tools, their descriptions for agents, and the way from a request to the desk.

use crate::{CallContext, Desk, Order};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::service::RequestContext;
use rmcp::transport::stdio;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde_json::{Value, json};
use std::sync::Arc;

/// The server could not start or ended badly.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The runtime or the transport failed.
    #[error("the MCP server ended: {0}")]
    Io(#[from] std::io::Error),
    /// The host's first messages were no MCP.
    #[error("the MCP host could not be served: {0}")]
    Handshake(String),
}

/// Serves on standard input and output until the host closes them.
pub fn serve(desk: Arc<dyn Desk>) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let service = Server { desk }
            .serve(stdio())
            .await
            .map_err(|error| ServeError::Handshake(error.to_string()))?;
        service.waiting().await.map_err(std::io::Error::other)?;
        Ok(())
    })
}

#[derive(Clone)]
struct Server {
    desk: Arc<dyn Desk>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendArguments {
    /// Name, session id, or provider:node:session of the agent to write to.
    to: String,
    /// The text it will read.
    body: String,
    /// The id of the message this one answers, as its header gives it.
    reply_to: Option<String>,
    /// How far to wait: accepted (default), submitted, seen, turn or reply.
    wait: Option<String>,
}

#[tool_router]
impl Server {
    #[tool(
        name = "axiowl_send_message",
        description = "Send a message to another agent session on this machine. You do not say \
            who you are: the session id that your MCP host puts into this call is the stable \
            sender identity key. The receipt says how far the message got; \
            accepted_by_axiowl is a handoff, not a delivery. To answer a message, pass its id \
            as reply_to.",
        annotations(
            read_only_hint = false,
            destructive_hint = false,
            open_world_hint = false
        )
    )]
    async fn send(
        &self,
        Parameters(arguments): Parameters<SendArguments>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let given =
            json!({ "to": arguments.to, "body": arguments.body, "reply_to": arguments.reply_to });
        let call = call_context("axiowl_send_message", given, &context);
        let order = Order {
            to: arguments.to,
            body: arguments.body,
            reply_to: arguments.reply_to,
            wait: arguments.wait,
        };
        self.answer(move |desk| {
            let caller = desk.caller(&call)?;
            desk.send(caller, order)
        })
        .await
    }

    #[tool(
        name = "axiowl_list_agents",
        description = "List the agent sessions that can be written to: name, provider, session \
            id and folder.",
        annotations(read_only_hint = true)
    )]
    async fn list_agents(&self) -> Result<CallToolResult, ErrorData> {
        self.answer(|desk| desk.agents()).await
    }

    #[tool(
        name = "axiowl_whoami",
        description = "Show which session your MCP host says you are, and how that is proven.",
        annotations(read_only_hint = true)
    )]
    async fn whoami(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let call = call_context("axiowl_whoami", json!({}), &context);
        self.answer(move |desk| {
            let caller = desk.caller(&call)?;
            Ok(json!({
                "agent_id": caller.key.to_string(),
                "display_name": caller.display_name,
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

/// The host's words about the call, apart from the model's.
fn call_context(tool: &str, arguments: Value, context: &RequestContext<RoleServer>) -> CallContext {
    let client = context.client_info();
    let meta = serde_json::to_value(&context.meta).unwrap_or(Value::Null);
    CallContext {
        client_name: client
            .as_ref()
            .map(|client| client.name.clone())
            .unwrap_or_default(),
        client_version: client.map(|client| client.version).unwrap_or_default(),
        tool: tool.into(),
        params: json!({ "_meta": meta, "arguments": arguments }),
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
