//! `roots:`, the folders a provider keeps its files in.

use crate::at::At;
use crate::template::Template;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// Candidate folders of a root: `"~/.p"`, a list of which the first that counts is the root,
/// or `{ every: [...] }` for a provider that keeps several at once (one folder a product).
///
/// The first candidate whose variables are set and which exists counts; one made of set
/// variables alone counts even when its folder is missing. With `every`, each one that exists
/// counts, and `{root}` outside source paths means the first of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RootRule {
    /// In order of priority.
    pub candidates: Vec<At<Template>>,
    /// Each one that exists counts, not the first alone.
    pub every: bool,
}

impl Deref for RootRule {
    type Target = [At<Template>];
    fn deref(&self) -> &Self::Target {
        &self.candidates
    }
}

impl<'de> Deserialize<'de> for RootRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            let (candidates, every) = Deserialize::deserialize(deserializer)?;
            return Ok(Self { candidates, every });
        }
        // A single candidate gets the place of the whole value; a list's items know their own.
        let written = At::<Written>::deserialize(deserializer)?;
        Ok(match written.value {
            Written::One(value) => Self {
                candidates: vec![At {
                    value,
                    span: written.span,
                }],
                every: false,
            },
            Written::First(candidates) => Self {
                candidates,
                every: false,
            },
            Written::Every(candidates) => Self {
                candidates,
                every: true,
            },
        })
    }
}

enum Written {
    One(Template),
    First(Vec<At<Template>>),
    Every(Vec<At<Template>>),
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Written;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a folder, a list of folders, or `every: [...]`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Written, E> {
                Template::deserialize(de::value::StrDeserializer::new(text)).map(Written::One)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Written, A::Error> {
                let mut out = Vec::new();
                while let Some(item) = list.next_element()? {
                    out.push(item);
                }
                Ok(Written::First(out))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Written, A::Error> {
                let mut every = None;
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "every" => every = Some(map.next_value()?),
                        _ => return Err(de::Error::unknown_field(&key, &["every"])),
                    }
                }
                every
                    .map(Written::Every)
                    .ok_or_else(|| de::Error::missing_field("every"))
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl JsonSchema for RootRule {
    fn schema_name() -> Cow<'static, str> {
        "RootRule".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let folder = generator.subschema_for::<Template>();
        let list = json_schema!({ "type": "array", "items": folder.clone() });
        json_schema!({
            "description": "A folder, a list of which the first that exists counts, or `every` one that exists",
            "anyOf": [
                folder,
                list.clone(),
                {
                    "type": "object",
                    "properties": { "every": list },
                    "required": ["every"],
                    "additionalProperties": false
                }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn read(text: &str) -> Result<BTreeMap<String, RootRule>, String> {
        serde_yaml::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_root_is_written_in_three_ways_and_keeps_its_places() {
        let text = "a: ~/.a\nb: [~/.b, \"${B}\"]\nc: { every: [~/.c, ~/.d] }\n";
        let roots = read(text).unwrap();
        let shown = |name: &str| {
            let root = &roots[name];
            let texts: Vec<&str> = root.iter().map(|c| c.as_str()).collect();
            (texts.join(" "), root.every)
        };
        assert_eq!(shown("a"), ("~/.a".into(), false));
        assert_eq!(shown("b"), ("~/.b ${B}".into(), false));
        assert_eq!(shown("c"), ("~/.c ~/.d".into(), true));
        for (root, at, written) in [("a", 0, "~/.a"), ("c", 1, "~/.d")] {
            assert_eq!(&text[roots[root][at].span.range()], written);
        }
    }

    #[test]
    fn another_key_or_an_empty_mapping_is_refused() {
        let typo = read("a: { evry: [~/.a] }\n").unwrap_err();
        assert!(typo.contains("evry") && typo.contains("every"), "{typo}");
        assert!(read("a: {}\n").is_err() && read("a: 7\n").is_err());
    }
}
