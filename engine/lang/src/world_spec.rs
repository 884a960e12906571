//! `world.yaml`: the machine a fixture (or `--world`) puts in place of the real one.
//!
//! Only the description; what reads it and builds a world of it is the readers' crate.

use crate::codes;
use crate::diag::{Diagnostic, SourceText};
use crate::parse;
use crate::tree::Tree;
use axiowl_model::Timestamp;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// A described machine.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldSpec {
    /// The clock, RFC 3339. It does not move.
    pub now: Timestamp,
    /// The system that paths and locks follow.
    #[serde(default)]
    pub platform: Platform,
    /// The home folder, as recorded.
    #[serde(default = "default_home")]
    pub home: String,
    /// AxiOwl's own folder, as recorded; `.axiowl` in the home when left out.
    pub state: Option<String>,
    /// When files were last changed, by recorded path; the others when the clock stands.
    #[serde(default)]
    pub mtimes: BTreeMap<String, Timestamp>,
    /// What commands print: the program and its arguments, in one text with a space between
    /// each, to a file beside `world.yaml`.
    #[serde(default)]
    pub commands: BTreeMap<String, String>,
    /// Environment variables; there are no others.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Folders that exist although nothing is in them, as recorded.
    #[serde(default)]
    pub dirs: Vec<String>,
    /// Programs: name to path.
    #[serde(default)]
    pub executables: BTreeMap<String, String>,
    /// Files that another process holds a lock on, as recorded.
    #[serde(default)]
    pub locks: Vec<String>,
    /// Living processes: pid to start time, as the provider records it.
    #[serde(default)]
    pub pids: BTreeMap<u32, PidStart>,
    /// Native facts: name to answer.
    #[serde(default)]
    pub facts: BTreeMap<String, FactAnswer>,
    /// Recorded path to a folder beside `world.yaml`.
    #[serde(default)]
    pub maps: BTreeMap<String, String>,
    /// Provider keys under which a session stands in the registry: session id to keys.
    #[serde(default)]
    pub registered: BTreeMap<String, Vec<String>>,
    /// The session id or name a fixture's run is targeted at.
    #[serde(default)]
    pub target: Option<String>,
}

/// A system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Platform {
    /// Linux and other Unix systems.
    #[default]
    Linux,
    /// macOS.
    Macos,
    /// Windows.
    Windows,
}

/// When a process started, as text; providers record ticks, times or dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PidStart(pub String);

/// The answer of a native fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactAnswer {
    /// The same for every session.
    Always(bool),
    /// True for these session ids.
    For(Vec<String>),
}

impl FactAnswer {
    /// The answer for one session.
    pub fn holds(&self, session: &str) -> bool {
        match self {
            Self::Always(answer) => *answer,
            Self::For(sessions) => sessions.iter().any(|s| s == session),
        }
    }
}

impl WorldSpec {
    /// Reads a `world.yaml`; `name` is the path to show.
    pub fn parse(name: &str, text: &str) -> Result<Self, Diagnostic> {
        parse::single(name, text)
    }

    /// AxiOwl's own folder, as recorded.
    pub fn state_folder(&self) -> String {
        match &self.state {
            Some(folder) => folder.clone(),
            None => format!("{}/.axiowl", self.home.trim_end_matches(['/', '\\'])),
        }
    }
}

/// An objection to what stands under a key of a world file, at its place.
pub fn objection(name: &str, text: &str, key: &[&str], message: String, help: &str) -> Diagnostic {
    let place = Tree::of(text).value(key).unwrap_or(0..0);
    Diagnostic::error(codes::VALUE, message)
        .at(&SourceText::new(name, text), place, "leads out")
        .help(help)
}

fn default_home() -> String {
    "/home/dev".into()
}

impl<'de> Deserialize<'de> for PidStart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = PidStart;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a start time, as text or number")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PidStart, E> {
                Ok(PidStart(text.into()))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<PidStart, E> {
                Ok(PidStart(number.to_string()))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<PidStart, E> {
                Ok(PidStart(number.to_string()))
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for FactAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = FactAnswer;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("`true`, `false`, or a list of session ids")
            }
            fn visit_bool<E: de::Error>(self, answer: bool) -> Result<FactAnswer, E> {
                Ok(FactAnswer::Always(answer))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<FactAnswer, A::Error> {
                let mut out = Vec::new();
                while let Some(session) = list.next_element()? {
                    out.push(session);
                }
                Ok(FactAnswer::For(out))
            }
        }
        deserializer.deserialize_any(V)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_is_read_with_its_defaults() {
        let text = "now: 2026-11-30T14:00:00Z\npids: { 12: 345, 13: \"x\" }\nfacts: { a: true, b: [s1, s2] }\nmaps: { /home/dev: home }\nregistered: { s1: [p] }\n";
        let world = WorldSpec::parse("world.yaml", text).unwrap();
        assert_eq!(world.now.to_string(), "2026-11-30T14:00:00.000Z");
        assert_eq!(world.platform, Platform::Linux);
        assert_eq!(world.home, "/home/dev");
        assert_eq!(world.pids[&12], PidStart("345".into()));
        assert!(world.facts["a"].holds("any"));
        assert!(world.facts["b"].holds("s2") && !world.facts["b"].holds("s3"));
        assert_eq!(world.maps["/home/dev"], "home");
    }

    #[test]
    fn a_world_without_a_clock_or_with_a_typo_is_refused_at_its_place() {
        let missing = WorldSpec::parse("world.yaml", "dirs: [/w]\n").unwrap_err();
        assert!(missing.message.contains("`now`"), "{missing}");
        let typo = WorldSpec::parse("world.yaml", "now: 2026-11-30T14:00:00Z\ndir: [/w]\n");
        let typo = typo.unwrap_err();
        assert_eq!(typo.primary().unwrap().line, 2);
        assert!(typo.help.unwrap().contains("dirs"));
    }
}
