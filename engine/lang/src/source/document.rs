//! Documents that are read whole: JSON, YAML, TOML, protobuf's text format, plain text, tables.

use super::{Converts, default_document, default_files, default_rows};
use crate::at::At;
use crate::scalar::{ByteSize, ColumnType, OneOrMany, Pattern, Pointer, TextPath};
use crate::template::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// JSON, YAML or TOML documents.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
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
    /// `json` only: `//` and `/* */` comments and commas before a closing bracket are read over.
    #[serde(default)]
    pub comments: bool,
    /// A document with none of the fields is understood: settings that leave all of them at
    /// their defaults.
    #[serde(default)]
    pub sparse: bool,
    /// Files read at most.
    #[serde(default = "default_files")]
    pub max_files: usize,
    /// How fields are turned into what rules compare.
    #[serde(default)]
    pub convert: Converts,
}

/// Elements of a list (or values of a mapping) become rows.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Each {
    /// The JSON column (SQLite sources only).
    pub column: Option<String>,
    /// Where the list stands; the first that exists.
    pub at: OneOrMany<At<Pointer>>,
    /// Field → pointer within an element. `key` is the mapping's key where it is a mapping.
    pub fields: BTreeMap<String, OneOrMany<At<Pointer>>>,
}

/// Plain text. Named groups of the patterns are the fields.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// File patterns below a root.
    pub path: OneOrMany<At<Template>>,
    /// Regular expressions with named groups.
    pub pattern: OneOrMany<At<Pattern>>,
    /// What a row is.
    #[serde(default)]
    pub per: TextRow,
    /// Bytes read from the start of a file.
    #[serde(default = "default_text")]
    pub head: ByteSize,
    /// Rows read at most, in all files.
    #[serde(default = "default_rows")]
    pub max_rows: usize,
    /// Files read at most, those changed last.
    #[serde(default = "default_files")]
    pub max_files: usize,
    /// How fields are turned into what rules compare.
    #[serde(default)]
    pub convert: Converts,
}

/// What a row of a text source is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextRow {
    /// A file; each pattern's first match fills its groups.
    #[default]
    File,
    /// A line that a pattern fits; the first pattern that fits counts.
    Line,
    /// A match, anywhere in the file.
    Match,
}

/// Protobuf's text format, one row a file. JSON-like spellings of it are understood too: quoted
/// names, commas, an outer pair of braces.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PbText {
    /// File patterns below a root.
    pub path: OneOrMany<At<Template>>,
    /// Field → path of names (`title`, `last_view.seconds as unix_s`); the first that gives a value.
    pub fields: BTreeMap<String, OneOrMany<At<TextPath>>>,
    /// A bigger file is skipped, never cut.
    #[serde(default = "default_text")]
    pub max_bytes: ByteSize,
    /// Files read at most, those changed last.
    #[serde(default = "default_files")]
    pub max_files: usize,
    /// How fields are turned into what rules compare.
    #[serde(default)]
    pub convert: Converts,
}

/// Tab-separated values under a header line, one row a line.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tsv {
    /// File patterns below a root.
    pub path: OneOrMany<At<Template>>,
    /// Expected columns, by their names in the header; `?` after the type tolerates absence.
    pub columns: BTreeMap<String, At<ColumnType>>,
    /// `\t`, `\n`, `\r` and `\\` in a cell stand for a tab, line ends and a backslash.
    #[serde(default)]
    pub escaped: bool,
    /// A bigger file is skipped, never cut.
    #[serde(default = "default_document")]
    pub max_bytes: ByteSize,
    /// Rows read at most, in all files.
    #[serde(default = "default_rows")]
    pub max_rows: usize,
    /// Files read at most, those changed last.
    #[serde(default = "default_files")]
    pub max_files: usize,
    /// How fields are turned into what rules compare.
    #[serde(default)]
    pub convert: Converts,
}

fn default_text() -> ByteSize {
    ByteSize(1 << 20)
}
