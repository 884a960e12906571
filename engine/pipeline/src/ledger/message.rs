//! One message as the ledger keeps it: who, to whom, what, and how far.

use super::{Ledger, LedgerError, Trouble};
use crate::edge::Target;
use crate::sender::{Hop, Sender, SenderKind};
use axiowl_model::{MessageId, RunId, SessionKey, Stage, Timestamp};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};
use serde::de::DeserializeOwned;

/// A message of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// The command that sent it.
    pub run_id: RunId,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// Who sent it.
    pub sender: Sender,
    /// Whom it is for, as the registry said at acceptance.
    pub target: Target,
    /// What the sender wrote.
    pub body: String,
    /// What the target reads.
    pub visible_body: String,
    /// The message it answers.
    pub reply_to: Option<MessageId>,
    /// The stations before its sender, oldest first.
    pub hops: Vec<Hop>,
    /// `agent_id` of other rows the target text fitted.
    pub also_matching: Vec<String>,
    /// How far it got.
    pub stage: Stage,
    /// The way its edge took, empty before it did.
    pub route: String,
    /// Until when it may wait to be handed over.
    pub expires_at: Timestamp,
}

pub(super) const COLUMNS: &str = "id, run_id, created_at, sender_kind, sender_name, \
     sender_provider, sender_node, sender_session, sender_reason, provider, node, session, \
     display_name, cwd, home, body, visible_body, reply_to, hop_chain, also_matching, stage, \
     route, expires_at";

impl Ledger {
    /// The message with that id.
    ///
    /// # Errors
    /// [`LedgerError::NoSuchMessage`], or the database.
    pub fn message(&self, id: MessageId) -> Result<Message, LedgerError> {
        self.read("read a message", |db| get(db, id))
    }
}

pub(super) fn get(db: &Connection, id: MessageId) -> Result<Message, Trouble> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM messages WHERE id = ?1"))?
        .query_row([id.to_string()], from_row)
        .optional()?
        .ok_or_else(|| LedgerError::NoSuchMessage { id }.into())
}

pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Message> {
    let sender_provider: String = row.get(5)?;
    let sender_session: String = row.get(7)?;
    let key = (!sender_session.is_empty()).then_some(SessionKey {
        provider: sender_provider,
        node: row.get(6)?,
        session: sender_session,
    });
    let kind: String = row.get(3)?;
    Ok(Message {
        id: parsed(row, 0)?,
        run_id: parsed(row, 1)?,
        created_at: Timestamp::from_millis(row.get(2)?),
        sender: Sender {
            kind: SenderKind::from_word(&kind).ok_or_else(|| damaged(3, &kind))?,
            name: row.get(4)?,
            key,
            reason: row.get(8)?,
        },
        target: Target {
            key: SessionKey {
                provider: row.get(9)?,
                node: row.get(10)?,
                session: row.get(11)?,
            },
            display_name: row.get(12)?,
            cwd: row.get(13)?,
            home: row.get(14)?,
        },
        body: row.get(15)?,
        visible_body: row.get(16)?,
        reply_to: match row.get::<_, Option<String>>(17)? {
            Some(_) => Some(parsed(row, 17)?),
            None => None,
        },
        hops: json(row, 18)?,
        also_matching: json(row, 19)?,
        stage: stage(row, 20)?,
        route: row.get(21)?,
        expires_at: Timestamp::from_millis(row.get(22)?),
    })
}

pub(super) fn parsed<T: std::str::FromStr>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text: String = row.get(at)?;
    text.parse().map_err(|_| damaged(at, &text))
}

pub(super) fn stage(row: &Row<'_>, at: usize) -> rusqlite::Result<Stage> {
    let word: String = row.get(at)?;
    Stage::from_word(&word).ok_or_else(|| damaged(at, &word))
}

pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text: String = row.get(at)?;
    serde_json::from_str(&text).map_err(|_| damaged(at, &text))
}

fn damaged(at: usize, text: &str) -> rusqlite::Error {
    let shown: String = text.chars().take(60).collect();
    rusqlite::Error::FromSqlConversionFailure(
        at,
        Type::Text,
        format!("`{shown}` is none of the ledger's words").into(),
    )
}
