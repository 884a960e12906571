//! One row from one file.
//!
//! Head and tail first; the middle only while a strong name is missing, or when all is
//! asked for. It must not know how the file was found.

use super::chunks::Chunks;
use super::input::{inflated, is_compressed};
use super::plan::{Fit, Plan, Planned, Taken};
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
    let window = load(hit, rule.head.0, rule.tail.0, head, tail)?;
    let mut damage = Damage::default();
    let mut found = in_window(plan, row, &window, &mut damage);
    let strong = |(take, found): (&Planned<'_>, &Found)| {
        found
            .taken
            .as_ref()
            .is_some_and(|taken| take.is_strong(taken))
    };
    let named = plan.takes.iter().zip(&found).any(strong);
    if let Some(middle) = window.middle.clone().filter(|_| rule.then == Then::Whole) {
        if deep || (plan.any_strong && !named && hit.size <= MIDDLE) {
            in_middle(job, row, middle, &mut found, chunk, &mut damage)?;
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
    plan.fill(row, found.iter().filter_map(|found| found.taken.as_ref()));
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
    for (take, found) in plan
        .takes
        .iter()
        .zip(&mut found)
        .filter(|(take, _)| !take.prefix)
    {
        let hit = match take.keep {
            Keep::First => searches.iter_mut().find_map(|search| {
                let taken = search.first(take)?;
                Some((taken, search.segment().offset == 0))
            }),
            Keep::Last => searches.iter_mut().rev().find_map(|search| {
                let taken = search.last(take)?;
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
    for search in searches {
        damage.add(search.into_damage());
    }
    found
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
    let probed = take
        .probe
        .as_ref()
        .is_none_or(|probe| probe.find(text).is_some());
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

/// Looks for what head and tail did not settle.
fn in_middle(
    job: Job<'_>,
    row: &Row,
    middle: Range<u64>,
    found: &mut [Found],
    buffer: &mut Vec<u8>,
    damage: &mut Damage,
) -> io::Result<()> {
    let Job { plan, hit, .. } = job;
    let most_inflated = if job.deep { DEEP_INFLATED } else { MIDDLE };
    let mut input: Box<dyn Read> = if is_compressed(&hit.real) {
        let mut input = inflated(&hit.real)?;
        io::copy(&mut (&mut input).take(middle.start), &mut io::sink())?;
        Box::new(input.take(most_inflated))
    } else {
        let mut file = File::open(&hit.real)?;
        file.seek(SeekFrom::Start(middle.start))?;
        Box::new(file)
    };
    let mut open: Vec<(&Planned<'_>, &mut Found)> = plan
        .takes
        .iter()
        .zip(found)
        .filter(|(take, found)| !take.prefix && !found.settled)
        .collect();
    let end = middle.end;
    let mut chunks = Chunks::new(&mut input, middle.start, end - middle.start, buffer);
    while let Some(chunk) = chunks.next()? {
        let last = chunk.offset + chunk.lines.len() as u64 == end;
        let segment = Segment {
            offset: chunk.offset,
            data: chunk.lines,
            ends_file: last,
        };
        let mut search = Search::new(plan, row, segment);
        open.retain_mut(|(take, found)| {
            let taken = match take.keep {
                Keep::First => search.first(take),
                Keep::Last => search.last(take),
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
