//! One rule, one world: reads, assembles, judges, reports.

mod demands;
mod report;

pub use report::{Report, SourceCount};

use crate::assemble::{Assembled, assemble, fill};
use crate::copies::{self, Candidate};
use crate::coverage::Coverage;
use crate::folders::Folders;
use crate::judge::Bench;
use crate::one;
use crate::policy::{Names, Reviewer, Spent};
use crate::readings::Readings;
use axiowl_lang::fields::row_fields;
use axiowl_lang::load::LoadedRule;
use axiowl_model::{DiscoveredAgent, Issue, LOCAL_NODE, Step, codes};
use axiowl_sources::read::{COPY_BYTES, ReadOptions, Tables, read_all};
use axiowl_sources::timings::timed;
use axiowl_sources::{Cancel, Name, Row, Timings, World};
use demands::{missing_guard, strong_fields};
use rayon::prelude::*;
use report::report;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// How a run is made.
#[derive(Debug, Clone)]
pub struct Options {
    /// Only this session id or name.
    pub target: Option<String>,
    /// Record every decision.
    pub trace: bool,
    /// Scan whole files where the windows gave no name.
    pub deep: bool,
    /// With `deep`: only files whose path holds one of these; every file when empty.
    pub deep_only: Vec<String>,
    /// Node of the rows.
    pub node: String,
    /// Id of the provider home that is read; empty for the default one.
    pub home: String,
    /// Ends the run early: what was not read by then is missing, and the report says so.
    pub cancel: Cancel,
    /// Counts what of the rule is reached.
    pub coverage: Option<Arc<Coverage>>,
    /// Threads for reading; as many as there are cores when none is given.
    pub threads: Option<usize>,
    /// Bytes of a SQLite store that a private copy is made of.
    pub copy_bytes: u64,
    /// Whether `command` sources run their programs.
    pub allow_commands: bool,
    /// Measures the stages of the run.
    pub timings: Option<Arc<Timings>>,
    /// What the rules of this run read of the provider's default home, each once for all rules
    /// that read the same.
    pub readings: Option<Arc<Readings>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            target: None,
            trace: false,
            deep: false,
            deep_only: Vec::new(),
            node: LOCAL_NODE.into(),
            home: String::new(),
            cancel: Cancel::default(),
            coverage: None,
            threads: None,
            copy_bytes: COPY_BYTES,
            allow_commands: false,
            timings: None,
            readings: None,
        }
    }
}

/// One session with the row it was judged by.
pub struct Found {
    /// The judged session.
    pub agent: DiscoveredAgent,
    /// Its fields.
    pub row: Row,
    /// The roots it was found under.
    pub roots: BTreeMap<String, String>,
}

/// Runs a rule.
pub fn discover(loaded: &LoadedRule, world: &World, options: &Options) -> Report {
    let judgement = judge_all(loaded, world, options, None, false);
    report(loaded, world, options, judgement)
}

/// The row of one session, by exact session id. Files that cannot hold it are not read.
pub fn row_of(
    loaded: &LoadedRule,
    world: &World,
    session: &str,
    options: &Options,
) -> Option<Found> {
    let judgement = judge_all(loaded, world, options, Some(session), true);
    let roots = judgement.tables.roots.clone();
    let found = judgement
        .candidates
        .into_iter()
        .find(|c| c.judged.agent.key.session == session)?;
    Some(Found {
        agent: found.judged.agent,
        row: found.row,
        roots,
    })
}

/// The rows of several sessions, by exact session id, in the order of their ids.
pub fn rows_of(
    loaded: &LoadedRule,
    world: &World,
    sessions: &BTreeSet<String>,
    options: &Options,
) -> Vec<Found> {
    let judgement = judge_all(loaded, world, options, None, true);
    let roots = &judgement.tables.roots;
    let wanted = judgement.candidates.into_iter();
    let mut out: Vec<Found> = wanted
        .filter(|c| sessions.contains(&c.judged.agent.key.session))
        .map(|c| Found {
            agent: c.judged.agent,
            row: c.row,
            roots: roots.clone(),
        })
        .collect();
    out.sort_by(|a, b| a.agent.key.cmp(&b.agent.key));
    out
}

fn is_target(agent: &DiscoveredAgent, target: &str) -> bool {
    let target = target.trim();
    let key = &agent.key;
    agent.display_name.as_deref() == Some(target)
        || key.session == target
        || key.bare_session() == target
        || key.to_string() == target
        || agent.aliases.iter().any(|alias| alias == target)
}

struct Judgement {
    tables: Arc<Tables>,
    candidates: Vec<Candidate>,
    dropped: BTreeMap<String, usize>,
    issues: Vec<Issue>,
    untested: Vec<String>,
    /// Rows that were left when the run was ended.
    unjudged: usize,
    /// A part of the rule that decides is not trusted.
    withheld: bool,
}

/// Judges every session, or only the one that is asked for.
fn judge_all(
    loaded: &LoadedRule,
    world: &World,
    options: &Options,
    session: Option<&str>,
    with_rows: bool,
) -> Judgement {
    let rule = &loaded.rule;
    let read = ReadOptions {
        deep: options.deep,
        deep_only: options.deep_only.clone(),
        strong_fields: strong_fields(loaded),
        threads: options.threads,
        copy_bytes: options.copy_bytes,
        allow_commands: options.allow_commands && loaded.commands_trusted(),
        cancel: options.cancel.clone(),
        timings: options.timings.clone(),
        only: session.and_then(|session| one::files_of(rule, session)),
    };
    let readings = options.readings.as_ref();
    let tables = match readings.filter(|_| options.home.is_empty()) {
        Some(readings) => readings.read(loaded, world, read),
        None => Arc::new(read_all(loaded, world, &read)),
    };
    judge_read(loaded, world, options, session, with_rows, tables)
}

/// Judges what was read.
fn judge_read(
    loaded: &LoadedRule,
    world: &World,
    options: &Options,
    session: Option<&str>,
    with_rows: bool,
    tables: Arc<Tables>,
) -> Judgement {
    let rule = &loaded.rule;
    let coverage = options.coverage.as_deref();
    if let Some(coverage) = coverage {
        coverage.tables(&tables);
    }
    let timings = options.timings.as_deref();
    let mut assembly = timed(
        timings,
        || "make rows".into(),
        || assemble(loaded, &tables, world, coverage),
        |assembly| assembly.rows.len(),
    );
    if let Some(session) = session {
        assembly.rows.retain(|row| row.session == session);
    }
    let guard = missing_guard(loaded, &tables);
    let mut issues = Vec::new();
    if let Some(guard) = &guard {
        issues.push(Issue::new(codes::GUARD_MISSING, guard.clone()));
    }
    let withheld = loaded.withheld.iter().find_map(|part| part.bars.clone());
    if let Some(withheld) = &withheld {
        issues.push(Issue::new(codes::UNTRUSTED, withheld.clone()));
    }
    let copies = copies::count(assembly.rows.iter().map(|row| row.session.as_str()));
    let folders = Folders::default();
    let bench = Bench {
        loaded,
        tables: &tables,
        world,
        node: &options.node,
        home: &options.home,
        target: options.target.as_deref(),
        trace: options.trace,
        coverage,
        folders: &folders,
        guard: guard.or(withheld.clone()),
    };
    // Judging small tables is cheaper than starting threads and script engines for them.
    const WORTH_THREADS: usize = 512;
    // More than so many are divided further, so that no thread is left with nothing to do.
    const MOST_OF_PART: usize = 1024;
    let nothing = Row::new();
    // `Err` is the session of a row that was left when the run was ended.
    let judge = |reviewer: &Option<Reviewer>, assembled: Assembled| {
        if options.cancel.is_cancelled() {
            return Err(assembled.session);
        }
        let copies = copies.get(&assembled.session).copied().unwrap_or(1);
        let mut judged = bench.judge(&assembled, copies, reviewer.as_ref());
        // The file the row itself stands in; a row of a database has only its transcript.
        let path = || {
            let own = assembled.row.get("path").and_then(|path| path.as_str());
            own.map(str::to_owned).or_else(|| {
                let transcript = rule.transcript.as_ref()?;
                fill(transcript.path()?, &assembled.row, &tables, world)
            })
        };
        // Nobody asks for it where the session stands nowhere else.
        let path = (copies > 1 || options.trace).then(path).flatten();
        if let Some(path) = path.as_ref().filter(|_| options.trace) {
            let text = format!("read from {path}");
            let step = Step {
                stage: "file".into(),
                ok: true,
                text,
                at: String::new(),
            };
            judged.agent.trace.insert(0, step);
        }
        Ok(Candidate {
            judged,
            path,
            // Whoever asks about certain sessions also wants their fields; of thousands they only
            // take room.
            row: match with_rows {
                true => assembled.row,
                false => nothing.clone(),
            },
        })
    };
    let spent = Spent::default();
    // A script is compiled, and an engine made for it, only where there is a row to look at.
    let policy = loaded.policy.as_ref();
    let policy = policy.filter(|_| !assembly.rows.is_empty());
    let names = policy.map(|policy| {
        let joins = rule.rows.join.iter().flatten();
        let joins = joins.map(|join| join.name.value.clone());
        let known = row_fields(rule).into_iter().chain(joins);
        let plain = known.filter(|name| !name.contains('.'));
        Names::new(policy, plain.map(|name| Name::from(&name)).collect())
    });
    let reviewer = || Some(Reviewer::new(policy?, names.as_ref()?, &spent));
    let judge_rows = || -> Vec<Result<Candidate, String>> {
        if assembly.rows.len() < WORTH_THREADS || options.threads == Some(1) {
            let reviewer = reviewer();
            assembly
                .rows
                .into_iter()
                .map(|row| judge(&reviewer, row))
                .collect()
        } else {
            // A script engine is made for every part, so there are only as many as threads.
            let parts = options.threads.unwrap_or_else(rayon::current_num_threads);
            let part = assembly.rows.len().div_ceil(parts.max(1));
            let rows = assembly
                .rows
                .into_par_iter()
                .with_min_len(part.min(MOST_OF_PART));
            rows.map_init(reviewer, |reviewer, row| judge(reviewer, row))
                .collect()
        }
    };
    let outcomes = timed(timings, || "judge".into(), judge_rows, Vec::len);
    let left = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
    let unjudged: Vec<String> = left.cloned().collect();
    // In place, since these are thousands of large ones.
    let mut judged: Vec<Candidate> = outcomes.into_iter().filter_map(Result::ok).collect();
    if !unjudged.is_empty() {
        let rows = unjudged.len();
        let message = format!("the run was ended before {rows} rows were judged");
        issues.push(Issue::new(codes::CANCELLED, message));
        // Of several rows of a session, one that was not judged may be the one that counts.
        let left: HashSet<&str> = unjudged.iter().map(String::as_str).collect();
        judged.retain(|c| !left.contains(c.judged.agent.key.session.as_str()));
    }
    let mut failures: BTreeMap<String, Issue> = BTreeMap::new();
    let mut untested = Vec::new();
    for candidate in &judged {
        if let Some(issue) = &candidate.judged.issue {
            let cause = issue
                .message
                .split_once(": ")
                .map_or("", |(_, cause)| cause)
                .to_owned();
            failures.entry(cause).or_insert_with(|| issue.clone());
        }
        untested.extend(candidate.judged.untested.clone());
    }
    issues.extend(failures.into_values());
    let candidates = copies::settle(judged, options.trace, &mut issues);
    Judgement {
        candidates,
        dropped: assembly.dropped,
        issues,
        untested,
        tables,
        unjudged: unjudged.len(),
        withheld: withheld.is_some(),
    }
}

#[cfg(test)]
mod tests;
