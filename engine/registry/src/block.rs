//! The rows of one provider in a table that is in order, as a stretch of its file.
//!
//! A discovery changes the rows of its own provider and no others. Where the file is sorted and
//! undamaged, these rows stand together, so that the rest is copied as it is instead of being
//! read into rows and written anew: neither time nor memory grow with what other providers
//! have. Anything unexpected gives no block, and the whole table is read instead.

use crate::column::{Column, parse_row};
use crate::digest::Digested;
use crate::store::PIECE;
use crate::table::{Table, parse_header};
use axiowl_model::SessionKey;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;

/// A provider's rows in a file.
#[derive(Debug)]
pub(crate) struct Block {
    /// Bytes of the file in which the rows stand; empty where there are none, and then the
    /// place where they belong.
    pub(crate) range: Range<u64>,
    /// These bytes.
    pub(crate) lines: Vec<u8>,
    /// The rows in them, and the columns of the file.
    pub(crate) table: Table,
}

/// Finds the rows of a provider in a file. `known` is the digest of bytes that are in order;
/// without one, every line is checked. `None` when it is not in order, or not these bytes; with
/// the digest of the file.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn find(
    file: impl Read,
    provider: &str,
    known: Option<&str>,
) -> io::Result<(Option<Block>, String)> {
    let mut input = BufReader::with_capacity(PIECE, Digested::new(file));
    let found = search(&mut input, provider, known.is_none())?;
    // What is left still counts for the digest.
    io::copy(&mut input, &mut io::sink())?;
    let digest = input.into_inner().digest();
    let counts = known.is_none_or(|known| known == digest);
    Ok((found.filter(|_| counts), digest))
}

fn search(input: &mut impl BufRead, provider: &str, check: bool) -> io::Result<Option<Block>> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let mut line = Vec::new();
    let mut at = input.read_until(b'\n', &mut line)? as u64;
    let columns = match parse_header(line.strip_suffix(b"\n").unwrap_or_default()) {
        Ok(columns) if columns.first().is_some_and(Column::is_agent_id) => columns,
        _ => return Ok(None),
    };
    if provider.is_empty() || !provider.bytes().all(plain) {
        return Ok(None);
    }
    let mut table = Table::of(columns);
    let mut lines = Vec::new();
    let mut range = at..at;
    let mut before: Option<SessionKey> = None;
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        let Some(text) = line.strip_suffix(b"\n") else {
            return Ok(None);
        };
        let colon = memchr::memchr(b':', text).unwrap_or(text.len());
        let ours = text[..colon] == *provider.as_bytes();
        if ours || check {
            let row = std::str::from_utf8(text)
                .ok()
                .filter(|t| !t.ends_with('\r'));
            let row = row.and_then(|text| parse_row(table.columns(), text).ok());
            let Some(row) = row.filter(|row| before.as_ref().is_none_or(|b| *b < row.key)) else {
                return Ok(None);
            };
            if ours != (row.key.provider == provider) {
                return Ok(None);
            }
            if ours {
                before = Some(row.key.clone());
                table.rows.push(row);
            } else {
                before = Some(row.key);
            }
        }
        if ours {
            if range.is_empty() {
                range = at..at;
            } else if range.end != at {
                return Ok(None);
            }
            lines.extend_from_slice(&line);
            range.end = at + read as u64;
        } else if range.is_empty() && text[..colon] < *provider.as_bytes() {
            range = at + read as u64..at + read as u64;
        }
        at += read as u64;
    }
    Ok(Some(Block {
        range,
        lines,
        table,
    }))
}
