//! `config.yaml` of the user: homes, packs, executables, limits.
//!
//! Types and defaults only; where the file lies and what obeys it is not known here.

use crate::at::At;
use crate::codes;
use crate::diag::{Diagnostic, SourceText, tidy};
use crate::parse;
use crate::scalar::{ByteSize, Span};
use axiowl_model::limits;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The user's configuration. Everything may be left out.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Provider to further homes of it, beside the default one.
    #[serde(default)]
    pub homes: BTreeMap<String, Vec<Home>>,
    /// Folders of vendor packs: one folder a provider in each.
    #[serde(default)]
    pub packs: Vec<At<String>>,
    /// Program to the absolute path of its executable.
    #[serde(default)]
    pub executables: BTreeMap<String, At<String>>,
    /// Settings by provider.
    #[serde(default)]
    pub providers: BTreeMap<String, ProviderConfig>,
    /// What a message may be and do.
    #[serde(default)]
    pub limits: Limits,
    /// What happens when a name fits several sessions.
    #[serde(default)]
    pub ambiguity: Ambiguity,
    /// How long settled messages are kept.
    #[serde(default)]
    pub retention: Retention,
    /// The name of this node.
    #[serde(default = "default_node")]
    pub node: Node,
}

/// A further home of a provider.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Home {
    /// The name under which rows remember it; not empty.
    pub id: At<String>,
    /// Absolute, or below the user's home with `~/`.
    pub path: At<String>,
}

/// Settings of one provider.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// Environment variables its program inherits, by name.
    #[serde(default)]
    pub env: Vec<At<String>>,
    /// A file of `NAME=value` lines its program gets; absolute or with `~/`.
    pub env_file: Option<At<String>>,
    /// Whether discovery may run the commands of its rule.
    #[serde(default)]
    pub commands: bool,
    /// Whether a message may take doors that were never tried with the real client.
    #[serde(default)]
    pub experimental: bool,
}

/// What a message may be and do.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of a body.
    pub body: ByteSize,
    /// Messages a minute between one sender and one target.
    pub pair_per_minute: u32,
    /// Messages a minute to one target, whoever sends them.
    pub target_per_minute: u32,
    /// Sessions a chain of messages may pass through.
    pub hops: u32,
    /// How long a message waits before it expires.
    pub expires: Span,
    /// How long one delivery may take, the turn it starts included.
    pub delivery: Span,
    /// Bytes of a live SQLite store that a private copy is made of.
    pub live_store: ByteSize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: ByteSize(limits::BODY_BYTES as u64),
            pair_per_minute: limits::PAIR_PER_MINUTE,
            target_per_minute: limits::TARGET_PER_MINUTE,
            hops: limits::HOPS,
            expires: Span(millis(limits::EXPIRY)),
            delivery: Span(millis(limits::DELIVERY)),
            live_store: ByteSize(256 << 20),
        }
    }
}

const fn millis(time: Duration) -> i64 {
    time.as_millis() as i64
}

/// What happens when a name fits several sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ambiguity {
    /// The newest is used, and the others are named.
    #[default]
    Newest,
    /// Nothing is sent.
    Refuse,
}

/// How long settled messages are kept, in milliseconds; `90d` unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention(pub i64);

impl Default for Retention {
    fn default() -> Self {
        Self(millis(limits::RETENTION))
    }
}

impl<'de> Deserialize<'de> for Retention {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Span::deserialize(deserializer).map(|span| Self(span.0))
    }
}

/// The name of a node, `local` unless said otherwise.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Node(pub At<String>);

impl Default for Node {
    fn default() -> Self {
        default_node()
    }
}

impl Node {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0.value
    }
}

fn default_node() -> Node {
    Node(At {
        value: axiowl_model::LOCAL_NODE.into(),
        span: crate::at::Span::default(),
    })
}

impl Config {
    /// Reads a `config.yaml`; `name` is the path to show. An empty file is the default.
    pub fn parse(name: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let file = SourceText::new(name, text);
        let config = parse::whole::<Option<Self>>(&file, 0)?.unwrap_or_default();
        let found = config.check(&file);
        if found.is_empty() {
            Ok(config)
        } else {
            Err(tidy(found))
        }
    }

    fn check(&self, file: &SourceText) -> Vec<Diagnostic> {
        let mut out = Vec::new();
        let mut wrong = |at: &At<String>, message: String, help: &str| {
            out.push(
                Diagnostic::error(codes::CONFIG_VALUE, message)
                    .at(file, at.span.range(), "here")
                    .help(help),
            );
        };
        for (program, path) in &self.executables {
            if !is_absolute(path) {
                wrong(
                    path,
                    format!("the executable of `{program}` is `{}`", path.value),
                    "give an absolute path: a relative one would depend on where AxiOwl is started",
                );
            }
        }
        let homes = self.homes.values().flatten();
        let folders = homes.clone().map(|h| &h.path).chain(&self.packs);
        let files = self.providers.values().filter_map(|p| p.env_file.as_ref());
        for path in folders.chain(files) {
            if !is_absolute(path) && !path.starts_with("~/") {
                wrong(
                    path,
                    format!("`{}` is a relative path", path.value),
                    "give an absolute path, or one that starts with `~/`",
                );
            }
        }
        for homes in self.homes.values() {
            for (i, home) in homes.iter().enumerate() {
                let id = &home.id;
                if id.trim().is_empty() || homes[..i].iter().any(|h| h.id.value == id.value) {
                    let message = format!("the home id `{}` is empty or stands twice", id.value);
                    wrong(
                        id,
                        message,
                        "rows remember their home by this id: give each its own",
                    );
                }
            }
        }
        for name in self.providers.values().flat_map(|p| &p.env) {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(word) {
                wrong(
                    name,
                    format!("`{}` is no name of an environment variable", name.value),
                    "name the variable only; its value is inherited (or stands in `env_file`)",
                );
            }
        }
        let node = &self.node.0;
        if node.is_empty() || node.contains([':', '/', '\\']) || node.contains(char::is_whitespace)
        {
            wrong(
                node,
                format!("`{}` is no name of a node", node.value),
                "a node name has no colon, slash or space: it stands in `provider:node:session`",
            );
        }
        out
    }
}

/// Absolute on any system, so that a configuration means the same everywhere.
pub(crate) fn is_absolute(path: &str) -> bool {
    let drive = |p: &str| {
        let bytes = p.as_bytes();
        bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
    };
    path.starts_with('/') || path.starts_with("\\\\") || drive(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_the_default() {
        for text in ["", "# nothing\n", "{}\n"] {
            assert_eq!(
                Config::parse("config.yaml", text),
                Ok(Config::default()),
                "{text:?}"
            );
        }
        assert_eq!(Config::default().node.as_str(), "local");
        assert_eq!(Config::default().retention.0, 7_776_000_000);
    }

    #[test]
    fn every_key_is_read() {
        let text = "homes: { p: [{ id: work, path: /w/.p }] }\npacks: [~/packs/a]\nexecutables: { p: /usr/bin/p }\nproviders: { p: { env: [P_TOKEN], env_file: ~/p.env, experimental: true } }\nlimits: { body: 4 KiB, pair_per_minute: 2, target_per_minute: 9, hops: 3, expires: 1h, delivery: 10m, live_store: 1 MiB }\nambiguity: refuse\nretention: 7d\nnode: desk\n";
        let config = Config::parse("config.yaml", text).unwrap();
        assert_eq!(config.homes["p"][0].id.value, "work");
        assert!(config.providers["p"].experimental && !config.providers["p"].commands);
        assert_eq!(config.limits.body, ByteSize(4096));
        assert_eq!(config.limits.expires, Span(3_600_000));
        assert_eq!(config.limits.delivery, Span(600_000));
        assert_eq!(config.limits.target_per_minute, 9);
        assert_eq!(config.ambiguity, Ambiguity::Refuse);
        assert_eq!(config.node.as_str(), "desk");
    }

    #[test]
    fn every_wrong_value_is_named() {
        let text = "homes: { p: [{ id: a, path: x }, { id: a, path: /y }] }\npacks: [packs]\nexecutables: { p: bin/p }\nproviders: { p: { env: [\"A=1\"] } }\nnode: \"a:b\"\n";
        let errors = Config::parse("config.yaml", text).unwrap_err();
        let lines: Vec<usize> = errors.iter().map(|d| d.primary().unwrap().line).collect();
        assert_eq!(lines, [1, 1, 2, 3, 4, 5]);
    }
}
