//! Structured conditions. Data, never an expression string, so that every leaf
//! can say what it tested and what it saw.

use crate::at::At;
use crate::scalar::{OneOrMany, Pattern, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// Field names a rule may not give to its own fields.
pub const RESERVED: [&str; 7] = ["any", "all", "not", "fact", "targeted", "env", "executable"];

/// A condition over a row, or, inside `take`, over a record by JSON Pointer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub enum Cond {
    /// Every one holds. Several keys in one mapping mean this too.
    All(Vec<Cond>),
    /// At least one holds.
    Any(Vec<Cond>),
    /// It does not hold.
    Not(Box<Cond>),
    /// A native edge vouches for a named fact about this row.
    Fact(At<String>),
    /// The run looks for one session.
    Targeted(At<Targeted>),
    /// One of these environment variables of the examined world is set and not empty. Its
    /// value is never looked at.
    Env(OneOrMany<At<String>>),
    /// One of these programs is installed.
    Executable(OneOrMany<At<String>>),
    /// A field passes a test.
    Field {
        /// Field name (`join.field`) or JSON Pointer.
        name: At<String>,
        /// The test.
        test: At<Test>,
    },
}

/// How a run was targeted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Targeted {
    /// The target is this very session id.
    Exact,
    /// The target is this session's id or name.
    Any,
    /// No target was given.
    None,
}

/// A test of one value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub enum Test {
    /// The value itself (`field: true`); a list value holds when any element does.
    Equals(#[serde(with = "any_value")] Value),
    /// One of several values (`field: [a, b]`).
    In(#[serde(with = "any_value")] Vec<Value>),
    /// Named tests; all of them hold.
    Ops(Box<Ops>),
}

/// The closed set of tests.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ops {
    /// There is a value, and it is not blank.
    pub present: Option<bool>,
    /// Absent, empty, or white space only.
    pub blank: Option<bool>,
    /// Exactly this value.
    #[serde(default, with = "any_value")]
    #[schemars(!default, with = "Option<Value>")]
    pub equals: Option<Value>,
    /// One of these values.
    #[serde(rename = "in", default, with = "any_value")]
    #[schemars(!default, with = "Option<Vec<Value>>")]
    pub one_of: Option<Vec<Value>>,
    /// Matches a regular expression.
    pub matches: Option<At<Pattern>>,
    /// Has the form of a UUID.
    pub uuid: Option<bool>,
    /// Lies in or below one of the folders another field lists.
    pub under: Option<At<String>>,
    /// A file of that path exists.
    pub exists: Option<bool>,
    /// A folder of that path exists.
    pub dir_exists: Option<bool>,
    /// Another process holds a lock on the file of that path.
    pub lock_held: Option<bool>,
    /// A process of that number runs.
    pub pid_alive: Option<bool>,
    /// A time not longer ago than this.
    pub newer_than: Option<At<Span>>,
    /// Equals another field.
    pub same_as: Option<At<String>>,
    /// Turned into a folder name (every UTF-16 unit outside `A-Za-z0-9` becomes `-`,
    /// at most 200 characters compared), equals another field.
    pub slug_of: Option<At<String>>,
    /// Its MD5, as lower-case hexadecimal digits, equals another field.
    pub md5_of: Option<At<String>>,
    /// A list (or mapping) that holds this value (or key).
    #[serde(default, with = "any_value")]
    #[schemars(!default, with = "Option<Value>")]
    pub has: Option<Value>,
}

/// The names of [`Ops`], for messages.
pub const OPS: [&str; 16] = [
    "present",
    "blank",
    "equals",
    "in",
    "matches",
    "uuid",
    "under",
    "exists",
    "dir_exists",
    "lock_held",
    "pid_alive",
    "newer_than",
    "same_as",
    "slug_of",
    "md5_of",
    "has",
];

impl<'de> Deserialize<'de> for Test {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Test;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(
                    f,
                    "a value, a list of values, or tests out of {}",
                    OPS.join(", ")
                )
            }
            fn visit_bool<E>(self, v: bool) -> Result<Test, E> {
                Ok(Test::Equals(v.into()))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Test, E> {
                Ok(Test::Equals(v.into()))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Test, E> {
                Ok(Test::Equals(v.into()))
            }
            fn visit_f64<E>(self, v: f64) -> Result<Test, E> {
                Ok(Test::Equals(v.into()))
            }
            fn visit_str<E>(self, v: &str) -> Result<Test, E> {
                Ok(Test::Equals(v.into()))
            }
            fn visit_unit<E>(self) -> Result<Test, E> {
                Ok(Test::Equals(Value::Null))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Test, A::Error> {
                let mut out = Vec::new();
                while let Some(value) = list.next_element()? {
                    out.push(value);
                }
                Ok(Test::In(out))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Test, A::Error> {
                Ops::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(|ops| Test::Ops(Box::new(ops)))
            }
        }
        match deserializer.is_human_readable() {
            true => deserializer.deserialize_any(V),
            false => Self::deserialize(deserializer),
        }
    }
}

impl Serialize for Test {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl Serialize for Cond {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Cond {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Cond;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a mapping of field to test, or all / any / not / fact / targeted / env / executable")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cond, A::Error> {
                let mut out = Vec::new();
                while let Some(name) = map.next_key::<At<String>>()? {
                    out.push(match name.as_str() {
                        "all" => Cond::All(map.next_value()?),
                        "any" => Cond::Any(map.next_value()?),
                        "not" => Cond::Not(Box::new(map.next_value()?)),
                        "fact" => Cond::Fact(map.next_value()?),
                        "targeted" => Cond::Targeted(map.next_value()?),
                        "env" => Cond::Env(map.next_value()?),
                        "executable" => Cond::Executable(map.next_value()?),
                        _ => Cond::Field {
                            name,
                            test: map.next_value()?,
                        },
                    });
                }
                match out.len() {
                    0 => Err(de::Error::custom(
                        "an empty condition tests nothing; leave `when` out",
                    )),
                    1 => Ok(out.remove(0)),
                    _ => Ok(Cond::All(out)),
                }
            }
        }
        match deserializer.is_human_readable() {
            true => deserializer.deserialize_map(V),
            false => Self::deserialize(deserializer),
        }
    }
}

/// Values of any type, which a prepared rule holds as JSON text: its form names no types.
mod any_value {
    use serde::de::{DeserializeOwned, Deserializer, Error as _};
    use serde::ser::{Error as _, Serializer};
    use serde::{Deserialize, Serialize};

    pub(super) fn serialize<S: Serializer>(
        value: &impl Serialize,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return value.serialize(serializer);
        }
        let text = serde_json::to_string(value).map_err(S::Error::custom)?;
        serializer.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        if deserializer.is_human_readable() {
            return T::deserialize(deserializer);
        }
        let text = String::deserialize(deserializer)?;
        serde_json::from_str(&text).map_err(D::Error::custom)
    }
}

impl JsonSchema for Cond {
    fn schema_name() -> Cow<'static, str> {
        "Cond".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let ops = generator.subschema_for::<Ops>();
        let targeted = generator.subschema_for::<Targeted>();
        let names = generator.subschema_for::<OneOrMany<String>>();
        json_schema!({
            "description": "A mapping of field to test; several keys all have to hold",
            "type": "object",
            "minProperties": 1,
            "properties": {
                "all": { "type": "array", "items": { "$ref": "#/$defs/Cond" } },
                "any": { "type": "array", "items": { "$ref": "#/$defs/Cond" } },
                "not": { "$ref": "#/$defs/Cond" },
                "fact": { "type": "string" },
                "targeted": targeted,
                "env": names,
                "executable": names
            },
            "additionalProperties": {
                "anyOf": [
                    { "type": ["string", "number", "boolean", "null"] },
                    { "type": "array" },
                    ops
                ]
            }
        })
    }
}

impl Cond {
    /// Calls `visit` for every leaf that tests a field.
    pub fn each_field<'a>(&'a self, visit: &mut dyn FnMut(&'a At<String>, &'a At<Test>)) {
        match self {
            Self::All(list) | Self::Any(list) => list.iter().for_each(|c| c.each_field(visit)),
            Self::Not(inner) => inner.each_field(visit),
            Self::Field { name, test } => visit(name, test),
            Self::Fact(_) | Self::Targeted(_) | Self::Env(_) | Self::Executable(_) => {}
        }
    }
}
