//! Where rows come from: one reader a source, each bounded.

pub mod command;
pub mod convert;
pub mod document;
pub mod folder;
pub mod jsonl;
pub mod proto;
pub mod sqlite;

pub use command::{Command, Readonly};
pub use convert::{Convert, Converts};
pub use document::{Document, Each, PbText, Text, TextRow, Tsv};
pub use folder::{FileFact, Files, Folder, FolderField};
pub use jsonl::{Jsonl, Keep, MutationLog, Per, Records, Take, Then};
pub use proto::{Message, ProtoEach, ProtoFields, Protobuf};
pub use sqlite::{Encoding, KeyValue, Mirror, Pick, ProtoColumn, Sqlite, Statement};

use crate::at::At;
use crate::scalar::ByteSize;
use crate::template::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Exactly one reader, named by its key.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a rule has a handful of sources, and boxing each would cost readability"
)]
pub enum Source {
    /// A SQLite database, read through a private copy or at rest.
    Sqlite(Box<Sqlite>),
    /// JSON Lines: bounded head and tail, probes before parsing.
    Jsonl(Jsonl),
    /// A log of changes to one object, or that object itself.
    MutationLog(MutationLog),
    /// JSON documents.
    Json(Document),
    /// YAML documents.
    Yaml(Document),
    /// TOML documents.
    Toml(Document),
    /// Plain text by regular expressions.
    Text(Text),
    /// Protobuf's text format.
    #[serde(rename = "pbtext")]
    PbText(PbText),
    /// Protobuf messages, by field numbers.
    Protobuf(Protobuf),
    /// One row a folder, with files in it as fields.
    Folder(Folder),
    /// One row a file, of which nothing is opened.
    Files(Files),
    /// Tab-separated values under a header line.
    Tsv(Tsv),
    /// What a provider's program prints, where the user allows it to run.
    Command(Command),
}

/// Fields that every row read from a file has, beside those the rule takes.
///
/// `path` as recorded by the examined world, `stem` (file name without its last
/// extension), `folder` (name of the folder it lies in), `above` (name of the folder that one
/// lies in), `size` in bytes, `mtime` in milliseconds since the epoch. Rows of a database have
/// them with `file_fields: true` and with `key_value`; the output of a command has none.
pub const FILE_FIELDS: [&str; 6] = ["path", "stem", "folder", "above", "size", "mtime"];

/// The field that elements of a mapping have beside those the rule takes: the key they
/// stand under (absent for elements of a list).
pub const KEY_FIELD: &str = "key";

/// The root of AxiOwl's own files, which every rule may read below.
pub const STATE_ROOT: &str = "state";

/// The field that rows of a mutation log have: whether its end could not be read.
pub const TORN_FIELD: &str = "torn";

impl Source {
    /// The word that selects the reader.
    pub fn reader(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            Self::Jsonl(_) => "jsonl",
            Self::MutationLog(_) => "mutation_log",
            Self::Json(_) => "json",
            Self::Yaml(_) => "yaml",
            Self::Toml(_) => "toml",
            Self::Text(_) => "text",
            Self::PbText(_) => "pbtext",
            Self::Protobuf(_) => "protobuf",
            Self::Folder(_) => "folder",
            Self::Files(_) => "files",
            Self::Tsv(_) => "tsv",
            Self::Command(_) => "command",
        }
    }

    /// Where it looks; nowhere for a command.
    pub fn paths(&self) -> &[At<Template>] {
        match self {
            Self::Sqlite(s) => &s.path,
            Self::Jsonl(s) => &s.path,
            Self::MutationLog(s) => &s.path,
            Self::Json(s) | Self::Yaml(s) | Self::Toml(s) => &s.path,
            Self::Text(s) => &s.path,
            Self::PbText(s) => &s.path,
            Self::Protobuf(s) => &s.path,
            Self::Folder(s) => &s.path,
            Self::Files(s) => &s.path,
            Self::Tsv(s) => &s.path,
            Self::Command(_) => &[],
        }
    }

    /// The list in it whose elements become rows.
    pub fn each(&self) -> Option<&Each> {
        match self {
            Self::Sqlite(s) => match &s.key_value {
                Some(keys) => keys.each.as_ref(),
                None => s.each.as_ref(),
            },
            Self::Json(s) | Self::Yaml(s) | Self::Toml(s) => s.each.as_ref(),
            Self::Command(s) => s.each.as_ref(),
            _ => None,
        }
    }

    /// The conversions of its fields.
    pub fn converts(&self) -> &Converts {
        match self {
            Self::Sqlite(s) => &s.convert,
            Self::Jsonl(s) => &s.convert,
            Self::MutationLog(s) => &s.convert,
            Self::Json(s) | Self::Yaml(s) | Self::Toml(s) => &s.convert,
            Self::Text(s) => &s.convert,
            Self::PbText(s) => &s.convert,
            Self::Protobuf(s) => &s.convert,
            Self::Folder(s) => &s.convert,
            Self::Files(s) => &s.convert,
            Self::Tsv(s) => &s.convert,
            Self::Command(s) => &s.convert,
        }
    }

    /// Whether its rows have [`FILE_FIELDS`].
    pub fn has_file_fields(&self) -> bool {
        match self {
            Self::Sqlite(s) => s.has_file_fields(),
            Self::Command(_) => false,
            _ => true,
        }
    }

    /// Whether one file may give several rows.
    pub fn many_rows(&self) -> bool {
        let listed = match self {
            Self::Sqlite(s) => match &s.key_value {
                Some(keys) => {
                    keys.prefix.is_some()
                        || keys.protobuf.as_ref().is_some_and(|p| p.each.is_some())
                }
                None => true,
            },
            Self::Jsonl(s) => s.per == Per::Line,
            Self::Text(s) => s.per != TextRow::File,
            Self::Protobuf(s) => s.each.is_some(),
            Self::Tsv(_) => true,
            _ => false,
        };
        listed || self.each().is_some()
    }

    /// The fields that the rule names: field, and the keys that lead to it within the source.
    pub fn own_fields(&self) -> Vec<(&str, Vec<&'static str>)> {
        fn of<'k>(
            keys: impl Iterator<Item = &'k String>,
            path: &[&'static str],
        ) -> Vec<(&'k str, Vec<&'static str>)> {
            keys.map(|key| (key.as_str(), path.to_vec())).collect()
        }
        let mut out = match self {
            Self::Sqlite(s) => {
                let mut out = of(s.columns.keys(), &["columns"]);
                out.extend(s.protobuf.values().flat_map(|column| {
                    let keys = column.fields.keys();
                    of(keys, &["protobuf"])
                }));
                if let Some(keys) = &s.key_value {
                    out.extend(of(keys.fields.keys(), &["key_value", "fields"]));
                    if let Some(message) = &keys.protobuf {
                        let path = ["key_value", "protobuf", "fields"];
                        out.extend(of(message.fields.keys(), &path));
                        let each = message.each.iter().flat_map(|each| each.fields.keys());
                        out.extend(of(each, &["key_value", "protobuf", "each", "fields"]));
                    }
                }
                out
            }
            Self::Jsonl(s) => {
                let fields = s.take.iter().flat_map(|take| take.fields.keys());
                let mut out = of(fields, &["take"]);
                let groups = s
                    .name
                    .iter()
                    .flat_map(|name| name.regex().capture_names().flatten());
                out.extend(groups.map(|group| (group, vec!["name"])));
                out
            }
            Self::MutationLog(s) => of(s.fields.keys(), &["fields"]),
            Self::Json(s) | Self::Yaml(s) | Self::Toml(s) => of(s.fields.keys(), &["fields"]),
            Self::Text(s) => {
                let groups = s
                    .pattern
                    .iter()
                    .flat_map(|p| p.regex().capture_names().flatten());
                groups.map(|group| (group, vec!["pattern"])).collect()
            }
            Self::PbText(s) => of(s.fields.keys(), &["fields"]),
            Self::Protobuf(s) => {
                let mut out = of(s.fields.keys(), &["fields"]);
                let each = s.each.iter().flat_map(|each| each.fields.keys());
                out.extend(of(each, &["each", "fields"]));
                out
            }
            Self::Folder(s) => of(s.fields.keys(), &["fields"]),
            Self::Files(s) => {
                let groups = s
                    .name
                    .iter()
                    .flat_map(|p| p.regex().capture_names().flatten());
                groups.map(|group| (group, vec!["name"])).collect()
            }
            Self::Tsv(s) => of(s.columns.keys(), &["columns"]),
            Self::Command(s) => of(s.fields.keys(), &["fields"]),
        };
        if let Some(each) = self.each() {
            let in_key = matches!(self, Self::Sqlite(s) if s.key_value.is_some());
            let path: &[&str] = if in_key {
                &["key_value", "each", "fields"]
            } else {
                &["each", "fields"]
            };
            out.extend(of(each.fields.keys(), path));
        }
        out
    }

    /// The fields its rows have.
    pub fn fields(&self) -> Vec<&str> {
        let mut out: Vec<&str> = self
            .own_fields()
            .into_iter()
            .map(|(field, _)| field)
            .collect();
        if self.has_file_fields() {
            out.extend(FILE_FIELDS);
        }
        let prefixed = matches!(
            self,
            Self::Sqlite(s) if s.key_value.as_ref().is_some_and(|keys| keys.prefix.is_some())
        );
        if self.each().is_some() || prefixed {
            out.push(KEY_FIELD);
        }
        if matches!(self, Self::MutationLog(_)) {
            out.push(TORN_FIELD);
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

fn default_rows() -> usize {
    100_000
}
fn default_files() -> usize {
    100_000
}
fn no_bytes() -> ByteSize {
    ByteSize(0)
}
fn default_document() -> ByteSize {
    ByteSize(16 << 20)
}
