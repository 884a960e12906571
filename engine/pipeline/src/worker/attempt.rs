//! One attempt to deliver one message: what an earlier attempt left is looked up first, then
//! the target is probed, then the edge hands the message over. Decides by what the edge
//! answers; knows nothing of how it does its work.

use super::recorder::{HandoverBarred, Recorder};
use super::{Worker, WorkerError};
use crate::edge::{Delivery, Edge, EdgeContext, Finding, Liveness};
use crate::ledger::{Lease, Message, Step, now};
use axiowl_model::Stage;
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

impl Worker<'_> {
    /// Returns what became of it, for people; what counts stands in the ledger.
    pub(super) fn attempt(&self, lease: &Lease, message: &Message) -> Result<String, WorkerError> {
        let mut recorder = Recorder::new(self.ledger, self.log, lease);
        let target = &message.target;
        let edge = match self.edges.pick(target) {
            Ok(edge) => edge,
            Err(none) => {
                let refused = Step::because(Stage::Refused, none.to_string());
                return Ok(recorder.end_as(refused)?);
            }
        };
        recorder.note("edge_selected", json!({"provider": edge.provider()}));
        let context = self.context(target);
        let transcript = self.surroundings.transcript(target);
        let delivery = Delivery {
            message_id: message.id,
            run_id: lease.run_id,
            target,
            visible_body: &message.visible_body,
            deadline: Instant::now() + self.limits.delivery,
            output_cap: self.limits.output_bytes,
            transcript: &*transcript,
        };
        if lease.started_before
            && let Some(outcome) = self.found_earlier(edge, &context, &delivery, &mut recorder)?
        {
            return Ok(outcome);
        }
        match edge.probe(&context, target) {
            Liveness::Idle { route } => {
                recorder.note("liveness", json!({"liveness": "idle", "route": route}));
            }
            Liveness::Door { route } => {
                recorder.note("liveness", json!({"liveness": "door", "route": route}));
            }
            Liveness::Closed { reason, remedy } => {
                recorder.note("liveness", json!({"liveness": "closed", "reason": reason}));
                let why = if remedy.is_empty() {
                    reason
                } else {
                    format!("{reason}; {remedy}")
                };
                return Ok(recorder.end_as(Step::because(Stage::Refused, why))?);
            }
            Liveness::Unavailable { reason } => {
                recorder.note(
                    "liveness",
                    json!({"liveness": "unavailable", "reason": reason}),
                );
                return Ok(recorder.end_as(Step::because(Stage::Refused, reason))?);
            }
        }
        #[expect(clippy::result_large_err, reason = "see `Edge::submit`")]
        let submit = || edge.submit(&context, &delivery, &mut |step| recorder.progress(step));
        let result = match catch_unwind(AssertUnwindSafe(submit)) {
            Ok(result) => result,
            Err(thrown) => match thrown.downcast::<HandoverBarred>() {
                Ok(barred) => return Err(barred.0.into()),
                // A defect of the edge. The lease stays, and the next worker looks.
                Err(thrown) => resume_unwind(thrown),
            },
        };
        Ok(recorder.ended(result)?)
    }

    /// Looks for the message before anybody hands it over again. `None` when it certainly is
    /// not there and may be.
    fn found_earlier(
        &self,
        edge: &dyn Edge,
        context: &EdgeContext<'_>,
        delivery: &Delivery<'_>,
        recorder: &mut Recorder<'_>,
    ) -> Result<Option<String>, WorkerError> {
        let message = self.ledger.message(delivery.message_id)?;
        match edge.find(context, delivery) {
            Finding::Absent if message.stage == Stage::Seen => {
                let gone = "it stood in the target's transcript and does not any more";
                Ok(Some(
                    recorder.end_as(Step::because(Stage::Uncertain, gone))?,
                ))
            }
            Finding::Absent => {
                recorder.note("found_earlier", json!({"finding": "absent"}));
                if message.expires_at <= now() {
                    let late = "it was not handed over in time";
                    return Ok(Some(recorder.end_as(Step::because(Stage::Expired, late))?));
                }
                Ok(None)
            }
            Finding::Unknown { reason } => {
                recorder.note(
                    "found_earlier",
                    json!({"finding": "unknown", "reason": reason}),
                );
                Ok(Some(
                    recorder.end_as(Step::because(Stage::Uncertain, reason))?,
                ))
            }
            Finding::Seen(sighting) => {
                recorder.note("found_earlier", json!({"finding": "seen"}));
                if !recorder.sighting(&sighting)? {
                    let blank = "the edge found it and could not say where";
                    return Ok(Some(
                        recorder.end_as(Step::because(Stage::Uncertain, blank))?,
                    ));
                }
                if sighting.turn.is_none() {
                    self.watch(edge, context, delivery, recorder)?;
                }
                Ok(Some("found".into()))
            }
        }
    }

    /// Follows a turn that an earlier worker began, until it ends or the time is up.
    fn watch(
        &self,
        edge: &dyn Edge,
        context: &EdgeContext<'_>,
        delivery: &Delivery<'_>,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), WorkerError> {
        let until = delivery.deadline.min(Instant::now() + self.limits.watch);
        let mut pause = Duration::from_millis(50);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                recorder.note(
                    "watch_ended",
                    json!({"reason": "the turn did not end in time"}),
                );
                return Ok(());
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_secs(2));
            if let Finding::Seen(sighting) = edge.find(context, delivery)
                && sighting.turn.is_some()
            {
                recorder.sighting(&sighting)?;
                return Ok(());
            }
        }
    }
}
