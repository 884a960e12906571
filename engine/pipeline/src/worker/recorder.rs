//! Puts what an edge reports into ledger and evidence log, and turns the end of a delivery
//! into a stage. An edge that contradicts itself gets `uncertain`, never a better stage.

use crate::edge::{EdgeError, Progress, Sighting};
use crate::evidence_log::EvidenceLog;
use crate::ledger::{Lease, Ledger, LedgerError, Step};
use crate::redact::Redactor;
use axiowl_model::{Evidence, Stage};
use serde_json::json;

/// Thrown through an edge that was about to hand a message over, when the ledger could not
/// record that: going on could deliver the message twice.
pub(super) struct HandoverBarred(pub LedgerError);

/// Records for one attempt.
pub(super) struct Recorder<'a> {
    pub ledger: &'a Ledger,
    pub log: &'a EvidenceLog,
    pub lease: &'a Lease,
    redactor: Redactor,
    started: bool,
    /// An earlier attempt began, its message is certainly not in the target's store, and
    /// nothing was handed over since.
    absent: bool,
    /// The first thing that could not be recorded.
    trouble: Option<LedgerError>,
}

impl<'a> Recorder<'a> {
    pub fn new(
        ledger: &'a Ledger,
        log: &'a EvidenceLog,
        lease: &'a Lease,
        redactor: Redactor,
    ) -> Self {
        Self {
            ledger,
            log,
            lease,
            redactor,
            started: false,
            absent: false,
            trouble: None,
        }
    }

    /// Takes one step from an edge.
    pub fn progress(&mut self, progress: Progress) {
        let step = match progress {
            Progress::Starting { route } => {
                self.note("handover_starting", json!({"route": route}));
                match self.ledger.start(self.lease, &route) {
                    Ok(()) => (self.started, self.absent) = (true, false),
                    Err(error) => {
                        self.note("handover_barred", json!({"reason": error.to_string()}));
                        // Nothing was handed over yet, and this is the only way to stop the
                        // edge. Without unwinding the worker ends here, which is as safe.
                        std::panic::resume_unwind(Box::new(HandoverBarred(error)));
                    }
                }
                return;
            }
            Progress::Submitted(evidence) => Step::submitted(evidence),
            Progress::Held(evidence) => Step::held(evidence),
            Progress::Queued(evidence) => Step::queued(evidence),
            Progress::Seen(evidence) => Step::seen(evidence),
            Progress::TurnDone(evidence) => Step::turn_done(evidence),
        };
        if !self.started {
            // An edge that forgot to say so; the message is out nevertheless.
            match self.ledger.start(self.lease, "") {
                Ok(()) => (self.started, self.absent) = (true, false),
                Err(error) => self.keep(error),
            }
        }
        if let Err(error) = self.record(step) {
            self.keep(error);
        }
    }

    /// The target's store certainly lacks what an earlier attempt began to hand over.
    pub fn found_absent(&mut self) {
        self.note("found_earlier", json!({"finding": "absent"}));
        self.absent = true;
    }

    /// What stands in the target's transcript. False when that is nothing.
    pub fn sighting(&mut self, sighting: &Sighting) -> Result<bool, LedgerError> {
        if let Some(evidence) = &sighting.message {
            self.record(Step::seen(evidence.clone()))?;
        }
        if let Some(turn) = &sighting.turn {
            self.record(turn_step(turn.completed, turn.evidence.clone()))?;
        }
        Ok(sighting.message.is_some() || sighting.turn.is_some())
    }

    /// How the edge's work ended.
    pub fn ended(&mut self, result: Result<(), EdgeError>) -> Result<String, LedgerError> {
        if let Some(error) = self.trouble.take() {
            return Err(error);
        }
        let stage = self.ledger.message(self.lease.message)?.stage;
        // Nothing is out: none of it, or all of what an earlier attempt did came to nothing.
        let unsent = stage == Stage::Accepted || self.absent;
        let step = match result {
            Ok(()) if stage != Stage::Accepted && self.started => return Ok("done".into()),
            Ok(()) => Step::uncertain("the edge ended without saying what became of the message"),
            // A provider may give back what it held or queued, unread.
            Err(EdgeError::Refused { reason })
                if unsent || matches!(stage, Stage::Held | Stage::Queued) =>
            {
                Step::refused(reason)
            }
            Err(EdgeError::NotSubmitted { reason }) if unsent => Step::failed(reason),
            Err(error @ (EdgeError::Refused { .. } | EdgeError::NotSubmitted { .. })) => {
                Step::uncertain(format!("after {stage}: {error}"))
            }
            Err(EdgeError::TurnFailed { reason, evidence }) => Step::turn_failed(reason, evidence),
            Err(EdgeError::Uncertain { reason }) => Step::uncertain(reason),
            Err(EdgeError::Misdelivered { reason, evidence }) => {
                Step::misdelivered(reason, evidence)
            }
        };
        self.end_as(step)
    }

    /// Ends the attempt with a stage; where the message cannot get there, with `failed` if it
    /// certainly is not there, and `uncertain` if nobody knows.
    pub fn end_as(&mut self, step: Step) -> Result<String, LedgerError> {
        let (stage, reason) = (step.stage(), step.reason().to_owned());
        if self.record(step)? || stage == Stage::Uncertain {
            return Ok(stage.to_string());
        }
        let instead = if self.absent {
            Step::failed(format!(
                "what was handed over before is not in the target's store, and now: {reason}"
            ))
        } else {
            Step::uncertain(format!("{stage}: {reason}"))
        };
        let stage = instead.stage();
        self.record(instead)?;
        Ok(stage.to_string())
    }

    /// Records a stage. False when the message cannot get there from where it is, which a
    /// reply that came during the turn makes possible.
    fn record(&mut self, step: Step) -> Result<bool, LedgerError> {
        let stage = step.stage();
        match self
            .ledger
            .record_leased(self.lease, step.redacted(&self.redactor))
        {
            Ok(Some(line)) => {
                self.note(
                    "stage",
                    json!({
                        "stage": stage,
                        "provider": line.provider,
                        "provider_session_id": line.provider_session_id,
                        "display_name": line.display_name,
                        "route": line.route,
                        "evidence": line.evidence,
                        "reason": line.reason,
                    }),
                );
                Ok(true)
            }
            Ok(None) => Ok(true),
            Err(error @ LedgerError::IllegalMove { .. }) => {
                self.note(
                    "stage_ignored",
                    json!({"stage": stage, "reason": error.to_string()}),
                );
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn keep(&mut self, error: LedgerError) {
        tracing::error!(%error, message = %self.lease.message, "stage not recorded");
        self.trouble.get_or_insert(error);
    }

    pub fn note(&self, event: &str, mut fields: serde_json::Value) {
        fields["message_id"] = self.lease.message.to_string().into();
        fields["run_id"] = self.lease.run_id.to_string().into();
        self.log.record(event, fields);
    }
}

/// The stage that the end of a turn means.
pub(super) fn turn_step(completed: bool, evidence: Evidence) -> Step {
    if completed {
        Step::turn_done(evidence)
    } else {
        Step::turn_failed("the turn that read it failed", evidence)
    }
}
