//! Reads all sources of a rule into tables.
//!
//! Sources that follow another one's rows come after it; the files of one source are
//! read in parallel and put back into the order of their paths. It must not know what a
//! row means or which of them will matter.

use crate::document::Form;
use crate::file::Hit;
use crate::find::{Finder, Kind};
use crate::report::Report;
use crate::roots::{self, Root};
use crate::sqlite::Copies;
use crate::timings::{Timings, timed};
use crate::{
    Cancel, Row, World, command, convert, document, files, folder, jsonl, mutation_log, pbtext,
    protobuf, sqlite, text, tsv, unread,
};
use axiowl_lang::at::At;
use axiowl_lang::fields::followed_source;
use axiowl_lang::load::LoadedRule;
use axiowl_lang::rule::Rule;
use axiowl_lang::source::Source;
use axiowl_lang::template::Template;
use axiowl_model::{Issue, codes};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes of a SQLite store that is copied before it is read, unless the user allows more.
pub const COPY_BYTES: u64 = 256 << 20;

/// How far to read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Scan the whole of files that `then: whole` names, however big.
    pub deep: bool,
    /// With `deep`: only files whose path holds one of these; every file when empty.
    pub deep_only: Vec<String>,
    /// The fields (source, field) that may give a strong name: `then: whole` scans on only
    /// while a file has given none of them.
    pub strong_fields: BTreeSet<(String, String)>,
    /// Threads to read files with; rayon's own number when left out.
    pub threads: Option<usize>,
    /// Whether `command` sources run their programs. Discovery runs none unless its user says so.
    pub allow_commands: bool,
    /// Bytes of a SQLite store and its log that a private copy is made of.
    pub copy_bytes: u64,
    /// Ends the run early.
    pub cancel: Cancel,
    /// Files of JSON Lines sources that need not be read.
    pub only: Option<Only>,
    /// Measures the reading of each source.
    pub timings: Option<Arc<Timings>>,
}

/// What is wanted of some sources, by a field that is known before a file is opened: its name,
/// or a named group of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Only {
    /// The sources.
    pub sources: BTreeSet<String>,
    /// The field.
    pub field: String,
    /// Its value. A file that has another one is not opened.
    pub value: String,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            deep: false,
            deep_only: Vec::new(),
            strong_fields: BTreeSet::new(),
            threads: None,
            allow_commands: false,
            copy_bytes: COPY_BYTES,
            cancel: Cancel::default(),
            only: None,
            timings: None,
        }
    }
}

/// Everything a rule's sources gave.
#[derive(Debug, Default)]
pub struct Tables {
    /// Root name to folder, as recorded, whether it exists or not.
    pub roots: BTreeMap<String, String>,
    /// Source name to its rows.
    pub tables: BTreeMap<String, Table>,
    /// What could not be read, by source and then by path; what the rule does not read.
    pub issues: Vec<Issue>,
    /// Files of stores that the rule knows and does not read.
    pub unread_files: usize,
    /// Whether a root of such a store exists.
    pub unread_root_exists: bool,
}

/// What one source gave.
#[derive(Debug, Default)]
pub struct Table {
    /// Rows in the order of their files' paths, within a file in its order. Every field
    /// the source declares is present, null where nothing was found.
    pub rows: Vec<Row>,
    /// The fields of a JSON or YAML source's first document.
    pub doc: Option<Row>,
    /// Files that the path patterns fit.
    pub files_matched: usize,
    /// Files of those that were opened and read.
    pub files_read: usize,
    /// The first files that were read, as recorded; at most [`FILES_KEPT`].
    pub files: Vec<String>,
    /// Declared columns that a database does not have, `?` or not.
    pub missing_columns: BTreeSet<String>,
    /// Something was busy, unreadable or beyond a limit: an absent row proves nothing, so
    /// nothing may be pruned or demoted.
    pub incomplete: bool,
    /// Whether a root of the source's paths exists.
    pub root_exists: bool,
    /// Databases that were read whole and hold no row: nobody has used them yet.
    pub vacant: BTreeSet<String>,
    /// Databases that have none of the tables of this source, which some releases do not have.
    pub not_meant: BTreeSet<String>,
    /// What no part of the source fits: path, line (0 for the whole file) and what it is;
    /// at most [`NOT_UNDERSTOOD_KEPT`].
    pub not_understood: Vec<(String, u64, String)>,
}

/// Length of [`Table::files`].
pub const FILES_KEPT: usize = 16;
/// Length of [`Table::not_understood`].
pub const NOT_UNDERSTOOD_KEPT: usize = 32;

/// What a reader gives.
pub(crate) struct Outcome {
    pub table: Table,
    pub report: Report,
}

/// What a reader may use.
pub(crate) struct Context<'a> {
    pub world: &'a World,
    pub options: &'a ReadOptions,
    pub roots: &'a BTreeMap<String, Root>,
    /// The sources that were read before.
    pub tables: &'a BTreeMap<String, Table>,
    /// Private copies of stores, made once for all sources.
    pub copies: &'a Copies,
}

impl Context<'_> {
    /// The files that patterns fit, and the table they are counted in.
    pub(crate) fn files(
        &self,
        patterns: &[At<Template>],
        report: &mut Report,
    ) -> (Table, Vec<Hit>) {
        let mut finder = Finder::new(self.world, self.roots, Kind::File);
        let hits = finder.find(patterns, "", report);
        let table = Table {
            files_matched: hits.len(),
            root_exists: finder.root_exists(patterns),
            ..Table::default()
        };
        (table, hits)
    }
}

impl Table {
    /// Counts a file that was read.
    pub(crate) fn note_read(&mut self, recorded: &str) {
        self.files_read += 1;
        if self.files.len() < FILES_KEPT {
            self.files.push(recorded.to_owned());
        }
    }

    /// Adds the rows of a file, up to a limit on all rows of the source.
    pub(crate) fn add_rows(
        &mut self,
        mut rows: Vec<Row>,
        most: usize,
        recorded: &str,
        report: &mut Report,
    ) {
        let left = most.saturating_sub(self.rows.len());
        if rows.len() > left {
            rows.truncate(left);
            let message = format!("more than {most} rows; `max_rows` sets the limit");
            report.gap(Issue::new(codes::CAP, message).at(recorded));
        }
        self.rows.append(&mut rows);
    }
}

/// Reads every source of a rule.
///
/// The same bytes and clock give the same tables, whatever the number of threads.
pub fn read_all(rule: &LoadedRule, world: &World, options: &ReadOptions) -> Tables {
    let pool = options
        .threads
        .map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build());
    match pool {
        Some(Ok(pool)) => pool.install(|| read_sources(&rule.rule, world, options)),
        // A pool that cannot be made only costs the wanted number of threads.
        Some(Err(_)) | None => read_sources(&rule.rule, world, options),
    }
}

pub(crate) fn read_sources(rule: &Rule, world: &World, options: &ReadOptions) -> Tables {
    let (roots, mut issues) = roots::resolve(rule, world);
    let copies = Copies::of_one_state();
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    let mut by_source: BTreeMap<&str, Vec<Issue>> = BTreeMap::new();
    // Each round reads the sources whose own sources are there; a circle ends it.
    loop {
        let ready = |name: &String, source: &Source| {
            !tables.contains_key(name) && follows(source).iter().all(|n| tables.contains_key(*n))
        };
        let next: Vec<_> = rule
            .sources
            .iter()
            .filter(|(name, source)| ready(name, source))
            .collect();
        if next.is_empty() {
            break;
        }
        for (name, source) in next {
            if options.cancel.is_cancelled() {
                // Every source has a table, so that none is taken for a broken rule.
                tables.insert(name.clone(), Table::default());
                continue;
            }
            let context = Context {
                world,
                options,
                roots: &roots,
                tables: &tables,
                copies: &copies,
            };
            let read = || {
                let mut outcome = read_source(name, source, &context);
                convert::apply(source.converts(), &mut outcome.table);
                outcome
            };
            let Outcome {
                mut table,
                mut report,
            } = timed(
                options.timings.as_deref(),
                || format!("read {name}"),
                read,
                |outcome| outcome.table.files_read,
            );
            table.incomplete |= report.incomplete;
            table.not_understood = std::mem::take(&mut report.not_understood);
            by_source.insert(name, report.into_issues(name));
            tables.insert(name.clone(), table);
        }
    }
    for name in rule
        .sources
        .keys()
        .filter(|name| !tables.contains_key(*name))
    {
        let message = format!("source `{name}` follows sources that are not there or follow it");
        by_source.insert(name, vec![Issue::new(codes::RULE_BROKEN, message)]);
    }
    issues.extend(by_source.into_values().flatten());
    if options.cancel.is_cancelled() {
        tables
            .values_mut()
            .for_each(|table| table.incomplete = true);
        let message = "the run was ended; what it had not read by then is missing";
        issues.push(Issue::new(codes::CANCELLED, message));
    }
    let seen = unread::look(rule, world, &roots, &tables);
    issues.extend(seen.issues);
    let roots = roots
        .into_iter()
        .map(|(name, root)| (name, root.recorded().to_owned()))
        .collect();
    Tables {
        roots,
        tables,
        issues,
        unread_files: seen.files,
        unread_root_exists: seen.root_exists,
    }
}

fn read_source(name: &str, source: &Source, context: &Context<'_>) -> Outcome {
    match source {
        Source::Sqlite(rule) => sqlite::read(rule, context),
        Source::Jsonl(rule) => jsonl::read(name, rule, context),
        Source::Json(rule) => document::read(rule, Form::json(rule.comments), context),
        Source::Yaml(rule) => document::read(rule, Form::Yaml, context),
        Source::Toml(rule) => document::read(rule, Form::Toml, context),
        Source::Folder(rule) => folder::read(rule, context),
        Source::Files(rule) => files::read(rule, context),
        Source::MutationLog(rule) => mutation_log::read(rule, context),
        Source::Text(rule) => text::read(rule, context),
        Source::PbText(rule) => pbtext::read(rule, context),
        Source::Protobuf(rule) => protobuf::read(rule, context),
        Source::Tsv(rule) => tsv::read(rule, context),
        Source::Command(rule) => command::read(name, rule, context),
    }
}

/// The sources whose rows a source needs.
fn follows(source: &Source) -> Vec<&str> {
    let mut out: Vec<&str> = followed_source(source).into_iter().collect();
    if let Source::Jsonl(rule) = source {
        let others = rule
            .unless_in
            .values()
            .filter_map(|place| place.split_once('.'));
        out.extend(others.map(|(source, _)| source));
    }
    out
}
