//! Finds the record of a segment that a take wants.
//!
//! Bytes are searched before anything is parsed, and a line is walked at most once for
//! all takes. It must not know which file the segment belongs to.

use super::chunks::{MAX_LINE, line_around};
use super::plan::{Fit, Plan, Planned, Taken};
use super::probes::{Hits, Set};
use super::window::Segment;
use crate::Row;
use crate::jsonscan::{End, Scan};
use crate::report::Report;
use axiowl_model::{Issue, codes};
use memchr::memchr_iter;
use memchr::memmem::Finder;
use std::collections::BTreeMap;
use std::ops::Range;

/// Backward steps start this small: what is written last is mostly found at once.
const FIRST_STEP: usize = 4 << 10;

/// One segment being searched.
pub(super) struct Search<'a, 'd> {
    plan: &'a Plan<'a>,
    file: &'a Row,
    segment: Segment<'d>,
    walked: BTreeMap<usize, Option<Scan<'d>>>,
    hits: Hits,
    damage: Damage,
}

impl<'a, 'd> Search<'a, 'd> {
    pub(super) fn new(plan: &'a Plan<'a>, file: &'a Row, segment: Segment<'d>) -> Self {
        Self {
            plan,
            file,
            segment,
            walked: BTreeMap::new(),
            hits: Hits::new(),
            damage: Damage::default(),
        }
    }

    /// What is searched.
    pub(super) fn segment(&self) -> Segment<'d> {
        self.segment
    }

    /// Drops what is remembered of lines that are not looked at again.
    pub(super) fn forget(&mut self) {
        self.walked.clear();
    }

    /// The damaged lines that were met.
    pub(super) fn into_damage(self) -> Damage {
        self.damage
    }

    /// Finds the probes of a set in one pass; later searches use what it found.
    pub(super) fn prepare(&mut self, set: Set) {
        self.hits = self.plan.probes.pass(set, self.segment.data);
    }

    /// The first record that fits, of those that start in the first `within` bytes.
    pub(super) fn first(&mut self, take: &Planned<'_>, within: usize) -> Option<Taken> {
        let data = self.segment.data;
        if let Some(hits) = self.prepared(take) {
            let taken = self.of_hits(take, hits.iter().copied());
            return self.put_back(take, hits, taken);
        }
        let end = within.min(data.len());
        let mut at = 0;
        while at < end {
            let hit = match take.probe.map(|probe| self.plan.probes.one(probe)) {
                Some(probe) => at + probe.find(&data[at..reach(end, probe, data)])?,
                None => at,
            };
            let line = line_around(data, hit);
            at = line.end + 1;
            if let Some(taken) = self.fitting(take, line) {
                return Some(taken);
            }
        }
        None
    }

    /// The last record that fits, of those that the last `within` bytes touch.
    pub(super) fn last(&mut self, take: &Planned<'_>, within: usize) -> Option<Taken> {
        let data = self.segment.data;
        if let Some(hits) = self.prepared(take) {
            let taken = self.of_hits(take, hits.iter().rev().copied());
            return self.put_back(take, hits, taken);
        }
        let stop = data.len().saturating_sub(within);
        let Some(probe) = take.probe.map(|probe| self.plan.probes.one(probe)) else {
            let lines: Vec<_> = lines(data).filter(|line| line.end > stop).collect();
            return lines
                .into_iter()
                .rev()
                .find_map(|line| self.fitting(take, line));
        };
        let (mut end, mut step) = (data.len(), FIRST_STEP);
        while end > stop {
            let start = end.saturating_sub(step).max(stop);
            // Hits that start before `end` and reach over it were not seen yet.
            let found = probe.find_iter(&data[start..reach(end, probe, data)]);
            let hits: Vec<usize> = found.map(|hit| start + hit).collect();
            let taken = self.of_hits(take, hits.into_iter().rev());
            if taken.is_some() {
                return taken;
            }
            (end, step) = (start, step * 2);
        }
        None
    }

    /// What one pass found of a take's probe, for the time of a search.
    fn prepared(&mut self, take: &Planned<'_>) -> Option<Vec<usize>> {
        self.hits.get_mut(take.probe?)?.take()
    }

    fn put_back(
        &mut self,
        take: &Planned<'_>,
        hits: Vec<usize>,
        taken: Option<Taken>,
    ) -> Option<Taken> {
        // Another take may have the same probe.
        if let Some(place) = take.probe.and_then(|probe| self.hits.get_mut(probe)) {
            *place = Some(hits);
        }
        taken
    }

    fn of_hits(&mut self, take: &Planned<'_>, hits: impl Iterator<Item = usize>) -> Option<Taken> {
        let mut seen = usize::MAX;
        for hit in hits {
            let line = line_around(self.segment.data, hit);
            if line.start != seen {
                seen = line.start;
                if let Some(taken) = self.fitting(take, line) {
                    return Some(taken);
                }
            }
        }
        None
    }

    /// What a take takes from one line; a damaged line is counted.
    pub(super) fn fit(&mut self, take: &Planned<'_>, line: Range<usize>) -> Fit {
        let start = line.start;
        if !self.walked.contains_key(&start) {
            let scan = self.walk(line);
            self.walked.insert(start, scan);
        }
        match self.walked.get(&start) {
            Some(Some(scan)) => self.plan.fit(take, scan, self.file),
            _ => Fit::Skipped,
        }
    }

    fn fitting(&mut self, take: &Planned<'_>, line: Range<usize>) -> Option<Taken> {
        match self.fit(take, line) {
            Fit::Yes(taken) => Some(taken),
            Fit::Skipped | Fit::No => None,
        }
    }

    fn walk(&mut self, line: Range<usize>) -> Option<Scan<'d>> {
        let offset = self.segment.offset + line.start as u64;
        let text = without_mark(&self.segment.data[line.clone()], offset);
        if text.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        if text.len() > MAX_LINE {
            self.damage.too_long(offset);
            return None;
        }
        let scan = self.plan.scan(text);
        let half_written = self.segment.ends_file && line.end == self.segment.data.len();
        let what = match scan.end {
            End::Complete if std::str::from_utf8(text).is_ok() => return Some(scan),
            End::Complete => "it is not UTF-8",
            End::Cut if half_written => return None,
            End::Cut => "the record is cut off",
            End::Bad(at) if text.get(at) == Some(&0) => "it holds NUL bytes",
            End::Bad(_) => "it is no JSON record, or half of one with another behind it",
        };
        let in_head = self.segment.offset == 0;
        let number = || memchr_iter(b'\n', &self.segment.data[..line.start]).count() as u64 + 1;
        self.damage.line(offset, in_head.then(number), what);
        None
    }
}

/// The end of the bytes to search for hits that start before `end`.
fn reach(end: usize, probe: &Finder<'_>, data: &[u8]) -> usize {
    (end + probe.needle().len() - 1).min(data.len())
}

/// Every line of a segment, without its end.
pub(super) fn lines(data: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    let ends = memchr_iter(b'\n', data).chain(std::iter::once(data.len()));
    let all = ends.map(move |end| {
        let line = start..end;
        start = end + 1;
        line
    });
    all.filter(|line| !line.is_empty())
}

/// A byte order mark may stand before the first record of a file.
pub(super) fn without_mark(text: &[u8], offset: u64) -> &[u8] {
    match text.strip_prefix("\u{feff}".as_bytes()) {
        Some(rest) if offset == 0 => rest,
        _ => text,
    }
}

/// Damaged lines of one file.
#[derive(Default)]
pub(super) struct Damage {
    lines: usize,
    first: Option<(u64, Option<u64>, &'static str)>,
    long: Vec<u64>,
}

impl Damage {
    /// Counts a damaged line at a byte offset; its number, where it is known.
    pub(super) fn line(&mut self, offset: u64, number: Option<u64>, what: &'static str) {
        self.lines += 1;
        if self.first.is_none_or(|(first, ..)| offset < first) {
            self.first = Some((offset, number, what));
        }
    }

    /// Adds what another part of the file had.
    pub(super) fn add(&mut self, other: Self) {
        let lines = self.lines + other.lines;
        if let Some((offset, number, what)) = other.first {
            self.line(offset, number, what);
        }
        self.lines = lines;
        self.long.extend(other.long);
    }

    /// Counts a line that is too long to be read.
    pub(super) fn too_long(&mut self, offset: u64) {
        self.long.push(offset);
    }

    /// One issue for all damaged lines, one for all long ones.
    pub(super) fn report(self, path: &str, report: &mut Report) {
        if let Some((offset, number, what)) = self.first {
            let more = match self.lines {
                1 => String::new(),
                n => format!(" ({n} damaged lines in all)"),
            };
            let (place, line) = match number {
                Some(number) => (String::new(), Some(number)),
                None => (format!("at byte {offset}: "), None),
            };
            let issue = Issue::new(
                codes::DAMAGED,
                format!("{place}{what}; the line was skipped{more}"),
            );
            report.issue(Issue {
                line,
                ..issue.at(path)
            });
        }
        if let Some(first) = self.long.first() {
            let message = format!(
                "{} lines are longer than {} MiB, the first at byte {first}; they were skipped",
                self.long.len(),
                MAX_LINE >> 20
            );
            report.issue(Issue::new(codes::CAP, message).at(path));
        }
    }
}
