//! Says how well a rule still fits what it read.

use crate::gaps::Gaps;
use crate::records::{self, Odd};
use axiowl_lang::load::LoadedRule;
use axiowl_lang::template::Piece;
use axiowl_model::{DiscoveredAgent, Issue, Kind, Verdict, codes};
use axiowl_sources::World;
use axiowl_sources::read::{Table, Tables};
use axiowl_sources::survey::{Survey, Surveyed, alike, survey};
use std::collections::{BTreeMap, BTreeSet};

/// So few sessions without a name may all be new.
const FEW: usize = 2;

/// What a run found out about its own understanding.
pub struct Fit {
    pub verdict: Verdict,
    pub issues: Vec<Issue>,
    pub gaps: Gaps,
    /// Something expected is not where the rule looks: absence means nothing.
    pub lost: bool,
}

/// What a run read, kept and left out.
pub struct Seen<'a> {
    pub loaded: &'a LoadedRule,
    pub world: &'a World,
    pub tables: &'a Tables,
    /// Declared columns that are absent and not optional, as `source.column`.
    pub missing: Vec<String>,
    /// Versions of rows outside the tested range.
    pub untested: &'a [String],
    pub agents: Vec<&'a DiscoveredAgent>,
    pub dropped: &'a BTreeMap<String, usize>,
    /// Rows that gave no session id.
    pub without_id: usize,
    /// Rows that were left when the run was ended.
    pub unjudged: usize,
    /// A part of the rule that decides who may be enrolled is not trusted, and was not run.
    pub withheld: bool,
    /// The policy failed for a row.
    pub failed: bool,
}

/// Judges a run by what it read, kept, dropped and did not understand.
pub fn judge(seen: &Seen) -> Fit {
    let mut fit = Fit {
        verdict: Verdict::Verified,
        issues: Vec::new(),
        gaps: Gaps {
            columns: seen.missing.clone(),
            without_id: seen.without_id,
            untested: seen.untested.len(),
            ..Gaps::default()
        },
        lost: false,
    };
    fit.gaps.count(&seen.tables.issues);
    versions(seen, &mut fit);
    columns(seen, &mut fit);
    unasked(seen, &mut fit);
    records(
        &records::look(seen.loaded, seen.world, seen.tables),
        &mut fit,
    );
    // Listing every file is work that a run needs only when something is missing.
    let mut files = None;
    let mut listed = || -> Survey {
        let known = files.get_or_insert_with(|| survey(seen.loaded, seen.world));
        known.clone()
    };
    expected(seen, &mut fit, &mut listed);
    names(seen, &mut fit);
    nothing(seen, &mut fit, &mut listed);
    fit
}

impl Fit {
    fn drift(&mut self, issue: Issue) {
        self.verdict = self.verdict.max(Verdict::Drift);
        self.issues.push(issue);
    }

    /// The provider keeps no session, for all that can be seen.
    fn not_used(&mut self) {
        let message =
            "the provider is there and keeps no session: not used yet, or all were removed";
        self.issues.push(Issue::new(codes::NOT_USED, message));
    }

    fn blind(&mut self, message: String) {
        self.verdict = Verdict::Blind;
        self.issues.push(Issue::new(codes::BLIND, message));
    }
}

impl Seen<'_> {
    /// The tables that rows start from.
    fn bases(&self) -> impl Iterator<Item = &Table> {
        let from = self
            .loaded
            .rule
            .rows
            .from
            .iter()
            .flat_map(|from| from.iter());
        from.filter_map(|name| self.tables.tables.get(name.as_str()))
    }

    /// The roots below which those lie.
    fn base_roots(&self) -> BTreeSet<String> {
        let rule = &self.loaded.rule;
        let from = rule.rows.from.iter().flat_map(|from| from.iter());
        let sources = from.filter_map(|name| rule.sources.get(name.as_str()));
        let paths = sources.flat_map(|source| source.paths());
        let first = paths.filter_map(|path| path.pieces().first());
        first
            .filter_map(|piece| match piece {
                Piece::Field(root) => Some(root.clone()),
                Piece::Text(_) | Piece::Variable(_) => None,
            })
            .collect()
    }
}

fn versions(seen: &Seen, fit: &mut Fit) {
    let Some(tested) = &seen.loaded.rule.tested else {
        return;
    };
    if seen.untested.is_empty() {
        return;
    }
    let mut versions: Vec<&str> = seen.untested.iter().map(String::as_str).collect();
    versions.sort_unstable();
    versions.dedup();
    fit.verdict = Verdict::UnverifiedVersion;
    fit.issues.push(Issue::new(
        codes::UNVERIFIED_VERSION,
        format!(
            "{} rows were written by {} {}; this rule was tested with {}",
            seen.untested.len(),
            tested.program,
            versions.join(", "),
            tested.shown()
        ),
    ));
}

fn columns(seen: &Seen, fit: &mut Fit) {
    if !seen.missing.is_empty() {
        let message = format!("expected columns are absent: {}", seen.missing.join(", "));
        fit.drift(Issue::new(codes::DRIFT, message));
    }
    let tables = seen.tables.tables.values();
    for (path, line, what) in tables.flat_map(|table| &table.not_understood) {
        fit.gaps.unfit += 1;
        let issue = Issue::new(codes::DRIFT, what.clone()).at(path.clone());
        fit.drift(if *line > 0 { issue.line(*line) } else { issue });
    }
    // What could not be read is said by its own issue; the rule cannot be said to fit it.
    if seen.bases().any(|table| table.incomplete) {
        fit.verdict = fit.verdict.max(Verdict::Drift);
    }
    let matched: usize = seen.bases().map(|table| table.files_matched).sum();
    let unfit: usize = seen.bases().map(|table| table.not_understood.len()).sum();
    if matched > 0 && unfit >= matched {
        fit.blind(format!(
            "no record of any of {matched} files was understood"
        ));
    }
}

/// A rule that could not decide about its rows cannot be said to fit them; why it could not is
/// said by its own issue.
fn unasked(seen: &Seen, fit: &mut Fit) {
    if seen.withheld || seen.failed || seen.unjudged > 0 {
        fit.verdict = fit.verdict.max(Verdict::Drift);
    }
}

fn records(odd: &Odd, fit: &mut Fit) {
    for (sort, (count, path, line)) in &odd.unknown {
        fit.gaps.records.insert(sort.clone(), *count);
        let message = match count {
            1 => format!("a record of the sort {sort:?}, which this rule does not know"),
            n => format!("{n} records of the sort {sort:?}, which this rule does not know"),
        };
        let issue = Issue::new(codes::DRIFT, message).at(path.clone());
        fit.drift(if *line > 0 { issue.line(*line) } else { issue });
    }
    for (field, (count, path)) in &odd.silent {
        fit.gaps.fields.push(field.clone());
        let message = match count {
            1 => format!("a record that should give `{field}` does not"),
            n => format!("{n} records that should give `{field}` do not"),
        };
        fit.drift(Issue::new(codes::DRIFT, message).at(path.clone()));
    }
}

/// Sources that have to have a file when the provider is there.
fn expected(seen: &Seen, fit: &mut Fit, listed: &mut dyn FnMut() -> Survey) {
    for source in &seen.loaded.rule.expects {
        let table = seen.tables.tables.get(source.as_str());
        let absent = table.is_none_or(|t| t.files_matched == 0 && t.root_exists);
        let there = seen
            .tables
            .tables
            .values()
            .any(|table| table.files_matched > 0);
        if !absent {
            continue;
        }
        let elsewhere = alike(seen.loaded, &listed(), source);
        // A provider that nobody has used yet has no files anywhere.
        if !there && elsewhere.is_empty() {
            continue;
        }
        let name = &source.value;
        let mut message = format!("no file fits the source `{name}`, and there has to be one");
        if let Some(first) = elsewhere.first() {
            message += &format!("; {first} is called like it");
        }
        fit.gaps.sources.push(name.clone());
        fit.lost = true;
        fit.drift(Issue::new(codes::DRIFT, message));
    }
}

fn names(seen: &Seen, fit: &mut Fit) {
    let main = seen.agents.iter().filter(|agent| agent.kind == Kind::Main);
    let nameless = main.clone().filter(|agent| agent.display_name.is_none());
    let (all, nameless) = (main.count(), nameless.count());
    fit.gaps.without_name = nameless;
    if nameless > FEW && nameless == all {
        let message = format!("none of {all} sessions has a usable name");
        fit.drift(Issue::new(codes::DRIFT, message));
    }
}

/// Nothing was understood, though the provider is there.
fn nothing(seen: &Seen, fit: &mut Fit, listed: &mut dyn FnMut() -> Survey) {
    let dropped: usize = seen.dropped.values().sum();
    let present = seen.bases().any(|table| table.root_exists);
    if !seen.agents.is_empty() || dropped > seen.without_id || !present || seen.unjudged > 0 {
        return;
    }
    let matched: usize = seen.bases().map(|table| table.files_matched).sum();
    if matched > 0 {
        if unused(seen) {
            return fit.not_used();
        }
        fit.blind(format!(
            "{matched} files are there and no session was understood"
        ));
    } else if seen.tables.unread_files == 0 {
        let listed = listed();
        // Other roots are looked into for other things than sessions.
        let roots = seen.base_roots();
        let below = |place: &&Surveyed| !roots.is_disjoint(&place.roots);
        let unmatched = listed.unmatched().filter(below);
        let unmatched: Vec<&str> = unmatched.map(|f| f.recorded.as_str()).collect();
        fit.gaps.files = unmatched.len();
        let message = "the provider's folder is there and no file in it is one this rule knows";
        if unmatched.is_empty() {
            // An empty store says nothing about what was in it: its disk may be elsewhere.
            fit.lost = true;
            let unknown = listed.unknown().find(below);
            return match unknown {
                Some(place) => fit.drift(Issue::new(
                    codes::DRIFT,
                    format!("{message}; {} was not looked into", place.recorded),
                )),
                None if listed.capped => fit.drift(Issue::new(codes::DRIFT, message)),
                None => fit.not_used(),
            };
        }
        let few = unmatched[..unmatched.len().min(3)].join(", ");
        let others = unmatched.len();
        fit.blind(format!(
            "{message}; it holds {others} others, such as {few}"
        ));
    }
}

/// Whether every file is a database that was read whole and holds nothing yet. One that has none
/// of a source's tables counts as such only where another source knows it.
fn unused(seen: &Seen) -> bool {
    let known = |path: &String| seen.bases().any(|table| table.vacant.contains(path));
    seen.bases().all(|table| {
        let empty = table.vacant.len() + table.not_meant.len();
        !table.incomplete && empty == table.files_read && table.not_meant.iter().all(known)
    })
}

/// Whether a dotted version lies in an inclusive range. What cannot be compared is outside.
pub fn within(version: &str, from: &str, to: &str) -> bool {
    match (numbers(version), numbers(from), numbers(to)) {
        (Some(version), Some(from), Some(to)) => version >= from && version <= to,
        _ => false,
    }
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let core = version
        .trim()
        .trim_start_matches('v')
        .split(['-', '+'])
        .next()?;
    let mut out = [0; 3];
    let mut parts = core.split('.');
    for slot in &mut out {
        match parts.next() {
            Some(part) => *slot = part.parse().ok()?,
            None => break,
        }
    }
    parts.next().is_none().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(within("0.171.0", "0.100.0", "0.171.0"));
        assert!(within("0.9.0", "0.1", "0.10.0"));
        assert!(!within("0.172.0", "0.100.0", "0.171.0"));
        assert!(!within("nightly", "0.100.0", "0.171.0"));
    }
}
