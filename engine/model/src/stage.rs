//! How far a message got, and what proves it.

use crate::discovered::words;
use crate::{MessageId, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;

words! {
    /// A stage of one message. See [`Stage::move_to`] for the order.
    Stage {
        /// AxiOwl has it, durably. A handoff receipt, nothing more.
        Accepted = "accepted_by_axiowl",
        /// The provider's door took it.
        Submitted = "submitted",
        /// The provider has it and waits for its user.
        Held = "held",
        /// The provider has it in a queue; no model has seen it.
        Queued = "queued",
        /// It stands in the target's own transcript.
        Seen = "seen",
        /// The turn that read it finished.
        TurnDone = "turn_done",
        /// The target's proven session answered it.
        Replied = "replied",
        /// Not attempted, with the reason.
        Refused = "refused",
        /// Attempted and known not to have arrived, or its turn failed.
        Failed = "failed",
        /// Its time ran out before it could be handed over.
        Expired = "expired",
        /// Nobody can know yet; settled by evidence or a person, never retried.
        Uncertain = "uncertain",
        /// It arrived in another session than the one meant.
        Misdelivered = "misdelivered",
    }
}

impl Stage {
    /// Whether nothing more will happen by itself.
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Replied | Self::Refused | Self::Failed | Self::Expired | Self::Misdelivered
        )
    }

    /// Whether the provider has it and, as far as is known, no model has seen it.
    pub fn is_with_provider(self) -> bool {
        matches!(self, Self::Submitted | Self::Held | Self::Queued)
    }

    /// Progress along the good path; `None` for the stages off it. `submitted`, `held` and
    /// `queued` are one step: each says that the provider has it and no model does.
    pub fn rank(self) -> Option<u8> {
        match self {
            Self::Accepted => Some(0),
            Self::Submitted | Self::Held | Self::Queued => Some(1),
            Self::Seen => Some(2),
            Self::TurnDone => Some(3),
            Self::Replied => Some(4),
            _ => None,
        }
    }

    /// The move from this stage to another, when a message may make it. The whole state
    /// machine is in here.
    ///
    /// The good path only moves forward, and may skip stages it has later proof for.
    /// `uncertain` is left only by evidence or a person, and never for a stage that says
    /// nothing was handed over. `failed` after `seen` means that the turn failed.
    pub fn move_to(self, to: Self) -> Option<Move> {
        let legal = match (self, to) {
            (Self::Replied, _) => {
                let late = matches!(to, Self::Submitted | Self::Seen | Self::TurnDone);
                return late.then_some(Move { from: self, to });
            }
            // A reply can come after the turn was judged, whatever the judgement was.
            (Self::Failed | Self::Uncertain, Self::Replied) => true,
            (before, _) if before.is_terminal() => false,
            (Self::Uncertain, _) => !matches!(
                to,
                Self::Accepted | Self::Uncertain | Self::Refused | Self::Expired
            ),
            // Nothing was handed over, or the provider gives it back unread.
            (Self::Accepted | Self::Held | Self::Queued, Self::Refused | Self::Expired) => true,
            (_, Self::Refused | Self::Expired) => false,
            (Self::TurnDone, Self::Failed | Self::Uncertain) => false,
            (_, Self::Failed | Self::Uncertain | Self::Misdelivered) => true,
            (before, after) if before.is_with_provider() && after.is_with_provider() => {
                before != after
            }
            (before, after) => match (before.rank(), after.rank()) {
                (Some(b), Some(a)) => a > b,
                _ => false,
            },
        };
        legal.then_some(Move { from: self, to })
    }
}

/// A move that a message may make. [`Stage::move_to`] is the only source of one, and the
/// ledger writes nothing else: an illegal move cannot be recorded, wherever it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    from: Stage,
    to: Stage,
}

impl Move {
    /// The stage before.
    pub fn from(self) -> Stage {
        self.from
    }

    /// The stage that is recorded.
    pub fn to(self) -> Stage {
        self.to
    }

    /// The stage the message has afterwards. Proof of an earlier stage may arrive after the
    /// reply did, since an agent answers within its turn and the turn ends later: it is
    /// recorded, and the message stays `replied`.
    pub fn ends_at(self) -> Stage {
        match self.from {
            Stage::Replied => Stage::Replied,
            _ => self.to,
        }
    }
}

/// What proves a stage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// `ledger_row`, `transcript_record`, `rpc_result`, `stream_event`, `exit_code`, `reply_message` …
    pub kind: String,
    /// File the proof stands in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// Byte offset of the record in that file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offset: Option<u64>,
    /// Row id, where the proof stands in a database.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub row: Option<i64>,
    /// Anything else a person wants to see: ids, exit codes.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub detail: String,
}

impl Evidence {
    /// Evidence of a kind with a detail.
    pub fn new(kind: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            detail: detail.into(),
            ..Self::default()
        }
    }
}

/// One stage of one message, as `send` and `message` print it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageLine {
    /// Which message.
    pub message_id: MessageId,
    /// Which attempt.
    pub run_id: RunId,
    /// How far.
    pub stage: Stage,
    /// When it was recorded.
    pub at: Timestamp,
    /// Provider of the target.
    pub provider: String,
    /// Session of the target.
    pub provider_session_id: String,
    /// Name of the target when the message was accepted.
    pub display_name: String,
    /// The way the edge chose, empty before it did.
    pub route: String,
    /// What proves the stage.
    pub evidence: Evidence,
    /// Why, for every stage off the good path.
    pub reason: String,
    /// Other rows the target name also fitted.
    pub also_matching: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(from: Stage, to: Stage) -> bool {
        from.move_to(to).is_some()
    }

    #[test]
    fn the_good_path_never_goes_back() {
        let path = [
            Stage::Accepted,
            Stage::Submitted,
            Stage::Seen,
            Stage::TurnDone,
            Stage::Replied,
        ];
        for (i, &before) in path.iter().enumerate() {
            for (j, &after) in path.iter().enumerate() {
                let late = before == Stage::Replied && (1..4).contains(&j);
                assert_eq!(may(before, after), j > i || late, "{before} -> {after}");
                if late {
                    let proof = before.move_to(after).unwrap();
                    assert_eq!(
                        proof.ends_at(),
                        Stage::Replied,
                        "late proof changes nothing"
                    );
                }
            }
        }
    }

    #[test]
    fn terminal_stages_stay() {
        for &before in Stage::ALL.iter().filter(|s| s.is_terminal()) {
            for &after in Stage::ALL {
                let Some(step) = before.move_to(after) else {
                    continue;
                };
                assert_eq!(step.ends_at(), Stage::Replied, "{before} -> {after}");
                assert!(matches!(before, Stage::Failed | Stage::Replied));
            }
        }
    }

    #[test]
    fn uncertain_is_left_only_by_evidence_and_never_by_itself() {
        assert!(!may(Stage::Uncertain, Stage::Uncertain));
        assert!(!may(Stage::Uncertain, Stage::Accepted));
        assert!(may(Stage::Uncertain, Stage::Seen));
        assert!(may(Stage::Uncertain, Stage::Failed));
        for nothing_was_tried in [Stage::Refused, Stage::Expired] {
            assert!(!may(Stage::Uncertain, nothing_was_tried));
        }
    }

    #[test]
    fn what_the_provider_may_have_handed_on_is_never_called_refused_or_expired() {
        for &before in Stage::ALL {
            let back = matches!(before, Stage::Accepted | Stage::Held | Stage::Queued);
            assert_eq!(may(before, Stage::Refused), back, "{before}");
            assert_eq!(may(before, Stage::Expired), back, "{before}");
        }
    }

    #[test]
    fn nothing_ever_becomes_accepted_again() {
        for &before in Stage::ALL {
            assert!(!may(before, Stage::Accepted), "{before}");
        }
    }

    #[test]
    fn held_and_queued_are_left_for_better_and_for_worse() {
        for waiting in [Stage::Held, Stage::Queued] {
            let exits: Vec<_> = Stage::ALL.iter().filter(|&&to| may(waiting, to)).collect();
            assert_eq!(exits.len(), Stage::ALL.len() - 2, "{waiting}: {exits:?}");
            assert!(may(Stage::Submitted, waiting));
        }
    }
}
