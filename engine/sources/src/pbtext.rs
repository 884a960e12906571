//! Protobuf's text format: one row a file, fields by their names.
//!
//! A file that cannot be parsed to its end says nothing: half a title is another title. It
//! must not know what a name means.

mod parse;

use crate::document::{bytes, newest};
use crate::file::Hit;
use crate::read::{Context, Outcome};
use crate::report::Report;
use crate::{Row, encoding};
use axiowl_lang::scalar::{ReadAs, TextPath};
use axiowl_lang::source::PbText;
use axiowl_model::{Issue, Timestamp, codes};
use parse::{Block, Node};
use rayon::prelude::*;
use serde_json::Value;

/// Reads one source of text messages.
pub(crate) fn read(rule: &PbText, context: &Context<'_>) -> Outcome {
    let mut report = Report::default();
    let (mut table, mut hits) = context.files(&rule.path, &mut report);
    newest(&mut hits, rule.max_files, &mut report);
    let read: Vec<_> = hits
        .par_iter()
        .map(|hit| {
            let mut report = Report::default();
            (row(rule, hit, &mut report), report)
        })
        .collect();
    for (hit, (row, one)) in hits.iter().zip(read) {
        report.add(one);
        if let Some(row) = row {
            table.note_read(&hit.recorded);
            table.doc.get_or_insert_with(|| row.clone());
            table.rows.push(row);
        }
    }
    Outcome { table, report }
}

fn row(rule: &PbText, hit: &Hit, report: &mut Report) -> Option<Row> {
    let (content, _) = bytes(hit, rule.max_bytes.0, report)?;
    let text = encoding::text(&content);
    if text.trim_matches(['\0', ' ', '\t', '\r', '\n']).is_empty() {
        report.issue(Issue::new(codes::EMPTY_FILE, "it is empty").at(&hit.recorded));
        return None;
    }
    let block = match parse::message(&text) {
        Ok(block) => block,
        Err(damage) => {
            let message = format!("it cannot be parsed: {}", damage.what);
            let issue = Issue::new(codes::DAMAGED, message).at(&hit.recorded);
            report.gap(issue.line(damage.line));
            return None;
        }
    };
    let mut row = hit.fields();
    let mut any = false;
    for (field, paths) in &rule.fields {
        let found = paths.iter().find_map(|path| value(&block, path));
        any |= found.is_some();
        row.insert(field.into(), found.unwrap_or(Value::Null));
    }
    if !any {
        report.strange(&hit.recorded, 0, "none of the fields is in it");
    }
    Some(row)
}

/// The value of a path; of a repeated field the first one that can be read.
fn value(block: &Block, path: &TextPath) -> Option<Value> {
    let mut list = Vec::new();
    let mut found = None;
    walk(block, &path.steps, &mut |bytes| {
        if path.read == ReadAs::Texts {
            list.extend(typed(bytes, ReadAs::Text));
            return false;
        }
        found = typed(bytes, path.read);
        found.is_some()
    });
    match path.read {
        ReadAs::Texts => (!list.is_empty()).then_some(Value::Array(list)),
        _ => found,
    }
}

/// Calls `visit` for every scalar a path leads to, until it answers that this is enough.
fn walk(block: &Block, steps: &[String], visit: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return false;
    };
    let fits = block.iter().filter(|(name, _)| step == "*" || name == step);
    for (_, node) in fits {
        let enough = match node {
            Node::Block(inner) => walk(inner, rest, visit),
            Node::Scalar(bytes) => rest.is_empty() && visit(bytes),
        };
        if enough {
            return true;
        }
    }
    false
}

fn typed(bytes: &[u8], read: ReadAs) -> Option<Value> {
    let text = String::from_utf8_lossy(bytes);
    let number = || {
        let text = text.trim();
        let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        match hex {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    };
    let time = |millis: i64| Value::from(Timestamp::from_millis(millis).as_millis());
    match read {
        ReadAs::Text | ReadAs::Texts => Some(Value::from(&*text)),
        ReadAs::Bytes => Some(Value::String(encoding::to_hex(bytes))),
        ReadAs::Int => number().map(Value::from),
        ReadAs::Bool => match &*text {
            "true" | "True" | "t" => Some(true),
            "false" | "False" | "f" => Some(false),
            _ => number().map(|number| number != 0),
        }
        .map(Value::Bool),
        ReadAs::UnixS => number()?.checked_mul(1_000).map(time),
        ReadAs::UnixMs => number().map(time),
    }
}

#[cfg(test)]
mod tests;
