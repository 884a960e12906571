//! Walks the lines of one transcript, forwards or from the end.
//!
//! For proof that a message stands in a target's own file: a huge transcript is read
//! from its end until the message is found, or from the offset where the last look
//! ended. It must not know what a record means; the caller gets whole lines.

use super::chunks::{Chunks, MAX_LINE, line_around};
use super::input::{inflated, is_compressed};
use crate::World;
use axiowl_lang::secrets::is_secret_path;
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Bytes that one backward step reads at first; each step doubles it.
const STEP: u64 = 64 << 10;
/// Bytes of fitting lines of a compressed file that are remembered on the way to its end.
const REMEMBERED: usize = 16 << 20;

/// How far a walk came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Byte offset where a later forward walk goes on: after the last line that has its
    /// line end. Backwards, the offset of the first byte that was looked at.
    pub offset: u64,
    /// Whether the walk reached the file's end (backwards: its start) within the budget.
    pub complete: bool,
    /// Lines longer than 16 MiB that were passed over.
    pub too_long: usize,
}

/// The file itself, or the first that exists with one of the suffixes behind it.
pub fn locate(path: &Path, also: &[String]) -> Option<PathBuf> {
    let secret = |path: &Path| {
        let name = path.file_name().map(|name| name.to_string_lossy());
        name.is_none_or(|name| is_secret_path(&name))
    };
    let with = also.iter().map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    });
    let mut all = std::iter::once(path.to_path_buf()).chain(with);
    all.find(|file| !secret(file) && file.is_file())
}

/// The same for a recorded path, and only when the file lies below one of the roots (as in
/// [`crate::Tables::roots`]), symlinks resolved.
pub fn locate_below(
    world: &World,
    roots: &BTreeMap<String, String>,
    recorded: &str,
    also: &[String],
) -> Option<PathBuf> {
    let file = locate(&world.real_path(recorded)?, also)?;
    let canonical = file.canonicalize().ok()?;
    let inside = |root: &String| {
        let root = world
            .real_path(root)
            .and_then(|root| root.canonicalize().ok());
        root.is_some_and(|root| canonical.starts_with(root))
    };
    roots.values().any(inside).then_some(file)
}

/// Walks lines forwards from `from`, which must be 0 or an offset that an earlier walk gave.
///
/// `visit` gets every line that holds the `probe` (all lines without one) with its byte
/// offset, and may stop the walk. At most `budget` bytes are read. A last line without its
/// end is visited too, and will be again by a walk that goes on from here: it may be half
/// written. Of a `.zst`, offsets count inflated bytes.
pub fn scan_lines(
    path: &Path,
    also: &[String],
    from: u64,
    budget: u64,
    probe: Option<&[u8]>,
    visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> io::Result<Scanned> {
    let path = locate(path, also).ok_or(io::ErrorKind::NotFound)?;
    let mut input: Box<dyn Read> = if is_compressed(&path) {
        let mut input = inflated(&path)?;
        io::copy(&mut (&mut input).take(from), &mut io::sink())?;
        Box::new(input)
    } else {
        let mut file = crate::file::open(&path)?;
        file.seek(SeekFrom::Start(from))?;
        Box::new(file)
    };
    let probe = probe.map(Finder::new);
    let mut buffer = Vec::new();
    let mut chunks = Chunks::new(&mut input, from, budget, &mut buffer);
    let mut scanned = Scanned {
        offset: from,
        ..Scanned::default()
    };
    while let Some(chunk) = chunks.next()? {
        for (start, line) in hits(chunk.lines, probe.as_ref()) {
            if visit(chunk.offset + start as u64, line).is_break() {
                let end = chunk.lines.len().min(start + line.len() + 1);
                return Ok(Scanned {
                    offset: chunk.offset + end as u64,
                    ..scanned
                });
            }
        }
        let whole = memrchr(b'\n', chunk.lines).map_or(0, |end| end + 1);
        if whole > 0 {
            scanned.offset = chunk.offset + whole as u64;
        }
    }
    scanned.too_long = chunks.skipped.len();
    scanned.complete = chunks.ended;
    Ok(scanned)
}

/// Walks lines from the end of the file to its start, the last line first.
///
/// As [`scan_lines`]; a compressed file is inflated from its start, within the budget, and
/// its last fitting lines are visited.
pub fn scan_back(
    path: &Path,
    also: &[String],
    budget: u64,
    probe: Option<&[u8]>,
    visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> io::Result<Scanned> {
    let path = locate(path, also).ok_or(io::ErrorKind::NotFound)?;
    if is_compressed(&path) {
        return inflate_back(&path, budget, probe, visit);
    }
    let probe = probe.map(Finder::new);
    let mut file = crate::file::open(&path)?;
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut scanned = Scanned {
        offset: end,
        complete: end == 0,
        ..Scanned::default()
    };
    let (mut left, mut step) = (budget, STEP);
    // Bytes from `end` on that belong to a line whose start was not read yet.
    let mut rest: Vec<u8> = Vec::new();
    let mut dropped = false;
    while end > 0 && left > 0 {
        let take = step.min(end).min(left);
        let mut data = vec![0; usize::try_from(take).unwrap_or(MAX_LINE)];
        file.seek(SeekFrom::Start(end - take))?;
        file.read_exact(&mut data)?;
        (end, left) = (end - take, left - take);
        step = (step * 2).min(MAX_LINE as u64 / 4);
        let first = match end {
            0 => Some(0),
            _ => memchr(b'\n', &data).map(|end| end + 1),
        };
        let Some(first) = first else {
            if data.len() + rest.len() > MAX_LINE {
                scanned.too_long += usize::from(!dropped);
                (dropped, rest) = (true, Vec::new());
            } else if !dropped {
                data.append(&mut rest);
                rest = data;
            }
            continue;
        };
        let begun = data[..first].to_vec();
        if dropped {
            // What follows the last line end here is the front of the line given up on.
            data.truncate(memrchr(b'\n', &data).map_or(0, |end| end + 1));
            dropped = false;
        } else {
            data.append(&mut rest);
        }
        rest = begun;
        let lines: Vec<_> = hits(&data[first.min(data.len())..], probe.as_ref()).collect();
        for (start, line) in lines.into_iter().rev() {
            let offset = end + (first + start) as u64;
            if visit(offset, line).is_break() {
                return Ok(Scanned { offset, ..scanned });
            }
        }
        scanned.offset = end + first as u64;
    }
    scanned.complete = end == 0;
    Ok(scanned)
}

fn inflate_back(
    path: &Path,
    budget: u64,
    probe: Option<&[u8]>,
    visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> io::Result<Scanned> {
    let mut kept: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
    let (mut bytes, mut dropped) = (0, false);
    let mut scanned = scan_lines(path, &[], 0, budget, probe, &mut |offset, line| {
        bytes += line.len();
        kept.push_back((offset, line.to_vec()));
        while bytes > REMEMBERED && kept.len() > 1 {
            bytes -= kept.pop_front().map_or(0, |(_, line)| line.len());
            dropped = true;
        }
        ControlFlow::Continue(())
    })?;
    scanned.complete &= !dropped;
    for (offset, line) in kept.iter().rev() {
        scanned.offset = *offset;
        if visit(*offset, line).is_break() {
            scanned.complete = false;
            return Ok(scanned);
        }
    }
    scanned.offset = 0;
    Ok(scanned)
}

/// The lines that hold the probe, each once, without its end; empty ones are left out.
fn hits<'d>(
    data: &'d [u8],
    probe: Option<&'d Finder<'_>>,
) -> impl Iterator<Item = (usize, &'d [u8])> + 'd {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < data.len() {
            let hit = match probe {
                Some(probe) => at + probe.find(&data[at..])?,
                None => at,
            };
            let line = line_around(data, hit);
            at = line.end + 1;
            if !line.is_empty() {
                return Some((line.start, &data[line]));
            }
        }
        None
    })
}

#[cfg(test)]
mod tests;
