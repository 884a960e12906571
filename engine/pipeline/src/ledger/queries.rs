//! Questions to the ledger that go beyond one message.

use super::message::{self, COLUMNS};
use super::{Ledger, LedgerError, Message, Trouble};
use crate::sender::operator_key;
use axiowl_model::{MessageId, SessionKey, Stage, Timestamp};
use rusqlite::{Connection, OptionalExtension, Params};

/// Whose messages an inbox holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inbox {
    /// Answers to the person at the command line.
    Operator,
    /// Messages to one session.
    Session(SessionKey),
}

/// Waiting for delivery, or with a delivery that is not over: under way, or broken off.
const PENDING: &str = "(stage = 'accepted_by_axiowl' OR id IN (
         SELECT message_id FROM deliveries WHERE ended_at IS NULL))
     AND NOT (provider = 'axiowl' AND session = 'operator')";

impl Ledger {
    /// Messages on their way, oldest first: not yet settled, and not in the operator's inbox.
    ///
    /// # Errors
    /// The database.
    pub fn in_flight(&self) -> Result<Vec<Message>, LedgerError> {
        self.read("list messages", |db| {
            select(
                db,
                "stage IN ('accepted_by_axiowl', 'submitted', 'held', 'queued', 'seen',
                     'uncertain') AND NOT (provider = 'axiowl' AND session = 'operator')
                 ORDER BY ordinal",
                [],
            )
        })
    }

    /// The newest messages, newest first.
    ///
    /// # Errors
    /// The database.
    pub fn recent(&self, count: usize) -> Result<Vec<Message>, LedgerError> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.read("list messages", |db| {
            select(db, "TRUE ORDER BY ordinal DESC LIMIT ?1", [count])
        })
    }

    /// Messages that answer a message, oldest first, whoever sent them.
    ///
    /// # Errors
    /// The database.
    pub fn replies_to(&self, id: MessageId) -> Result<Vec<Message>, LedgerError> {
        self.read("list answers", |db| {
            select(db, "reply_to = ?1 ORDER BY ordinal", [id.to_string()])
        })
    }

    /// Messages that were accepted for somebody at or after a time, oldest first.
    ///
    /// # Errors
    /// The database.
    pub fn inbox(
        &self,
        whose: &Inbox,
        since: Option<Timestamp>,
    ) -> Result<Vec<Message>, LedgerError> {
        let key = match whose {
            Inbox::Operator => operator_key(),
            Inbox::Session(key) => key.clone(),
        };
        self.read("read an inbox", |db| {
            select(
                db,
                "provider = ?1 AND node = ?2 AND session = ?3 AND created_at >= ?4
                 ORDER BY ordinal",
                (
                    &key.provider,
                    &key.node,
                    &key.session,
                    since.map_or(i64::MIN, Timestamp::as_millis),
                ),
            )
        })
    }

    /// The oldest message of a session that a worker has to deal with.
    pub(crate) fn next_pending(&self, key: &SessionKey) -> Result<Option<MessageId>, LedgerError> {
        self.read("look for work", |db| {
            let id = db
                .prepare_cached(&format!(
                    "SELECT id FROM messages WHERE provider = ?1 AND node = ?2
                     AND session = ?3 AND {PENDING} ORDER BY ordinal LIMIT 1"
                ))?
                .query_row((&key.provider, &key.node, &key.session), |row| {
                    message::parsed(row, 0)
                })
                .optional()?;
            Ok(id)
        })
    }

    /// Sessions with work, each with its oldest message.
    pub(crate) fn pending_sessions(&self) -> Result<Vec<(SessionKey, MessageId)>, LedgerError> {
        self.read("look for work", |db| {
            let mut query = db.prepare_cached(&format!(
                "SELECT provider, node, session, id, MIN(ordinal) FROM messages
                 WHERE {PENDING} GROUP BY provider, node, session ORDER BY 5"
            ))?;
            let rows = query.query_map([], |row| {
                let key = SessionKey {
                    provider: row.get(0)?,
                    node: row.get(1)?,
                    session: row.get(2)?,
                };
                Ok((key, message::parsed(row, 3)?))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The newest message that a session has read, or may have read, in a turn that is not
    /// known to be over.
    pub(crate) fn open_turn_of(&self, key: &SessionKey) -> Result<Option<Message>, LedgerError> {
        let stages = [Stage::Submitted, Stage::Seen, Stage::Replied];
        self.read("look for an open turn", |db| {
            newest_under_way(db, key, &stages)
        })
    }

    /// Whether a message is being handed to a session and nothing tells yet that it is there.
    ///
    /// # Errors
    /// The database.
    pub(crate) fn is_handed_to(&self, key: &SessionKey) -> Result<bool, LedgerError> {
        let stages = [Stage::Accepted, Stage::Submitted];
        self.read("look for a handover", |db| {
            Ok(newest_under_way(db, key, &stages)?.is_some())
        })
    }
}

/// The newest message of a session that stands at one of these stages and whose delivery is
/// under way.
fn newest_under_way(
    db: &Connection,
    key: &SessionKey,
    stages: &[Stage],
) -> Result<Option<Message>, Trouble> {
    let stages: Vec<&str> = stages.iter().map(|stage| stage.as_str()).collect();
    let mut found = select(
        db,
        "provider = ?1 AND node = ?2 AND session = ?3
         AND stage IN (SELECT value FROM json_each(?4))
         AND EXISTS (SELECT 1 FROM deliveries WHERE message_id = id
             AND started = 1 AND ended_at IS NULL)
         ORDER BY ordinal DESC LIMIT 1",
        (
            &key.provider,
            &key.node,
            &key.session,
            serde_json::json!(stages).to_string(),
        ),
    )?;
    Ok(found.pop())
}

fn select(db: &Connection, condition: &str, values: impl Params) -> Result<Vec<Message>, Trouble> {
    let mut query =
        db.prepare_cached(&format!("SELECT {COLUMNS} FROM messages WHERE {condition}"))?;
    let rows = query.query_map(values, message::from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}
