//! The registry file as a whole: a header line, then one row a line. Bytes in, rows out and
//! back. Does no I/O and decides nothing about rows.

use crate::column::{Column, HEADER, parse_row, write_field};
use crate::field::{escape_into, unescape};
use axiowl_model::{AgentRecord, clip};
use std::collections::HashSet;
use std::io::{self, BufRead};

/// What a row takes in the file, roughly.
const ROW_BYTES: usize = 512;

/// The rows of a registry file, the layout of its columns and the lines that made no sense.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// In the order of the file.
    columns: Vec<Column>,
    pub(crate) rows: Vec<AgentRecord>,
    pub(crate) damaged: Vec<DamagedLine>,
}

/// A line that is no row, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DamagedLine {
    /// One-based.
    pub(crate) line: u64,
    pub(crate) problem: String,
    pub(crate) bytes: Vec<u8>,
}

impl Default for Table {
    fn default() -> Self {
        let columns = HEADER
            .iter()
            .map(|(field, name)| Column::Known(*field, name));
        Self {
            columns: columns.collect(),
            rows: Vec::new(),
            damaged: Vec::new(),
        }
    }
}

impl Table {
    /// A table with the columns of a file, and no rows yet.
    pub(crate) fn of(columns: Vec<Column>) -> Self {
        Self {
            columns,
            rows: Vec::new(),
            damaged: Vec::new(),
        }
    }

    /// The columns of the file it was read from, in their order.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Reads a registry file. Only a first line that is no registry header is an error;
    /// an empty file is an empty table.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::parse_some(bytes, |_| true)
    }

    /// Reads those lines of a registry file that `wanted` picks by their bytes.
    pub(crate) fn parse_some(bytes: &[u8], wanted: impl Fn(&[u8]) -> bool) -> Result<Self, String> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        let mut lines = memchr::memchr_iter(b'\n', bytes)
            .chain([bytes.len()])
            .scan(0, |from, end| {
                Some(&bytes[std::mem::replace(from, end + 1)..end])
            })
            .map(|raw| raw.strip_suffix(b"\r").unwrap_or(raw))
            .zip(1_u64..);
        let columns = parse_header(lines.next().map_or(&[][..], |(raw, _)| raw))?;
        let mut rows = Vec::with_capacity(bytes.len() / ROW_BYTES);
        let mut damaged = Vec::new();
        // Where each row came from, for those that repeat an earlier identity.
        let mut origins = Vec::new();
        for (raw, line) in lines.filter(|(raw, _)| !raw.trim_ascii().is_empty() && wanted(raw)) {
            let row = match std::str::from_utf8(raw) {
                Ok(text) => parse_row(&columns, text),
                Err(_) => Err("it is not UTF-8".into()),
            };
            match row {
                Ok(row) => {
                    rows.push(row);
                    origins.push((line, raw));
                }
                Err(problem) => damaged.push(DamagedLine {
                    line,
                    problem,
                    bytes: raw.to_vec(),
                }),
            }
        }
        let mut table = Self {
            columns,
            rows,
            damaged,
        };
        table.set_repeats_aside(&origins);
        Ok(table)
    }

    fn set_repeats_aside(&mut self, origins: &[(u64, &[u8])]) {
        // A file we wrote is sorted, so that this is all there is to do.
        if self.rows.is_sorted_by(|a, b| a.key < b.key) {
            return;
        }
        let mut seen = HashSet::with_capacity(self.rows.len());
        let repeats: Vec<bool> = self.rows.iter().map(|row| !seen.insert(&row.key)).collect();
        let mut at = 0;
        self.rows.retain(|row| {
            let repeated = repeats[at];
            if repeated {
                let problem = format!("`{}` stands in an earlier line already", row.agent_id());
                let (line, raw) = origins[at];
                self.damaged.push(DamagedLine {
                    line,
                    problem,
                    bytes: raw.to_vec(),
                });
            }
            at += 1;
            !repeated
        });
        self.damaged.sort_by_key(|line| line.line);
    }

    /// Orders the rows by identity, so that the file does not depend on who wrote first.
    pub(crate) fn sort(&mut self) {
        self.rows.sort_by(|a, b| a.key.cmp(&b.key));
    }

    /// The bytes of the file.
    pub(crate) fn render(&self) -> String {
        let columns = self.columns_to_write();
        let mut out = String::with_capacity(256 + self.rows.len() * ROW_BYTES);
        write_header(&mut out, &columns);
        for row in &self.rows {
            write_row(&mut out, row, &columns);
        }
        out
    }

    /// The columns of the file to write: those it was read with in their order; documented ones
    /// that were missing, and new ones that rows carry, follow.
    pub(crate) fn columns_to_write(&self) -> Vec<Column> {
        let mut columns = self.columns.clone();
        let carried = self
            .rows
            .iter()
            .flat_map(|row| &row.extra)
            .map(|(name, _)| name.as_str());
        for name in HEADER.iter().map(|(_, name)| *name).chain(carried) {
            if !columns.iter().any(|column| column.name() == name) {
                columns.push(Column::named(name));
            }
        }
        columns
    }

    /// Writes the lines of the rows, one after the other.
    pub(crate) fn write_rows<E>(
        &self,
        columns: &[Column],
        write: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut line = String::new();
        for row in &self.rows {
            line.clear();
            write_row(&mut line, row, columns);
            write(&line)?;
        }
        Ok(())
    }

    /// Whether these are the lines of the rows.
    pub(crate) fn is_written(&self, lines: &[u8], columns: &[Column]) -> bool {
        let mut rest = lines;
        let mut same = |line: &str| {
            rest = rest.strip_prefix(line.as_bytes()).ok_or(())?;
            Ok::<(), ()>(())
        };
        self.write_rows(columns, &mut same).is_ok() && rest.is_empty()
    }
}

/// Appends the line of a row.
fn write_row(out: &mut String, row: &AgentRecord, columns: &[Column]) {
    for column in columns {
        write_field(out, row, column);
        out.push('\t');
    }
    end_line(out);
}

/// Shows every row of a file, one after the other. A damaged line is passed over. The inner error
/// is a first line that is no registry header.
pub(crate) fn each_row(
    input: &mut impl BufRead,
    mut show: impl FnMut(AgentRecord),
) -> io::Result<Result<(), String>> {
    let mut columns: Option<Vec<Column>> = None;
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let raw = line.strip_suffix(b"\n").unwrap_or(&line);
        let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
        match &columns {
            None => {
                let raw = raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(raw);
                match parse_header(raw) {
                    Ok(found) => columns = Some(found),
                    Err(problem) => return Ok(Err(problem)),
                }
            }
            Some(columns) => {
                let text = std::str::from_utf8(raw).ok();
                if let Some(row) = text.and_then(|text| parse_row(columns, text).ok()) {
                    show(row);
                }
            }
        }
        line.clear();
    }
    Ok(Ok(()))
}

/// Appends the first line of a file.
pub(crate) fn write_header(out: &mut String, columns: &[Column]) {
    for column in columns {
        escape_into(out, column.name());
        out.push('\t');
    }
    end_line(out);
}

/// The tab after the last field becomes the end of the line.
fn end_line(out: &mut String) {
    out.pop();
    out.push('\n');
}

pub(crate) fn parse_header(raw: &[u8]) -> Result<Vec<Column>, String> {
    let text = std::str::from_utf8(raw).map_err(|_| "its first line is not UTF-8".to_owned())?;
    let mut columns: Vec<Column> = Vec::new();
    for field in text.split('\t') {
        let name = unescape(field).map_err(|bad| format!("in its first line {bad}"))?;
        if columns.iter().any(|column| column.name() == name) {
            return Err(format!("its first line names the column `{name}` twice"));
        }
        columns.push(Column::named(&name));
    }
    let has = |name: &str| columns.iter().any(|column| column.name() == name);
    if has("agent_id") || (has("provider") && has("provider_session_id")) {
        return Ok(columns);
    }
    let shown = clip(&text.escape_debug().to_string(), 60);
    Err(format!("its first line `{shown}` names no agent_id column"))
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
