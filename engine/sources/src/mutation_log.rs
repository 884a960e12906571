//! Logs of changes to one object: the object is rebuilt, and fields taken from it.
//!
//! Only what the fields' pointers lead to is kept while a log is read, so that a
//! conversation of many megabytes costs its reading and little memory. A log is read to its
//! end or to the first thing that is no change; what follows cannot be applied to an object
//! that is not known. It must not know what a field means.

mod object;
mod wanted;

use crate::Row;
use crate::document::{newest, take};
use crate::file::{Hit, mtime};
use crate::read::{Context, Outcome};
use crate::report::Report;
use axiowl_lang::source::{MutationLog, TORN_FIELD};
use axiowl_model::{Issue, codes};
use object::{Object, Trouble};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::HashSet;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use wanted::Wanted;

/// The ending of a log; any other file is the object itself.
const LOG: &str = "jsonl";
/// How often a log that changed while it was read is read.
const ATTEMPTS: usize = 3;

/// Reads one source of logs.
pub(crate) fn read(rule: &MutationLog, context: &Context<'_>) -> Outcome {
    let mut report = Report::default();
    let (mut table, mut hits) = context.files(&rule.path, &mut report);
    without_beginnings(&mut hits);
    newest(&mut hits, rule.max_files, &mut report);
    let wanted = Wanted::of(
        rule.fields
            .values()
            .flat_map(|p| p.iter())
            .map(|p| &p.value),
    );
    let read: Vec<(Option<Row>, Report)> = hits
        .par_iter()
        .map(|hit| {
            let mut report = Report::default();
            (row(rule, hit, &wanted, &mut report), report)
        })
        .collect();
    for (hit, (row, one)) in hits.iter().zip(read) {
        report.add(one);
        if let Some(row) = row {
            table.note_read(&hit.recorded);
            table.rows.push(row);
        }
    }
    Outcome { table, report }
}

/// Leaves out documents beside a log of the same stem: the log started from them.
fn without_beginnings(hits: &mut Vec<Hit>) {
    let logs: HashSet<PathBuf> = hits
        .iter()
        .filter(|hit| is_log(hit))
        .map(|hit| hit.real.with_extension(""))
        .collect();
    hits.retain(|hit| is_log(hit) || !logs.contains(&hit.real.with_extension("")));
}

fn is_log(hit: &Hit) -> bool {
    hit.real
        .extension()
        .is_some_and(|extension| extension == LOG)
}

fn row(rule: &MutationLog, hit: &Hit, wanted: &Wanted, report: &mut Report) -> Option<Row> {
    let (object, trouble) = match rebuilt(hit, wanted, rule.max_bytes.0) {
        Ok(read) => read,
        Err(Unread::TooBig(size)) => {
            let message = format!(
                "it has {size} bytes, and at most {} are read; it was left out",
                rule.max_bytes.0
            );
            report.gap(Issue::new(codes::CAP, message).at(&hit.recorded));
            return None;
        }
        Err(Unread::Empty) => {
            let message = "it is empty: nothing was written to it yet";
            report.issue(Issue::new(codes::EMPTY_FILE, message).at(&hit.recorded));
            return None;
        }
        Err(Unread::Io(error)) => {
            report.unreadable(&hit.recorded, &error);
            return None;
        }
    };
    let mut row = hit.fields();
    row.insert(TORN_FIELD.into(), Value::Bool(trouble.is_some()));
    let known = take(&rule.fields, &object, &mut row);
    match trouble {
        Some(Trouble::Damaged { line, what }) => {
            let issue = Issue::new(codes::DAMAGED, format!("it cannot be read on: {what}"));
            report.gap(issue.at(&hit.recorded).line(line));
        }
        Some(Trouble::Strange { line, what }) => report.strange(&hit.recorded, line, what),
        Some(Trouble::Full) => {
            let message = "its fields hold more text than is kept of one file";
            report.gap(Issue::new(codes::CAP, message).at(&hit.recorded));
        }
        None if !known => report.strange(&hit.recorded, 0, "none of the fields is in it"),
        None => {}
    }
    Some(row)
}

/// Why nothing of a file is known.
enum Unread {
    TooBig(u64),
    Empty,
    Io(io::Error),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The object as far as it can be rebuilt, and what stopped that. A file that changed while
/// it was read is read again: its end may just be on its way.
fn rebuilt(hit: &Hit, wanted: &Wanted, most: u64) -> Result<(Value, Option<Trouble>), Unread> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let file = crate::file::open(&hit.real)?;
        let metadata = file.metadata()?;
        match metadata.len() {
            0 => return Err(Unread::Empty),
            size if size > most => return Err(Unread::TooBig(size)),
            _ => {}
        }
        let mut input = BufReader::with_capacity(64 << 10, file.take(most));
        skip_mark(&mut input)?;
        let mut object = Object::new(wanted);
        let trouble = match is_log(hit) {
            true => object.replay(input)?,
            false => object.whole(input)?,
        };
        let stamp = (metadata.len(), mtime(&metadata));
        let now = hit.real.metadata().map(|now| (now.len(), mtime(&now)));
        let changed = now.is_ok_and(|now| now != stamp);
        if trouble.is_none() || attempt == ATTEMPTS || !changed {
            return Ok((object.value, trouble));
        }
    }
}

/// Skips the mark that some editors put in front of UTF-8.
fn skip_mark(input: &mut impl io::BufRead) -> io::Result<()> {
    let mark = "\u{feff}".as_bytes();
    if input.fill_buf()?.starts_with(mark) {
        input.consume(mark.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
