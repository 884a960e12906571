//! SQLite databases: statements, columns, named keys, columns of protobuf.

use super::document::Each;
use super::proto::ProtoFields;
use super::{Converts, default_rows};
use crate::at::At;
use crate::scalar::{ColumnType, OneOrMany, Pointer};
use crate::template::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A SQLite database. Give either `sql` with `columns`, or `key_value`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sqlite {
    /// File patterns below a root.
    pub path: OneOrMany<At<Template>>,
    /// Which of several files.
    #[serde(default)]
    pub pick: Pick,
    /// Among files that `pick` leaves equal: the one whose newest value of this column is newest.
    pub tie: Option<String>,
    /// One SELECT. Columns are looked up by name, so `SELECT *` survives new columns.
    pub sql: Option<At<String>>,
    /// Tables (`session`) or columns (`session.title`) that all have to exist for `sql` to be
    /// run; a database without them gives no rows, which is no issue.
    pub when_table: Option<OneOrMany<At<String>>>,
    /// Statements for other generations of the store, tried in order when `when_table` of
    /// `sql` does not hold; the first that fits is run.
    #[serde(default)]
    pub instead: Vec<At<Statement>>,
    /// Expected columns; `?` after the type tolerates absence.
    #[serde(default)]
    pub columns: BTreeMap<String, At<ColumnType>>,
    /// A JSON column whose elements become rows.
    pub each: Option<Each>,
    /// Columns that hold a protobuf message: column to the fields taken from it.
    #[serde(default)]
    pub protobuf: BTreeMap<String, ProtoColumn>,
    /// Rows are read from the values of named keys.
    pub key_value: Option<KeyValue>,
    /// Whether rows also have the fields of their file: path, stem, folder, size, mtime.
    /// Always so with `key_value`.
    #[serde(default)]
    pub file_fields: bool,
    /// A private copy always, never a connection to the provider's file.
    #[serde(default)]
    pub mirror: Mirror,
    /// Rows read at most.
    #[serde(default = "default_rows")]
    pub max_rows: usize,
    /// Files read at most, those changed last.
    #[serde(default = "super::default_files")]
    pub max_files: usize,
    /// How fields are turned into what rules compare.
    #[serde(default)]
    pub convert: Converts,
}

/// A statement for a database that has certain tables or columns.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Tables (`session`) or columns (`session.title`) that all have to exist.
    pub when_table: OneOrMany<At<String>>,
    /// One SELECT.
    pub sql: At<String>,
}

/// A column that holds a protobuf message.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProtoColumn {
    /// How the bytes are written in the cell.
    #[serde(default)]
    pub encoding: Encoding,
    /// Field to path within the message.
    pub fields: ProtoFields,
}

/// A table of keys and values, as editors keep their state in.
///
/// With `keys`, one row a database: the value of the first key that is there. With `prefix`,
/// one row a key, which stands without the prefix in the field `key`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyValue {
    /// The table.
    #[serde(default = "item_table")]
    pub table: At<String>,
    /// Its column of keys.
    #[serde(default = "key_column")]
    pub key: At<String>,
    /// Its column of values.
    #[serde(default = "value_column")]
    pub value: At<String>,
    /// The keys; the first that is there counts.
    #[serde(default)]
    pub keys: Vec<At<String>>,
    /// Every key that starts with this.
    pub prefix: Option<At<String>>,
    /// How a value is written.
    #[serde(default)]
    pub encoding: Encoding,
    /// Field to pointer into the value as JSON.
    #[serde(default)]
    pub fields: BTreeMap<String, OneOrMany<At<Pointer>>>,
    /// Elements of the value that become rows of their own.
    pub each: Option<Each>,
    /// The value is a protobuf message, not JSON.
    pub protobuf: Option<super::proto::Message>,
}

/// How bytes are written in a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// As they are; UTF-16 text is recognised.
    #[default]
    Plain,
    /// Hexadecimal digits.
    Hex,
    /// Base64, in either alphabet, padded or not.
    Base64,
}

/// Which of several matching files is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// Every one.
    #[default]
    All,
    /// The one with the highest number in its name.
    HighestNumber,
    /// The one changed last.
    Newest,
}

/// How a database may be opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mirror {
    /// At rest read in place as immutable; live through a private copy.
    #[default]
    Auto,
    /// A private copy always. One too large for a copy is not read, unless the user's
    /// `limits.live_store` allows its size.
    Only,
}

impl Sqlite {
    /// The statements, in the order they are tried; tables and columns that each needs.
    pub fn statements(&self) -> impl Iterator<Item = (&[At<String>], &At<String>)> {
        let needs = self.when_table.as_deref().unwrap_or_default();
        let first = self.sql.iter().map(move |sql| (needs, sql));
        let others = self.instead.iter();
        first.chain(others.map(|other| (&*other.when_table, &other.sql)))
    }

    /// Whether rows have the fields of their file.
    pub fn has_file_fields(&self) -> bool {
        self.file_fields || self.key_value.is_some()
    }
}

fn item_table() -> At<String> {
    At::unplaced("ItemTable".into())
}
fn key_column() -> At<String> {
    At::unplaced("key".into())
}
fn value_column() -> At<String> {
    At::unplaced("value".into())
}
