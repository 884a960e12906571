//! The MCP server: how an agent lists others and writes to them.
//!
//! The only crate that knows rmcp. It reads who is calling out of what the host
//! sent, hands that to the [`Desk`], and never takes a sender from an argument.

mod server;

pub use axiowl_pipeline::identity::{CallContext, ProvenSender};
pub use server::{ServeError, serve};

use serde_json::Value;

/// What the server may ask the rest of AxiOwl.
pub trait Desk: Send + Sync + 'static {
    /// The session that is calling, as its provider proves it; the error says what is missing
    /// and how to mend it.
    fn caller(&self, call: &CallContext) -> Result<ProvenSender, String>;

    /// Accepts a message from a proven session; gives the receipt.
    fn send(&self, caller: ProvenSender, order: Order) -> Result<Value, String>;

    /// The sessions that can be sent to.
    fn agents(&self) -> Result<Value, String>;
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
