//! One registry row.

use crate::{SessionKey, Timestamp};
use serde::{Deserialize, Serialize};

/// `source` of rows a person made; discovery never renames, demotes or prunes them.
pub const MANUAL_SOURCE: &str = "manual";
/// `source` of rows registered because a provider proved them as senders over MCP; never pruned.
pub const MCP_SENDER_SOURCE: &str = "mcp_sender_identity";

/// A row of the registry: one reachable (or once reachable) session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Provider, node and provider session id: the identity.
    #[serde(flatten)]
    pub key: SessionKey,
    /// What people call it.
    pub display_name: String,
    /// Other names and addresses that lead here.
    pub aliases: Vec<String>,
    /// A person may switch a row off without losing it.
    pub enabled: bool,
    /// Discovery or a person vouches that a message can be sent.
    pub sendable: bool,
    /// Where the row came from: a proof source, `manual` or `mcp_sender_identity`.
    pub source: String,
    /// The proof rung that enrolled it, empty for evidence.
    pub proof: String,
    /// Id of the history source (a provider home) it was found in; empty for the default one.
    pub home: String,
    /// The folder the session works in.
    pub cwd: String,
    /// When AxiOwl first saw the session.
    pub first_seen_at: Option<Timestamp>,
    /// The session's own last activity, as its provider records it.
    pub last_seen_at: Option<Timestamp>,
    /// When a discovery last proved it.
    pub last_verified_at: Option<Timestamp>,
    /// Why it is not trusted now; empty when it is.
    pub last_error: String,
    /// Columns written by a newer AxiOwl, kept as they are: header and value.
    #[serde(skip)]
    pub extra: Vec<(String, String)>,
}

impl AgentRecord {
    /// A new row with nothing but its identity and name; enabled, not sendable.
    pub fn new(key: SessionKey, display_name: impl Into<String>) -> Self {
        Self {
            key,
            display_name: display_name.into(),
            aliases: Vec::new(),
            enabled: true,
            sendable: false,
            source: String::new(),
            proof: String::new(),
            home: String::new(),
            cwd: String::new(),
            first_seen_at: None,
            last_seen_at: None,
            last_verified_at: None,
            last_error: String::new(),
            extra: Vec::new(),
        }
    }

    /// `provider:node:session`.
    pub fn agent_id(&self) -> String {
        self.key.to_string()
    }

    /// A row a person made or vouched for.
    pub fn is_manual(&self) -> bool {
        self.source == MANUAL_SOURCE
    }

    /// In the visible list: enabled and sendable.
    pub fn is_target(&self) -> bool {
        self.enabled && self.sendable
    }
}
