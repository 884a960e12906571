//! What is to stand in which file.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;

/// Everything one client needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// A stable key: the name of its record.
    pub key: String,
    /// The files, in the order they are written.
    pub files: Vec<ConfigFile>,
}

/// A file and what is to stand in it.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigFile {
    /// Where it lies; a link is followed.
    pub path: PathBuf,
    /// How it is written.
    pub format: Format,
    /// What is to stand in it.
    pub entries: Vec<Entry>,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JSON to the letter.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// TOML.
    Toml,
    /// A file of our own: what it holds is ours as a whole, or somebody else's.
    Whole,
}

/// The one key of a [`Format::Whole`] file.
pub(crate) const WHOLE: &str = "whole file";

/// One thing that is to stand in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is for.
    pub part: Part,
    /// Keys from the document's root.
    pub path: Vec<String>,
    /// Whether the path names the entry or the list it is in.
    pub place: Place,
    /// The entry.
    pub value: Value,
}

/// What an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The MCP server itself.
    Server,
    /// Tells the server who is calling.
    Hook,
    /// Lets runs that can ask nobody use the server's tools.
    Approval,
    /// Lets a message into a session that somebody has open.
    Door,
    /// A word the file needs to be understood at all; whatever stands there is left.
    Frame,
    /// A switch of the client's that something of ours needs; whatever stands there is left.
    Switch,
}

impl Part {
    /// Whether whatever stands in its place is left there.
    pub(crate) fn yields(self) -> bool {
        matches!(self, Self::Frame | Self::Switch)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Server => "MCP server",
            Self::Hook => "hook",
            Self::Approval => "approval",
            Self::Door => "door",
            Self::Frame => "file version",
            Self::Switch => "switch",
        })
    }
}

/// Where an entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Under its own key.
    Key,
    /// In the list at its path.
    Element,
}

impl Entry {
    /// An entry under its own key.
    pub fn key(part: Part, path: &[&str], value: Value) -> Self {
        Self::at(part, path, Place::Key, value)
    }

    /// An element of a list.
    pub fn element(part: Part, path: &[&str], value: Value) -> Self {
        Self::at(part, path, Place::Element, value)
    }

    /// What a whole file of ours holds.
    pub fn whole(part: Part, text: impl Into<String>) -> Self {
        Self::at(part, &[WHOLE], Place::Key, Value::String(text.into()))
    }

    fn at(part: Part, path: &[&str], place: Place, value: Value) -> Self {
        Self {
            part,
            path: path.iter().map(|key| (*key).to_owned()).collect(),
            place,
            value,
        }
    }

    /// Its path for people: `hooks.BeforeTool[]`.
    pub fn shown(&self) -> String {
        let end = if self.place == Place::Element {
            "[]"
        } else {
            ""
        };
        format!("{}{end}", self.path.join("."))
    }

    /// Whether what stands under its key now still is this entry, changed: it starts the same
    /// program.
    pub(crate) fn is_kin(&self, found: &Value) -> bool {
        self.place == Place::Key
            && self.value.get("command").is_some()
            && self.value.get("command") == found.get("command")
    }
}
