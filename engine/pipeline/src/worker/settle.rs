//! Settles a message by what the target's own store says now, for a person who asks. Reads
//! the store and hands nothing over.

use super::line::SessionLine;
use super::recorder::turn_step;
use super::{Worker, WorkerError};
use crate::edge::{Delivery, Finding, Sighting};
use crate::ledger::{LedgerError, Message, Step};
use axiowl_model::{MessageId, Stage, StageLine};
use serde_json::json;
use std::time::Instant;

/// What asking the target's store brought.
#[derive(Debug, Clone, PartialEq)]
pub enum Settled {
    /// The message moved: these are the new lines.
    Moved(Vec<StageLine>),
    /// It stays as it is, with the reason.
    Unchanged {
        /// Why.
        reason: String,
    },
}

impl Worker<'_> {
    /// Looks at the target's store and records what it proves. An uncertain message that is
    /// certainly not there becomes `failed`: a person may send it again, AxiOwl does not.
    ///
    /// # Errors
    /// [`WorkerError::UnderWay`] while a worker delivers to the session; no edge; the ledger.
    pub fn settle(&self, id: MessageId) -> Result<Settled, WorkerError> {
        let message = self.ledger.message(id)?;
        let Some(_line) = SessionLine::try_enter(self.state_root, &message.target.key)? else {
            return Err(WorkerError::UnderWay { message: id });
        };
        let unchanged = |reason: &str| {
            Ok(Settled::Unchanged {
                reason: reason.to_owned(),
            })
        };
        match message.stage {
            Stage::Uncertain | Stage::Submitted | Stage::Held | Stage::Queued | Stage::Seen => {}
            Stage::Accepted => return unchanged("it waits to be delivered"),
            _ => return unchanged("it is settled"),
        }
        let edge = self.edges.pick(&message.target)?;
        let context = self.context(&message.target);
        let transcript = self.surroundings.transcript(&message.target);
        let delivery = Delivery {
            message_id: id,
            run_id: message.run_id,
            target: &message.target,
            visible_body: &message.visible_body,
            deadline: Instant::now() + self.limits.lease,
            output_cap: self.limits.output_bytes,
            transcript: &*transcript,
        };
        match edge.settle(&context, &delivery) {
            None | Some(Finding::Unknown { .. }) => {
                unchanged("the target's store does not say what became of it")
            }
            Some(Finding::Absent) if message.stage == Stage::Seen => {
                unchanged("it stood in the target's transcript and does not any more")
            }
            Some(Finding::Absent) => {
                let reason = "it is not in the target's store, and nothing is under way";
                self.settle_as(&message, [Step::because(Stage::Failed, reason)])
            }
            Some(Finding::Seen(sighting)) => self.settle_as(&message, steps(sighting)),
        }
    }

    fn settle_as(
        &self,
        message: &Message,
        steps: impl IntoIterator<Item = Step>,
    ) -> Result<Settled, WorkerError> {
        let mut lines = Vec::new();
        for step in steps {
            let (stage, reason) = (step.stage, step.reason.clone());
            match self.ledger.record(message.id, step) {
                Ok(Some(line)) => {
                    self.log.record(
                        "settled",
                        json!({
                            "message_id": message.id,
                            "stage": stage,
                            "evidence": line.evidence,
                            "reason": reason,
                        }),
                    );
                    lines.push(line);
                }
                Ok(None) | Err(LedgerError::IllegalMove { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if lines.is_empty() {
            let reason = "the target's store says nothing new".into();
            return Ok(Settled::Unchanged { reason });
        }
        Ok(Settled::Moved(lines))
    }
}

fn steps(sighting: Sighting) -> Vec<Step> {
    let seen = sighting
        .message
        .map(|evidence| Step::proven(Stage::Seen, evidence));
    let turn = sighting
        .turn
        .map(|turn| turn_step(turn.completed, turn.evidence));
    seen.into_iter().chain(turn).collect()
}
