//! How far a message got. [`step`] is the only place that changes a stage.

use super::accept::to_json;
use super::{Lease, Ledger, LedgerError, Message, Trouble, lease, message};
use crate::redact::{Redactor, redact};
use axiowl_model::{Evidence, MessageId, Move, RunId, Stage, StageLine, Timestamp};
use rusqlite::{Connection, Transaction};

/// A stage to be recorded. There is a constructor for each, so that none of the good path
/// goes without what proves it, and none off it without the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    stage: Stage,
    evidence: Evidence,
    reason: String,
}

impl Step {
    /// The provider's door took it.
    pub fn submitted(proof: Evidence) -> Self {
        Self::proven(Stage::Submitted, proof)
    }

    /// The provider has it and waits for its user.
    pub fn held(proof: Evidence) -> Self {
        Self::proven(Stage::Held, proof)
    }

    /// The provider has it in a queue.
    pub fn queued(proof: Evidence) -> Self {
        Self::proven(Stage::Queued, proof)
    }

    /// It stands in the target's transcript.
    pub fn seen(proof: Evidence) -> Self {
        Self::proven(Stage::Seen, proof)
    }

    /// The turn that read it finished.
    pub fn turn_done(proof: Evidence) -> Self {
        Self::proven(Stage::TurnDone, proof)
    }

    /// The target's proven session answered it with that message.
    pub fn replied(answer: MessageId) -> Self {
        let proof = Evidence::new("reply_message", answer.to_string());
        Self::proven(Stage::Replied, proof)
    }

    /// Not attempted, or given back unread.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::because(Stage::Refused, reason)
    }

    /// Known not to have arrived.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::because(Stage::Failed, reason)
    }

    /// It arrived, and the turn that read it failed.
    pub fn turn_failed(reason: impl Into<String>, proof: Evidence) -> Self {
        Self {
            evidence: proof,
            ..Self::because(Stage::Failed, reason)
        }
    }

    /// Its time ran out.
    pub fn expired(reason: impl Into<String>) -> Self {
        Self::because(Stage::Expired, reason)
    }

    /// Nobody can know.
    pub fn uncertain(reason: impl Into<String>) -> Self {
        Self::because(Stage::Uncertain, reason)
    }

    /// It arrived in another session.
    pub fn misdelivered(reason: impl Into<String>, proof: Evidence) -> Self {
        Self {
            evidence: proof,
            ..Self::because(Stage::Misdelivered, reason)
        }
    }

    /// What a person says became of it. It is recorded as that and as nothing more.
    pub fn decided(decision: Decision, by: &str) -> Self {
        Self {
            stage: decision.stage(),
            evidence: Evidence::new("person", by),
            reason: format!("{by} decided that it is {}", decision.stage()),
        }
    }

    /// The stage.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// What proves it.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Why, for the stages off the good path.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The same without the secrets that a provider's program was given.
    pub(crate) fn redacted(self, redactor: &Redactor) -> Self {
        Self {
            stage: self.stage,
            evidence: redactor.evidence(self.evidence),
            reason: redactor.clean(self.reason),
        }
    }

    fn proven(stage: Stage, evidence: Evidence) -> Self {
        Self {
            stage,
            evidence,
            reason: String::new(),
        }
    }

    fn because(stage: Stage, reason: impl Into<String>) -> Self {
        Self {
            stage,
            evidence: Evidence::default(),
            reason: reason.into(),
        }
    }
}

/// What a person may decide about a message. `replied` is not among it: only the target's
/// proven session answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The target has read it.
    Seen,
    /// The target has read it and is done.
    TurnDone,
    /// It did not arrive, or its turn failed.
    Failed,
    /// It arrived in another session.
    Misdelivered,
    /// It shall not be delivered.
    Refused,
}

impl Decision {
    /// The stage it means.
    pub fn stage(self) -> Stage {
        match self {
            Self::Seen => Stage::Seen,
            Self::TurnDone => Stage::TurnDone,
            Self::Failed => Stage::Failed,
            Self::Misdelivered => Stage::Misdelivered,
            Self::Refused => Stage::Refused,
        }
    }
}

impl Ledger {
    /// Moves a message to a stage and returns the new line; `None` when it has been there
    /// already.
    ///
    /// # Errors
    /// [`LedgerError::IllegalMove`] when the message cannot get there from where it is,
    /// [`LedgerError::NoSuchMessage`], or the database.
    pub fn record(&self, id: MessageId, step: Step) -> Result<Option<StageLine>, LedgerError> {
        self.write("record a stage", |tx| {
            let run = message::get(tx, id)?.run_id;
            self::step(tx, self.now(), id, run, step)
        })
    }

    /// The same for the worker that delivers the message.
    ///
    /// # Errors
    /// Also [`LedgerError::LeaseLost`].
    pub fn record_leased(
        &self,
        lease: &Lease,
        step: Step,
    ) -> Result<Option<StageLine>, LedgerError> {
        self.write("record a stage", |tx| {
            lease::check(tx, lease)?;
            self::step(tx, self.now(), lease.message, lease.run_id, step)
        })
    }

    /// The stages of a message after the one numbered `seq` (0 for all), oldest first, each
    /// with its number.
    ///
    /// # Errors
    /// [`LedgerError::NoSuchMessage`], or the database.
    pub fn lines_since(
        &self,
        id: MessageId,
        seq: u64,
    ) -> Result<Vec<(u64, StageLine)>, LedgerError> {
        self.read("read stages", |db| lines_since(db, id, seq))
    }
}

/// Writes the first stage of a message, which its row already holds. It follows nothing.
pub(super) fn begin(
    tx: &Transaction<'_>,
    at: Timestamp,
    id: MessageId,
    evidence: Evidence,
) -> Result<StageLine, Trouble> {
    let known = message::get(tx, id)?;
    let (run, step) = (known.run_id, Step::proven(known.stage, evidence));
    append(tx, at, known, run, step)
}

/// Moves a message.
pub(super) fn step(
    tx: &Transaction<'_>,
    at: Timestamp,
    id: MessageId,
    run: RunId,
    step: Step,
) -> Result<Option<StageLine>, Trouble> {
    let known = message::get(tx, id)?;
    let (from, to) = (known.stage, step.stage);
    if from == to {
        return Ok(None);
    }
    let Some(legal) = from.move_to(to) else {
        return if has_been(tx, id, to)? {
            Ok(None)
        } else {
            Err(LedgerError::IllegalMove { id, from, to }.into())
        };
    };
    // Late proof is a line once.
    if legal.ends_at() == from && has_been(tx, id, to)? {
        return Ok(None);
    }
    enter(tx, id, legal)?;
    append(tx, at, known, run, step).map(Some)
}

/// Writes where a message stands. Takes a [`Move`], which only a legal step has.
fn enter(tx: &Transaction<'_>, id: MessageId, legal: Move) -> Result<(), Trouble> {
    tx.prepare_cached("UPDATE messages SET stage = ?2 WHERE id = ?1")?
        .execute((id.to_string(), legal.ends_at().as_str()))?;
    Ok(())
}

fn has_been(tx: &Transaction<'_>, id: MessageId, stage: Stage) -> Result<bool, Trouble> {
    let been = tx
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM stages WHERE message_id = ?1 AND stage = ?2)",
        )?
        .query_row((id.to_string(), stage.as_str()), |row| row.get(0))?;
    Ok(been)
}

fn append(
    tx: &Transaction<'_>,
    at: Timestamp,
    known: Message,
    run: RunId,
    step: Step,
) -> Result<StageLine, Trouble> {
    // Nothing of what a provider printed is kept unlooked at.
    let evidence = Evidence {
        path: step.evidence.path.map(|path| redact(&path).into_owned()),
        detail: redact(&step.evidence.detail).into_owned(),
        ..step.evidence
    };
    let reason = redact(&step.reason).into_owned();
    tx.prepare_cached(
        "INSERT INTO stages (message_id, seq, run_id, stage, at, route, evidence, reason)
         SELECT ?1, COALESCE(MAX(seq), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7
         FROM stages WHERE message_id = ?1",
    )?
    .execute((
        known.id.to_string(),
        run.to_string(),
        step.stage.as_str(),
        at.as_millis(),
        &known.route,
        to_json(&evidence)?,
        &reason,
    ))?;
    Ok(StageLine {
        message_id: known.id,
        run_id: run,
        stage: step.stage,
        at,
        provider: known.target.key.provider,
        provider_session_id: known.target.key.session,
        display_name: known.target.display_name,
        route: known.route,
        evidence,
        reason,
        also_matching: known.also_matching,
    })
}

fn lines_since(db: &Connection, id: MessageId, seq: u64) -> Result<Vec<(u64, StageLine)>, Trouble> {
    let known = message::get(db, id)?;
    let mut query = db.prepare_cached(
        "SELECT seq, run_id, stage, at, route, evidence, reason FROM stages
         WHERE message_id = ?1 AND seq > ?2 ORDER BY seq",
    )?;
    let after = i64::try_from(seq).unwrap_or(i64::MAX);
    let lines = query.query_map((id.to_string(), after), |row| {
        let seq: i64 = row.get(0)?;
        let line = StageLine {
            message_id: id,
            run_id: message::parsed(row, 1)?,
            stage: message::stage(row, 2)?,
            at: Timestamp::from_millis(row.get(3)?),
            provider: known.target.key.provider.clone(),
            provider_session_id: known.target.key.session.clone(),
            display_name: known.target.display_name.clone(),
            route: row.get(4)?,
            evidence: message::json(row, 5)?,
            reason: row.get(6)?,
            also_matching: known.also_matching.clone(),
        };
        Ok((seq.unsigned_abs(), line))
    })?;
    Ok(lines.collect::<Result<_, _>>()?)
}
