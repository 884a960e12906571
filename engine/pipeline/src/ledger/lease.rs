//! Who delivers a message. A lease names one process and runs out unless it is renewed; the
//! attempt's own token fences off a worker that comes back late. The session lock of
//! [`crate::worker`] is what keeps two deliveries apart; the lease is what outlives a crash.

use super::{Ledger, LedgerError, Step, Trouble, message, stages};
use crate::clock::after;
use crate::limits::Limits;
use crate::process::Owner;
use crate::redact::redact;
use axiowl_model::{MessageId, RunId, Stage, StageLine, Timestamp};
use rusqlite::{Connection, OptionalExtension, Transaction};
use std::time::Duration;

/// One attempt to deliver one message, owned by this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The message.
    pub message: MessageId,
    /// Counts the attempts, from one.
    pub attempt: u32,
    /// The attempt's own id, and its token.
    pub run_id: RunId,
    /// An earlier attempt may have handed the message over.
    pub started_before: bool,
    /// Too many attempts broke off: the target's store is asked once more, and nothing is
    /// handed over again.
    pub last_look: bool,
}

/// The answer to a request for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseAnswer {
    /// It is ours.
    Taken(Lease),
    /// Another process has it, at least until then.
    Held {
        /// The process.
        owner: Owner,
        /// When it runs out unless renewed.
        until: Timestamp,
    },
    /// There is nothing to deliver: the message is past that, or has just been given up.
    Nothing,
}

/// The last attempt of a message.
struct Attempt {
    number: u32,
    owner: Owner,
    expires_at: Timestamp,
    ended: bool,
}

impl Ledger {
    /// Takes the lease on a message that waits for delivery or whose delivery broke off.
    /// A message whose time ran out, or whose workers keep dying before they hand anything
    /// over, is settled here instead. One that may be out when that happens is looked for, and
    /// not handed over again.
    ///
    /// # Errors
    /// [`LedgerError::NoSuchMessage`], or the database.
    pub fn lease(&self, id: MessageId, limits: &Limits) -> Result<LeaseAnswer, LedgerError> {
        let owner = Owner::current();
        self.write_loosely("take a lease", |tx| {
            let known = message::get(tx, id)?;
            let last = last_attempt(tx, id)?;
            let broke_off = last.as_ref().is_some_and(|last| !last.ended);
            let waits = known.stage == Stage::Accepted;
            // A reply came from within the turn, whose end is still to be recorded.
            let under_way = known.stage.is_with_provider()
                || matches!(known.stage, Stage::Seen | Stage::Replied);
            if !(waits || broke_off) {
                return Ok(LeaseAnswer::Nothing);
            }
            let at = self.now();
            if let Some(last) = last.as_ref().filter(|last| !last.ended)
                && is_live(last, at, limits.lease)
            {
                let (owner, until) = (last.owner, last.expires_at);
                return Ok(LeaseAnswer::Held { owner, until });
            }
            let started_before = under_way || has_started(tx, id)?;
            let attempt = last.as_ref().map_or(0, |last| last.number) + 1;
            let too_often = attempt > limits.attempts;
            // Counting proves nothing about a message that may be out. Its store does; only
            // where those who ask it keep dying too, nobody knows.
            let for_good = attempt > limits.attempts.saturating_mul(2);
            let given_up = match (started_before, too_often) {
                (false, _) if known.expires_at <= at => Some(expired()),
                (false, true) => Some(Step::failed(format!(
                    "{} deliveries ended before anything was handed over; see worker.log",
                    attempt - 1
                ))),
                (true, true) if for_good => Some(Step::uncertain(format!(
                    "{} deliveries broke off after it may have been handed over; see worker.log",
                    attempt - 1
                ))),
                _ => None,
            };
            tx.execute(
                "UPDATE deliveries SET ended_at = ?2, outcome = 'abandoned'
                 WHERE message_id = ?1 AND ended_at IS NULL",
                (id.to_string(), at.as_millis()),
            )?;
            // Its worker died after the last word about it was written.
            let settled = !(waits || under_way);
            // What was seen or answered stays so, whoever dies over its turn.
            let is_there = matches!(known.stage, Stage::Seen | Stage::Replied);
            if settled || for_good && is_there {
                return Ok(LeaseAnswer::Nothing);
            }
            if let Some(step) = given_up {
                stages::step(tx, at, id, known.run_id, step)?;
                return Ok(LeaseAnswer::Nothing);
            }
            let run_id = if attempt == 1 {
                known.run_id
            } else {
                RunId::new()
            };
            tx.execute(
                "INSERT INTO deliveries (message_id, attempt, token, owner_pid, owner_start,
                     lease_expires_at, began_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                (
                    id.to_string(),
                    attempt,
                    run_id.to_string(),
                    owner.pid,
                    owner.start_ticks.map(u64::cast_signed),
                    after(at, limits.lease).as_millis(),
                    at.as_millis(),
                ),
            )?;
            Ok(LeaseAnswer::Taken(Lease {
                message: id,
                attempt,
                run_id,
                started_before,
                last_look: too_often,
            }))
        })
    }

    /// Whether nobody delivers a message and it does not wait for delivery: no worker will
    /// move it on.
    ///
    /// # Errors
    /// [`LedgerError::NoSuchMessage`], or the database.
    pub(crate) fn rests(&self, id: MessageId) -> Result<bool, LedgerError> {
        self.read("look for a lease", |db| {
            let waits = message::get(db, id)?.stage == Stage::Accepted;
            let over = last_attempt(db, id)?.is_none_or(|last| last.ended);
            Ok(over && !waits)
        })
    }

    /// Whether a message waits and no handover of it has ever begun.
    ///
    /// # Errors
    /// [`LedgerError::NoSuchMessage`], or the database.
    pub(crate) fn is_untouched(&self, id: MessageId) -> Result<bool, LedgerError> {
        self.read("look for a handover", |db| untouched(db, id))
    }

    /// Ends a message of which nothing was handed over; `None` when that is not sure. A worker
    /// that has it already is stopped by [`Ledger::start`].
    ///
    /// # Errors
    /// [`LedgerError::NoSuchMessage`], or the database.
    pub(crate) fn take_back(
        &self,
        id: MessageId,
        step: Step,
    ) -> Result<Option<StageLine>, LedgerError> {
        self.write("take a message back", |tx| {
            if !untouched(tx, id)? {
                return Ok(None);
            }
            let run = message::get(tx, id)?.run_id;
            stages::step(tx, self.now(), id, run, step)
        })
    }

    /// Gives a lease more time.
    ///
    /// # Errors
    /// [`LedgerError::LeaseLost`], or the database.
    pub fn renew(&self, lease: &Lease, time: Duration) -> Result<(), LedgerError> {
        self.write_loosely("renew a lease", |tx| {
            check(tx, lease)?;
            tx.execute(
                "UPDATE deliveries SET lease_expires_at = ?3 WHERE message_id = ?1 AND token = ?2",
                (
                    lease.message.to_string(),
                    lease.run_id.to_string(),
                    after(self.now(), time).as_millis(),
                ),
            )?;
            Ok(())
        })
    }

    /// Records that the handover begins, by which way. From here on a crash leaves the
    /// outcome to evidence.
    ///
    /// # Errors
    /// [`LedgerError::LeaseLost`]; [`LedgerError::IllegalMove`] when the message was settled
    /// meanwhile; or the database. Nothing may be handed over then.
    pub fn start(&self, lease: &Lease, route: &str) -> Result<(), LedgerError> {
        self.write("record the start of a handover", |tx| {
            check(tx, lease)?;
            let known = message::get(tx, lease.message)?;
            if !matches!(
                known.stage,
                Stage::Accepted | Stage::Submitted | Stage::Held | Stage::Queued
            ) {
                return Err(LedgerError::IllegalMove {
                    id: lease.message,
                    from: known.stage,
                    to: Stage::Submitted,
                }
                .into());
            }
            tx.execute(
                "UPDATE deliveries SET started = 1, route = ?3
                 WHERE message_id = ?1 AND token = ?2",
                (lease.message.to_string(), lease.run_id.to_string(), route),
            )?;
            tx.execute(
                "UPDATE messages SET route = ?2 WHERE id = ?1",
                (lease.message.to_string(), route),
            )?;
            Ok(())
        })
    }

    /// Ends an attempt. What it achieved stands in the stages; `outcome` is for people.
    ///
    /// # Errors
    /// [`LedgerError::LeaseLost`], or the database.
    pub fn end(&self, lease: &Lease, outcome: &str) -> Result<(), LedgerError> {
        self.write_loosely("end a delivery", |tx| {
            check(tx, lease)?;
            tx.execute(
                "UPDATE deliveries SET ended_at = ?3, outcome = ?4
                 WHERE message_id = ?1 AND token = ?2",
                (
                    lease.message.to_string(),
                    lease.run_id.to_string(),
                    self.now().as_millis(),
                    redact(outcome),
                ),
            )?;
            Ok(())
        })
    }

    /// Settles every message as `expired` that waited longer than it may and that nobody has
    /// begun to hand over. Returns their ids.
    ///
    /// # Errors
    /// The database.
    pub fn expire_overdue(&self) -> Result<Vec<MessageId>, LedgerError> {
        let overdue = self.read("look for expired messages", |db| overdue(db, self.now()))?;
        if overdue.is_empty() {
            return Ok(overdue);
        }
        self.write("expire messages", |tx| {
            let at = self.now();
            let overdue = self::overdue(tx, at)?;
            for &id in &overdue {
                let run = message::get(tx, id)?.run_id;
                stages::step(tx, at, id, run, expired())?;
            }
            Ok(overdue)
        })
    }
}

fn overdue(db: &Connection, now: Timestamp) -> Result<Vec<MessageId>, Trouble> {
    let mut query = db.prepare_cached(
        "SELECT id FROM messages WHERE stage = ?1 AND expires_at <= ?2 AND NOT EXISTS (
             SELECT 1 FROM deliveries WHERE message_id = id
             AND (started = 1 OR ended_at IS NULL AND lease_expires_at > ?2))",
    )?;
    let ids = query.query_map((Stage::Accepted.as_str(), now.as_millis()), |row| {
        message::parsed(row, 0)
    })?;
    Ok(ids.collect::<Result<_, _>>()?)
}

fn expired() -> Step {
    Step::expired("it could not be handed over in time")
}

/// Fails unless this attempt is still the one that counts.
pub(super) fn check(tx: &Transaction<'_>, lease: &Lease) -> Result<(), Trouble> {
    let ours: bool = tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM deliveries
         WHERE message_id = ?1 AND token = ?2 AND ended_at IS NULL)",
        (lease.message.to_string(), lease.run_id.to_string()),
        |row| row.get(0),
    )?;
    if ours {
        Ok(())
    } else {
        Err(LedgerError::LeaseLost { id: lease.message }.into())
    }
}

/// Whether somebody works on it. An end further away than a lease can last was written before
/// the clock was set back, and counts as past.
fn is_live(last: &Attempt, at: Timestamp, lease: Duration) -> bool {
    let left = last.expires_at.as_millis().saturating_sub(at.as_millis());
    let longest = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX);
    left > 0 && left <= longest.saturating_mul(2) && !last.owner.is_gone()
}

fn untouched(db: &Connection, id: MessageId) -> Result<bool, Trouble> {
    Ok(message::get(db, id)?.stage == Stage::Accepted && !has_started(db, id)?)
}

fn has_started(tx: &Connection, id: MessageId) -> Result<bool, Trouble> {
    Ok(tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM deliveries WHERE message_id = ?1 AND started = 1)",
        [id.to_string()],
        |row| row.get(0),
    )?)
}

fn last_attempt(tx: &Connection, id: MessageId) -> Result<Option<Attempt>, Trouble> {
    let attempt = tx
        .query_row(
            "SELECT attempt, owner_pid, owner_start, lease_expires_at, ended_at IS NOT NULL
             FROM deliveries WHERE message_id = ?1 ORDER BY attempt DESC LIMIT 1",
            [id.to_string()],
            |row| {
                Ok(Attempt {
                    number: row.get(0)?,
                    owner: Owner {
                        pid: row.get(1)?,
                        start_ticks: row.get::<_, Option<i64>>(2)?.map(i64::cast_unsigned),
                    },
                    expires_at: Timestamp::from_millis(row.get(3)?),
                    ended: row.get(4)?,
                })
            },
        )
        .optional()?;
    Ok(attempt)
}
