//! Settles a message that no worker will move on: by what the target's own store says now, or
//! by what a person decides. Hands nothing over.

use super::line::SessionLine;
use super::recorder::turn_step;
use super::{Worker, WorkerError};
use crate::edge::{Finding, Sighting};
use crate::edges::Letter;
use crate::ledger::{Decision, LedgerError, Message, Step};
use crate::redact::Redactor;
use axiowl_model::{MessageId, Stage, StageLine};
use serde_json::json;
use std::time::Instant;

/// What settling brought.
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

impl Settled {
    fn unchanged(reason: impl Into<String>) -> Self {
        Self::Unchanged {
            reason: reason.into(),
        }
    }
}

impl Worker<'_> {
    /// Looks at the target's store and records what it proves. An uncertain message that is
    /// certainly not there becomes `failed`: a person may send it again, AxiOwl does not.
    ///
    /// # Errors
    /// [`WorkerError::UnderWay`] while a worker delivers to the session; no edge; the ledger.
    pub fn settle(&self, id: MessageId) -> Result<Settled, WorkerError> {
        let (message, _line) = self.resting(id)?;
        match message.stage {
            Stage::Accepted => return Ok(Settled::unchanged("it waits to be delivered")),
            stage if is_open(stage) => {}
            stage => return Ok(Settled::unchanged(format!("it is settled as {stage}"))),
        }
        let edge = self.edges.pick(&message.target)?;
        let context = self.context(&message.target);
        let transcript = self.surroundings.transcript(&message.target);
        let edge = edge.addressed(&Letter {
            message_id: id,
            run_id: message.run_id,
            visible_body: &message.visible_body,
            deadline: Instant::now() + self.limits.lease,
            output_cap: self.limits.output_bytes,
            transcript: &*transcript,
        });
        let found = edge.settle(&context);
        let redactor = Redactor::of_env(&context.child_env);
        match found {
            None => Ok(Settled::unchanged(
                "the target's store does not say what became of it",
            )),
            Some(Finding::Unknown { reason }) => Ok(Settled::unchanged(redactor.clean(reason))),
            Some(Finding::Absent) if message.stage == Stage::Seen => Ok(Settled::unchanged(
                "it stood in the target's transcript and does not any more",
            )),
            Some(Finding::Absent) => {
                let reason = "it is not in the target's store, and nothing is under way";
                self.settle_as(&message, &redactor, [Step::failed(reason)])
            }
            Some(Finding::Seen(sighting)) => self.settle_as(&message, &redactor, steps(sighting)),
        }
    }

    /// Records what a person decides about a message. The receipt says that a person did.
    ///
    /// # Errors
    /// [`WorkerError::UnderWay`] while a worker delivers to the session; the ledger.
    pub fn decide(
        &self,
        id: MessageId,
        decision: Decision,
        by: &str,
    ) -> Result<Settled, WorkerError> {
        let takes_back = matches!(decision, Decision::Refused | Decision::Failed);
        // Nobody needs to stand still for a message to be taken back before it is handed over:
        // a worker that is about to do so asks the ledger once more.
        if takes_back && let Some(line) = self.ledger.take_back(id, Step::decided(decision, by))? {
            self.log_settled(&line);
            return Ok(Settled::Moved(vec![line]));
        }
        if !takes_back && self.ledger.is_untouched(id)? {
            return Ok(Settled::unchanged(
                "nothing of it was handed over yet; it can only be refused or failed",
            ));
        }
        let (message, _line) = self.resting(id)?;
        let stage = message.stage;
        if !(is_open(stage) || stage == Stage::Accepted) {
            return Ok(Settled::unchanged(format!("it is settled as {stage}")));
        }
        if stage == Stage::Accepted && decision == Decision::Refused {
            return Ok(Settled::unchanged(
                "it may have been handed over; it can be seen, turn, failed or misdelivered",
            ));
        }
        if stage.move_to(decision.stage()).is_none() {
            return Ok(Settled::unchanged(format!(
                "a message that is {stage} cannot become {}",
                decision.stage()
            )));
        }
        self.settle_as(
            &message,
            &Redactor::default(),
            [Step::decided(decision, by)],
        )
    }

    /// The message, and the front of its session's line: nobody delivers to it meanwhile.
    fn resting(&self, id: MessageId) -> Result<(Message, SessionLine), WorkerError> {
        let key = self.ledger.message(id)?.target.key;
        match SessionLine::try_enter(self.state_root, &key)? {
            // Read again: it may have moved before the line was free.
            Some(line) => Ok((self.ledger.message(id)?, line)),
            None => Err(WorkerError::UnderWay { message: id }),
        }
    }

    fn settle_as(
        &self,
        message: &Message,
        redactor: &Redactor,
        steps: impl IntoIterator<Item = Step>,
    ) -> Result<Settled, WorkerError> {
        let mut lines = Vec::new();
        for step in steps {
            match self.ledger.record(message.id, step.redacted(redactor)) {
                Ok(Some(line)) => {
                    self.log_settled(&line);
                    lines.push(line);
                }
                Ok(None) | Err(LedgerError::IllegalMove { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if lines.is_empty() {
            return Ok(Settled::unchanged("the target's store says nothing new"));
        }
        Ok(Settled::Moved(lines))
    }

    fn log_settled(&self, line: &StageLine) {
        self.log.record(
            "settled",
            json!({
                "message_id": line.message_id,
                "stage": line.stage,
                "evidence": line.evidence,
                "reason": line.reason,
            }),
        );
    }
}

/// Whether a message may still move by evidence.
fn is_open(stage: Stage) -> bool {
    stage.is_with_provider() || matches!(stage, Stage::Uncertain | Stage::Seen)
}

fn steps(sighting: Sighting) -> Vec<Step> {
    let seen = sighting.message.map(Step::seen);
    let turn = sighting
        .turn
        .map(|turn| turn_step(turn.completed, turn.evidence));
    seen.into_iter().chain(turn).collect()
}
