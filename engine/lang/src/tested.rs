//! The versions of a provider's program that a rule was tested with. It knows ranges, not how a
//! version is found or compared.

use crate::at::At;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The versions a rule was tested with. Give `from` and `to`, or `ranges`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tested {
    /// Name of the program.
    pub program: String,
    /// The field of a row that holds the version that wrote it.
    pub field: Option<At<String>>,
    /// Oldest tested version.
    pub from: Option<At<String>>,
    /// Newest tested version.
    pub to: Option<At<String>>,
    /// Several ranges; what lies between them is untested.
    #[serde(default)]
    pub ranges: Vec<At<VersionRange>>,
    /// What becomes of rows outside the ranges.
    #[serde(default)]
    pub outside: Outside,
}

/// A range of versions, inclusive.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionRange {
    /// Oldest.
    pub from: At<String>,
    /// Newest.
    pub to: At<String>,
}

impl Tested {
    /// The ranges: oldest and newest version of each, inclusive.
    pub fn covered(&self) -> Vec<(&str, &str)> {
        let single = self.from.as_deref().zip(self.to.as_deref());
        let single = single.map(|(from, to)| (from.as_str(), to.as_str()));
        let many = self.ranges.iter();
        single
            .into_iter()
            .chain(many.map(|range| (range.from.as_str(), range.to.as_str())))
            .collect()
    }

    /// The ranges in words: `1.0.0 to 1.19.5 and 2.2.0 to 2.2.5`.
    pub fn shown(&self) -> String {
        let ranges = self.covered();
        let words: Vec<String> = ranges
            .iter()
            .map(|(from, to)| format!("{from} to {to}"))
            .collect();
        words.join(" and ")
    }
}

/// What becomes of rows written by an untested version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outside {
    /// They come, and the run says `unverified_version`.
    #[default]
    Mark,
    /// Their metadata is kept and they are not sendable.
    Partial,
}
