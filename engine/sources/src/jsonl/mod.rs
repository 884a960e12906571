//! JSON Lines: transcripts and logs, by bounded head and tail.
//!
//! Bytes are searched before anything is parsed, files are read in parallel, and the
//! cost does not depend on how long a transcript is.

mod chunks;
mod file;
mod input;
mod lines;
mod plan;
mod probes;
mod search;
mod targets;
mod transcript;
mod window;

pub use input::compressed;
pub use transcript::{Scanned, locate, locate_below, scan_back, scan_lines};

use crate::read::{Context, Outcome, Table};
use crate::report::Report;
use crate::{Row, leaf};
use axiowl_lang::source::{Jsonl, Per};
use file::Job;
use plan::Plan;
use rayon::prelude::*;
use serde_json::Value;
use std::collections::HashMap;
use targets::Target;
use window::Scratch;

/// Reads one JSON Lines source.
pub(crate) fn read(name: &str, rule: &Jsonl, context: &Context<'_>) -> Outcome {
    let plan = Plan::new(name, rule, context.options);
    let mut report = Report::default();
    let only = context.options.only.as_ref();
    let only = only.filter(|only| only.sources.contains(name));
    let found = targets::find(rule, context, only, &mut report);
    let known = targets::known(rule, context);
    let options = context.options;
    let deep = |path: &str| {
        let only = &options.deep_only;
        options.deep && (only.is_empty() || only.iter().any(|part| path.contains(part.as_str())))
    };
    let read_one = |scratch: &mut Scratch, target: Target| {
        let mut report = Report::default();
        let Target { hit, fields, owner } = target;
        if options.cancel.is_cancelled() {
            return (hit.recorded, None, report);
        }
        let job = Job {
            rule,
            plan: &plan,
            hit: &hit,
            deep: deep(&hit.recorded),
        };
        let rows = read_target(job, fields, scratch, &mut report).map(|mut rows| {
            let owner =
                owner.and_then(|(source, number)| context.tables.get(&source)?.rows.get(number));
            if let Some(owner) = owner {
                rows.iter_mut().for_each(|row| inherit(row, owner));
            }
            rows
        });
        (hit.recorded, rows, report)
    };
    let read: Vec<(String, Option<Vec<Row>>, Report)> = found
        .targets
        .into_par_iter()
        .map_init(Scratch::default, read_one)
        .collect();

    let mut table = Table {
        files_matched: found.matched,
        root_exists: found.root_exists,
        ..Table::default()
    };
    for (path, rows, one) in read {
        report.add(one);
        let Some(rows) = rows else { continue };
        table.note_read(&path);
        table
            .rows
            .extend(rows.into_iter().filter(|row| !known.holds(row)));
    }
    if let (Per::Line, Some(field)) = (rule.per, &rule.last_by) {
        keep_last(&mut table.rows, field);
    }
    Outcome { table, report }
}

/// The rows of one file; `None` when it could not be read.
fn read_target(
    job: Job<'_>,
    mut fields: Row,
    scratch: &mut Scratch,
    report: &mut Report,
) -> Option<Vec<Row>> {
    let rows = match job.rule.per {
        Per::File => file::read_row(job, &mut fields, scratch, report).map(|()| vec![fields]),
        Per::Line => lines::read_rows(job, &fields, scratch, report),
    };
    rows.map_err(|error| report.unreadable(&job.hit.recorded, &error))
        .ok()
}

/// Gives a row the plain fields of the row that named its file, for those it has not itself.
fn inherit(row: &mut Row, owner: &Row) {
    for (field, value) in owner.iter() {
        if !value.is_array() && !value.is_object() && !row.contains_key(&field) {
            row.insert(field, value.clone());
        }
    }
}

/// Of rows with equal values of a field, the last one stays, where it stands. Rows without
/// a value all stay.
fn keep_last(rows: &mut Vec<Row>, field: &str) {
    let mut last: HashMap<String, usize> = HashMap::new();
    for (number, row) in rows.iter().enumerate() {
        if let Some(key) = key(row.get(field)) {
            last.insert(key, number);
        }
    }
    let mut number = 0;
    rows.retain(|row| {
        let stays = key(row.get(field)).is_none_or(|key| last.get(&key) == Some(&number));
        number += 1;
        stays
    });
}

/// A value as a key: text as it is, anything else as JSON; nothing for a blank one.
fn key(value: Option<&Value>) -> Option<String> {
    match value? {
        value if leaf::blank(value) => None,
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    }
}

#[cfg(test)]
mod tests;
