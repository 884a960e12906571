//! One row a file, by its name and metadata alone.

use super::{Converts, default_files};
use crate::at::At;
use crate::scalar::{OneOrMany, Pattern};
use crate::template::Template;
use schemars::JsonSchema;
use serde::Deserialize;

/// Files that are there; none is opened. For content that nobody can read.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
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
