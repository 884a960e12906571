//! One row a folder, with what its files say as fields.
//!
//! It must not know what a field means, and opens only files the rule names.

use crate::document::{Form, bytes, newest, parse};
use crate::file::{DATABASE_TEXT, Hit, lossy};
use crate::find::{Finder, Kind};
use crate::pointer;
use crate::read::{Context, Outcome, Table};
use crate::report::Report;
use crate::{Name, Row, World};
use axiowl_lang::source::{FileFact, Folder, FolderField};
use axiowl_model::{Issue, codes};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

/// Reads one source of folders.
pub(crate) fn read(rule: &Folder, context: &Context<'_>) -> Outcome {
    let mut report = Report::default();
    let mut finder = Finder::new(context.world, context.roots, Kind::Folder);
    let mut hits = finder.find(&rule.path, "", &mut report);
    let mut table = Table {
        files_matched: hits.len(),
        root_exists: finder.root_exists(&rule.path),
        ..Table::default()
    };
    newest(&mut hits, rule.max_files, &mut report);
    let nulls = rule.fields.keys();
    let nulls: Row = nulls.map(|field| (field.into(), Value::Null)).collect();
    let read: Vec<(Option<Row>, Report)> = hits
        .par_iter()
        .map(|hit| {
            let mut report = Report::default();
            let finder = Finder::new(context.world, context.roots, Kind::File);
            let mut files = Files {
                hit,
                finder,
                world: context.world,
                rule,
                found: HashMap::new(),
                documents: HashMap::new(),
                lines: HashMap::new(),
                report: &mut report,
            };
            (files.row(&nulls), report)
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

/// The files of one folder.
struct Files<'a> {
    hit: &'a Hit,
    finder: Finder<'a>,
    world: &'a World,
    rule: &'a Folder,
    /// Several fields of one file look for it once,
    found: HashMap<&'a str, Rc<[Hit]>>,
    /// and parse it once.
    documents: HashMap<(String, Form), Option<Value>>,
    lines: HashMap<(String, End), Option<Value>>,
    report: &'a mut Report,
}

impl<'a> Files<'a> {
    /// The row of the folder; what is null in it stands in `nulls`, below all rows once.
    fn row(&mut self, nulls: &Row) -> Option<Row> {
        let rule = self.rule;
        let needs = rule.needs.as_deref().unwrap_or_default();
        if needs.iter().any(|needed| self.named(needed).is_empty()) {
            return None;
        }
        let own = self.hit.fields_named(lossy(self.hit.real.file_name()), 0);
        let values = rule.fields.iter();
        let given: Vec<(Name, Value)> = values
            .map(|(field, wanted)| (Name::from(field), self.value(wanted)))
            // Where a field has the name of one of the folder's own, it stands for it.
            .filter(|(name, value)| !value.is_null() || own.contains_key(name))
            .collect();
        let mut row = own;
        row.lay_over(nulls, given.len());
        for (field, value) in given {
            row.insert(field, value);
        }
        Some(row)
    }

    fn named(&mut self, name: &'a str) -> Rc<[Hit]> {
        if let Some(found) = self.found.get(name) {
            return Rc::clone(found);
        }
        let found: Rc<[Hit]> = self.look_for(name).into();
        self.found.insert(name, Rc::clone(&found));
        found
    }

    fn look_for(&mut self, name: &str) -> Vec<Hit> {
        let hits = self.finder.within(self.hit, name, self.report);
        if !hits.is_empty() || !self.world.is_fixture() {
            return hits;
        }
        let text = format!("{name}{DATABASE_TEXT}");
        let texts = self.finder.within(self.hit, &text, self.report);
        let databases = texts.into_iter();
        databases
            .filter_map(|hit| hit.of_text(self.world))
            .collect()
    }

    fn value(&mut self, wanted: &'a FolderField) -> Value {
        let hits = self.named(&wanted.file);
        if let Some(fact) = wanted.what {
            return match fact {
                FileFact::Exists => Value::Bool(!hits.is_empty()),
                FileFact::Count => Value::from(hits.len()),
                FileFact::Newest => hits.iter().map(|hit| hit.mtime).max().into(),
                FileFact::Size => hits.first().map(|hit| hit.size).into(),
            };
        }
        let forms = [
            (&wanted.json, Form::json(wanted.comments)),
            (&wanted.yaml, Form::Yaml),
            (&wanted.toml, Form::Toml),
        ];
        if let Some((pointers, form)) = forms.into_iter().find_map(|(p, f)| Some((p.as_ref()?, f)))
        {
            let document = hits.first().and_then(|hit| self.document(hit, form));
            return document
                .and_then(|d| pointer::first(pointers, d))
                .unwrap_or(Value::Null);
        }
        let lines = [
            (&wanted.first_line, End::First),
            (&wanted.last_line, End::Last),
        ];
        if let Some((pointers, end)) = lines.into_iter().find_map(|(p, e)| Some((p.as_ref()?, e))) {
            let record = hits.first().and_then(|hit| self.line(hit, end));
            return record
                .and_then(|record| pointer::first(pointers, record))
                .unwrap_or(Value::Null);
        }
        let Some(pattern) = &wanted.matches else {
            return Value::Bool(!hits.is_empty());
        };
        let text = hits
            .first()
            .and_then(|hit| bytes(hit, self.rule.max_bytes.0, self.report));
        let Some((text, _)) = text else {
            return Value::Null;
        };
        let text = String::from_utf8_lossy(&text);
        let captures = pattern
            .regex()
            .captures(text.strip_prefix('\u{feff}').unwrap_or(&text));
        let found =
            captures.and_then(|c| c.get(1).or_else(|| c.get(0)).map(|m| m.as_str().to_owned()));
        found.map_or(Value::Null, Value::String)
    }

    /// A record at one end of a file of lines, parsed once.
    fn line(&mut self, hit: &Hit, end: End) -> Option<&Value> {
        let report = &mut *self.report;
        self.lines
            .entry((hit.recorded.clone(), end))
            .or_insert_with(|| line(hit, end, report))
            .as_ref()
    }

    fn document(&mut self, hit: &Hit, form: Form) -> Option<&Value> {
        let max_bytes = self.rule.max_bytes.0;
        let report = &mut *self.report;
        self.documents
            .entry((hit.recorded.clone(), form))
            .or_insert_with(|| parse(hit, form, max_bytes, report))
            .as_ref()
    }
}

/// One end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum End {
    First,
    Last,
}

/// Bytes at one end of a file that are searched for a line.
const LINE: u64 = 1 << 20;

/// The first line of a file, or the last one that is a record: the very last may be half
/// written.
fn line(hit: &Hit, end: End, report: &mut Report) -> Option<Value> {
    let (bytes, whole) = match ends(hit, end) {
        Ok(read) => read,
        Err(error) => {
            report.unreadable(&hit.recorded, &error);
            return None;
        }
    };
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    let mut lines = bytes.split(|byte| *byte == b'\n');
    if end == End::Last && !whole {
        // Its start was not read.
        lines.next();
    }
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    let parsed = |line: &[u8]| serde_json::from_slice(line).ok();
    let found = match end {
        End::First => lines.take(1).find_map(parsed),
        End::Last => lines.rev().take(2).find_map(parsed),
    };
    if found.is_none() && hit.size > 0 {
        let which = match end {
            End::First => "first",
            End::Last => "last",
        };
        let message = match whole {
            true => format!("its {which} line is no JSON record"),
            false => format!("its {which} line is no JSON record within the {which} {LINE} bytes"),
        };
        report.issue(Issue::new(codes::DAMAGED, message).at(&hit.recorded));
    }
    found
}

/// The bytes at one end of a file, and whether they are all of it.
fn ends(hit: &Hit, end: End) -> io::Result<(Vec<u8>, bool)> {
    let mut file = crate::file::open(&hit.real)?;
    let size = file.metadata()?.len();
    if end == End::Last {
        file.seek(SeekFrom::Start(size.saturating_sub(LINE)))?;
    }
    let mut out = Vec::new();
    file.take(LINE).read_to_end(&mut out)?;
    Ok((out, size <= LINE))
}

#[cfg(test)]
mod tests;
