//! The registry file as a whole: a header line, then one row a line. Bytes in, rows out and
//! back. Does no I/O and decides nothing about rows.

use crate::column::{Column, HEADER, parse_row, write_field};
use crate::field::{escape_into, unescape};
use axiowl_model::{AgentRecord, SessionKey, clip};
use std::collections::HashSet;
use std::io::{self, BufRead};

/// What a row takes in the file, roughly.
const ROW_BYTES: usize = 512;

/// Rows that room is made for before they are read.
const MOST_RESERVED: usize = 1 << 20;

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
        let mut input = bytes;
        // Reading from memory does not fail.
        Self::read(&mut input, bytes.len() as u64, wanted).unwrap_or_else(|e| Err(e.to_string()))
    }

    /// The same from a file of so many bytes, line by line. The inner error is a first line that is
    /// no registry header.
    pub(crate) fn read(
        input: &mut impl BufRead,
        bytes: u64,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> io::Result<Result<Self, String>> {
        let columns = match read_header(input)? {
            Ok(Some(columns)) => columns,
            Ok(None) => return Ok(Ok(Self::default())),
            Err(problem) => return Ok(Err(problem)),
        };
        let mut line = Vec::new();
        let mut table = Self::of(columns);
        let rows = usize::try_from(bytes).unwrap_or(0) / ROW_BYTES;
        table.rows.reserve(rows.min(MOST_RESERVED));
        // The identities so far, where they do not follow each other: in a file we wrote they do.
        let mut seen: Option<HashSet<SessionKey>> = None;
        for number in 2.. {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let raw = without_end(&line);
            if raw.trim_ascii().is_empty() || !wanted(raw) {
                continue;
            }
            let row = match std::str::from_utf8(raw) {
                Ok(text) => parse_row(&table.columns, text),
                Err(_) => Err("it is not UTF-8".into()),
            };
            let row = row.and_then(|row| {
                let last = table.rows.last();
                if seen.is_none() && last.is_some_and(|last| last.key >= row.key) {
                    seen = Some(table.rows.iter().map(|row| row.key.clone()).collect());
                }
                let known = |seen: &mut HashSet<SessionKey>| !seen.insert(row.key.clone());
                match seen.as_mut().is_some_and(known) {
                    true => Err(format!(
                        "`{}` stands in an earlier line already",
                        row.agent_id()
                    )),
                    false => Ok(row),
                }
            });
            match row {
                Ok(row) => table.rows.push(row),
                Err(problem) => table.damaged.push(DamagedLine {
                    line: number,
                    problem,
                    bytes: raw.to_vec(),
                }),
            }
        }
        Ok(Ok(table))
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

/// Shows the identity of every row of a file, one after the other. A damaged line is passed over;
/// in a file that is `sound` there is none. The inner error is a first line that is no registry
/// header.
pub(crate) fn each_key(
    input: &mut impl BufRead,
    sound: bool,
    mut show: impl FnMut(&SessionKey),
) -> io::Result<Result<(), String>> {
    let columns = match read_header(input)? {
        Ok(Some(columns)) => columns,
        Ok(None) => return Ok(Ok(())),
        Err(problem) => return Ok(Err(problem)),
    };
    let quick = sound && columns.first().is_some_and(Column::is_agent_id);
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if let Ok(text) = std::str::from_utf8(without_end(&line)) {
            // Only where nothing is escaped it is the very text.
            let id = text.split('\t').next().filter(|id| !id.contains('\\'));
            let key = id.filter(|_| quick).and_then(SessionKey::parse);
            match key.or_else(|| Some(parse_row(&columns, text).ok()?.key)) {
                Some(key) => show(&key),
                None => tracing::trace!("a damaged line has no identity"),
            }
        }
        line.clear();
    }
    Ok(Ok(()))
}

/// The columns of a file by its first line; `None` for a file without anything. The inner error is
/// a first line that is no registry header.
fn read_header(input: &mut impl BufRead) -> io::Result<Result<Option<Vec<Column>>, String>> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    let first = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
    if first.trim_ascii().is_empty() && is_blank(input)? {
        return Ok(Ok(None));
    }
    Ok(parse_header(without_end(first)).map(Some))
}

/// A line without its end.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Whether nothing but white space follows.
fn is_blank(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let piece = input.fill_buf()?;
        if piece.is_empty() {
            return Ok(true);
        }
        if !piece.trim_ascii().is_empty() {
            return Ok(false);
        }
        let read = piece.len();
        input.consume(read);
    }
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
