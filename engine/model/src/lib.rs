//! The words of AxiOwl as types: what a session is, what discovery says about
//! it, what the registry keeps, and how far a message got.
//!
//! No I/O, no clock, no provider names, no rule syntax. Every other crate
//! depends on this one and it depends on none of them.
#![warn(missing_docs)]

mod agent;
mod discovered;
mod issue;
mod key;
pub mod limits;
mod message;
mod stage;
mod text;
mod time;

pub use agent::{AgentRecord, MANUAL_SOURCE, MCP_SENDER_SOURCE};
pub use discovered::{Decision, DiscoveredAgent, DiscoverySummary, Kind, Status, Step, Verdict};
pub use issue::{Issue, codes};
pub use key::SessionKey;
pub use message::{MessageId, RunId, VISIBLE_MARK};
pub use stage::{Evidence, Move, Stage, StageLine};
pub use text::{UNTITLED, clip, display_safe, into_display_safe, is_blank_name, is_uuid};
pub use time::{Timestamp, TimestampError};

/// The node every local session belongs to, unless configured otherwise.
pub const LOCAL_NODE: &str = "local";
