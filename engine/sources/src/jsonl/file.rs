//! One row from one file.
//!
//! Head and tail first; the middle only while a strong name is missing, or when all is
//! asked for. It must not know how the file was found.

use super::chunks::Chunks;
use super::input::inflated;
use super::plan::{Fit, Plan, Planned, Taken};
use super::probes::Set;
use super::search::{Damage, Search, without_mark};
use super::window::{Scratch, Segment, Window, load};
use crate::Row;
use crate::file::Hit;
use crate::jsonscan::End;
use crate::report::Report;
use axiowl_lang::source::{Jsonl, Keep, Then};
use axiowl_model::{Issue, codes};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

/// The middle of a bigger file is left alone in discovery.
pub(super) const MIDDLE: u64 = 8 << 20;
/// Inflated bytes of a compressed file that a deep scan goes through.
const DEEP_INFLATED: u64 = 4 << 30;

/// Bytes at either end that are searched before the rest.
const EDGE: usize = 8 << 10;

/// What one take found, and whether nothing in the middle can change it.
#[derive(Default)]
struct Found {
    taken: Option<Taken>,
    settled: bool,
}

/// A file, and what is wanted of it.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub rule: &'a Jsonl,
    pub plan: &'a Plan<'a>,
    pub hit: &'a Hit,
    /// Scan all of it, however big.
    pub deep: bool,
}

/// Reads what the takes want into `row`, which holds the file fields.
pub(super) fn read_row(
    job: Job<'_>,
    row: &mut Row,
    scratch: &mut Scratch,
    report: &mut Report,
) -> io::Result<()> {
    let Job {
        rule,
        plan,
        hit,
        deep,
    } = job;
    let Scratch { head, tail, chunk } = scratch;
    let mut window = load(hit, rule.head.0, rule.tail.0, head, tail)?;
    let mut damage = Damage::default();
    let mut found = in_window(plan, row, &window, &mut damage);
    let strong = |(take, found): (&Planned<'_>, &Found)| {
        found
            .taken
            .as_ref()
            .is_some_and(|taken| take.is_strong(taken))
    };
    let named = plan.takes.iter().zip(&found).any(strong);
    let file = window.file.take();
    if let Some(middle) = window.middle.clone().filter(|_| rule.then == Then::Whole) {
        if deep || (plan.any_strong && !named && hit.size <= MIDDLE) {
            let input = middle_input(job, file, middle.start)?;
            in_middle(job, row, input, middle, &mut found, chunk, &mut damage)?;
        } else if plan.any_strong && !named {
            let message = "head and tail hold no name, and discovery does not read the middle of so \
                big a file; `explain` and `discover --deep` do";
            report.issue(Issue::new(codes::TITLE_BEYOND_WINDOW, message).at(&hit.recorded));
        }
    }
    if window.end_unread && rule.tail.0 > 0 {
        let message = "the compressed file is too big to be read to its end";
        report.issue(Issue::new(codes::CAP, message).at(&hit.recorded));
    }
    damage.report(&hit.recorded, report);
    if hit.size == 0 {
        let message = "it is empty: nothing was written to it yet";
        report.issue(Issue::new(codes::EMPTY_FILE, message).at(&hit.recorded));
    } else if found.iter().all(|found| found.taken.is_none()) {
        report.strange(&hit.recorded, 0, "no record in it fits");
    }
    plan.fill(row, found.into_iter().filter_map(|found| found.taken));
    Ok(())
}

fn in_window(plan: &Plan<'_>, row: &Row, window: &Window<'_>, damage: &mut Damage) -> Vec<Found> {
    let mut found: Vec<Found> = plan.takes.iter().map(|_| Found::default()).collect();
    for (take, found) in plan
        .takes
        .iter()
        .zip(&mut found)
        .filter(|(take, _)| take.prefix)
    {
        *found = in_first_line(plan, take, row, window.first_line, damage);
    }
    let mut searches: Vec<Search<'_, '_>> = window
        .segments
        .iter()
        .map(|segment| Search::new(plan, row, *segment))
        .collect();
    // What was written first or last is mostly found at once; what is not is mostly
    // nowhere, and looked for in one pass.
    look(plan, &mut searches, 1, EDGE, &mut found);
    let open = open_probes(plan.takes.iter().zip(&found));
    searches.iter_mut().for_each(|search| search.prepare(open));
    let all = searches.len();
    look(plan, &mut searches, all, usize::MAX, &mut found);
    for search in searches {
        damage.add(search.into_damage());
    }
    found
}

/// Looks for what is not found yet: for first records from the start, for last ones from
/// the end, through so many segments, in each `within` so many bytes.
fn look(
    plan: &Plan<'_>,
    searches: &mut [Search<'_, '_>],
    segments: usize,
    within: usize,
    found: &mut [Found],
) {
    for (take, found) in plan.takes.iter().zip(found) {
        if take.prefix || found.taken.is_some() {
            continue;
        }
        let hit = match take.keep {
            Keep::First => searches.iter_mut().take(segments).find_map(|search| {
                let taken = search.first(take, within)?;
                Some((taken, search.segment().offset == 0))
            }),
            Keep::Last => searches.iter_mut().rev().take(segments).find_map(|search| {
                let taken = search.last(take, within)?;
                Some((taken, search.segment().ends_file))
            }),
        };
        if let Some((taken, settled)) = hit {
            *found = Found {
                taken: Some(taken),
                settled,
            };
        }
    }
}

/// The probes of takes that found nothing.
fn open_probes<'a>(takes: impl Iterator<Item = (&'a Planned<'a>, &'a Found)>) -> Set {
    let mut set = Set::default();
    for (take, found) in takes {
        if let Some(probe) = take.probe.filter(|_| found.taken.is_none() && !take.prefix) {
            set.add(probe);
        }
    }
    set
}

/// A take of the first line, which the window may have cut.
fn in_first_line(
    plan: &Plan<'_>,
    take: &Planned<'_>,
    row: &Row,
    line: &[u8],
    damage: &mut Damage,
) -> Found {
    let text = without_mark(line, 0);
    let probe = take.probe.map(|probe| plan.probes.one(probe));
    let probed = probe.is_none_or(|probe| probe.find(text).is_some());
    if !probed || text.iter().all(u8::is_ascii_whitespace) {
        return Found {
            taken: None,
            settled: true,
        };
    }
    let scan = plan.scan(text);
    // A character may be cut in two; whole damaged bytes are damage.
    let readable = std::str::from_utf8(text)
        .err()
        .is_none_or(|error| error.error_len().is_none());
    let taken = match scan.end {
        End::Bad(_) => {
            damage.line(
                0,
                Some(1),
                "it is no JSON record, or half of one with another behind it",
            );
            None
        }
        _ if !readable => {
            damage.line(0, Some(1), "it is not UTF-8");
            None
        }
        End::Complete | End::Cut => match plan.fit(take, &scan, row) {
            Fit::Yes(taken) => Some(taken),
            Fit::Skipped | Fit::No => None,
        },
    };
    Found {
        taken,
        settled: true,
    }
}

/// The file from an offset on.
fn middle_input(job: Job<'_>, file: Option<File>, start: u64) -> io::Result<Box<dyn Read>> {
    if let Some(mut file) = file {
        file.seek(SeekFrom::Start(start))?;
        return Ok(Box::new(file));
    }
    let mut input = inflated(&job.hit.real)?;
    io::copy(&mut (&mut input).take(start), &mut io::sink())?;
    Ok(Box::new(input.take(if job.deep {
        DEEP_INFLATED
    } else {
        MIDDLE
    })))
}

/// Looks for what head and tail did not settle.
fn in_middle(
    job: Job<'_>,
    row: &Row,
    input: Box<dyn Read>,
    middle: Range<u64>,
    found: &mut [Found],
    buffer: &mut Vec<u8>,
    damage: &mut Damage,
) -> io::Result<()> {
    let plan = job.plan;
    let mut open: Vec<(&Planned<'_>, &mut Found)> = plan
        .takes
        .iter()
        .zip(found)
        .filter(|(take, found)| !take.prefix && !found.settled)
        .collect();
    let end = middle.end;
    let mut chunks = Chunks::new(input, middle.start, end - middle.start, buffer);
    while let Some(chunk) = chunks.next()? {
        let last = chunk.offset + chunk.lines.len() as u64 == end;
        let segment = Segment {
            offset: chunk.offset,
            data: chunk.lines,
            ends_file: last,
        };
        let mut search = Search::new(plan, row, segment);
        let mut set = Set::default();
        open.iter()
            .filter_map(|(take, _)| take.probe)
            .for_each(|probe| set.add(probe));
        search.prepare(set);
        open.retain_mut(|(take, found)| {
            let taken = match take.keep {
                Keep::First => search.first(take, usize::MAX),
                Keep::Last => search.last(take, usize::MAX),
            };
            let done = taken.is_some() && take.keep == Keep::First;
            if taken.is_some() {
                found.taken = taken;
            }
            !done
        });
        damage.add(search.into_damage());
        if open.is_empty() {
            break;
        }
    }
    for offset in chunks.skipped {
        damage.too_long(offset);
    }
    Ok(())
}
