//! Small value types that rules write as one word: sizes, durations, pointers,
//! patterns, column types, and lists that may be written as a single item.

pub use crate::field_path::{ProtoPath, ProtoStep, ReadAs, TextPath};

use crate::at::{self, At};
use crate::codes;
use regex::{Regex, RegexBuilder};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// A number of bytes, written `4096`, `64 KiB` or `4 MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// Reads the written form.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = text[..digits].parse().ok()?;
        let unit = match text[digits..].trim() {
            "" | "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return None,
        };
        number.checked_mul(unit).map(Self)
    }

    fn written(self) -> String {
        self.0.to_string()
    }
}

/// A span of time, written `30s`, `15m`, `6h` or `30d`; kept in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub i64);

impl Span {
    /// Reads the written form.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let unit = text.chars().last()?;
        let number: i64 = text[..text.len() - unit.len_utf8()].trim().parse().ok()?;
        let millis = match unit {
            's' => 1_000,
            'm' => 60_000,
            'h' => 3_600_000,
            'd' => 86_400_000,
            _ => return None,
        };
        number.checked_mul(millis).map(Self)
    }

    fn written(self) -> String {
        format!("{}s", self.0 / 1_000)
    }
}

/// A JSON Pointer (RFC 6901) where `*` as a segment fans out over an array or object, and `-`
/// means the last element of an array.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer {
    text: String,
    segments: Vec<String>,
}

impl Pointer {
    /// Reads `/a/b~1c/*`; the empty text is the whole document.
    pub fn parse(text: &str) -> Option<Self> {
        if !text.is_empty() && !text.starts_with('/') {
            return None;
        }
        let segments = text
            .split('/')
            .skip(1)
            .map(|s| s.replace("~1", "/").replace("~0", "~"))
            .collect();
        Some(Self {
            text: text.into(),
            segments,
        })
    }
    /// As written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
    fn written(&self) -> &str {
        &self.text
    }
    /// Unescaped segments; `*` fans out.
    pub fn segments(&self) -> &[String] {
        &self.segments
    }
}

/// A regular expression; linear time, so a foreign one cannot hang a run.
///
/// Building one costs up to a millisecond, and most are never asked. One of a compiled-in rule,
/// which tests have built, is built when it is first asked; any other when it is read, so that
/// a bad one is an error of its place.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: Box<str>,
    built: OnceLock<Regex>,
}

impl Pattern {
    /// Bytes that the built form may take.
    const SIZE: usize = 1 << 20;

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn written(&self) -> &str {
        &self.text
    }

    /// The built form.
    pub fn regex(&self) -> &Regex {
        self.built.get_or_init(|| {
            // Only texts of compiled-in rules come here unbuilt, and the tests build each.
            Self::build(&self.text).expect("a pattern of a compiled-in rule")
        })
    }

    fn build(text: &str) -> Result<Regex, regex::Error> {
        RegexBuilder::new(text).size_limit(Self::SIZE).build()
    }

    fn parse(text: &str) -> Result<Self, regex::Error> {
        let built = match at::known_good() {
            true => OnceLock::new(),
            false => OnceLock::from(Self::build(text)?),
        };
        Ok(Self {
            text: text.into(),
            built,
        })
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// The type of a column, and whether it may be absent (`text?`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnType {
    /// How its value is read.
    pub kind: ColumnKind,
    /// Its absence is no issue.
    pub optional: bool,
}

/// How a value is read. Times all become milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// UTF-8, damaged bytes replaced.
    Text,
    /// A 64-bit integer.
    Int,
    /// A floating point number.
    Real,
    /// `true`, `false`, or a number that is zero or not.
    Bool,
    /// Seconds since the epoch.
    UnixS,
    /// Milliseconds since the epoch.
    UnixMs,
    /// RFC 3339 text.
    Rfc3339,
    /// JSON text, parsed.
    Json,
    /// Bytes that only `protobuf` looks into; the field itself says whether there are any.
    Blob,
}

impl ColumnType {
    /// The words a rule may write.
    pub const WORDS: [&str; 9] = [
        "text", "int", "real", "bool", "unix_s", "unix_ms", "rfc3339", "json", "blob",
    ];

    /// Reads `text`, `unix_ms?` …
    pub fn parse(text: &str) -> Option<Self> {
        let (word, optional) = text.strip_suffix('?').map_or((text, false), |w| (w, true));
        let kind = match word {
            "text" => ColumnKind::Text,
            "int" => ColumnKind::Int,
            "real" => ColumnKind::Real,
            "bool" => ColumnKind::Bool,
            "unix_s" => ColumnKind::UnixS,
            "unix_ms" => ColumnKind::UnixMs,
            "rfc3339" => ColumnKind::Rfc3339,
            "json" => ColumnKind::Json,
            "blob" => ColumnKind::Blob,
            _ => return None,
        };
        Some(Self { kind, optional })
    }

    fn written(self) -> String {
        let mark = if self.optional { "?" } else { "" };
        format!("{}{mark}", Self::WORDS[self.kind as usize])
    }
}

macro_rules! from_text {
    ($type:ty, $what:literal, $pattern:literal, $parse:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                        f.write_str($what)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        let parse: fn(&str) -> Result<$type, String> = $parse;
                        parse(text).map_err(E::custom)
                    }
                    fn visit_u64<E: de::Error>(self, number: u64) -> Result<$type, E> {
                        self.visit_str(&number.to_string())
                    }
                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$type, E> {
                        self.visit_str(&number.to_string())
                    }
                }
                match deserializer.is_human_readable() {
                    true => deserializer.deserialize_any(Text),
                    // As it was written, since it is no longer known to be a text or a number.
                    false => deserializer.deserialize_str(Text),
                }
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.written())
            }
        }
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": ["string", "integer"], "description": $what, "pattern": $pattern })
            }
        }
    };
}

pub(crate) use from_text;

from_text!(
    ByteSize,
    "a size such as 65536, `64 KiB` or `4 MiB`",
    r"^\d+ ?(B|KiB|MiB|GiB)?$",
    |t| {
        ByteSize::parse(t)
            .ok_or_else(|| format!("`{t}` is no size; write 65536, `64 KiB` or `4 MiB`"))
    }
);
from_text!(
    Span,
    "a span of time such as `30s`, `15m`, `6h` or `30d`",
    r"^\d+ ?[smhd]$",
    |t| {
        Span::parse(t)
            .ok_or_else(|| format!("`{t}` is no span of time; write `30s`, `15m`, `6h` or `30d`"))
    }
);
from_text!(
    Pointer,
    "a JSON Pointer such as /payload/cwd; `*` fans out",
    r"^(/.*)?$",
    |t| {
        Pointer::parse(t).ok_or_else(|| format!("`{t}` is no JSON Pointer; it starts with `/`"))
    }
);
from_text!(Pattern, "a regular expression", "", |t| {
    Pattern::parse(t).map_err(|e| {
        let text = e.to_string();
        // The library draws the pattern over several lines; the last one says why.
        let why = text.lines().last().unwrap_or(&text);
        let why = why.strip_prefix("error: ").unwrap_or(why);
        codes::marked(
            codes::BAD_PATTERN,
            &format!("bad regular expression `{t}`: {why}"),
        )
    })
});
from_text!(
    ColumnType,
    "a column type: text, int, real, bool, unix_s, unix_ms, rfc3339, json or blob, with `?` where it may be absent",
    r"^(text|int|real|bool|unix_s|unix_ms|rfc3339|json|blob)\??$",
    |t| {
        ColumnType::parse(t).ok_or_else(|| {
            format!(
                "`{t}` is no column type; use one of {}",
                ColumnType::WORDS.join(", ")
            )
        })
    }
);

/// One item, or a list of them.
#[derive(Debug, Clone, PartialEq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> std::ops::Deref for OneOrMany<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Serialize> Serialize for OneOrMany<At<T>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<At<T>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Vec::deserialize(deserializer).map(Self);
        }
        // A single item gets the place of the whole value; a list's items know their own.
        let either = At::<Either<T>>::deserialize(deserializer)?;
        Ok(match either.value {
            Either::One(value) => Self(vec![At {
                value,
                span: either.span,
            }]),
            Either::Many(list) => Self(list),
        })
    }
}

enum Either<T> {
    One(T),
    Many(Vec<At<T>>),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Either<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = Either<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("one item or a list")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                T::deserialize(de::value::StrDeserializer::new(text)).map(Either::One)
            }
            // Numbers go to the item's own reader, which says what is wrong with them.
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                T::deserialize(number.into_deserializer()).map(Either::One)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                T::deserialize(number.into_deserializer()).map(Either::One)
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
                T::deserialize(number.into_deserializer()).map(Either::One)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut out = Vec::new();
                while let Some(item) = list.next_element()? {
                    out.push(item);
                }
                Ok(Either::Many(out))
            }
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let item = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [ item, { "type": "array", "items": item } ] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_spans_and_pointers() {
        assert_eq!(ByteSize::parse("4 MiB"), Some(ByteSize(4 << 20)));
        assert_eq!(ByteSize::parse("2048"), Some(ByteSize(2048)));
        assert_eq!(ByteSize::parse("4 MB"), None);
        assert_eq!(ByteSize::parse("99999999999999 GiB"), None);
        assert_eq!(Span::parse("30d"), Some(Span(30 * 86_400_000)));
        assert_eq!(Span::parse("d"), None);
        let pointer = Pointer::parse("/_meta/a~1b/*/c~0d").unwrap();
        assert_eq!(pointer.segments(), ["_meta", "a/b", "*", "c~d"]);
        assert_eq!(Pointer::parse("a/b"), None);
    }
}
