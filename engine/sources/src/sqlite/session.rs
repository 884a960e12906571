//! Records of one session, by the statement that a rule's transcript has for it.
//!
//! Read like every other database: from a private copy, within limits, and never in a way
//! that its owner could notice. It must not know what a record means.

use super::TEXT_BYTES;
use super::access::{Copies, Ways, build, with_database};
use super::rows::is_there;
use crate::document::bytes;
use crate::file::{DATABASE_TEXT, Hit};
use crate::report::Report;
use crate::{Cancel, Row, World, column};
use axiowl_lang::rule::{SqliteTranscript, TranscriptSelect};
use rusqlite::Connection;
use serde_json::Value;
use std::io;
use std::path::PathBuf;

/// Bytes of one session's records that are kept; beyond them it is understood in part.
const BYTES: usize = 64 << 20;

/// Reads sessions of databases. Keeps the copies it made: a store is copied again only when
/// it was written to, and of a log that only grew, the log alone.
pub struct SessionReader {
    most: u64,
    copies: Copies,
    cancel: Cancel,
}

/// The records of a session.
#[derive(Debug, Default)]
pub struct Records {
    /// In the order of the statement: column to value.
    pub rows: Vec<Row>,
    /// A limit was reached; there are more.
    pub cut: bool,
}

impl SessionReader {
    /// A reader that copies stores of at most so many bytes.
    pub fn new(most: u64) -> Self {
        Self {
            most,
            copies: Copies::default(),
            cancel: Cancel::default(),
        }
    }

    /// The same, ended by a token.
    pub fn ended_by(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// The records of one session by the first of `statements` whose tables exist; none when
    /// there is no such statement.
    ///
    /// # Errors
    /// When the database is not there, busy, too large, damaged, or the statement fails.
    pub fn read(
        &self,
        world: &World,
        recorded: &str,
        rule: &SqliteTranscript,
        statements: &[&TranscriptSelect],
        session: &str,
    ) -> io::Result<Option<Records>> {
        let mut report = Report::default();
        let query = Query {
            rule,
            statements,
            session,
        };
        let answer = match self.open(world, recorded)? {
            Store::File(hit) => {
                let ways = Ways {
                    mirror: rule.mirror,
                    most: self.most,
                    copies: &self.copies,
                    cancel: &self.cancel,
                };
                with_database(&hit, ways, &mut report, &mut |connection| {
                    query.run(connection)
                })
            }
            Store::Text(hit) => match bytes(&hit, TEXT_BYTES, &mut report) {
                Some((text, _)) => build(&String::from_utf8_lossy(&text), &self.cancel)
                    .and_then(|connection| query.run(&connection))
                    .map_err(io::Error::other)
                    .map(Some)?,
                None => None,
            },
        };
        answer.ok_or_else(|| {
            let issues = report.into_issues("transcript");
            let why = issues.first().map(|issue| issue.message.clone());
            io::Error::other(why.unwrap_or_else(|| "it cannot be read".into()))
        })
    }

    fn open(&self, world: &World, recorded: &str) -> io::Result<Store> {
        let real = world.real_path(recorded).ok_or(io::ErrorKind::NotFound)?;
        let hit = |real: PathBuf| -> io::Result<Hit> {
            let metadata = real.metadata()?;
            Ok(Hit::new(world, real, recorded.to_owned(), &metadata, 0))
        };
        if world.is_fixture() && !real.exists() {
            let mut text = real.into_os_string();
            text.push(DATABASE_TEXT);
            return Ok(Store::Text(hit(PathBuf::from(text))?));
        }
        Ok(Store::File(hit(real)?))
    }
}

/// A database, or the text a fixture keeps of one.
enum Store {
    File(Hit),
    Text(Hit),
}

struct Query<'a> {
    rule: &'a SqliteTranscript,
    statements: &'a [&'a TranscriptSelect],
    session: &'a str,
}

impl Query<'_> {
    fn run(&self, connection: &Connection) -> rusqlite::Result<Option<Records>> {
        for statement in self.statements {
            let mut all = true;
            for need in statement.when_table.iter().flat_map(|needs| needs.iter()) {
                all &= is_there(connection, need)?;
            }
            if all {
                return self.records(connection, statement).map(Some);
            }
        }
        Ok(None)
    }

    fn records(
        &self,
        connection: &Connection,
        select: &TranscriptSelect,
    ) -> rusqlite::Result<Records> {
        let mut statement = connection.prepare(&select.sql)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut out = Records::default();
        let mut bytes = 0;
        let mut rows = statement.query([self.session])?;
        while let Some(row) = rows.next()? {
            if out.rows.len() >= self.rule.max_rows || bytes > BYTES {
                out.cut = true;
                break;
            }
            let mut record = Row::new();
            for (name, wanted) in &self.rule.columns {
                let at = names.iter().position(|n| n.eq_ignore_ascii_case(name));
                let value = match at {
                    Some(at) => {
                        let read = column::read(row.get_ref(at)?, wanted.kind);
                        out.cut |= read.loss.is_some();
                        read.value
                    }
                    None => Value::Null,
                };
                bytes += value.as_str().map_or(8, str::len);
                record.insert(name.into(), value);
            }
            out.rows.push(record);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
