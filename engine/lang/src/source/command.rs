//! What a provider's own program prints.

use super::Converts;
use super::document::Each;
use crate::at::At;
use crate::scalar::{ByteSize, OneOrMany, Pointer, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The JSON that a program prints. It runs only where the user allows commands in discovery;
/// otherwise the source has no rows and says so. In a fixture its recorded output is read.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The program and its arguments; no shell sees them.
    pub argv: Vec<At<String>>,
    /// That running it changes nothing has been shown.
    pub readonly: Readonly,
    /// Where that was shown, and why files do not do.
    pub reason: At<String>,
    /// How long it may take.
    #[serde(default = "default_deadline")]
    pub deadline: Span,
    /// Output of more bytes is refused, never cut.
    #[serde(default = "default_output")]
    pub max_bytes: ByteSize,
    /// Field → pointer into the output.
    #[serde(default)]
    pub fields: BTreeMap<String, OneOrMany<At<Pointer>>>,
    /// Elements that become rows.
    pub each: Option<Each>,
    /// How fields are turned into what rules compare.
    #[serde(default)]
    pub convert: Converts,
}

/// Whether running a program changes anything of its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Readonly {
    /// It was shown not to; `reason` says where.
    Proven,
}

fn default_deadline() -> Span {
    Span(10_000)
}
fn default_output() -> ByteSize {
    ByteSize(4 << 20)
}
