//! One row from each line of a file.
//!
//! It must not know how the file was found, nor which of several rows of one key stays.

use super::chunks::Chunks;
use super::file::{Job, MIDDLE};
use super::plan::{Fit, Plan};
use super::search::{Damage, Search, lines};
use super::window::{Scratch, Segment, load};
use crate::Row;
use crate::file::Hit;
use crate::report::Report;
use axiowl_lang::source::Then;
use axiowl_model::{Issue, codes};
use memchr::memchr_iter;
use std::io::{self, Seek, SeekFrom};

/// Rows that one file gives at most.
const ROWS: usize = 500_000;

/// Reads the rows of a file; `base` holds the file fields each of them gets.
pub(super) fn read_rows(
    job: Job<'_>,
    base: &Row,
    scratch: &mut Scratch,
    report: &mut Report,
) -> io::Result<Vec<Row>> {
    let Job {
        rule,
        plan,
        hit,
        deep,
    } = job;
    let Scratch { head, tail, chunk } = scratch;
    let mut window = load(hit, rule.head.0, rule.tail.0, head, tail)?;
    let mut rows = Rows {
        plan,
        hit,
        base,
        rows: Vec::new(),
        damage: Damage::default(),
        report,
    };
    let whole = rule.then == Then::Whole && (deep || hit.size <= MIDDLE);
    let mut segments = window.segments.iter();
    let mut middle = window.middle.clone();
    if middle.as_ref().is_some_and(|middle| middle.start > 0)
        && let Some(first) = segments.next()
    {
        rows.segment(*first);
    }
    if whole
        && let Some(range) = middle.clone()
        && let Some(mut file) = window.file.take()
    {
        file.seek(SeekFrom::Start(range.start))?;
        let mut chunks = Chunks::new(file, range.start, range.end - range.start, chunk);
        while let Some(chunk) = chunks.next()? {
            let ends_file = chunk.offset + chunk.lines.len() as u64 == hit.size;
            rows.segment(Segment {
                offset: chunk.offset,
                data: chunk.lines,
                ends_file,
            });
        }
        for offset in chunks.skipped {
            rows.damage.too_long(offset);
        }
        middle = None;
    }
    for segment in segments {
        rows.segment(*segment);
    }
    if let Some(middle) = middle {
        let message = format!("bytes {} to {} were not read", middle.start, middle.end);
        rows.report
            .gap(Issue::new(codes::CAP, message).at(&hit.recorded));
    }
    let Rows {
        rows,
        damage,
        report,
        ..
    } = rows;
    damage.report(&hit.recorded, report);
    Ok(rows)
}

/// The rows of one file so far.
struct Rows<'a, 'r> {
    plan: &'a Plan<'a>,
    hit: &'a Hit,
    base: &'a Row,
    rows: Vec<Row>,
    damage: Damage,
    report: &'r mut Report,
}

impl Rows<'_, '_> {
    fn segment(&mut self, segment: Segment<'_>) {
        let mut search = Search::new(self.plan, self.base, segment);
        for line in lines(segment.data) {
            if self.rows.len() >= ROWS {
                let message = format!("more than {ROWS} rows; the rest was not read");
                self.report
                    .gap(Issue::new(codes::CAP, message).at(&self.hit.recorded));
                break;
            }
            let text = &segment.data[line.clone()];
            let mut expected = false;
            let mut understood = false;
            for take in self.plan.takes.iter() {
                let probe = take.probe.map(|probe| self.plan.probes.one(probe));
                if probe.is_some_and(|probe| probe.find(text).is_none()) {
                    continue;
                }
                match search.fit(take, line.clone()) {
                    Fit::Yes(taken) => {
                        let mut row = self.base.clone();
                        self.plan.fill(&mut row, std::iter::once(taken));
                        self.rows.push(row);
                        understood = true;
                        break;
                    }
                    Fit::Skipped => understood = true,
                    Fit::No => expected |= take.unconditional(),
                }
            }
            if expected && !understood {
                let number = match segment.offset {
                    0 => memchr_iter(b'\n', &segment.data[..line.start]).count() as u64 + 1,
                    _ => 0,
                };
                self.report
                    .strange(&self.hit.recorded, number, "a record in it fits no `take`");
            }
            search.forget();
        }
        self.damage.add(search.into_damage());
    }
}
