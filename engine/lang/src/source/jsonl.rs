//! JSON Lines, and logs of changes to one object.

use super::{Converts, default_files, no_bytes};
use crate::at::At;
use crate::cond::Cond;
use crate::scalar::{ByteSize, OneOrMany, Pattern, Pointer};
use crate::template::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// JSON Lines.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jsonl {
    /// File patterns below a root, or `{source.field}`: then one file for each row of that
    /// source, and the row read from it inherits that row's fields for joining.
    pub path: OneOrMany<At<Template>>,
    /// Suffixes tried when the path itself does not exist (`.zst` is decompressed).
    #[serde(default)]
    pub also: Vec<String>,
    /// A pattern the file's stem must match; its named groups become fields.
    pub name: Option<At<Pattern>>,
    /// For `{source.field}` paths: only for rows where this holds. For plain paths:
    /// tested on the file fields and the named groups before the file is opened.
    pub when: Option<Cond>,
    /// Skip a file whose field equals a field of another source's rows: `{ id: threads.id }`.
    #[serde(default)]
    pub unless_in: BTreeMap<String, At<String>>,
    /// One row a file, or one a line.
    #[serde(default)]
    pub per: Per,
    /// Bytes read from the start of a file.
    #[serde(default = "default_head")]
    pub head: ByteSize,
    /// Bytes read from its end.
    #[serde(default = "no_bytes")]
    pub tail: ByteSize,
    /// `whole`: when no strong name stood in head and tail, scan the middle, up to 8 MiB in
    /// discovery and all of it in `explain` and `discover --deep`.
    #[serde(default)]
    pub then: Then,
    /// Fields that name a session although they are no strong names: `then: whole` looks no
    /// further where head or tail gives one of them.
    #[serde(default)]
    pub titled_by: Vec<At<String>>,
    /// What is taken from the lines.
    pub take: Vec<At<Take>>,
    /// The sorts of records that are known. One of another sort is a sign that the provider
    /// has changed what it writes, and is reported.
    pub records: Option<Records>,
    /// `per: line` only: of the rows with equal values of this field, the last one stays.
    pub last_by: Option<At<String>>,
    /// Files read at most.
    #[serde(default = "default_files")]
    pub max_files: usize,
    /// How fields are turned into what rules compare.
    #[serde(default)]
    pub convert: Converts,
}

/// The sorts of records of a file.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// Where a record says of what sort it is.
    pub at: At<Pointer>,
    /// The sorts that are known, whether anything is taken from them or not.
    pub known: Vec<String>,
}

/// One row a file, or one a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// All takes of a file fill one row.
    #[default]
    File,
    /// Each line that a take fits is a row.
    Line,
}

/// What follows when head and tail gave no strong name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// Nothing.
    #[default]
    Stop,
    /// The middle is scanned.
    Whole,
}

/// Fields taken from lines that fit.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Take {
    /// Bytes that stand in such a line; searched before anything is parsed.
    pub probe: Option<String>,
    /// What the parsed record must be, by JSON Pointer; file fields by their names.
    #[serde(rename = "where")]
    pub filter: Option<Cond>,
    /// Whether the first or the last fitting record counts (`per: file`).
    #[serde(default)]
    pub keep: Keep,
    /// Field → pointer (the first pointer that gives a value).
    pub fields: BTreeMap<String, OneOrMany<At<Pointer>>>,
    /// Fields taken from the start of the first line even when the window cut it.
    #[serde(default)]
    pub prefix: bool,
    /// A record that leaves this field blank does not count.
    pub skip_empty: Option<At<String>>,
    /// A record whose `skip_empty` field matches one of these does not count.
    #[serde(default)]
    pub skip_matching: Vec<At<Pattern>>,
}

/// Which of several fitting records counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The first in the file.
    First,
    /// The last in the file.
    #[default]
    Last,
}

/// A log of changes to one object (`kind` 0 replaces it, 1 sets, 2 appends to a list, 3
/// deletes), one row a file. A file that does not end in `.jsonl` is the object itself, as
/// one JSON document; beside a log of the same stem it is what the log started from, and is
/// left out.
///
/// Every row has a field `torn`: whether the end of the log (or the whole document) could not
/// be read, so that its own program would not open it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MutationLog {
    /// File patterns below a root.
    pub path: OneOrMany<At<Template>>,
    /// Field → pointer into the object; the segment `-` is the last element of a list.
    pub fields: BTreeMap<String, OneOrMany<At<Pointer>>>,
    /// A bigger file is skipped, never cut.
    #[serde(default = "default_log")]
    pub max_bytes: ByteSize,
    /// Files read at most, those changed last.
    #[serde(default = "default_files")]
    pub max_files: usize,
    /// How fields are turned into what rules compare.
    #[serde(default)]
    pub convert: Converts,
}

fn default_head() -> ByteSize {
    ByteSize(64 << 10)
}
fn default_log() -> ByteSize {
    ByteSize(64 << 20)
}
