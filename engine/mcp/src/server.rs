//! Tools, their descriptions for agents, and the way from a request to the desk.

use crate::bounds::{Bounds, THREADS, Unanswered};
use crate::call::Received;
use crate::lines::Lines;
use crate::{Desk, Order, ProvenSender, ending};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode, ErrorData,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::transport::stdio_pipes;
use rmcp::{RoleServer, ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long calls under way may finish when the host is gone.
pub(crate) const GOODBYE: Duration = Duration::from_secs(2);
/// Requests that this server knows. One of them with params of another shape is no unknown one.
const METHODS: [&str; 4] = ["initialize", "server/discover", "tools/list", "tools/call"];

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

/// Serves on standard input and output until the host closes them or a signal asks for the end.
///
/// Hosts may begin with `initialize` or with `server/discover`.
///
/// # Errors
/// When the transport fails, or the host's first messages are no MCP.
pub fn serve(desk: Arc<dyn Desk>) -> Result<(), ServeError> {
    let runtime = runtime()?;
    let closing = CancellationToken::new();
    let server = Server::new(desk, closing.clone());
    let ended = runtime.block_on(async {
        let ended = tokio::select! {
            ended = converse(server.clone(), &closing) => ended,
            signal = ending::asked() => signal.map_err(ServeError::from),
        };
        closing.cancel();
        server.quiet().await;
        ended
    });
    // What is accepted is in the ledger, and its delivery is another process's work.
    runtime.shutdown_background();
    ended
}

/// Serves one host on the pipes.
async fn converse(server: Server, closing: &CancellationToken) -> Result<(), ServeError> {
    let (input, output) = stdio_pipes();
    let lines = Lines::new(input, output, closing.clone(), GOODBYE);
    let greeted = lines.greeted();
    let service = match server.serve(lines).await {
        Ok(service) => service,
        // A host that only looked, or changed its mind, has done nothing wrong.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Handshake(error.to_string())),
    };
    greeted.store(true, Ordering::Release);
    service.waiting().await.map_err(std::io::Error::other)?;
    Ok(())
}

#[derive(Clone)]
pub(crate) struct Server {
    desk: Arc<dyn Desk>,
    bounds: Bounds,
}

impl Server {
    /// One that answers until `closing` is set.
    pub fn new(desk: Arc<dyn Desk>, closing: CancellationToken) -> Self {
        let bounds = Bounds::new(closing);
        Self { desk, bounds }
    }

    /// Waits until nothing is being done, no longer than a goodbye takes.
    pub async fn quiet(&self) {
        self.bounds.quiet(GOODBYE).await;
    }
}

/// The runtime of a server: one thread for the protocol, others for the desk's work.
pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(THREADS)
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
        let given_up = call.given_up();
        self.answer(async {
            let caller = self.caller(call).await?;
            let desk = Arc::clone(&self.desk);
            let send = move || desk.send(caller, order);
            let sent = self.bounds.work(&given_up, send).await??;
            let Some(wanted) = sent.wanted else {
                return Ok(sent.receipt);
            };
            let desk = Arc::clone(&self.desk);
            let mut receipt = sent.receipt.clone();
            let wait = move |given_up| desk.wait(sent, wanted, &given_up);
            match self.bounds.wait(&given_up, wait).await {
                Err(Unanswered::Crowded) => {
                    receipt["not_waited"] = json!(
                        "as many calls as may wait for a stage do so already; \
                         axiowl_message_status shows how far it is"
                    );
                    Ok(receipt)
                }
                waited => Ok(waited??),
            }
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
        // Who asks does not matter, so there is nobody to be given up by.
        let given_up = CancellationToken::new();
        self.answer(async {
            let desk = Arc::clone(&self.desk);
            Ok(self.bounds.work(&given_up, move || desk.agents()).await??)
        })
        .await
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
        self.read(call, move |desk, caller| {
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
        self.read(call, move |desk, caller| {
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
        self.answer(async {
            let caller = self.caller(call).await?;
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

    /// Who calls.
    async fn caller(&self, call: Received) -> Result<ProvenSender, Failed> {
        let (desk, given_up) = (Arc::clone(&self.desk), call.given_up());
        let prove = move |cancel| call.caller(desk.as_ref(), cancel);
        Ok(self.bounds.prove(&given_up, prove).await??)
    }

    /// What the desk reads for a proven caller, off the protocol's thread.
    async fn read(
        &self,
        call: Received,
        work: impl FnOnce(&dyn Desk, ProvenSender) -> Result<Value, String> + Send + 'static,
    ) -> Result<CallToolResult, ErrorData> {
        let given_up = call.given_up();
        self.answer(async {
            let caller = self.caller(call).await?;
            let desk = Arc::clone(&self.desk);
            let work = move || work(desk.as_ref(), caller);
            Ok(self.bounds.work(&given_up, work).await??)
        })
        .await
    }

    /// A refusal is a tool result the model can read, not a protocol error.
    async fn answer(
        &self,
        work: impl Future<Output = Result<Value, Failed>>,
    ) -> Result<CallToolResult, ErrorData> {
        match work.await {
            Ok(value) => Ok(CallToolResult::structured(value)),
            Err(Failed::Refused(why)) => Ok(CallToolResult::error(vec![ContentBlock::text(why)])),
            Err(Failed::Unanswered(why)) => Err(ErrorData::internal_error(why.to_string(), None)),
        }
    }
}

/// Why a call has no result.
enum Failed {
    /// The desk says so.
    Refused(String),
    /// Nobody asked the desk to its end.
    Unanswered(Unanswered),
}

impl From<String> for Failed {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

impl From<Unanswered> for Failed {
    fn from(why: Unanswered) -> Self {
        Self::Unanswered(why)
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
impl ServerHandler for Server {
    /// What rmcp did not recognise: another method, or one of ours with params of another shape.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(if METHODS.contains(&method.as_str()) {
            let message = format!("{method}: its params are missing, or of another shape");
            ErrorData::invalid_params(message, None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
        })
    }
}
