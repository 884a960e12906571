//! Taking a message in: the row, its first stage, and what it does to the message it answers,
//! in one transaction.

use super::{Ledger, LedgerError, Step, Trouble, message, rates, stages};
use crate::clock::after;
use crate::edge::Target;
use crate::guard::Guard;
use crate::limits::Limits;
use crate::reply;
use crate::sender::{AXIOWL_PROVIDER, Hop, Sender};
use axiowl_model::{Evidence, LOCAL_NODE, MessageId, RunId, Stage, StageLine, Timestamp};
use rusqlite::Transaction;
use serde::Serialize;
use std::time::Duration;

/// A message that was resolved and passed every guard.
#[derive(Debug, Clone)]
pub(crate) struct NewMessage {
    /// Its id.
    pub id: MessageId,
    /// The command that sends it.
    pub run_id: RunId,
    /// Who sends it.
    pub sender: Sender,
    /// Whom it is for.
    pub target: Target,
    /// What the sender wrote.
    pub body: String,
    /// What the target will read.
    pub visible_body: String,
    /// The message it answers.
    pub reply_to: Option<MessageId>,
    /// The stations before its sender.
    pub hops: Vec<Hop>,
    /// Other rows the target text fitted.
    pub also_matching: Vec<String>,
    /// Why it is an answer that nobody may hand over and that only its target's inbox holds.
    pub kept: Option<String>,
    /// How long it may wait to be handed over.
    pub expires_in: Duration,
}

/// What taking a message in did.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub line: StageLine,
    /// The line of an answer that is only kept.
    pub kept: Option<StageLine>,
    /// The line of the answered message, or why it stays as it is; `None` for no answer.
    pub answered: Option<Result<StageLine, String>>,
}

impl Ledger {
    /// Stores a message and its stage `accepted_by_axiowl`, and settles the message it
    /// answers as `replied` where its sender is that message's proven target. Durable when
    /// it returns. Stores nothing when a rate is exceeded.
    pub(crate) fn accept(
        &self,
        new: &NewMessage,
        limits: &Limits,
    ) -> Result<Result<Taken, Guard>, LedgerError> {
        self.write("accept a message", |tx| {
            let at = self.now();
            if let Err(guard) = rates::check(tx, limits, &new.sender, &new.target.key, at)? {
                return Ok(Err(guard));
            }
            insert(tx, new, at)?;
            let evidence = Evidence {
                kind: "ledger_row".into(),
                path: Some(self.path.display().to_string()),
                row: Some(tx.last_insert_rowid()),
                ..Evidence::default()
            };
            let line = stages::begin(tx, at, new.id, evidence.clone())?;
            if new.target.key.provider == AXIOWL_PROVIDER {
                // The inbox is a part of the ledger, so its door is this very row.
                stages::step(tx, at, new.id, new.run_id, Step::submitted(evidence))?;
            }
            let answered = match new.reply_to {
                Some(original) => Some(settle_answered(tx, at, original, new)?),
                None => None,
            };
            // In the same write, so that no worker ever finds it waiting.
            let kept = match &new.kept {
                Some(reason) => stages::step(tx, at, new.id, new.run_id, Step::refused(reason))?,
                None => None,
            };
            Ok(Ok(Taken {
                line,
                kept,
                answered,
            }))
        })
    }
}

fn settle_answered(
    tx: &Transaction<'_>,
    at: Timestamp,
    original: MessageId,
    new: &NewMessage,
) -> Result<Result<StageLine, String>, Trouble> {
    let original = message::get(tx, original)?;
    if let Err(reason) = reply::settles(&original, &new.sender) {
        return Ok(Err(reason));
    }
    match stages::step(tx, at, original.id, new.run_id, Step::replied(new.id)) {
        Ok(Some(line)) => Ok(Ok(line)),
        Ok(None) => Ok(Err("it was answered before".into())),
        Err(Trouble::Known(error @ LedgerError::IllegalMove { .. })) => Ok(Err(error.to_string())),
        Err(trouble) => Err(trouble),
    }
}

fn insert(tx: &Transaction<'_>, new: &NewMessage, at: Timestamp) -> Result<(), Trouble> {
    let key = new.sender.key.as_ref();
    tx.execute(
        "INSERT INTO messages (id, run_id, created_at, sender_kind, sender_name,
             sender_provider, sender_node, sender_session, sender_reason, provider, node,
             session, display_name, cwd, home, body, visible_body, reply_to, hop_chain,
             also_matching, stage, route, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
             ?18, ?19, ?20, ?21, ?22, ?23)",
        rusqlite::params![
            new.id.to_string(),
            new.run_id.to_string(),
            at.as_millis(),
            new.sender.kind.as_str(),
            new.sender.name,
            new.sender.provider(),
            key.map_or(LOCAL_NODE, |key| &key.node),
            key.map_or("", |key| &key.session),
            new.sender.reason,
            new.target.key.provider,
            new.target.key.node,
            new.target.key.session,
            new.target.display_name,
            new.target.cwd,
            new.target.home,
            new.body,
            new.visible_body,
            new.reply_to.map(|id| id.to_string()),
            to_json(&new.hops)?,
            to_json(&new.also_matching)?,
            Stage::Accepted.as_str(),
            "",
            after(at, new.expires_in).as_millis(),
        ],
    )?;
    Ok(())
}

pub(super) fn to_json(value: &impl Serialize) -> Result<String, Trouble> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()).into())
}
