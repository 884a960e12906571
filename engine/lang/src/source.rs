//! Where rows come from: one reader a source, each bounded.

use crate::at::At;
use crate::cond::Cond;
use crate::scalar::{ByteSize, ColumnType, OneOrMany, Pattern, Pointer};
use crate::template::Template;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Exactly one reader, named by its key.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A SQLite database, read through a private copy or at rest.
    Sqlite(Sqlite),
    /// JSON Lines: bounded head and tail, probes before parsing.
    Jsonl(Jsonl),
    /// JSON documents.
    Json(Document),
    /// YAML documents.
    Yaml(Document),
    /// One row a folder, with files in it as fields.
    Folder(Folder),
}

/// Fields that every row read from a file has, beside those the rule takes.
///
/// `path` as recorded by the examined world, `stem` (file name without its last
/// extension), `folder` (name of the folder it lies in), `above` (name of the folder that one
/// lies in), `size` in bytes, `mtime` in milliseconds since the epoch.
pub const FILE_FIELDS: [&str; 6] = ["path", "stem", "folder", "above", "size", "mtime"];

/// The field that elements of a mapping have beside those the rule takes: the key they
/// stand under (absent for elements of a list).
pub const KEY_FIELD: &str = "key";

impl Source {
    /// The word that selects the reader.
    pub fn reader(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            Self::Jsonl(_) => "jsonl",
            Self::Json(_) => "json",
            Self::Yaml(_) => "yaml",
            Self::Folder(_) => "folder",
        }
    }

    /// Where it looks.
    pub fn paths(&self) -> &[At<Template>] {
        match self {
            Self::Sqlite(s) => &s.path,
            Self::Jsonl(s) => &s.path,
            Self::Json(s) | Self::Yaml(s) => &s.path,
            Self::Folder(s) => &s.path,
        }
    }

    /// The list in it whose elements become rows.
    pub fn each(&self) -> Option<&Each> {
        match self {
            Self::Sqlite(s) => s.each.as_ref(),
            Self::Json(s) | Self::Yaml(s) => s.each.as_ref(),
            Self::Jsonl(_) | Self::Folder(_) => None,
        }
    }

    /// The fields its rows have.
    pub fn fields(&self) -> Vec<&str> {
        let mut out: Vec<&str> = match self {
            Self::Sqlite(s) => match &s.each {
                Some(each) => each
                    .fields
                    .keys()
                    .chain(s.columns.keys())
                    .map(String::as_str)
                    .collect(),
                None => s.columns.keys().map(String::as_str).collect(),
            },
            Self::Jsonl(s) => s
                .take
                .iter()
                .flat_map(|t| t.fields.keys())
                .map(String::as_str)
                .collect(),
            Self::Json(s) | Self::Yaml(s) => {
                let each = s.each.iter().flat_map(|e| e.fields.keys());
                s.fields.keys().chain(each).map(String::as_str).collect()
            }
            Self::Folder(s) => s.fields.keys().map(String::as_str).collect(),
        };
        if let Self::Jsonl(Jsonl {
            name: Some(pattern),
            ..
        }) = self
        {
            out.extend(pattern.0.capture_names().flatten());
        }
        if !matches!(self, Self::Sqlite(_)) {
            out.extend(FILE_FIELDS);
        }
        if self.each().is_some() {
            out.push(KEY_FIELD);
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// Which of several matching files is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
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

/// A SQLite database.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
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
    pub sql: At<String>,
    /// Expected columns; `?` after the type tolerates absence.
    pub columns: BTreeMap<String, At<ColumnType>>,
    /// A JSON column whose elements become rows.
    pub each: Option<Each>,
    /// A private copy always, never a connection to the provider's file.
    #[serde(default)]
    pub mirror: Mirror,
    /// Rows read at most.
    #[serde(default = "default_rows")]
    pub max_rows: usize,
}

/// How a database may be opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mirror {
    /// At rest read in place as immutable; live through a private copy.
    #[default]
    Auto,
    /// A private copy always.
    Only,
}

/// Elements of a list (or values of a mapping) become rows.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Each {
    /// The JSON column (SQLite sources only).
    pub column: Option<String>,
    /// Where the list stands; the first that exists.
    pub at: OneOrMany<At<Pointer>>,
    /// Field → pointer within an element. `key` is the mapping's key where it is a mapping.
    pub fields: BTreeMap<String, OneOrMany<At<Pointer>>>,
}

/// JSON Lines.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
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
    /// What is taken from the lines.
    pub take: Vec<At<Take>>,
    /// `per: line` only: of the rows with equal values of this field, the last one stays.
    pub last_by: Option<At<String>>,
    /// Files read at most.
    #[serde(default = "default_files")]
    pub max_files: usize,
}

/// One row a file, or one a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// All takes of a file fill one row.
    #[default]
    File,
    /// Each line that a take fits is a row.
    Line,
}

/// What follows when head and tail gave no strong name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// Nothing.
    #[default]
    Stop,
    /// The middle is scanned.
    Whole,
}

/// Fields taken from lines that fit.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The first in the file.
    First,
    /// The last in the file.
    #[default]
    Last,
}

/// JSON or YAML documents.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// File patterns below a root.
    pub path: OneOrMany<At<Template>>,
    /// A bigger file is refused, never cut.
    #[serde(default = "default_document")]
    pub max_bytes: ByteSize,
    /// Field → pointer (the first that gives a value; `*` gives a list).
    #[serde(default)]
    pub fields: BTreeMap<String, OneOrMany<At<Pointer>>>,
    /// Elements that become rows of their own (they keep the document's fields).
    pub each: Option<Each>,
    /// Files read at most.
    #[serde(default = "default_files")]
    pub max_files: usize,
}

/// One row a folder.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Folder {
    /// Folder patterns below a root.
    pub path: OneOrMany<At<Template>>,
    /// A file that must be in the folder, else it gives no row.
    pub needs: Option<String>,
    /// Field → what to read from a file of the folder.
    pub fields: BTreeMap<String, At<FolderField>>,
    /// A bigger file is refused, never cut.
    #[serde(default = "default_document")]
    pub max_bytes: ByteSize,
    /// Folders read at most.
    #[serde(default = "default_files")]
    pub max_files: usize,
}

/// A field read from a file of the folder. Give at most one of `json`, `yaml`, `matches`,
/// `what`; without any, the field says whether the file exists.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderField {
    /// File name within the folder; `*` for `what: count` and `what: newest`.
    pub file: String,
    /// A pointer into it as JSON.
    pub json: Option<OneOrMany<At<Pointer>>>,
    /// A pointer into it as YAML.
    pub yaml: Option<OneOrMany<At<Pointer>>>,
    /// A pattern; its first group (or whole match) is the value.
    pub matches: Option<At<Pattern>>,
    /// A fact about the file itself.
    pub what: Option<FileFact>,
}

/// A fact about a file or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileFact {
    /// It exists.
    Exists,
    /// How many fit the name.
    Count,
    /// When the newest one that fits was changed.
    Newest,
    /// Its size in bytes.
    Size,
}

fn default_rows() -> usize {
    100_000
}
fn default_files() -> usize {
    100_000
}
fn default_head() -> ByteSize {
    ByteSize(64 << 10)
}
fn no_bytes() -> ByteSize {
    ByteSize(0)
}
fn default_document() -> ByteSize {
    ByteSize(16 << 20)
}
