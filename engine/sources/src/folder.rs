//! One row a folder, with what its files say as fields.
//!
//! It must not know what a field means, and opens only files the rule names.

use crate::Row;
use crate::document::{Form, bytes, newest, parse};
use crate::file::{Hit, lossy};
use crate::find::{Finder, Kind};
use crate::pointer;
use crate::read::{Context, Outcome, Table};
use crate::report::Report;
use axiowl_lang::source::{FileFact, Folder, FolderField};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::HashMap;

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
    let read: Vec<(Option<Row>, Report)> = hits
        .par_iter()
        .map(|hit| {
            let mut report = Report::default();
            let finder = Finder::new(context.world, context.roots, Kind::File);
            let mut files = Files {
                hit,
                finder,
                rule,
                documents: HashMap::new(),
                report: &mut report,
            };
            (files.row(), report)
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
    rule: &'a Folder,
    /// Several fields of one file parse it once.
    documents: HashMap<(String, Form), Option<Value>>,
    report: &'a mut Report,
}

impl Files<'_> {
    fn row(&mut self) -> Option<Row> {
        let needs = self.rule.needs.as_deref().unwrap_or_default();
        if needs.iter().any(|needed| self.named(needed).is_empty()) {
            return None;
        }
        let mut row = self.hit.fields_named(lossy(self.hit.real.file_name()));
        for (field, wanted) in &self.rule.fields {
            row.insert(field.clone(), self.value(wanted));
        }
        Some(row)
    }

    fn named(&mut self, name: &str) -> Vec<Hit> {
        self.finder.within(self.hit, name, self.report)
    }

    fn value(&mut self, wanted: &FolderField) -> Value {
        let hits = self.named(&wanted.file);
        if let Some(fact) = wanted.what {
            return match fact {
                FileFact::Exists => Value::Bool(!hits.is_empty()),
                FileFact::Count => Value::from(hits.len()),
                FileFact::Newest => hits.iter().map(|hit| hit.mtime).max().into(),
                FileFact::Size => hits.first().map(|hit| hit.size).into(),
            };
        }
        let forms = [(&wanted.json, Form::Json), (&wanted.yaml, Form::Yaml)];
        if let Some((pointers, form)) = forms.into_iter().find_map(|(p, f)| Some((p.as_ref()?, f)))
        {
            let document = hits.first().and_then(|hit| self.document(hit, form));
            return document
                .and_then(|d| pointer::first(pointers, d))
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
            .0
            .captures(text.strip_prefix('\u{feff}').unwrap_or(&text));
        let found =
            captures.and_then(|c| c.get(1).or_else(|| c.get(0)).map(|m| m.as_str().to_owned()));
        found.map_or(Value::Null, Value::String)
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

#[cfg(test)]
mod tests;
