//! A transcript in a database: the records of one session, in the order in which they were said.
//!
//! Records can change after they were written, so every look reads the session anew, from a
//! private copy of the store.

use super::record::{ends_turn, holds_message};
use super::{Look, Place, TurnEnded};
use crate::condition::Scope;
use crate::run::Found;
use crate::said::{Conversation, Kept};
use axiowl_lang::cond::Targeted;
use axiowl_lang::rule::{SqliteTranscript, Transcript, TranscriptSelect};
use axiowl_sources::{Records, Row, SessionReader, World};
use serde_json::Value;
use std::io;

/// The column that says in which row a record stands.
const ROW: &str = "row";

/// Reads one session.
pub(super) struct Table<'a> {
    description: &'a Transcript,
    sqlite: &'a SqliteTranscript,
    world: World,
    shown: String,
    session: String,
    statements: Vec<&'a TranscriptSelect>,
    reader: SessionReader,
}

impl<'a> Table<'a> {
    /// `None` where no statement is meant for the session: only its metadata is understood.
    pub fn new(
        description: &'a Transcript,
        sqlite: &'a SqliteTranscript,
        world: &World,
        found: &Found,
        shown: String,
        session: String,
        most: u64,
    ) -> Option<Self> {
        let scope = Scope {
            row: &found.row,
            world,
            roots: &found.roots,
            session: &session,
            targeted: Targeted::None,
            words: false,
            coverage: None,
            folders: None,
            looked: Default::default(),
        };
        let meant = |select: &&TranscriptSelect| {
            let when = select.when.as_ref();
            when.is_none_or(|when| scope.eval(when).holds)
        };
        let statements: Vec<_> = sqlite
            .select
            .iter()
            .map(|select| &select.value)
            .filter(meant)
            .collect();
        (!statements.is_empty()).then(|| Self {
            description,
            sqlite,
            world: world.clone(),
            shown,
            session,
            statements,
            reader: SessionReader::new(most),
        })
    }

    pub fn path(&self) -> &str {
        &self.shown
    }

    pub fn look(&self, message_id: &str) -> io::Result<Look> {
        let records = self.records()?;
        let mut rows = records.rows.into_iter();
        let Some((place, turn)) = rows.find_map(|row| {
            let place = self.place(&row);
            let (id, turn) = holds_message(self.description, &row.into(), message_id)?;
            Some((Place { id, ..place }, turn))
        }) else {
            if records.cut {
                return Err(io::Error::other(
                    "the session is too large to be read whole",
                ));
            }
            return Ok(Look::default());
        };
        let end = rows.find_map(|row| {
            let place = self.place(&row);
            let completed = ends_turn(self.description, &row.into(), turn.as_deref())?;
            Some(TurnEnded { completed, place })
        });
        Ok(Look {
            message: Some(place),
            end,
        })
    }

    pub fn conversation(&self, budget: u64) -> io::Result<Conversation> {
        let records = self.records()?;
        let mut kept = Kept::default();
        let mut bytes = 0;
        let mut complete = !records.cut;
        for row in records.rows {
            bytes += row
                .values()
                .filter_map(Value::as_str)
                .map(str::len)
                .sum::<usize>();
            if bytes as u64 > budget {
                complete = false;
                break;
            }
            let at = || self.place(&row);
            kept.record(self.description, &row.clone().into(), at);
        }
        Ok(kept.conversation(complete).joined())
    }

    fn records(&self) -> io::Result<Records> {
        let found = self.reader.read(
            &self.world,
            &self.shown,
            self.sqlite,
            &self.statements,
            &self.session,
        )?;
        found.ok_or_else(|| io::Error::other("the database has none of the expected tables"))
    }

    fn place(&self, row: &Row) -> Place {
        Place {
            path: self.shown.clone(),
            offset: None,
            row: row.get(ROW).and_then(Value::as_i64),
            id: String::new(),
        }
    }
}
