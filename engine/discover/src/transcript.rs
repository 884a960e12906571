//! A session's transcript, by the rule's description of it: where a message of ours stands, how
//! its turn ended, and what was said.
//!
//! A reader remembers how far it got: asking again reads only what was added since.

mod lines;
pub(crate) mod record;
mod table;

use crate::condition::{blank, text, value};
use crate::run::Found;
use crate::said::Conversation;
use axiowl_lang::load::LoadedRule;
use axiowl_lang::template::Template;
use axiowl_model::Status;
use axiowl_sources::{Row, World};
use lines::Lines;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use table::Table;

/// A record of a transcript, by its place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The file as the examined world calls it.
    pub path: String,
    /// Byte offset of the record's line (in the decompressed stream of a compressed file).
    pub offset: Option<u64>,
    /// Row of the record, where it stands in a database.
    pub row: Option<i64>,
    /// What the provider calls the record, where it says.
    pub id: String,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnded {
    /// Well, or not.
    pub completed: bool,
    /// The record that says so.
    pub place: Place,
}

/// What stands there about a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// The record that holds the message.
    pub message: Option<Place>,
    /// The end of the turn that read it.
    pub end: Option<TurnEnded>,
}

/// Why there is nothing to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTranscript {
    /// The rule says nothing about transcripts.
    #[error("its rule describes no transcript")]
    Undescribed,
    /// A field that names its place is missing, or leads out of the examined world.
    #[error("its row does not say where the transcript stands")]
    Nowhere,
    /// Only the session's metadata is understood.
    #[error("only its metadata is understood: {0}")]
    MetadataOnly(String),
}

/// Reads one session's transcript.
pub struct TranscriptReader<'a> {
    kind: Kind<'a>,
}

enum Kind<'a> {
    Lines(Box<Lines<'a>>),
    Table(Box<Table<'a>>),
}

impl<'a> TranscriptReader<'a> {
    /// The reader for a session. A database of more than `most` bytes is not copied, and so
    /// not read.
    ///
    /// # Errors
    /// [`NoTranscript`] says why there is nothing to read.
    pub fn of(
        loaded: &'a LoadedRule,
        world: &World,
        found: &Found,
        most: u64,
    ) -> Result<Self, NoTranscript> {
        let transcript = loaded.rule.transcript.as_ref();
        let description = &transcript.ok_or(NoTranscript::Undescribed)?.value;
        if found.agent.status == Status::Partial {
            return Err(NoTranscript::MetadataOnly(found.agent.reason.clone()));
        }
        let (row, roots) = (&found.row, &found.roots);
        let filled = |template| fill(template, world, row, roots).ok_or(NoTranscript::Nowhere);
        let shown = filled(description.path().ok_or(NoTranscript::Undescribed)?)?;
        let kind = match &description.sqlite {
            None => {
                let lines = Lines::new(description, world, shown);
                Kind::Lines(Box::new(lines.ok_or(NoTranscript::Nowhere)?))
            }
            Some(sqlite) => {
                let session = filled(&sqlite.session)?;
                let table = Table::new(description, sqlite, world, found, shown, session, most);
                let unmeant = || NoTranscript::MetadataOnly("its state allows no more".into());
                Kind::Table(Box::new(table.ok_or_else(unmeant)?))
            }
        };
        Ok(Self { kind })
    }

    /// The file it reads, as the examined world calls it.
    pub fn path(&self) -> &str {
        match &self.kind {
            Kind::Lines(lines) => lines.path(),
            Kind::Table(table) => table.path(),
        }
    }

    /// Looks for a message by our id. Reads only what it has not read yet.
    ///
    /// # Errors
    /// When the transcript cannot be read: then nothing is known.
    pub fn look(&mut self, message_id: &str) -> io::Result<Look> {
        match &mut self.kind {
            Kind::Lines(lines) => lines.look(message_id),
            Kind::Table(table) => table.look(message_id),
        }
    }

    /// What was said, by whom; nothing but what the rule calls a message. Of the transcript at
    /// most `budget` bytes are read.
    ///
    /// # Errors
    /// When the transcript cannot be read.
    pub fn conversation(&self, budget: u64) -> io::Result<Conversation> {
        match &self.kind {
            Kind::Lines(lines) => lines.conversation(budget),
            Kind::Table(table) => table.conversation(budget),
        }
    }
}

/// A template over a row, the roots and the environment.
fn fill(
    template: &Template,
    world: &World,
    row: &Row,
    roots: &BTreeMap<String, String>,
) -> Option<String> {
    template.fill(
        |name| {
            let field = value(row, name);
            if blank(field) {
                return roots.get(name).map(|root| Cow::Borrowed(root.as_str()));
            }
            text(field)
        },
        |name| world.env(name).map(Cow::Borrowed),
    )
}
