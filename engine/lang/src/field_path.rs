//! Paths into protobuf messages, by field names (text format) or numbers (wire format),
//! and what their values are read as: `last_view.seconds as unix_s`, `"2.3.1 as unix_s"`.

use crate::scalar::from_text;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// What a value is read as. Times become milliseconds since the epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReadAs {
    /// UTF-8 text, damaged bytes replaced.
    #[default]
    Text,
    /// All values of a repeated text, as a list.
    Texts,
    /// A signed 64-bit integer.
    Int,
    /// A number that is zero or not; in the text format also `true` and `false`.
    Bool,
    /// Seconds since the epoch.
    UnixS,
    /// Milliseconds since the epoch.
    UnixMs,
    /// Bytes, as lower-case hexadecimal digits.
    Bytes,
}

impl ReadAs {
    /// The words a rule may write after `as`.
    pub const WORDS: [(&str, Self); 7] = [
        ("text", Self::Text),
        ("texts", Self::Texts),
        ("int", Self::Int),
        ("bool", Self::Bool),
        ("unix_s", Self::UnixS),
        ("unix_ms", Self::UnixMs),
        ("bytes", Self::Bytes),
    ];

    /// `path as word`: the path and what the word means.
    fn split(text: &str) -> Option<(&str, Self)> {
        let Some((path, word)) = text.split_once(" as ") else {
            return Some((text.trim(), Self::Text));
        };
        let known = Self::WORDS
            .iter()
            .find(|(known, _)| *known == word.trim())?;
        Some((path.trim(), known.1))
    }

    /// What [`ReadAs::split`] takes apart.
    fn written(self, path: &str) -> String {
        let word = Self::WORDS.iter().find(|(_, read)| *read == self);
        word.map_or_else(|| path.to_owned(), |(word, _)| format!("{path} as {word}"))
    }
}

/// A step of a [`ProtoPath`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProtoStep {
    /// Into the field of this number.
    Field(u32),
    /// The text reached so far is Base64; on within what it stands for.
    Base64,
}

/// A path into a protobuf message by field numbers: `"2.9.1"`. Of a repeated field it means
/// the first occurrence. The step `base64` decodes a text on the way.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProtoPath {
    /// The steps; at least one.
    pub steps: Vec<ProtoStep>,
    /// What the value is read as.
    pub read: ReadAs,
}

/// The highest field number of a protobuf message.
const MAX_FIELD: u32 = (1 << 29) - 1;
/// Steps of a path.
const MAX_STEPS: usize = 16;

impl ProtoPath {
    /// Reads the written form.
    pub fn parse(text: &str) -> Option<Self> {
        let (path, read) = ReadAs::split(text)?;
        let step = |part: &str| match part {
            "base64" => Some(ProtoStep::Base64),
            number => number
                .parse()
                .ok()
                .filter(|n| (1..=MAX_FIELD).contains(n))
                .map(ProtoStep::Field),
        };
        let steps: Vec<ProtoStep> = path.split('.').map(step).collect::<Option<_>>()?;
        let ends = matches!(steps.first()?, ProtoStep::Field(_));
        (ends && steps.len() <= MAX_STEPS).then_some(Self { steps, read })
    }

    fn written(&self) -> String {
        let steps = self.steps.iter().map(|step| match step {
            ProtoStep::Field(number) => number.to_string(),
            ProtoStep::Base64 => "base64".to_owned(),
        });
        self.read.written(&steps.collect::<Vec<_>>().join("."))
    }
}

/// A path of names into protobuf's text format: `annotations.title`. Of a repeated field it
/// means the first occurrence; `*` stands for any name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextPath {
    /// The names; at least one.
    pub steps: Vec<String>,
    /// What the value is read as.
    pub read: ReadAs,
}

impl TextPath {
    /// Reads the written form.
    pub fn parse(text: &str) -> Option<Self> {
        let (path, read) = ReadAs::split(text)?;
        let word = |part: &str| {
            let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            part == "*" || (!part.is_empty() && part.chars().all(plain))
        };
        let steps: Vec<String> = path.split('.').map(str::to_owned).collect();
        (steps.iter().all(|s| word(s)) && steps.len() <= MAX_STEPS).then_some(Self { steps, read })
    }

    fn written(&self) -> String {
        self.read.written(&self.steps.join("."))
    }
}

from_text!(
    ProtoPath,
    "a path of field numbers in quotes, such as \"2.1\" or \"2.3.1 as unix_s\"",
    r"^\d+(\.(\d+|base64))*( as (text|texts|int|bool|unix_s|unix_ms|bytes))?$",
    |t| {
        ProtoPath::parse(t).ok_or_else(|| {
            format!(
                "`{t}` is no path of field numbers; write \"2.1\" or \"2.3.1 as unix_s\", in quotes"
            )
        })
    }
);
from_text!(
    TextPath,
    "a path of field names such as title or `last_view.seconds as unix_s`",
    r"^[^ ]+( as (text|texts|int|bool|unix_s|unix_ms|bytes))?$",
    |t| {
        TextPath::parse(t).ok_or_else(|| {
            format!(
                "`{t}` is no path of field names; write `title` or `last_view.seconds as unix_s`"
            )
        })
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_what_they_are_read_as() {
        let path = ProtoPath::parse("1.2.base64.1 as unix_s").unwrap();
        let expected = [
            ProtoStep::Field(1),
            ProtoStep::Field(2),
            ProtoStep::Base64,
            ProtoStep::Field(1),
        ];
        assert_eq!(
            (path.steps.as_slice(), path.read),
            (&expected[..], ReadAs::UnixS)
        );
        for bad in [
            "",
            "0",
            "a",
            "1..2",
            "base64.1",
            "1 as when",
            "536870912",
            "1.-2",
        ] {
            assert_eq!(ProtoPath::parse(bad), None, "{bad}");
        }
        let path = TextPath::parse("a.*.b_c as int").unwrap();
        assert_eq!((path.steps.len(), path.read), (3, ReadAs::Int));
        for bad in ["", "a..b", "a b", "a as b"] {
            assert_eq!(TextPath::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_number_without_quotes_is_refused_with_the_reason() {
        let error = serde_yaml::from_str::<ProtoPath>("2.10")
            .unwrap_err()
            .to_string();
        assert!(error.contains("in quotes"), "{error}");
        assert_eq!(
            serde_yaml::from_str::<ProtoPath>("2").unwrap().steps,
            [ProtoStep::Field(2)]
        );
    }
}
