//! Who is calling over MCP: the seam a provider's native verification fills in, and the
//! markers that providers' hooks leave for it.

pub mod marker;
pub mod spent;

use axiowl_model::{MessageId, SessionKey};
pub use axiowl_sources::Cancel;
use axiowl_sources::World;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::SystemTime;

/// How a call reached this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Door {
    /// Through the pipes of the process that started it: what this server descends from and the
    /// environment it was given are its host's.
    #[default]
    Pipes,
    /// Over a connection of its own: the host is whoever holds the other end, and nothing that
    /// this server inherited says anything about it.
    Loopback {
        /// The host's end.
        client: SocketAddr,
        /// This server's end.
        server: SocketAddr,
    },
}

/// One `tools/call` as the server received it.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// `clientInfo.name` of the host.
    pub client_name: String,
    /// `clientInfo.version` of the host.
    pub client_version: String,
    /// The tool.
    pub tool: String,
    /// The request's params: `_meta` from the host, `arguments` from the model, as they came.
    pub params: Value,
    /// The process that calls and those it descends from, the nearest first; empty where the
    /// system does not tell whom this server descends from.
    pub host: Vec<HostProcess>,
    /// How the call came.
    pub door: Door,
    /// When it came.
    pub received: SystemTime,
    /// Set when nobody wants the answer any more: whoever waits for something ends then.
    pub given_up: Cancel,
    /// AxiOwl's state folder, where hooks leave their markers.
    pub state: PathBuf,
}

impl CallContext {
    /// What the model wrote.
    pub fn arguments(&self) -> &Value {
        &self.params["arguments"]
    }

    /// Whether the host started this server, so that what it inherited came from there.
    pub fn is_hosts_child(&self) -> bool {
        self.door == Door::Pipes
    }
}

/// A process that a call comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProcess {
    /// Its number.
    pub pid: u32,
    /// When it started, as the system counts it; tells it from a later one of that number.
    pub start: Option<String>,
    /// The short name of its program.
    pub name: String,
    /// It belongs to the user that this server runs as.
    pub own: bool,
}

/// A session whose provider says that it is calling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenSender {
    /// The session; of a sub-agent, the session it works for, which is where answers go.
    pub key: SessionKey,
    /// Its name in the registry or the provider's store.
    pub display_name: String,
    /// How it was proven, for receipts and the evidence log.
    pub proof: String,
    /// How strong the proof is, as the rules call it.
    pub class: String,
    /// The address the host itself uses for it, where that is not the session id.
    pub address: Option<String>,
    /// The sub-agent of that session which is calling.
    pub subagent: Option<String>,
    /// Our message in whose turn it calls, where the provider carries it.
    pub turn_message: Option<MessageId>,
}

impl ProvenSender {
    /// A session proven in some way, with nothing else known.
    pub fn new(key: SessionKey, display_name: impl Into<String>, proof: impl Into<String>) -> Self {
        Self {
            key,
            display_name: display_name.into(),
            proof: proof.into(),
            class: String::new(),
            address: None,
            subagent: None,
            turn_message: None,
        }
    }
}

/// What a verifier found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The provider's bare id of the session; of a sub-agent, of the session it works for.
    pub session: String,
    /// The sub-agent that is calling.
    pub subagent: Option<String>,
    /// What tells this call from every other, where its proof can be shown twice.
    pub call: Option<String>,
}

impl Caller {
    /// A session itself.
    pub fn session(id: impl Into<String>) -> Self {
        Self {
            session: id.into(),
            subagent: None,
            call: None,
        }
    }

    /// The same, by a call that counts once.
    #[must_use]
    pub fn by_call(mut self, call: impl Into<String>) -> Self {
        self.call = Some(call.into());
        self
    }
}

/// Confirms natively what a rule's `identity` data claims.
pub trait IdentityVerifier: Send + Sync {
    /// The name a rule's `verify:` uses.
    fn name(&self) -> &'static str;

    /// The providers whose sessions it can prove. A rule of another cannot name it.
    fn providers(&self) -> &'static [&'static str];

    /// Confirms that `claimed` (the value the rule read, if it reads any) really is the caller
    /// and says who that is; the error says what is missing.
    fn verify(
        &self,
        world: &World,
        call: &CallContext,
        claimed: Option<&str>,
    ) -> Result<Caller, String>;
}

/// A host that runs as another user may not speak for this user's sessions.
///
/// # Errors
/// Says which process it is.
pub fn refuse_foreign_host(host: &[HostProcess]) -> Result<(), String> {
    match host.first() {
        Some(nearest) if !nearest.own => Err(format!(
            "the host is process {} ({}), which runs as another user",
            nearest.pid,
            axiowl_model::display_safe(&nearest.name)
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_of_another_user_is_refused_and_what_lies_above_it_does_not_matter() {
        let process = |pid, own| HostProcess {
            pid,
            start: None,
            name: "host".into(),
            own,
        };
        assert!(refuse_foreign_host(&[]).is_ok());
        assert!(refuse_foreign_host(&[process(7, true), process(1, false)]).is_ok());
        let refused = refuse_foreign_host(&[process(7, false), process(1, true)]).unwrap_err();
        assert!(refused.contains("process 7") && refused.contains("another user"));
    }
}
