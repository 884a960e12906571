//! The lines of a JSON Lines file that a small case needs: those the readers look at and take
//! something from, one of each sort, and everything odd.

use axiowl_lang::source::{Jsonl, Then};
use axiowl_sources::{Row, jsonl, record};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::{io, iter};

/// Lines of a file that are kept at most.
const LINES: usize = 120;
/// Of each take, and at both ends, so many lines.
const EACH: usize = 2;
/// Lines that are no records.
const ODD: usize = 8;
/// Records of different sorts or with different keys.
const SORTS: usize = 40;
/// Lines that name a session of the case.
const NAMED: usize = 60;
/// The middle of a bigger file is left alone in discovery, too.
const MIDDLE: u64 = 8 << 20;
/// Bytes of a file that are looked through.
const BYTES: u64 = 256 << 20;

/// The lines that were kept.
#[derive(Debug, Default)]
pub struct Kept {
    /// In order, without their line ends.
    pub lines: Vec<Vec<u8>>,
    /// How many there were.
    pub all: usize,
    /// The last line ends with a line end.
    pub ended: bool,
}

/// A line that is looked at.
struct Line {
    number: usize,
    bytes: Vec<u8>,
}

/// Chooses lines. `rules` are the sources that read the file, `whole` says that every line
/// counts (a log of changes), `file` holds the fields of the file itself, `ids` are those of
/// the sessions of the case.
///
/// # Errors
/// When the file cannot be read.
pub fn choose(
    path: &Path,
    size: u64,
    rules: &[&Jsonl],
    whole: bool,
    file: &Row,
    ids: &[String],
) -> io::Result<Kept> {
    let compressed = path.extension().is_some_and(|ext| ext == "zst");
    let windows = match compressed {
        // Its size says nothing about the places of its lines.
        true => iter::once(0..u64::MAX).collect(),
        false => windows(size, rules),
    };
    let mut kept = Kept {
        ended: ends_with_line(path)?,
        ..Kept::default()
    };
    let mut seen: Vec<Line> = Vec::new();
    jsonl::scan_lines(path, &[], 0, BYTES, None, &mut |offset, line| {
        let number = kept.all;
        kept.all += 1;
        let end = offset + line.len() as u64;
        let looked_at = windows.iter().any(|w| offset >= w.start && end <= w.end);
        let named = || ids.iter().any(|id| contains(line, id.as_bytes()));
        if whole || looked_at || (rules.is_empty() && named()) {
            seen.push(Line {
                number,
                bytes: line.to_vec(),
            });
        }
        ControlFlow::Continue(())
    })?;
    let wanted = match whole {
        true => seen.iter().map(|line| line.number).collect(),
        false => wanted(&seen, rules, file, ids),
    };
    let lines = seen
        .into_iter()
        .filter(|line| wanted.contains(&line.number));
    kept.lines = lines.map(|line| line.bytes).collect();
    Ok(kept)
}

/// The bytes that the readers look at.
fn windows(size: u64, rules: &[&Jsonl]) -> Vec<Range<u64>> {
    let whole = |rule: &&Jsonl| rule.then == Then::Whole && size <= MIDDLE;
    if rules.is_empty() || rules.iter().any(whole) {
        return iter::once(0..size.max(1) * 64).collect();
    }
    let head = rules.iter().map(|rule| rule.head.0).max().unwrap_or(0);
    let tail = rules.iter().map(|rule| rule.tail.0).max().unwrap_or(0);
    // A first line that the window cuts is looked at as well.
    let first = if head > 0 { u64::MAX } else { 0 };
    match size <= head + tail {
        true => iter::once(0..u64::MAX).collect(),
        false if tail == 0 => vec![0..head.max(1), 0..first.min(1 << 20)],
        false => vec![0..head, size - tail..u64::MAX],
    }
}

fn wanted(seen: &[Line], rules: &[&Jsonl], file: &Row, ids: &[String]) -> Vec<usize> {
    let mut chosen: BTreeMap<usize, u8> = BTreeMap::new();
    let mut add = |lines: Vec<&Line>, each: usize, rank: u8| {
        let ends = lines.iter().take(each).chain(lines.iter().rev().take(each));
        for line in ends {
            chosen.entry(line.number).or_insert(rank);
        }
    };
    let parsed: Vec<(&Line, Option<Value>)> = seen
        .iter()
        .map(|line| (line, serde_json::from_slice(&line.bytes).ok()))
        .collect();
    add(seen.iter().collect(), EACH, 0);
    for take in rules.iter().flat_map(|rule| &rule.take) {
        let probed = |line: &Line| {
            let probe = take.probe.as_ref();
            probe.is_none_or(|probe| contains(&line.bytes, probe.as_bytes()))
        };
        let fits = |value: &Value| {
            let filter = take.filter.as_ref();
            filter.is_none_or(|filter| record::holds(filter, value, file))
        };
        let lines = parsed
            .iter()
            .filter(|(line, value)| probed(line) && value.as_ref().is_some_and(fits));
        add(lines.map(|(line, _)| *line).collect(), EACH, 1);
    }
    let named = |line: &&Line| ids.iter().any(|id| contains(&line.bytes, id.as_bytes()));
    if rules
        .iter()
        .any(|rule| rule.per == axiowl_lang::source::Per::Line)
    {
        add(seen.iter().filter(named).collect(), NAMED / 2, 1);
    }
    let odd = parsed
        .iter()
        .filter(|(line, value)| value.is_none() && !line.bytes.iter().all(u8::is_ascii_whitespace));
    add(odd.map(|(line, _)| *line).collect(), ODD / 2, 2);
    let mut sorts: BTreeMap<String, &Line> = BTreeMap::new();
    for (line, value) in &parsed {
        if let Some(value) = value.as_ref().filter(|_| sorts.len() < SORTS) {
            sorts.entry(sort(value)).or_insert(line);
        }
    }
    add(sorts.into_values().collect(), SORTS, 3);
    let mut ranked: Vec<(u8, usize)> = chosen.into_iter().map(|(n, rank)| (rank, n)).collect();
    ranked.sort_unstable();
    ranked.truncate(LINES);
    ranked.into_iter().map(|(_, number)| number).collect()
}

/// What a record calls itself, and its keys.
fn sort(value: &Value) -> String {
    let keys = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str());
    let mut keys: Vec<&str> = keys.collect();
    keys.sort_unstable();
    let named = ["type", "kind", "event", "role"].iter();
    let named: Vec<&str> = named.filter_map(|key| value.get(key)?.as_str()).collect();
    format!("{}|{}", named.join(","), keys.join(","))
}

fn contains(line: &[u8], text: &[u8]) -> bool {
    !text.is_empty() && line.windows(text.len()).any(|part| part == text)
}

/// Whether a plain file ends with a line end; a compressed one is taken to.
fn ends_with_line(path: &Path) -> io::Result<bool> {
    use std::io::{Read, Seek, SeekFrom};
    if path.extension().is_some_and(|ext| ext == "zst") {
        return Ok(true);
    }
    let mut file = std::fs::File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last[0] == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_lang::load::{Layer, RuleFolder, load};
    use axiowl_lang::source::Source;

    fn source() -> Jsonl {
        let rule = "axiowl: 1\nprovider: p\ntitle: t\nroots: { r: \"~/.p\" }\nsources: { s: { jsonl: { path: \"{r}/*.jsonl\", head: 1 KiB, tail: 1 KiB, take: [ { probe: '\"title\"', where: { /type: title }, fields: { t: /title } } ] } } }\nrows: { from: s, session: \"{stem}\" }\nname: { candidates: [ { from: t, label: t } ] }\nproof: [ { source: p_x } ]\n";
        let folder = RuleFolder::new("p", Layer::User, "rules/p", rule);
        let loaded = load(&folder, &|_| None).unwrap();
        match &loaded.rule.sources["s"] {
            Source::Jsonl(jsonl) => jsonl.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_lines_that_matter_are_kept_and_the_unread_middle_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        let mut lines: Vec<String> = (0..200)
            .map(|n| format!("{{\"type\":\"user\",\"n\":{n},\"text\":\"some words\"}}"))
            .collect();
        lines[3] = "{\"type\":\"title\",\"title\":\"one\"}".into();
        lines[5] = "{\"half".into();
        // Nobody reads that far.
        lines[100] = "{\"type\":\"title\",\"title\":\"middle\"}".into();
        lines[198] = "{\"type\":\"title\",\"title\":\"two\"}".into();
        std::fs::write(&path, lines.join("\n")).unwrap();
        let size = path.metadata().unwrap().len();
        let rule = source();
        let kept = choose(&path, size, &[&rule], false, &Row::new(), &[]).unwrap();
        let text: Vec<String> = kept
            .lines
            .iter()
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        assert_eq!((kept.all, kept.ended), (200, false));
        for line in [&lines[0], &lines[3], &lines[5], &lines[198], &lines[199]] {
            assert!(text.contains(line), "{line}");
        }
        assert!(!text.contains(&lines[100]));
        assert!(kept.lines.len() < 12, "{text:?}");
    }
}
