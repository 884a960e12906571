//! `{field}` and `${VARIABLE}` in texts.

use crate::codes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;

/// One piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Literal text.
    Text(String),
    /// `{name}`: a root, a field of a row (`join.field`), `name` or `session`.
    Field(String),
    /// `${NAME}`: an environment variable of the examined world.
    Variable(String),
}

/// A text with fields and variables in it. `{{` and `}}` are literal braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    pieces: Vec<Piece>,
}

impl Template {
    /// Reads a template; the error says which brace is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let brace = &rest[at..];
            if let Some(after) = brace.strip_prefix("{{") {
                literal.push('{');
                rest = after;
                continue;
            }
            if let Some(after) = brace.strip_prefix("}}") {
                literal.push('}');
                rest = after;
                continue;
            }
            if brace.starts_with('}') {
                return Err(format!(
                    "`}}` without `{{` in `{text}`; write `}}}}` for a literal brace"
                ));
            }
            let Some(end) = brace.find('}') else {
                return Err(format!(
                    "`{{` without `}}` in `{text}`; write `{{{{` for a literal brace"
                ));
            };
            let name = brace[1..end].trim().to_owned();
            if name.is_empty() || name.contains('{') {
                return Err(format!("`{}` names nothing in `{text}`", &brace[..=end]));
            }
            let variable = literal.ends_with('$');
            if variable {
                literal.pop();
            }
            if !literal.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
            }
            pieces.push(if variable {
                Piece::Variable(name)
            } else {
                Piece::Field(name)
            });
            rest = &brace[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Ok(Self {
            text: text.into(),
            pieces,
        })
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The pieces in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The fields it names.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|p| match p {
            Piece::Field(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Fills it; `None` as soon as a field or variable is missing.
    pub fn fill<'v>(
        &self,
        mut field: impl FnMut(&str) -> Option<Cow<'v, str>>,
        mut variable: impl FnMut(&str) -> Option<Cow<'v, str>>,
    ) -> Option<String> {
        let mut out = String::with_capacity(self.text.len());
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Field(name) => out.push_str(&field(name)?),
                Piece::Variable(name) => out.push_str(&variable(name)?),
            }
        }
        Some(out)
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .map_err(|why| de::Error::custom(codes::marked(codes::BAD_TEMPLATE, &why)))
    }
}

impl JsonSchema for Template {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Template".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "Text with {field} and ${VARIABLE} in it" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_filling() {
        let t = Template::parse("${HOME}/x-{threads.id}{{}}").unwrap();
        assert_eq!(
            t.pieces(),
            [
                Piece::Variable("HOME".into()),
                Piece::Text("/x-".into()),
                Piece::Field("threads.id".into()),
                Piece::Text("{}".into())
            ]
        );
        let filled = t.fill(|_| Some("7".into()), |_| Some("/h".into()));
        assert_eq!(filled.as_deref(), Some("/h/x-7{}"));
        assert_eq!(t.fill(|_| None, |_| Some("/h".into())), None);
    }

    #[test]
    fn bad_braces_are_named() {
        for text in ["{a", "a}", "{}", "{a{b}"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }
}
