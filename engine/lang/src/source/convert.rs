//! Turning a field into what rules compare.

use crate::at::At;
use crate::scalar::OneOrMany;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Field → conversions, one after the other. What cannot be converted is absent.
pub type Converts = BTreeMap<String, OneOrMany<At<Convert>>>;

/// A conversion of one value; of a list, each element is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Convert {
    /// A `file:` URI becomes the path it names; other URIs name no file here. A text that is
    /// no URI stays.
    FilePath,
    /// `%2F` becomes `/`, and so on.
    PercentDecode,
    /// What follows the last `/`.
    LastSegment,
    /// Base64 text, in either alphabet, becomes the UTF-8 text it stands for.
    Base64,
    /// JSON text becomes the value.
    Json,
    /// A number of seconds since the epoch becomes milliseconds.
    UnixS,
    /// RFC 3339 text becomes milliseconds since the epoch.
    Rfc3339,
}
