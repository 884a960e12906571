//! The MCP server: how an agent lists others, writes to them and reads its answers.
//!
//! The only crate that knows rmcp. It reads who is calling out of what the host
//! sent, hands that to the [`Desk`], and never takes a sender from an argument.

mod bounds;
mod call;
mod ending;
mod guests;
mod http;
mod lines;
mod server;
mod token;
mod wire;

pub use axiowl_pipeline::identity::{CallContext, Cancel, Door, HostProcess, ProvenSender};
pub use http::serve_http;
pub use server::{ServeError, serve};
pub use token::{Token, WeakToken};

use axiowl_model::{MessageId, Stage};
use serde_json::Value;

/// What the server may ask the rest of AxiOwl. A refusal is text for the agent: what is missing
/// and how to mend it.
pub trait Desk: Send + Sync + 'static {
    /// The processes that a call comes from, the nearest first; an error where a connection's
    /// other end is held by nobody who can be told.
    fn host(&self, door: Door) -> Result<Vec<HostProcess>, String>;

    /// The session that is calling, as its provider proves it. What has to be waited for ends
    /// when the call's [`given_up`](CallContext::given_up) is set.
    fn caller(&self, call: &CallContext) -> Result<ProvenSender, String>;

    /// Accepts a message from a proven session.
    fn send(&self, caller: ProvenSender, order: Order) -> Result<Sent, String>;

    /// Waits until an accepted message is where its sender wants it, as long as it may take or
    /// until `given_up` is set; gives the receipt as it is then.
    fn wait(&self, sent: Sent, wanted: Stage, given_up: &Cancel) -> Result<Value, String>;

    /// The sessions that can be sent to.
    fn agents(&self) -> Result<Value, String>;

    /// What the ledger knows of a message that the caller sent or got.
    fn status(&self, caller: &ProvenSender, id: &str) -> Result<Value, String>;

    /// The messages for the caller, since an RFC 3339 time.
    fn inbox(&self, caller: &ProvenSender, since: Option<&str>) -> Result<Value, String>;
}

/// What an agent asked to have sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Name, session id, or `provider:node:session`.
    pub to: String,
    /// The text.
    pub body: String,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// How far to wait.
    pub wait: Option<String>,
}

/// A message that was accepted.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Its id.
    pub id: MessageId,
    /// What its sender is told.
    pub receipt: Value,
    /// The stage that its sender wants to wait for.
    pub wanted: Option<Stage>,
}
