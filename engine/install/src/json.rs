//! JSON, with comments or without: entries are put into the text and taken out of it at the
//! places that the parser gives. No other byte is written.

use crate::error::Why;
use crate::recipe::{Entry, Format, Place};
use crate::splice::Container;
use jsonc_parser::ast::{self, Object};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, ParseOptions, ParseResult, parse_to_ast};
use serde_json::{Map, Value};

/// What is allowed beyond JSON: comments and trailing commas.
const RELAXED: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// What a text means.
pub(crate) fn value(text: &str, format: Format) -> Result<Value, Why> {
    let parsed = parse(text)?;
    let Some(value) = parsed.value else {
        return Ok(Value::Object(Map::new()));
    };
    if format == Format::Json {
        let strict = serde_json::from_str::<Value>(text);
        strict.map_err(|error| Why::Damaged(error.to_string()))?;
    }
    given_twice(&value, &mut Vec::new())?;
    if value.as_object().is_none() {
        return Err(Why::Damaged("it holds no object".into()));
    }
    Ok(value.into())
}

fn parse(text: &str) -> Result<ParseResult<'_>, Why> {
    let collect = CollectOptions {
        tokens: true,
        ..CollectOptions::default()
    };
    parse_to_ast(text, &collect, &RELAXED).map_err(|error| Why::Damaged(error.to_string()))
}

/// Readers disagree about which of two equal keys counts, so none is edited.
fn given_twice(value: &ast::Value<'_>, path: &mut Vec<String>) -> Result<(), Why> {
    match value {
        ast::Value::Object(object) => {
            let mut seen = std::collections::BTreeSet::new();
            for property in &object.properties {
                let name = property.name.as_str();
                path.push(name.to_owned());
                if !seen.insert(name) {
                    return Err(Why::Twice(path.join(".")));
                }
                given_twice(&property.value, path)?;
                path.pop();
            }
        }
        ast::Value::Array(list) => {
            for element in &list.elements {
                given_twice(element, path)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The text with an entry that is not there.
pub(crate) fn add(text: &str, entry: &Entry) -> Result<String, Why> {
    let parsed = parse(text)?;
    let shape = |depth: usize, what| Why::Shape(entry.path[..depth].join("."), what);
    let Some(root) = &parsed.value else {
        let whole = serde_json::to_string_pretty(&nested(&entry.path, entry));
        let whole = whole.map_err(|error| Why::Damaged(error.to_string()))?;
        return Ok(format!("{text}{whole}\n"));
    };
    let mut object = root.as_object().ok_or_else(|| shape(0, "a table"))?;
    for (depth, key) in entry.path.iter().enumerate() {
        let Some(property) = get(object, key) else {
            let own = nested(&entry.path[depth + 1..], entry);
            let splices = container(&parsed, object).put(text, Some(key), &own);
            return Ok(splices.apply(text));
        };
        if depth + 1 < entry.path.len() {
            let inner = property.value.as_object();
            object = inner.ok_or_else(|| shape(depth + 1, "a table"))?;
        } else {
            let list = property.value.as_array();
            let list = list.ok_or_else(|| shape(depth + 1, "a list"))?;
            let splices = list_container(&parsed, list).put(text, None, &entry.value);
            return Ok(splices.apply(text));
        }
    }
    Err(shape(0, "a path"))
}

/// The text without an entry, and without the containers that go with it.
pub(crate) fn take(text: &str, entry: &Entry, emptied: &[Vec<String>]) -> Result<String, Why> {
    let parsed = parse(text)?;
    let gone = || Why::Shape(entry.shown(), "there");
    // The outermost container that goes takes everything in it along.
    let whole = emptied.last();
    let path = whole.unwrap_or(&entry.path);
    let (key, parents) = path.split_last().ok_or_else(gone)?;
    let root = parsed.value.as_ref().and_then(|root| root.as_object());
    let object = parents.iter().try_fold(root.ok_or_else(gone)?, |at, key| {
        get(at, key)
            .and_then(|found| found.value.as_object())
            .ok_or_else(gone)
    })?;
    if whole.is_some() || entry.place == Place::Key {
        let at = object
            .properties
            .iter()
            .position(|p| p.name.as_str() == key);
        return Ok(container(&parsed, object)
            .take(text, at.ok_or_else(gone)?)
            .apply(text));
    }
    let list = get(object, key).and_then(|found| found.value.as_array());
    let list = list.ok_or_else(gone)?;
    let ours = |one: &ast::Value<'_>| Value::from(one.clone()) == entry.value;
    let at = list.elements.iter().position(ours).ok_or_else(gone)?;
    Ok(list_container(&parsed, list).take(text, at).apply(text))
}

fn get<'o, 't>(object: &'o Object<'t>, key: &str) -> Option<&'o ast::ObjectProp<'t>> {
    object.properties.iter().find(|p| p.name.as_str() == key)
}

/// Where things stand in an object.
fn container(parsed: &ParseResult<'_>, object: &Object<'_>) -> Container {
    let items = object.properties.iter().map(|p| (p.start(), p.end()));
    with_commas(
        parsed,
        object.range.start,
        object.range.end,
        items.collect(),
    )
}

/// Where things stand in a list.
fn list_container(parsed: &ParseResult<'_>, list: &ast::Array<'_>) -> Container {
    let items = list.elements.iter().map(|e| (e.start(), e.end()));
    with_commas(parsed, list.range.start, list.range.end, items.collect())
}

fn with_commas(
    parsed: &ParseResult<'_>,
    start: usize,
    end: usize,
    items: Vec<(usize, usize)>,
) -> Container {
    let tokens = parsed.tokens.iter().flatten();
    let commas = tokens
        .filter(|token| token.token == Token::Comma)
        .map(|token| token.range.start);
    let own = |at: &usize| {
        (start..end).contains(at) && !items.iter().any(|(from, to)| (*from..*to).contains(at))
    };
    let commas = commas.filter(own).collect();
    Container {
        start,
        end,
        items,
        commas,
    }
}

/// The entry inside the containers that it needs.
fn nested(rest: &[String], entry: &Entry) -> Value {
    let own = match entry.place {
        Place::Key => entry.value.clone(),
        Place::Element => Value::Array(vec![entry.value.clone()]),
    };
    rest.iter().rev().fold(own, |inner, key| {
        Value::Object(Map::from_iter([(key.clone(), inner)]))
    })
}
