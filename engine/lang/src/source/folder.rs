//! One row a folder, or a file by its name alone.

use super::{Converts, default_document, default_files};
use crate::at::At;
use crate::scalar::{ByteSize, OneOrMany, Pattern, Pointer};
use crate::template::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One row a folder.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Folder {
    /// Folder patterns below a root.
    pub path: OneOrMany<At<Template>>,
    /// Files that must all be in the folder (`a/b.json` for one below it), else it gives no row.
    pub needs: Option<OneOrMany<At<String>>>,
    /// Field → what to read from a file of the folder.
    pub fields: BTreeMap<String, At<FolderField>>,
    /// A bigger file is refused, never cut.
    #[serde(default = "default_document")]
    pub max_bytes: ByteSize,
    /// Folders read at most.
    #[serde(default = "default_files")]
    pub max_files: usize,
    /// How fields are turned into what rules compare.
    #[serde(default)]
    pub convert: Converts,
}

/// One row a file, by its name, size and time alone; nothing is opened.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// File patterns below a root.
    pub path: OneOrMany<At<Template>>,
    /// A pattern the file's stem must match; its named groups become fields.
    pub name: Option<At<Pattern>>,
    /// Files listed at most, those changed last.
    #[serde(default = "default_files")]
    pub max_files: usize,
    /// How fields are turned into what rules compare.
    #[serde(default)]
    pub convert: Converts,
}

/// A field read from a file of the folder. Give at most one of `json`, `yaml`, `toml`,
/// `first_line`, `last_line`, `matches`, `what`; without any, the field says whether the file
/// exists.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderField {
    /// File name within the folder; `*` for `what: count` and `what: newest`.
    pub file: String,
    /// A pointer into it as JSON.
    pub json: Option<OneOrMany<At<Pointer>>>,
    /// A pointer into it as YAML.
    pub yaml: Option<OneOrMany<At<Pointer>>>,
    /// A pointer into it as TOML.
    pub toml: Option<OneOrMany<At<Pointer>>>,
    /// A pointer into its first line as JSON; of the file at most 1 MiB is read.
    pub first_line: Option<OneOrMany<At<Pointer>>>,
    /// A pointer into its last whole line as JSON; of the file at most the last 1 MiB is read.
    pub last_line: Option<OneOrMany<At<Pointer>>>,
    /// `json` only: `//` and `/* */` comments and commas before a closing bracket are read over.
    #[serde(default)]
    pub comments: bool,
    /// A pattern; its first group (or whole match) is the value.
    pub matches: Option<At<Pattern>>,
    /// A fact about the file itself.
    pub what: Option<FileFact>,
}

/// A fact about a file or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
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
