//! Looks at the records of a few files as a whole: sorts that the rule does not know, and
//! records of a known sort that no longer give what is taken from them.
//!
//! The readers parse only lines that may matter, so they cannot see this. It looks at the
//! files written last, since those show how the provider writes now.

use axiowl_lang::load::LoadedRule;
use axiowl_lang::source::{Jsonl, Source};
use axiowl_sources::read::{Table, Tables};
use axiowl_sources::{Row, World, jsonl, pointer, record};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

/// Files that are looked at, for each source.
const FILES: usize = 8;
/// Bytes at either end of such a file.
const BYTES: u64 = 32 << 10;

/// What was odd.
#[derive(Debug, Default)]
pub struct Odd {
    /// Unknown sort → how many records, the first file and line (0 when not counted).
    pub unknown: BTreeMap<String, (usize, String, u64)>,
    /// `source.field` → how many records should give it, and the first file.
    pub silent: BTreeMap<String, (usize, String)>,
}

/// Looks at every JSON Lines source of which something can be said.
pub fn look(loaded: &LoadedRule, world: &World, tables: &Tables) -> Odd {
    let mut odd = Odd::default();
    for (name, source) in &loaded.rule.sources {
        let Source::Jsonl(rule) = source else {
            continue;
        };
        let telling = rule
            .take
            .iter()
            .any(|take| take.filter.is_some() && !take.prefix);
        if rule.records.is_none() && !telling {
            continue;
        }
        if let Some(table) = tables.tables.get(name) {
            one(name, rule, table, world, &mut odd);
        }
    }
    odd
}

fn one(name: &str, rule: &Jsonl, table: &Table, world: &World, odd: &mut Odd) {
    // Of each take: records that fit it, those of them that give something, the first file.
    let mut takes = vec![(0usize, 0usize, String::new()); rule.take.len()];
    for row in newest(table) {
        let path = row.get("path").and_then(Value::as_str).unwrap_or_default();
        let Some(real) = world.real_path(path) else {
            continue;
        };
        each_record(&real, rule, &mut |line, parsed| {
            if let Some(records) = &rule.records
                && let Some(Value::String(sort)) = pointer::at(&records.at, parsed)
                && !records.known.contains(&sort)
            {
                let known = odd.unknown.entry(sort);
                known.or_insert((0, path.to_owned(), line)).0 += 1;
            }
            for (take, (fit, given, first)) in rule.take.iter().zip(&mut takes) {
                let Some(filter) = take.filter.as_ref().filter(|_| !take.prefix) else {
                    continue;
                };
                if !record::holds(filter, parsed, row) {
                    continue;
                }
                *fit += 1;
                let mut fields = take.fields.values();
                *given += usize::from(fields.any(|at| pointer::first(at, parsed).is_some()));
                if first.is_empty() {
                    path.clone_into(first);
                }
            }
        });
    }
    for (take, (fit, given, first)) in rule.take.iter().zip(takes) {
        // A field that another take gives too is not gone.
        let elsewhere = |field: &String| {
            let given = |row: &Row| row.get(field).is_some_and(|value| !value.is_null());
            table.rows.iter().any(given)
        };
        if fit > 0 && given == 0 {
            for field in take.fields.keys().filter(|field| !elsewhere(field)) {
                let key = format!("{name}.{field}");
                odd.silent.insert(key, (fit, first.clone()));
            }
        }
    }
}

/// One row of each of the files written last.
fn newest(table: &Table) -> Vec<&Row> {
    let rows = table.rows.iter();
    let mut rows: Vec<(Reverse<i64>, &str, &Row)> = rows
        .map(|row| {
            let time = row.get("mtime").and_then(Value::as_i64).unwrap_or(0);
            let path = row.get("path").and_then(Value::as_str);
            (Reverse(time), path.unwrap_or_default(), row)
        })
        .collect();
    rows.sort_by_key(|(time, path, _)| (*time, *path));
    let mut seen = BTreeSet::new();
    let first = rows.into_iter().filter(|(_, path, _)| seen.insert(*path));
    first.map(|(_, _, row)| row).take(FILES).collect()
}

/// Calls `visit` for the records at both ends of a file, with their line where it is known. A
/// file that cannot be read has been reported by its reader.
fn each_record(real: &Path, rule: &Jsonl, visit: &mut dyn FnMut(u64, &Value)) {
    let mut number = 0;
    let mut line = |number: u64, line: &[u8]| {
        if let Ok(parsed) = serde_json::from_slice::<Value>(line)
            && parsed.is_object()
        {
            visit(number, &parsed);
        }
        ControlFlow::Continue(())
    };
    let head = jsonl::scan_lines(real, &rule.also, 0, BYTES, None, &mut |_, text| {
        number += 1;
        line(number, text)
    });
    let Ok(head) = head else { return };
    if !head.complete {
        let end = head.offset;
        let _unreadable =
            jsonl::scan_back(
                real,
                &rule.also,
                BYTES,
                None,
                &mut |offset, text| match offset >= end {
                    true => line(0, text),
                    false => ControlFlow::Break(()),
                },
            );
    }
}
