//! SQLite stores, read through a private copy or at rest.
//!
//! Which of several files counts is decided here; how a file is opened ([`access`]), what
//! a statement may do ([`guard`]) and how cells become fields ([`rows`]) elsewhere.

mod access;
pub mod ask;
mod compile;
mod copy;
pub mod dump;
mod guard;
mod keys;
mod rows;
pub mod session;
mod state;

pub(crate) use access::Copies;
pub use compile::{SqlProblem, check_sql};

use crate::World;
use crate::document::{bytes, newest as newest_files};
use crate::file::{DATABASE_TEXT, Hit};
use crate::find::{Finder, Kind};
use crate::read::{Context, Outcome, Table};
use crate::report::Report;
use crate::witness::Depth;
use access::Ways;
use axiowl_lang::source::{Pick, Sqlite};
use axiowl_model::{Issue, codes};
use rows::Found;
use serde_json::Value;
use std::path::Path;

/// Bytes of such a text.
const TEXT_BYTES: u64 = 64 << 20;
/// Side files of a database, which a wide pattern finds too.
const SIDE_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A database and how it is kept.
struct Store {
    hit: Hit,
    as_text: bool,
}

/// Reads one SQLite source.
pub(crate) fn read(rule: &Sqlite, context: &Context<'_>) -> Outcome {
    let mut report = Report::default();
    let mut finder = Finder::new(context.world, context.roots, Kind::File);
    let fixture = context.world.is_fixture();
    let stores = find(rule, &mut finder, context.world, &mut report);
    let mut table = Table {
        files_matched: stores.len(),
        root_exists: finder.root_exists(&rule.path),
        ..Table::default()
    };
    let picked = pick(stores, rule.pick, fixture);
    let ways = Ways {
        mirror: rule.mirror,
        most: context.options.copy_bytes,
        copies: context.copies,
        cancel: &context.options.cancel,
    };
    let mut all: Vec<(Store, Found)> = Vec::new();
    for store in picked {
        if let Some(found) = read_store(&store, rule, ways, &mut report) {
            all.push((store, found));
        }
    }
    if rule.pick != Pick::All && all.len() > 1 {
        all = vec![newest(all, rule.tie.as_deref())];
    }
    for (store, found) in all {
        table.note_read(&store.hit.recorded);
        if found.vacant {
            table.vacant.insert(store.hit.recorded.clone());
        }
        if found.not_meant {
            table.not_meant.insert(store.hit.recorded.clone());
        }
        if table.doc.is_none() {
            table.doc = found.doc;
        }
        table.rows.extend(found.rows);
        table.missing_columns.extend(found.missing);
        report.add(found.report);
    }
    Outcome { table, report }
}

fn find(rule: &Sqlite, finder: &mut Finder<'_>, world: &World, report: &mut Report) -> Vec<Store> {
    let fixture = world.is_fixture();
    let side = |hit: &Hit| {
        SIDE_FILES
            .iter()
            .any(|ending| hit.recorded.ends_with(ending))
    };
    let is_text = |hit: &Hit| fixture && hit.recorded.ends_with(DATABASE_TEXT);
    let mut hits = finder.find(&rule.path, "", report);
    hits.retain(|hit| !side(hit) && !is_text(hit));
    hits.iter().for_each(|hit| note_log(world, hit));
    if rule.pick == Pick::All {
        newest_files(&mut hits, rule.max_files, report);
    }
    let mut stores: Vec<Store> = hits
        .into_iter()
        .map(|hit| Store {
            hit,
            as_text: false,
        })
        .collect();
    if fixture {
        let texts = finder.find(&rule.path, DATABASE_TEXT, report);
        let new: Vec<Store> = texts
            .into_iter()
            .filter_map(|hit| {
                let hit = hit.of_text(world)?;
                let there = stores
                    .iter()
                    .any(|store| store.hit.recorded == hit.recorded);
                (!there).then_some(Store { hit, as_text: true })
            })
            .collect();
        stores.extend(new);
    }
    stores.sort_by(|a, b| (a.hit.pattern, &a.hit.recorded).cmp(&(b.hit.pattern, &b.hit.recorded)));
    stores
}

/// What a database holds also stands in its log, which lies beside the very file.
fn note_log(world: &World, hit: &Hit) {
    if world.witness().is_none() {
        return;
    }
    let real = hit.real.canonicalize();
    let real = real.as_deref().unwrap_or(&hit.real);
    for ending in ["-wal", "-journal"] {
        let mut log = real.as_os_str().to_owned();
        log.push(ending);
        world.note_path(Path::new(&log), Depth::Content);
    }
}

/// The stores that count, several where `tie` has to decide.
fn pick(mut stores: Vec<Store>, pick: Pick, fixture: bool) -> Vec<Store> {
    // In a fixture only what is recorded counts, and no log's real time is.
    let log_time = |path: &Path| if fixture { i64::MIN } else { log_time(path) };
    let rank = |store: &Store| match pick {
        Pick::All => 0,
        Pick::HighestNumber => number(&store.hit.recorded),
        Pick::Newest => i128::from(store.hit.mtime.max(log_time(&store.hit.real))),
    };
    if let Some(best) = stores.iter().map(rank).max() {
        stores.retain(|store| rank(store) == best);
    }
    stores
}

/// The last number in a file's stem; -1 without one.
fn number(path: &str) -> i128 {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let mut digits = stem
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty());
    digits
        .next_back()
        .map_or(-1, |digits| digits.parse().unwrap_or(i128::MAX))
}

/// When the log was last written; a live database's own file can be old.
fn log_time(path: &Path) -> i64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    Path::new(&log)
        .metadata()
        .map_or(i64::MIN, |metadata| crate::file::mtime(&metadata))
}

/// The store whose newest value of the `tie` column is newest; among equals the one that an
/// earlier pattern found.
fn newest(mut all: Vec<(Store, Found)>, tie: Option<&str>) -> (Store, Found) {
    let newest = |found: &Found| {
        let values = found
            .rows
            .iter()
            .filter_map(|row| row.get(tie?))
            .filter_map(Value::as_f64);
        values.fold(f64::NEG_INFINITY, f64::max)
    };
    let mut best = 0;
    for number in 1..all.len() {
        if newest(&all[number].1) > newest(&all[best].1) {
            best = number;
        }
    }
    all.swap_remove(best)
}

fn read_store(store: &Store, rule: &Sqlite, ways: Ways<'_>, report: &mut Report) -> Option<Found> {
    let hit = &store.hit;
    if !store.as_text {
        return access::with_database(hit, ways, report, &mut |connection| {
            Ok(rows::select(connection, rule, hit))
        });
    }
    let (text, _) = bytes(hit, TEXT_BYTES, report)?;
    match access::build(&String::from_utf8_lossy(&text), ways.cancel) {
        Ok(connection) => Some(rows::select(&connection, rule, hit)),
        Err(error) => {
            let message = format!("the fixture's SQL text cannot be run: {error}");
            report.gap(Issue::new(codes::DAMAGED, message).at(&hit.recorded));
            None
        }
    }
}

#[cfg(test)]
mod tests;
