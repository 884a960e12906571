//! Puts what an edge reports into ledger and evidence log, and turns the end of a delivery
//! into a stage. An edge that contradicts itself gets `uncertain`, never a better stage.

use crate::edge::{EdgeError, Progress, Sighting};
use crate::evidence_log::EvidenceLog;
use crate::ledger::{Lease, Ledger, LedgerError, Step};
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
    started: bool,
    /// The first thing that could not be recorded.
    trouble: Option<LedgerError>,
}

impl<'a> Recorder<'a> {
    pub fn new(ledger: &'a Ledger, log: &'a EvidenceLog, lease: &'a Lease) -> Self {
        Self {
            ledger,
            log,
            lease,
            started: false,
            trouble: None,
        }
    }

    /// Takes one step from an edge.
    pub fn progress(&mut self, progress: Progress) {
        let (stage, evidence) = match progress {
            Progress::Starting { route } => {
                self.note("handover_starting", json!({"route": route}));
                match self.ledger.start(self.lease, &route) {
                    Ok(()) => self.started = true,
                    Err(error) => {
                        self.note("handover_barred", json!({"reason": error.to_string()}));
                        // Nothing was handed over yet, and this is the only way to stop the
                        // edge. Without unwinding the worker ends here, which is as safe.
                        std::panic::resume_unwind(Box::new(HandoverBarred(error)));
                    }
                }
                return;
            }
            Progress::Submitted(evidence) => (Stage::Submitted, evidence),
            Progress::Held(evidence) => (Stage::Held, evidence),
            Progress::Queued(evidence) => (Stage::Queued, evidence),
            Progress::Seen(evidence) => (Stage::Seen, evidence),
            Progress::TurnDone(evidence) => (Stage::TurnDone, evidence),
        };
        if !self.started {
            // An edge that forgot to say so; the message is out nevertheless.
            match self.ledger.start(self.lease, "") {
                Ok(()) => self.started = true,
                Err(error) => self.keep(error),
            }
        }
        match self.record(Step::proven(stage, evidence)) {
            Ok(_) => {}
            Err(error) => self.keep(error),
        }
    }

    /// What stands in the target's transcript. False when that is nothing.
    pub fn sighting(&mut self, sighting: &Sighting) -> Result<bool, LedgerError> {
        if let Some(evidence) = &sighting.message {
            self.record(Step::proven(Stage::Seen, evidence.clone()))?;
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
        let out = !matches!(stage, Stage::Accepted | Stage::Held | Stage::Queued);
        let step = match result {
            Ok(()) if stage != Stage::Accepted => return Ok("done".into()),
            Ok(()) => Step::because(
                Stage::Uncertain,
                "the edge ended without saying what became of the message",
            ),
            Err(EdgeError::Refused { reason }) if !out => Step::because(Stage::Refused, reason),
            Err(EdgeError::NotSubmitted { reason }) if !out => Step::because(Stage::Failed, reason),
            Err(error @ (EdgeError::Refused { .. } | EdgeError::NotSubmitted { .. })) => {
                Step::because(Stage::Uncertain, format!("after {stage}: {error}"))
            }
            Err(EdgeError::TurnFailed { reason, evidence }) => Step {
                stage: Stage::Failed,
                evidence,
                reason,
            },
            Err(EdgeError::Uncertain { reason }) => Step::because(Stage::Uncertain, reason),
            Err(EdgeError::Misdelivered { reason, evidence }) => Step {
                stage: Stage::Misdelivered,
                evidence,
                reason,
            },
        };
        self.end_as(step)
    }

    /// Ends the attempt with a stage; where the message cannot get there, with `uncertain`.
    pub fn end_as(&mut self, step: Step) -> Result<String, LedgerError> {
        let (stage, reason) = (step.stage, step.reason.clone());
        if self.record(step)? || stage == Stage::Uncertain {
            return Ok(stage.to_string());
        }
        let uncertain = Step::because(Stage::Uncertain, format!("{stage}: {reason}"));
        self.record(uncertain)?;
        Ok(Stage::Uncertain.to_string())
    }

    /// Records a stage. False when the message cannot get there from where it is, which a
    /// reply that came during the turn makes possible.
    fn record(&mut self, step: Step) -> Result<bool, LedgerError> {
        let (stage, reason) = (step.stage, step.reason.clone());
        match self.ledger.record_leased(self.lease, step) {
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
                        "reason": reason,
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
        Step::proven(Stage::TurnDone, evidence)
    } else {
        Step {
            stage: Stage::Failed,
            evidence,
            reason: "the turn that read it failed".into(),
        }
    }
}
