//! Who sends and who is meant. The registry is asked first; where it does not know (well
//! enough), one targeted discovery pass each is made for the sender and for the target, and
//! the registry is asked again. Nothing is guessed and nobody is invented.

use crate::evidence_log::EvidenceLog;
use crate::identity::ProvenSender;
use crate::pass::{PassSummary, TargetedPass};
use crate::rejection::Why;
use crate::sender::{OPERATOR, Sender, SenderKind};
use axiowl_model::{AgentRecord, MCP_SENDER_SOURCE, MessageId, Timestamp};
use axiowl_registry::{
    Lookup, MatchedBy, Registry, Resolution, SenderReason, SenderRegistration, SenderResolution,
    Snapshot, is_clean_name,
};
use serde_json::json;

/// Who the caller says is sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderClaim {
    /// A command line without `--from`.
    Operator,
    /// `--from`: a name or a session. Whatever it resolves to stays claimed, since nobody
    /// proves who typed it.
    Text(String),
    /// A session whose provider says that it is calling.
    Proven(ProvenSender),
}

impl SenderClaim {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Text(_) => "text",
            Self::Proven(_) => "proven",
        }
    }
}

/// The row a message is for.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedTarget {
    pub row: AgentRecord,
    pub also: Vec<String>,
}

/// Resolution for one message.
pub(crate) struct Resolver<'a> {
    pub registry: &'a Registry,
    pub log: &'a EvidenceLog,
    pub pass: &'a dyn TargetedPass,
    pub message: MessageId,
    pub node: Option<&'a str>,
    pub strict: bool,
    /// Nothing may be written, so no pass is made.
    pub dry_run: bool,
    pub now: Timestamp,
}

impl Resolver<'_> {
    /// Finds out who sends.
    /// The second part are other rows that the text fitted.
    pub fn sender(&self, claim: &SenderClaim) -> Result<(Sender, Vec<String>), Why> {
        let (sender, also) = match claim {
            SenderClaim::Operator => (Sender::operator(), Vec::new()),
            SenderClaim::Text(text) if text.trim() == OPERATOR => (Sender::operator(), Vec::new()),
            SenderClaim::Text(text) => self.claimed(text.trim())?,
            SenderClaim::Proven(proven) => (self.proven(proven)?, Vec::new()),
        };
        self.note(
            "sender_resolved",
            json!({
                "kind": sender.kind,
                "name": sender.name,
                "agent_id": sender.key.as_ref().map(ToString::to_string),
                "reason": sender.reason,
                "also_matching": also,
            }),
        );
        Ok((sender, also))
    }

    fn claimed(&self, text: &str) -> Result<(Sender, Vec<String>), Why> {
        match claimed_in(&self.registry.load_for(&[text])?, text, self.node) {
            Err(Why::SenderUnresolved { sender, reason, .. }) => {
                self.note(
                    "sender_unresolved",
                    json!({"sender": text, "reason": reason}),
                );
                let Some(summary) = self.look("sender", text, |pass| pass.sender(text)) else {
                    let summary = None;
                    return Err(Why::SenderUnresolved {
                        sender,
                        reason,
                        summary,
                    });
                };
                let again = claimed_in(&self.registry.load_for(&[text])?, text, self.node);
                again.map_err(|why| match why {
                    Why::SenderUnresolved { sender, reason, .. } => {
                        let summary = Some(Box::new(summary));
                        Why::SenderUnresolved {
                            sender,
                            reason,
                            summary,
                        }
                    }
                    why => why,
                })
            }
            answer => answer,
        }
    }

    /// A proven session is who it is; the registry only says what it is called. It is registered
    /// as a sender, so that it can be answered and no prune takes it.
    fn proven(&self, proven: &ProvenSender) -> Result<Sender, Why> {
        let named = is_clean_name(&proven.display_name, &proven.key);
        let snapshot = self.registry.load_for(&[&proven.key.to_string()])?;
        let known = snapshot.get(&proven.key);
        let registered = match known {
            _ if self.dry_run || !named => known.cloned(),
            Some(row) if row.is_manual() => {
                self.keep_address(proven, row);
                Some(row.clone())
            }
            Some(row) if row.source == MCP_SENDER_SOURCE && leads(row, proven) => Some(row.clone()),
            _ => Some(self.register(proven)?),
        };
        let name = registered
            .map(|row| row.display_name)
            .filter(|name| is_clean_name(name, &proven.key))
            .or_else(|| named.then(|| proven.display_name.trim().to_owned()));
        // Addressable, and its only name is its id (conformance C163).
        let name = name.unwrap_or_else(|| proven.key.session.clone());
        Ok(Sender {
            kind: SenderKind::Proven,
            name: match &proven.subagent {
                Some(own) => format!("{name} / sub-agent {own}"),
                None => name,
            },
            key: Some(proven.key.clone()),
            reason: proven.proof.clone(),
        })
    }

    fn register(&self, proven: &ProvenSender) -> Result<AgentRecord, Why> {
        let edited = self.registry.register_sender(&SenderRegistration {
            key: proven.key.clone(),
            display_name: Some(proven.display_name.clone()),
            address: proven.address.clone(),
            class: proven.class.clone(),
            sendable: false,
            now: self.now,
        })?;
        self.note(
            "sender_registered",
            json!({
                "agent_id": edited.row.agent_id(),
                "source": edited.row.source,
                "proof": edited.row.proof,
                "issues": edited.issues,
            }),
        );
        Ok(edited.row)
    }

    /// The host's own address for a row that a person made leads to it. That one which leads
    /// elsewhere is refused is no reason to refuse the message.
    fn keep_address(&self, proven: &ProvenSender, row: &AgentRecord) {
        let Some(address) = proven.address.as_ref().filter(|_| !leads(row, proven)) else {
            return;
        };
        let added = self.registry.add_alias(&row.agent_id(), None, address);
        let refused = added.err().map(|error| error.to_string());
        self.note(
            "sender_address",
            json!({"agent_id": row.agent_id(), "address": address, "refused": refused}),
        );
    }

    /// Finds the row that is meant.
    pub fn target(&self, text: &str) -> Result<ResolvedTarget, Why> {
        let lookup = Lookup {
            node: self.node,
            strict: self.strict,
        };
        let snapshot = self.registry.load_for(&[text])?;
        let first = match target_in(&snapshot, text, lookup) {
            Err(why) => why,
            Ok(found) => return Ok(self.resolved(text, found)),
        };
        match &first {
            Why::NoSuchTarget { near, .. } => {
                self.note("target_missing", json!({"target": text, "near": near}));
            }
            // What a person switched off, no discovery switches on.
            Why::NotSendable { row, .. } if !row.disabled => {
                self.note(
                    "target_not_sendable",
                    json!({
                        "target": text,
                        "agent_id": row.agent_id,
                        "last_error": row.last_error,
                    }),
                );
            }
            _ => return Err(first),
        }
        let Some(summary) = self.look("target", text, |pass| pass.target(text)) else {
            return Err(first);
        };
        match target_in(&self.registry.load_for(&[text])?, text, lookup) {
            Ok(found) => Ok(self.resolved(text, found)),
            Err(why) => Err(with_summary(why, summary)),
        }
    }

    fn resolved(&self, text: &str, found: (ResolvedTarget, MatchedBy)) -> ResolvedTarget {
        let (found, how) = found;
        self.note(
            "target_resolved",
            json!({
                "target": text,
                "display_name": found.row.display_name,
                "provider": found.row.key.provider,
                "provider_session_id": found.row.key.session,
                "node_id": found.row.key.node,
                "matched_by": format!("{how:?}"),
                "also_matching": found.also,
            }),
        );
        found
    }

    /// The one targeted pass, unless this is a dry run.
    fn look(
        &self,
        whom: &str,
        text: &str,
        pass: impl FnOnce(&dyn TargetedPass) -> PassSummary,
    ) -> Option<PassSummary> {
        if self.dry_run {
            self.note(
                "targeted_pass_skipped",
                json!({"for": whom, "reason": "dry run"}),
            );
            return None;
        }
        let summary = pass(self.pass);
        self.note(
            "targeted_pass",
            json!({"for": whom, "text": text, "summary": summary}),
        );
        Some(summary)
    }

    fn note(&self, event: &str, mut fields: serde_json::Value) {
        fields["message_id"] = self.message.to_string().into();
        self.log.record(event, fields);
    }
}

/// Whether the sender's own address, if it has one, leads to a row.
fn leads(row: &AgentRecord, proven: &ProvenSender) -> bool {
    let known = |address: &String| row.aliases.contains(address) || row.key.session == *address;
    proven.address.as_ref().is_none_or(known)
}

fn claimed_in(
    snapshot: &Snapshot,
    text: &str,
    node: Option<&str>,
) -> Result<(Sender, Vec<String>), Why> {
    match snapshot.resolve_sender(text, node) {
        SenderResolution::Registered {
            row,
            display_name,
            reason,
            also,
        } => {
            let sender = Sender {
                kind: SenderKind::Claimed,
                name: display_name,
                key: Some(row.key.clone()),
                reason: reason.to_string(),
            };
            let also = also.into_iter().map(AgentRecord::agent_id).collect();
            Ok((sender, also))
        }
        SenderResolution::Explicit { display_name } => {
            let sender = Sender {
                kind: SenderKind::Claimed,
                name: display_name,
                key: None,
                reason: SenderReason::ExplicitName.to_string(),
            };
            Ok((sender, Vec::new()))
        }
        SenderResolution::Ambiguous(rows) => Err(Why::SenderAmbiguous {
            sender: text.to_owned(),
            candidates: rows.into_iter().map(Into::into).collect(),
        }),
        SenderResolution::Unresolved { reason } => Err(Why::SenderUnresolved {
            sender: text.to_owned(),
            reason,
            summary: None,
        }),
    }
}

fn target_in(
    snapshot: &Snapshot,
    text: &str,
    lookup: Lookup<'_>,
) -> Result<(ResolvedTarget, MatchedBy), Why> {
    match snapshot.resolve(text, lookup) {
        Resolution::Found { row, also, how } if row.is_target() => {
            let also = also.into_iter().map(AgentRecord::agent_id).collect();
            Ok((
                ResolvedTarget {
                    row: row.clone(),
                    also,
                },
                how,
            ))
        }
        Resolution::Found { row, .. } => Err(Why::NotSendable {
            row: Box::new(row.into()),
            summary: None,
        }),
        Resolution::Ambiguous(rows) => Err(Why::Ambiguous {
            target: text.to_owned(),
            candidates: rows.into_iter().map(Into::into).collect(),
        }),
        Resolution::Miss { near } => Err(Why::NoSuchTarget {
            target: text.to_owned(),
            near,
            summary: None,
        }),
    }
}

fn with_summary(why: Why, seen: PassSummary) -> Why {
    let summary = Some(Box::new(seen));
    match why {
        Why::NoSuchTarget { target, near, .. } => Why::NoSuchTarget {
            target,
            near,
            summary,
        },
        Why::NotSendable { row, .. } => Why::NotSendable { row, summary },
        why => why,
    }
}
