//! One attempt to deliver one message: what an earlier attempt left is looked up first, then
//! the target is probed, then the edge hands the message over. Decides by what the edge
//! answers; knows nothing of how it does its work.

use super::recorder::{HandoverBarred, Recorder};
use super::{Worker, WorkerError};
use crate::edge::{EdgeContext, Finding, Liveness};
use crate::edges::{Addressed, Letter};
use crate::ledger::{Lease, LedgerError, Message, Step};
use crate::redact::Redactor;
use axiowl_model::{Evidence, Stage};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

impl Worker<'_> {
    /// Returns what became of it, for people; what counts stands in the ledger.
    pub(super) fn attempt(&self, lease: &Lease, message: &Message) -> Result<String, WorkerError> {
        let target = &message.target;
        let context = self.context(target);
        let redactor = Redactor::of_env(&context.child_env);
        let mut recorder = Recorder::new(self.ledger, self.log, lease, redactor);
        let edge = match self.edges.pick(target) {
            Ok(edge) => edge,
            Err(none) => return Ok(recorder.end_as(Step::refused(none.to_string()))?),
        };
        recorder.note("edge_selected", json!({"provider": edge.provider()}));
        let transcript = self.surroundings.transcript(target);
        let edge = edge.addressed(&Letter {
            message_id: message.id,
            run_id: lease.run_id,
            visible_body: &message.visible_body,
            deadline: Instant::now() + self.limits.delivery,
            output_cap: self.limits.output_bytes,
            transcript: &*transcript,
        });
        if lease.started_before
            && let Some(outcome) = self.found_earlier(&edge, &context, &mut recorder)?
        {
            return Ok(outcome);
        }
        if lease.last_look {
            // It is certainly not there, so that nothing is lost in saying so.
            let why = format!(
                "{} deliveries of it broke off, and it is not in the target's store",
                lease.attempt - 1
            );
            return Ok(recorder.end_as(Step::failed(why))?);
        }
        match edge.probe(&context) {
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
                return Ok(recorder.end_as(Step::refused(why))?);
            }
            Liveness::Unavailable { reason } => {
                recorder.note(
                    "liveness",
                    json!({"liveness": "unavailable", "reason": reason}),
                );
                return Ok(recorder.end_as(Step::refused(reason))?);
            }
        }
        #[expect(clippy::result_large_err, reason = "see `Edge::submit`")]
        let submit = || edge.submit(&context, &mut |step| recorder.progress(step));
        let result = match catch_unwind(AssertUnwindSafe(submit)) {
            Ok(result) => result,
            Err(thrown) => match thrown.downcast::<HandoverBarred>() {
                Ok(barred) => {
                    return match barred.0 {
                        // Somebody settled it meanwhile; the session's other messages go on.
                        LedgerError::IllegalMove { from, .. } => Ok(format!("settled as {from}")),
                        error => Err(error.into()),
                    };
                }
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
        edge: &Addressed<'_>,
        context: &EdgeContext<'_>,
        recorder: &mut Recorder<'_>,
    ) -> Result<Option<String>, WorkerError> {
        let message = self.ledger.message(edge.delivery().message_id)?;
        match edge.find(context) {
            Finding::Absent if message.stage == Stage::Seen => {
                let gone = "it stood in the target's transcript and does not any more";
                Ok(Some(recorder.end_as(Step::uncertain(gone))?))
            }
            // Somebody answered it, so it was there; nothing may be handed over.
            Finding::Absent if message.stage == Stage::Replied => Ok(Some("replied".into())),
            Finding::Absent => {
                recorder.found_absent();
                if message.expires_at <= self.ledger.now() {
                    let late = "it was not handed over in time";
                    return Ok(Some(recorder.end_as(Step::expired(late))?));
                }
                Ok(None)
            }
            Finding::Unknown { reason } => {
                recorder.note(
                    "found_earlier",
                    json!({"finding": "unknown", "reason": reason}),
                );
                // What was proven before stays so when it only cannot be looked up again.
                if recorder.lease.last_look && matches!(message.stage, Stage::Seen | Stage::Replied)
                {
                    return Ok(Some(message.stage.to_string()));
                }
                Ok(Some(recorder.end_as(Step::uncertain(reason))?))
            }
            Finding::Seen(sighting) => {
                recorder.note("found_earlier", json!({"finding": "seen"}));
                if !recorder.sighting(&sighting)? {
                    let blank = "the edge found it and could not say where";
                    return Ok(Some(recorder.end_as(Step::uncertain(blank))?));
                }
                if let (Some(place), None) = (sighting.message, &sighting.turn) {
                    self.watch(edge, context, recorder, place)?;
                }
                Ok(Some("found".into()))
            }
        }
    }

    /// Follows a turn that an earlier worker began, until it ends, nobody works on it any more,
    /// or the time is up. `place` is where the message stands.
    fn watch(
        &self,
        edge: &Addressed<'_>,
        context: &EdgeContext<'_>,
        recorder: &mut Recorder<'_>,
        place: Evidence,
    ) -> Result<(), WorkerError> {
        let deadline = edge.delivery().deadline;
        // Those who watched it kept dying: who does not work on it now is not waited for.
        let patience = match recorder.lease.last_look {
            true => Duration::ZERO,
            false => self.limits.watch,
        };
        let until = deadline.min(Instant::now() + patience);
        let mut pause = Duration::from_millis(50);
        loop {
            // Asked before the look: what is written before it ends is found by the look.
            let over = !edge.is_under_way(context);
            if let Finding::Seen(sighting) = edge.find(context)
                && sighting.turn.is_some()
            {
                recorder.sighting(&sighting)?;
                return Ok(());
            }
            let left = until.saturating_duration_since(Instant::now());
            if over {
                let reason = "the turn that read it was broken off: nobody works on it any \
                              more, and the transcript has no end of it";
                recorder.note("watch_ended", json!({"reason": reason}));
                // An answer that came from within it stays what it is.
                recorder.end_as(Step::turn_failed(reason, place))?;
                return Ok(());
            }
            if left.is_zero() {
                let reason = "the turn did not end in time";
                recorder.note("watch_ended", json!({"reason": reason}));
                return Ok(());
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }
}
