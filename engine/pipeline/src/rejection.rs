//! Why a message was not taken. Each reason carries what a person or a program needs to do
//! better: ids, the last error, near names, what discovery saw, and an exit code.

use crate::guard::Guard;
use crate::ledger::LedgerError;
use crate::pass::PassSummary;
use axiowl_model::{
    AgentRecord, Evidence, MessageId, RunId, Stage, StageLine, Timestamp, clip, display_safe,
};
use axiowl_registry::RegistryError;
use std::time::SystemTime;

/// A message that was not accepted. Nothing was stored and nothing will be sent.
#[derive(Debug, thiserror::Error)]
#[error("{why}{}", seen(why))]
pub struct Rejection {
    /// The id it had.
    pub message_id: MessageId,
    /// The command's id.
    pub run_id: RunId,
    /// Why.
    #[source]
    pub why: Box<Why>,
}

/// A row that was found and cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// `provider:node:session`.
    pub agent_id: String,
    /// Its provider.
    pub provider: String,
    /// Its session id.
    pub provider_session_id: String,
    /// Its name.
    pub display_name: String,
    /// A person has switched it off.
    pub disabled: bool,
    /// Why it is not trusted, as the registry says.
    pub last_error: String,
}

impl From<&AgentRecord> for Candidate {
    fn from(row: &AgentRecord) -> Self {
        Self {
            agent_id: row.agent_id(),
            provider: row.key.provider.clone(),
            provider_session_id: row.key.session.clone(),
            display_name: row.display_name.clone(),
            disabled: !row.enabled,
            last_error: row.last_error.clone(),
        }
    }
}

/// The reason of a [`Rejection`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// The request itself is wrong.
    #[error("{problem}")]
    Usage {
        /// What is wrong.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// Nobody is called that.
    #[error("no agent matches `{}`", display_safe(target))]
    NoSuchTarget {
        /// What was asked for.
        target: String,
        /// Names that look like it; never used.
        near: Vec<String>,
        /// What the targeted pass saw; `None` when none was made.
        summary: Option<Box<PassSummary>>,
    },
    /// Several rows are meant equally.
    #[error("`{}` fits {} agents: {}", display_safe(target), candidates.len(), ids(candidates))]
    Ambiguous {
        /// What was asked for.
        target: String,
        /// The rows, best first.
        candidates: Vec<Candidate>,
    },
    /// It is known, and no message can be sent to it.
    #[error(
        "`{}` ({}, session {}) cannot be sent to: {}",
        display_safe(&row.display_name),
        row.provider,
        display_safe(&row.provider_session_id),
        not_sendable(row)
    )]
    NotSendable {
        /// The row.
        row: Box<Candidate>,
        /// What the targeted pass saw; `None` when none was made.
        summary: Option<Box<PassSummary>>,
    },
    /// The operator can only be answered.
    #[error("`operator` can only be answered: give reply_to, the id of a message from it")]
    OperatorNotAsked,
    /// A guard stopped it.
    #[error("{0}")]
    Guard(#[from] Guard),
    /// The sender is a session nobody registered.
    #[error("{reason}: `{}`", display_safe(sender))]
    SenderUnresolved {
        /// What was given.
        sender: String,
        /// Why it stands for nobody.
        reason: String,
        /// What the targeted pass saw; `None` when none was made.
        summary: Option<Box<PassSummary>>,
    },
    /// The sender's id is held by several rows.
    #[error("the sender `{}` fits {} agents: {}", display_safe(sender), candidates.len(), ids(candidates))]
    SenderAmbiguous {
        /// What was given.
        sender: String,
        /// The rows.
        candidates: Vec<Candidate>,
    },
    /// The body passes on a message whose sender nobody can name (conformance C168).
    #[error("the body carries an AxiOwl header whose sender is not known here: {problem}")]
    RelayUnresolved {
        /// What is wrong with the header.
        problem: String,
    },
    /// The ledger could not take it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The registry could not be read.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

impl Rejection {
    /// The command's exit code (product.md section 5).
    pub fn exit_code(&self) -> u8 {
        match &*self.why {
            Why::Usage { .. } => 2,
            Why::NoSuchTarget { .. } => 3,
            Why::Ambiguous { .. } => 4,
            Why::NotSendable { .. } | Why::OperatorNotAsked | Why::Guard(_) => 5,
            Why::SenderUnresolved { .. }
            | Why::SenderAmbiguous { .. }
            | Why::RelayUnresolved { .. } => 6,
            Why::Ledger(_) | Why::Registry(_) => 1,
        }
    }

    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match &*self.why {
            Why::Usage { .. } => "usage",
            Why::NoSuchTarget { .. } => "no_such_target",
            Why::Ambiguous { .. } => "ambiguous_target",
            Why::NotSendable { .. } => "target_not_sendable",
            Why::OperatorNotAsked => "operator_not_asked",
            Why::Guard(guard) => guard.code(),
            Why::SenderUnresolved { .. } => "sender_unresolved",
            Why::SenderAmbiguous { .. } => "sender_ambiguous",
            Why::RelayUnresolved { .. } => "relay_sender_unresolved",
            Why::Ledger(_) => "ledger_error",
            Why::Registry(_) => "registry_error",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match &*self.why {
            Why::Usage { hint, .. } => Some(hint.clone()),
            Why::NoSuchTarget { near, .. } if !near.is_empty() => {
                let near: Vec<_> = near
                    .iter()
                    .map(|n| format!("`{}`", display_safe(&clip(n, 80))))
                    .collect();
                Some(format!("did you mean {}?", near.join(", ")))
            }
            Why::NoSuchTarget { .. } => Some("see `axiowl list agents --all`".into()),
            Why::Ambiguous { candidates, .. } | Why::SenderAmbiguous { candidates, .. } => {
                Some(format!("name one of them by its id: {}", ids(candidates)))
            }
            Why::NotSendable { row, .. } if row.disabled => Some(format!(
                "`axiowl registry enable {}` switches it on",
                row.agent_id
            )),
            Why::NotSendable { row, .. } => Some(format!(
                "`axiowl explain {}` shows what is missing",
                row.agent_id
            )),
            Why::Guard(guard) => Some(guard.hint()),
            Why::SenderUnresolved { .. } => Some(
                "leave --from away, give a name, or run discover so that the session is known"
                    .into(),
            ),
            Why::RelayUnresolved { .. } => {
                Some("send the text without the line that begins with `[AxiOwl `".into())
            }
            Why::OperatorNotAsked => None,
            Why::Ledger(error) => error.hint(),
            Why::Registry(error) => error.hint(),
        }
    }

    /// Names and ids that look like the target; offered, never used.
    pub fn near(&self) -> &[String] {
        match &*self.why {
            Why::NoSuchTarget { near, .. } => near,
            _ => &[],
        }
    }

    /// What the targeted pass saw, where one was made.
    pub fn discovery(&self) -> Option<&PassSummary> {
        self.why.discovery()
    }

    /// The stage line a program gets: `refused`, with the reason and the row where one was
    /// found. It stands in no ledger.
    pub fn line(&self) -> StageLine {
        let row = match &*self.why {
            Why::NotSendable { row, .. } => Some(&**row),
            _ => None,
        };
        let also_matching = match &*self.why {
            Why::Ambiguous { candidates, .. } => {
                candidates.iter().map(|row| row.agent_id.clone()).collect()
            }
            _ => Vec::new(),
        };
        let text = |part: fn(&Candidate) -> &String| row.map(part).cloned().unwrap_or_default();
        StageLine {
            message_id: self.message_id,
            run_id: self.run_id,
            stage: Stage::Refused,
            at: Timestamp::from(SystemTime::now()),
            provider: text(|row| &row.provider),
            provider_session_id: text(|row| &row.provider_session_id),
            display_name: text(|row| &row.display_name),
            route: String::new(),
            evidence: Evidence::new("rejection", self.code()),
            reason: self.to_string(),
            also_matching,
        }
    }
}

fn not_sendable(row: &Candidate) -> String {
    if row.disabled {
        "it is switched off".into()
    } else if row.last_error.is_empty() {
        "nothing proves a way to it".into()
    } else {
        display_safe(&row.last_error)
    }
}

impl Why {
    fn discovery(&self) -> Option<&PassSummary> {
        match self {
            Self::NoSuchTarget { summary, .. }
            | Self::NotSendable { summary, .. }
            | Self::SenderUnresolved { summary, .. } => summary.as_deref(),
            _ => None,
        }
    }
}

fn seen(why: &Why) -> String {
    why.discovery()
        .map_or_else(String::new, |summary| format!(" ({summary})"))
}

fn ids(candidates: &[Candidate]) -> String {
    let ids: Vec<_> = candidates.iter().map(|row| row.agent_id.as_str()).collect();
    ids.join(", ")
}
