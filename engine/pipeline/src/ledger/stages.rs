//! How far a message got. [`step`] is the only place that changes a stage.

use super::accept::to_json;
use super::{Lease, Ledger, LedgerError, Message, Trouble, lease, message, now};
use axiowl_model::{Evidence, MessageId, RunId, Stage, StageLine, Timestamp};
use rusqlite::{Connection, Transaction};

/// A stage to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The stage reached.
    pub stage: Stage,
    /// What proves it.
    pub evidence: Evidence,
    /// Why, for stages off the good path.
    pub reason: String,
}

impl Step {
    /// A stage of the good path, with its proof.
    pub fn proven(stage: Stage, evidence: Evidence) -> Self {
        Self {
            stage,
            evidence,
            reason: String::new(),
        }
    }

    /// A stage with a reason and no proof.
    pub fn because(stage: Stage, reason: impl Into<String>) -> Self {
        Self {
            stage,
            evidence: Evidence::default(),
            reason: reason.into(),
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
            self::step(tx, id, run, step)
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
            self::step(tx, lease.message, lease.run_id, step)
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
    id: MessageId,
    evidence: Evidence,
) -> Result<StageLine, Trouble> {
    let known = message::get(tx, id)?;
    let (run, stage) = (known.run_id, known.stage);
    append(tx, known, run, Step::proven(stage, evidence))
}

/// Moves a message.
pub(super) fn step(
    tx: &Transaction<'_>,
    id: MessageId,
    run: RunId,
    step: Step,
) -> Result<Option<StageLine>, Trouble> {
    let known = message::get(tx, id)?;
    if known.stage == step.stage {
        return Ok(None);
    }
    if !step.stage.may_follow(known.stage) {
        let before: bool = tx.query_row(
            "SELECT EXISTS (SELECT 1 FROM stages WHERE message_id = ?1 AND stage = ?2)",
            (id.to_string(), step.stage.as_str()),
            |row| row.get(0),
        )?;
        if before {
            return Ok(None);
        }
        if step.stage.is_late_proof(known.stage) {
            return append(tx, known, run, step).map(Some);
        }
        let (from, to) = (known.stage, step.stage);
        return Err(LedgerError::IllegalMove { id, from, to }.into());
    }
    tx.execute(
        "UPDATE messages SET stage = ?2 WHERE id = ?1",
        (id.to_string(), step.stage.as_str()),
    )?;
    append(tx, known, run, step).map(Some)
}

fn append(
    tx: &Transaction<'_>,
    known: Message,
    run: RunId,
    step: Step,
) -> Result<StageLine, Trouble> {
    let at = now();
    tx.execute(
        "INSERT INTO stages (message_id, seq, run_id, stage, at, route, evidence, reason)
         SELECT ?1, COALESCE(MAX(seq), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7
         FROM stages WHERE message_id = ?1",
        (
            known.id.to_string(),
            run.to_string(),
            step.stage.as_str(),
            at.as_millis(),
            &known.route,
            to_json(&step.evidence)?,
            &step.reason,
        ),
    )?;
    Ok(StageLine {
        message_id: known.id,
        run_id: run,
        stage: step.stage,
        at,
        provider: known.target.key.provider,
        provider_session_id: known.target.key.session,
        display_name: known.target.display_name,
        route: known.route,
        evidence: step.evidence,
        reason: step.reason,
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
