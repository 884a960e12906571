//! How many messages went between two, and to one, within a while. Asked again inside the
//! transaction that accepts a message, so that senders who come at once do not all pass.

use super::{Ledger, LedgerError, Trouble};
use crate::clock::{after, before, between};
use crate::guard::Guard;
use crate::limits::Limits;
use crate::sender::{AXIOWL_PROVIDER, Sender};
use axiowl_model::{SessionKey, Timestamp, display_safe};
use rusqlite::{Connection, OptionalExtension, Params};
use std::time::Duration;

/// What both queries end with. A message from the future was accepted before the clock was
/// set back, and fills no window.
macro_rules! the_nth_newest {
    ($of:literal) => {
        concat!(
            "SELECT created_at FROM messages WHERE provider = ?1 AND node = ?2 AND session = ?3
             AND created_at > ?4 AND created_at <= ?5 ",
            $of,
            " ORDER BY created_at DESC LIMIT 1 OFFSET ?6"
        )
    };
}

const TO_TARGET: &str = the_nth_newest!("");
const OF_PAIR: &str = the_nth_newest!(
    "AND sender_session = ?7 AND sender_provider = ?8 AND (?7 <> '' OR sender_name = ?9)"
);

impl Ledger {
    /// Whether a message may be accepted now, as far as rates go.
    pub(crate) fn rates(
        &self,
        limits: &Limits,
        sender: &Sender,
        target: &SessionKey,
    ) -> Result<Result<(), Guard>, LedgerError> {
        self.read("count messages", |db| {
            check(db, limits, sender, target, self.now())
        })
    }
}

pub(super) fn check(
    db: &Connection,
    limits: &Limits,
    sender: &Sender,
    target: &SessionKey,
    now: Timestamp,
) -> Result<Result<(), Guard>, Trouble> {
    let window = limits.rate_window;
    let since = before(now, window).as_millis();
    let SessionKey {
        provider,
        node,
        session,
    } = target;
    let own = sender.key.as_ref().map_or("", |key| &key.session);
    let limit = limits.pair_messages;
    let to = (
        provider,
        node,
        session,
        since,
        now.as_millis(),
        offset(limit),
    );
    let filled = full(
        db,
        OF_PAIR,
        (
            to.0,
            to.1,
            to.2,
            to.3,
            to.4,
            to.5,
            own,
            sender.provider(),
            &sender.name,
        ),
        limit,
        now,
    )?;
    if let Some(first) = filled {
        return Ok(Err(Guard::PairRate {
            sender: display_safe(&sender.name),
            target: target.to_string(),
            limit,
            window,
            wait: until_free(first, window, now),
        }));
    }
    // The operator's inbox is read by a person, at leisure.
    if provider == AXIOWL_PROVIDER {
        return Ok(Ok(()));
    }
    let limit = limits.target_messages;
    let to = (to.0, to.1, to.2, to.3, to.4, offset(limit));
    let filled = full(db, TO_TARGET, to, limit, now)?;
    Ok(match filled {
        None => Ok(()),
        Some(first) => Err(Guard::TargetRate {
            target: target.to_string(),
            limit,
            window,
            wait: until_free(first, window, now),
        }),
    })
}

/// When the oldest of the messages that fill the window was accepted; `None` while there is
/// room for another.
fn full(
    db: &Connection,
    query: &str,
    values: impl Params,
    limit: usize,
    now: Timestamp,
) -> Result<Option<Timestamp>, Trouble> {
    if limit == 0 {
        return Ok(Some(now));
    }
    let found: Option<i64> = db
        .prepare_cached(query)?
        .query_row(values, |row| row.get(0))
        .optional()?;
    Ok(found.map(Timestamp::from_millis))
}

fn offset(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX).saturating_sub(1)
}

fn until_free(first: Timestamp, window: Duration, now: Timestamp) -> Duration {
    between(now, after(first, window))
}
