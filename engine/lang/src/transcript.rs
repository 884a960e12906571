//! `transcript:`, the part of a rule that says where a target's messages stand.

use crate::at::At;
use crate::cond::Cond;
use crate::scalar::{ColumnType, OneOrMany, Pointer};
use crate::source::Mirror;
use crate::template::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where messages stand in the target's own store: in a file of JSON Lines (`file`), or in a
/// database (`sqlite`).
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// The JSON Lines file, from a row's fields.
    pub file: Option<At<Template>>,
    /// Suffixes tried when the path itself does not exist.
    #[serde(default)]
    pub also: Vec<String>,
    /// The database.
    pub sqlite: Option<SqliteTranscript>,
    /// Records that are messages. In a database, records of one id that follow each other are
    /// one message.
    pub message: Vec<At<TranscriptRecord>>,
    /// Records that end a turn well.
    #[serde(default)]
    pub done: Vec<At<TranscriptRecord>>,
    /// Records that end a turn badly.
    #[serde(default)]
    pub failed: Vec<At<TranscriptRecord>>,
    /// Records that take back what was said.
    #[serde(default)]
    pub undo: Vec<At<UndoRecord>>,
}

impl Transcript {
    /// The file or database the messages stand in.
    pub fn path(&self) -> Option<&At<Template>> {
        let database = self.sqlite.as_ref().map(|sqlite| &sqlite.path);
        self.file.as_ref().or(database)
    }
}

/// Messages in a database: the rows of a SELECT are the records, their columns what pointers
/// reach (`/text`).
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqliteTranscript {
    /// The database, from a row's fields.
    pub path: At<Template>,
    /// What `?1` stands for in the statements, from a row's fields.
    pub session: At<Template>,
    /// A private copy always, never a connection to the provider's file.
    #[serde(default)]
    pub mirror: Mirror,
    /// The first that fits is run. Where none fits, only the session's metadata is understood.
    pub select: Vec<At<TranscriptSelect>>,
    /// Columns of every statement. A number called `row` is shown as the place of a record.
    pub columns: BTreeMap<String, At<ColumnType>>,
    /// Rows read at most; a session with more is understood in part.
    #[serde(default = "most_rows")]
    pub max_rows: usize,
}

/// A statement that gives the records of one session, in the order in which they were said.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranscriptSelect {
    /// Only for sessions where this holds.
    pub when: Option<Cond>,
    /// Only for databases with these tables (`part`) or columns (`part.data`).
    pub when_table: Option<OneOrMany<At<String>>>,
    /// One SELECT; `?1` is the session.
    pub sql: At<String>,
}

/// A record that takes back a prompt and everything after it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoRecord {
    /// What it must be, by JSON Pointer.
    #[serde(rename = "where")]
    pub filter: Option<Cond>,
    /// The number of the first prompt that is taken back.
    pub prompt: OneOrMany<At<Pointer>>,
}

/// A record of a transcript.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranscriptRecord {
    /// What it must be, by JSON Pointer.
    #[serde(rename = "where")]
    pub filter: Option<Cond>,
    /// Who speaks, `user` or `assistant`. What an assistant says is never taken for a message
    /// of ours.
    pub role: Option<String>,
    /// Its text: the first pointer that gives one; `*` joins several by line breaks.
    #[serde(default)]
    pub text: OneOrMany<At<Pointer>>,
    /// The id the provider keeps for it, ours where the provider takes one.
    #[serde(default)]
    pub id: OneOrMany<At<Pointer>>,
    /// The turn it belongs to; a `done` record counts only for the message's own turn.
    #[serde(default)]
    pub turn: OneOrMany<At<Pointer>>,
    /// The number of the prompt, counted from 0; a lower one than before takes back what
    /// followed it.
    #[serde(default)]
    pub prompt: OneOrMany<At<Pointer>>,
}

fn most_rows() -> usize {
    100_000
}
