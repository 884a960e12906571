//! JSON, YAML and TOML documents, whole or not at all.
//!
//! A document that cannot be read in full says nothing: half a list of pinned sessions
//! would look like sessions that lost their pin. So a big one is refused, never cut, and
//! a damaged one leaves the table incomplete. It must not know what a field means.

use crate::file::{Hit, mtime};
use crate::read::{Context, Outcome};
use crate::report::Report;
use crate::{Row, pointer};
use axiowl_lang::at::At;
use axiowl_lang::scalar::{OneOrMany, Pointer};
use axiowl_lang::source::{Document, Each};
use axiowl_lang::yaml;
use axiowl_model::{Issue, codes};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Nesting of a YAML document; JSON has its parser's own limit of 128.
const YAML_DEPTH: usize = 64;
/// How often a document that changed while it was read is read.
const ATTEMPTS: usize = 3;

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// JSON.
    Json,
    /// JSON with comments and commas before closing brackets.
    JsonWithComments,
    /// YAML.
    Yaml,
    /// TOML.
    Toml,
}

impl Form {
    /// JSON, with comments where the rule says so.
    pub(crate) fn json(comments: bool) -> Self {
        match comments {
            true => Self::JsonWithComments,
            false => Self::Json,
        }
    }
}

/// Reads one source of documents.
pub(crate) fn read(rule: &Document, form: Form, context: &Context<'_>) -> Outcome {
    let mut report = Report::default();
    let (mut table, mut hits) = context.files(&rule.path, &mut report);
    newest(&mut hits, rule.max_files, &mut report);
    let read_one = |hit: &Hit| {
        let mut report = Report::default();
        let document = parse(hit, form, rule.max_bytes.0, &mut report);
        let rows = document.map(|document| rows(rule, hit, &document, &mut report));
        (rows, report)
    };
    let read: Vec<_> = hits.par_iter().map(read_one).collect();
    let mut first: Option<(usize, Row)> = None;
    for (hit, (rows, one)) in hits.iter().zip(read) {
        report.add(one);
        let Some((document, rows)) = rows else {
            continue;
        };
        table.note_read(&hit.recorded);
        table.rows.extend(rows);
        if first
            .as_ref()
            .is_none_or(|(pattern, _)| hit.pattern < *pattern)
        {
            first = Some((hit.pattern, document));
        }
    }
    table.doc = first.map(|(_, document)| document);
    Outcome { table, report }
}

/// Of too many files those changed last stay, in their order.
pub(crate) fn newest(hits: &mut Vec<Hit>, most: usize, report: &mut Report) {
    if hits.len() <= most {
        return;
    }
    let all = hits.len();
    let message = format!(
        "{all} files, of which the {most} changed last were read; `max_files` sets the limit"
    );
    report.gap(Issue::new(codes::CAP, message));
    hits.sort_by(|a, b| {
        b.mtime
            .cmp(&a.mtime)
            .then_with(|| a.recorded.cmp(&b.recorded))
    });
    hits.truncate(most);
    hits.sort_by(|a, b| a.recorded.cmp(&b.recorded));
}

/// The document's own fields, and its rows.
fn rows(rule: &Document, hit: &Hit, document: &Value, report: &mut Report) -> (Row, Vec<Row>) {
    let mut own = hit.fields();
    let known = take(&rule.fields, document, &mut own) || rule.sparse;
    let Some(each) = &rule.each else {
        if !known {
            report.strange(&hit.recorded, 0, "none of the fields is in it");
        }
        return (own.clone(), vec![own]);
    };
    let mut base = own.clone();
    for value in base
        .values_mut()
        .filter(|value| value.is_array() || value.is_object())
    {
        // A list in every row would cost the square of the document.
        *value = Value::Null;
    }
    let rows = elements(each, document, &base);
    if rows.is_none() && !known {
        report.strange(&hit.recorded, 0, "none of the fields and no list is in it");
    }
    (own, rows.unwrap_or_default())
}

/// Puts fields into a row, null where there is no value; true when any has one.
pub(crate) fn take(
    fields: &BTreeMap<String, OneOrMany<At<Pointer>>>,
    value: &Value,
    row: &mut Row,
) -> bool {
    let mut any = false;
    for (field, pointers) in fields {
        let found = pointer::first(pointers, value);
        any |= found.is_some();
        row.insert(field.into(), found.unwrap_or(Value::Null));
    }
    any
}

/// One row for each element of the list or mapping; `None` when there is neither.
///
/// Each row starts as `base`. Elements of a mapping get its key as `key`, unless the rule
/// takes a field of that name.
pub(crate) fn elements(each: &Each, value: &Value, base: &Row) -> Option<Vec<Row>> {
    let row = |key: Option<&String>, element: &Value| {
        let mut row = base.clone();
        if let Some(key) = key {
            row.insert("key".into(), Value::String(key.clone()));
        }
        take(&each.fields, element, &mut row);
        row
    };
    let found = each.at.iter().find_map(|at| {
        let found = pointer::find(at.segments(), value)?;
        (found.is_array() || found.is_object()).then_some(found)
    })?;
    match &*found {
        Value::Array(list) => Some(list.iter().map(|element| row(None, element)).collect()),
        Value::Object(map) => Some(
            map.iter()
                .map(|(key, element)| row(Some(key), element))
                .collect(),
        ),
        _ => None,
    }
}

/// Reads and parses a document. One that was rewritten meanwhile is read again, since many
/// programs write in place.
pub(crate) fn parse(hit: &Hit, form: Form, max_bytes: u64, report: &mut Report) -> Option<Value> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let (bytes, time) = bytes(hit, max_bytes, report)?;
        let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
        let (line, message) = match value(text, form) {
            Ok(value) => return Some(value),
            Err(damage) => damage,
        };
        let now = hit.real.metadata().map(|metadata| mtime(&metadata));
        if attempt < ATTEMPTS && now.is_ok_and(|now| now != time) {
            continue;
        }
        let message = match text.is_empty() {
            true => "it is empty".to_owned(),
            false => format!("it cannot be parsed: {message}"),
        };
        let issue = Issue::new(codes::DAMAGED, message).at(&hit.recorded);
        report.gap(Issue {
            line: line.filter(|line| *line > 0),
            ..issue
        });
        return None;
    }
}

/// Parses a text; the error is a line, where one is known, and what is wrong there.
pub(crate) fn value(text: &[u8], form: Form) -> Result<Value, (Option<u64>, String)> {
    let json = |text: &[u8]| {
        serde_json::from_slice(text).map_err(|error| (Some(error.line() as u64), error.to_string()))
    };
    match form {
        Form::Json => json(text),
        Form::JsonWithComments => json(&comments::blanked(text)),
        Form::Yaml => yaml::to_json(&String::from_utf8_lossy(text), YAML_DEPTH)
            .map_err(|error| (error.line, error.message)),
        Form::Toml => tables::to_json(&String::from_utf8_lossy(text)),
    }
}

/// The bytes of a file of at most `max_bytes`, and when it was last changed.
pub(crate) fn bytes(hit: &Hit, max_bytes: u64, report: &mut Report) -> Option<(Vec<u8>, i64)> {
    let read = || -> io::Result<Option<(Vec<u8>, i64)>> {
        let file = crate::file::open(&hit.real)?;
        let metadata = file.metadata()?;
        if metadata.len() > max_bytes {
            return Ok(None);
        }
        // Room for one read more keeps `read_to_end` from growing the buffer to see the end.
        let mut out = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 32);
        // It may have grown since.
        file.take(max_bytes.saturating_add(1))
            .read_to_end(&mut out)?;
        Ok((out.len() as u64 <= max_bytes).then(|| (out, mtime(&metadata))))
    };
    match read() {
        Ok(None) => {
            let message = format!("it is bigger than {max_bytes} bytes and was not read at all");
            report.gap(Issue::new(codes::CAP, message).at(&hit.recorded));
            None
        }
        Ok(read) => read,
        Err(error) => {
            report.unreadable(&hit.recorded, &error);
            None
        }
    }
}

mod comments;
mod tables;
#[cfg(test)]
mod tests;
