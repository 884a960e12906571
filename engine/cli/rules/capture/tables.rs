//! A database as the text a fixture keeps: structure, a few rows, their texts replaced.

use super::values::Values;
use super::{json, wire};
use axiowl_sources::World;
use axiowl_sources::dump::{Cell, DumpedTable, builds, dump};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Rows of a table the rule reads.
const READ: usize = 200;
/// Rows of any other table, to show how they look.
const OTHER: usize = 3;

/// A captured database.
pub struct Captured {
    /// SQL that builds it.
    pub sql: String,
    /// Table, rows kept, rows there were.
    pub kept: Vec<(String, usize, usize)>,
}

/// What decides which rows are kept.
pub struct Choice<'a> {
    /// The machine.
    pub world: &'a World,
    /// The ids of the sessions of the case.
    pub ids: &'a [String],
    /// Every text the rule itself holds: keys of key-value stores stand there.
    pub literals: &'a [String],
    /// Whether the rule's statements name a table.
    pub reads: &'a dyn Fn(&str) -> bool,
}

/// Reads a database and replaces its texts.
///
/// # Errors
/// Why it cannot be read.
pub fn capture(path: &Path, choice: &Choice, values: &mut Values) -> Result<Captured, String> {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let tables = dump(choice.world, path, &mut |table, _, cells| {
        let (named, shown) = counts.entry(table.to_owned()).or_default();
        let most = if (choice.reads)(table) { READ } else { OTHER };
        if names_one(cells, choice) && *named < most {
            *named += 1;
            return true;
        }
        // Without a session to name, a few rows show how they look.
        let show = choice.ids.is_empty() && *shown < OTHER;
        *shown += usize::from(show);
        show
    })?;
    let mut out = Captured {
        // Rows that others point to may not be in the case.
        sql: "PRAGMA foreign_keys = OFF;\n".into(),
        kept: Vec::new(),
    };
    for table in &tables {
        let text = statements(table, values);
        match builds(&format!("{}{text}", out.sql)) {
            Ok(()) => {
                out.sql.push_str(&text);
                let kept = (table.name.clone(), table.rows.len(), table.looked_at);
                out.kept.push(kept);
            }
            // A table that cannot be built again is said to be left out, in the text itself.
            Err(why) => {
                let why = why.replace('\n', " ");
                let _ = writeln!(out.sql, "-- the table {} is left out: {why}", table.name);
            }
        }
    }
    Ok(out)
}

fn names_one(cells: &[Cell], choice: &Choice) -> bool {
    cells.iter().any(|cell| {
        let (Cell::Text(bytes) | Cell::Blob(bytes)) = cell else {
            return false;
        };
        let text = String::from_utf8_lossy(bytes);
        choice.ids.iter().any(|id| text.contains(id.as_str()))
            || choice.literals.iter().any(|literal| *literal == text)
    })
}

fn statements(table: &DumpedTable, values: &mut Values) -> String {
    values.words.keep(&table.sql);
    let mut out = format!("{};\n", table.sql.trim().trim_end_matches(';'));
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let columns: Vec<String> = table.columns.iter().map(|c| quoted(c)).collect();
    for row in &table.rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&table.columns)
            .map(|(cell, column)| literal(cell, column, values))
            .collect();
        let _ = writeln!(
            out,
            "INSERT INTO {} ({}) VALUES ({});",
            quoted(&table.name),
            columns.join(", "),
            cells.join(", ")
        );
    }
    out
}

fn literal(cell: &Cell, column: &str, values: &mut Values) -> String {
    match cell {
        Cell::Null => "NULL".into(),
        Cell::Int(number) => {
            let number = number.to_string();
            values.words.keep(&number);
            number
        }
        Cell::Real(number) if number.is_finite() => {
            let number = format!("{number:?}");
            values.words.keep(&number);
            number
        }
        Cell::Real(_) => "NULL".into(),
        Cell::Text(bytes) => {
            let text = content(bytes, column, values);
            match String::from_utf8(text) {
                Ok(text) if !text.contains('\0') => format!("'{}'", text.replace('\'', "''")),
                Ok(text) => format!("CAST({} AS TEXT)", hex(text.as_bytes())),
                Err(error) => format!("CAST({} AS TEXT)", hex(error.as_bytes())),
            }
        }
        Cell::Blob(bytes) => hex(&content(bytes, column, values)),
    }
}

/// The bytes of a cell, replaced by what they look like.
fn content(bytes: &[u8], column: &str, values: &mut Values) -> Vec<u8> {
    if let Some(json) = json_in_hex(bytes) {
        let replaced = json::replace(&json, values);
        return digits(&replaced).into_bytes();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if text.trim_start().starts_with(['{', '[']) => json::replace(bytes, values),
        Ok(text) => values.value(column, text).into_bytes(),
        Err(_) => wire::replace(bytes, values),
    }
}

/// JSON that is written as hexadecimal digits.
fn json_in_hex(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes)
        .ok()
        .filter(|t| t.len() >= 4 && t.len() % 2 == 0)?;
    let pairs = text.as_bytes().chunks_exact(2);
    let decoded: Option<Vec<u8>> = pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    decoded.filter(|json| json.starts_with(b"{") || json.starts_with(b"["))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex(bytes: &[u8]) -> String {
    format!("X'{}'", digits(bytes))
}
