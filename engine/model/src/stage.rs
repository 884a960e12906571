//! How far a message got, and what proves it.

use crate::discovered::words;
use crate::{MessageId, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;

words! {
    /// A stage of one message. See [`Stage::may_follow`] for the order.
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

    /// Progress along the good path; `None` for the stages off it.
    pub fn rank(self) -> Option<u8> {
        match self {
            Self::Accepted => Some(0),
            Self::Held | Self::Queued => Some(1),
            Self::Submitted => Some(2),
            Self::Seen => Some(3),
            Self::TurnDone => Some(4),
            Self::Replied => Some(5),
            _ => None,
        }
    }

    /// Proof of an earlier stage that arrives after the reply did: an agent answers within its
    /// turn, and the turn ends later. It is recorded; the message stays `replied`.
    pub fn is_late_proof(self, current: Self) -> bool {
        current == Self::Replied && matches!(self, Self::Submitted | Self::Seen | Self::TurnDone)
    }

    /// Whether a message in `before` may move to `self`.
    ///
    /// The good path only moves forward, and may skip stages it has later proof for.
    /// `uncertain` is left only by evidence. `failed` after `seen` means the turn failed.
    pub fn may_follow(self, before: Self) -> bool {
        match (before, self) {
            // A reply can come after the turn was judged, whatever the judgement was.
            (Self::Failed | Self::Uncertain, Self::Replied) => true,
            (Self::Uncertain, Self::Uncertain) => false,
            (Self::Uncertain, Self::Accepted) => false,
            (Self::Uncertain, _) => true,
            (before, _) if before.is_terminal() => false,
            (Self::Accepted, Self::Refused | Self::Expired) => true,
            (Self::Held | Self::Queued, Self::Refused | Self::Expired) => true,
            (_, Self::Refused | Self::Expired) => false,
            (Self::Held, Self::Queued) | (Self::Queued, Self::Held) => true,
            (Self::TurnDone, Self::Failed | Self::Uncertain) => false,
            (_, Self::Failed | Self::Uncertain | Self::Misdelivered) => true,
            (before, after) => match (before.rank(), after.rank()) {
                (Some(b), Some(a)) => a > b,
                _ => false,
            },
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

    #[test]
    fn the_good_path_never_goes_back() {
        let path = [
            Stage::Accepted,
            Stage::Submitted,
            Stage::Seen,
            Stage::TurnDone,
            Stage::Replied,
        ];
        for (i, before) in path.iter().enumerate() {
            for (j, after) in path.iter().enumerate() {
                assert_eq!(after.may_follow(*before), j > i, "{before} -> {after}");
            }
        }
    }

    #[test]
    fn terminal_stages_stay() {
        for &before in Stage::ALL.iter().filter(|s| s.is_terminal()) {
            for &after in Stage::ALL {
                let reply_after_failure = before == Stage::Failed && after == Stage::Replied;
                assert_eq!(
                    after.may_follow(before),
                    reply_after_failure,
                    "{before} -> {after}"
                );
            }
        }
    }

    #[test]
    fn uncertain_is_left_only_by_evidence_and_never_by_itself() {
        assert!(!Stage::Uncertain.may_follow(Stage::Uncertain));
        assert!(!Stage::Accepted.may_follow(Stage::Uncertain));
        assert!(Stage::Seen.may_follow(Stage::Uncertain));
        assert!(Stage::Failed.may_follow(Stage::Uncertain));
    }
}
