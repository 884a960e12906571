//! Protobuf messages without a schema: fields by their numbers.

use super::{Converts, default_document, default_files, default_rows};
use crate::at::At;
use crate::scalar::{ByteSize, OneOrMany, ProtoPath};
use crate::template::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Field → path of numbers (`"2.1"`, `"2.3.1 as unix_s"`); the first that gives a value.
pub type ProtoFields = BTreeMap<String, OneOrMany<At<ProtoPath>>>;

/// Protobuf files: one row a file, or one a repeated message.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Protobuf {
    /// File patterns below a root.
    pub path: OneOrMany<At<Template>>,
    /// Fields of the whole message.
    #[serde(default)]
    pub fields: ProtoFields,
    /// Repeated messages that become rows of their own (they keep the file's fields).
    pub each: Option<ProtoEach>,
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

/// A message in a cell.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Fields of the whole message.
    #[serde(default)]
    pub fields: ProtoFields,
    /// Repeated messages that become rows of their own.
    pub each: Option<ProtoEach>,
}

/// A repeated message whose occurrences become rows.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProtoEach {
    /// Path of the repeated message.
    pub at: At<ProtoPath>,
    /// Field to path within each.
    pub fields: ProtoFields,
}
