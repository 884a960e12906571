//! Which files a case needs: those of its sessions, those that several sessions share, and,
//! where the rule does not fit any more, those it does not know.

use super::session::Chosen;
use axiowl_lang::load::LoadedRule;
use axiowl_sources::survey::{Survey, Surveyed, UNREAD, alike};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A source with at most so many files keeps what sessions share.
const SHARED: usize = 4;
/// Files the rule does not know: of each folder and ending so many, and in all.
const UNKNOWN_EACH: usize = 2;
const UNKNOWN: usize = 12;
/// Small files of a source are searched for the ids of the sessions.
const SEARCHED: u64 = 1 << 20;
/// So many folders above a session's file may hold files that belong to it.
const ABOVE: usize = 3;
/// Without a session to go by, so many files of each source show how it looks.
const SHOWN: usize = 3;

/// A file of the case, and why it is in it.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The file.
    pub file: Surveyed,
    /// Why, for the list of what was kept.
    pub why: &'static str,
}

/// Chooses files; `others` are the ids of sessions that are not kept, `drifted` says that the rule does not fit.
pub fn choose(
    loaded: &LoadedRule,
    survey: &Survey,
    chosen: &[Chosen],
    others: &[&str],
    drifted: bool,
) -> Vec<Wanted> {
    let mut out: BTreeMap<String, Wanted> = BTreeMap::new();
    let mut add = |file: &Surveyed, why: &'static str| {
        let wanted = Wanted {
            file: file.clone(),
            why,
        };
        out.entry(file.recorded.clone()).or_insert(wanted);
    };
    let named: BTreeSet<&str> = chosen.iter().flat_map(|c| paths(&c.row)).collect();
    let ids: Vec<&str> = chosen.iter().map(|c| c.bare.as_str()).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in &survey.files {
        for source in &file.fits {
            *counts.entry(source).or_default() += 1;
        }
    }
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    let folders: BTreeSet<&str> = named.iter().flat_map(|path| above(path)).collect();
    let members = axiowl_sources::survey::members(loaded);
    let beside = |file: &Surveyed| {
        let (folder, name) = file.recorded.rsplit_once(['/', '\\']).unwrap_or_default();
        // A fixture keeps databases as text.
        let name = name.strip_suffix(".sql").unwrap_or(name);
        folders.contains(folder) && members.iter().any(|member| member.matches(name))
    };
    for file in &survey.files {
        let sources = file.fits.iter().filter(|source| *source != UNREAD);
        let own = ids.iter().any(|id| file.recorded.contains(id));
        if named.contains(file.recorded.as_str()) || own && !file.fits.contains(UNREAD) {
            add(file, "belongs to a session");
        }
        if file.size <= SEARCHED && beside(file) {
            add(file, "lies beside a session");
        }
        for source in sources {
            // What is called after another session is that one's.
            if others.iter().any(|id| file.recorded.contains(id)) {
                continue;
            }
            if counts.get(source.as_str()).is_some_and(|n| *n <= SHARED) {
                add(file, "shared by sessions");
            } else if file.size <= SEARCHED && holds_one(file, &ids) {
                add(file, "names a session");
            } else if chosen.is_empty() {
                let shown = shown.entry(source).or_default();
                *shown += 1;
                if *shown <= SHOWN {
                    add(file, "shows how its source looks");
                }
            }
        }
    }
    if drifted {
        unknown(loaded, survey, &mut add);
    }
    out.into_values().collect()
}

/// Files that no part of the rule fits: those called like an expected one first.
fn unknown(loaded: &LoadedRule, survey: &Survey, add: &mut dyn FnMut(&Surveyed, &'static str)) {
    let sources = loaded.rule.sources.keys();
    let moved: BTreeSet<String> = sources
        .flat_map(|name| alike(loaded, survey, name))
        .collect();
    let mut each: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut all = 0;
    let mut files: Vec<&Surveyed> = survey.unmatched().collect();
    files.sort_by_key(|file| !moved.contains(&file.recorded));
    for file in files {
        let (folder, name) = file.recorded.rsplit_once(['/', '\\']).unwrap_or_default();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let side = ["-wal", "-shm", "-journal"]
            .iter()
            .any(|end| name.ends_with(end));
        let count = each
            .entry((folder.to_owned(), ending.to_owned()))
            .or_default();
        *count += 1;
        if !side && *count <= UNKNOWN_EACH && all < UNKNOWN {
            all += 1;
            add(file, "no part of the rule fits it");
        }
    }
}

/// The folders a path lies in, up to a few above it.
fn above(path: &str) -> impl Iterator<Item = &str> {
    fn parent(path: &str) -> Option<&str> {
        path.rsplit_once(['/', '\\']).map(|(folder, _)| folder)
    }
    std::iter::successors(parent(path), |path| parent(path)).take(ABOVE)
}

/// Every text of a row that could be a path.
fn paths(row: &axiowl_sources::Row) -> Vec<&str> {
    let mut out = Vec::new();
    fn gather<'v>(value: &'v Value, out: &mut Vec<&'v str>) {
        match value {
            Value::String(text) if text.contains(['/', '\\']) && text.len() < 4_096 => {
                out.push(text);
            }
            Value::Object(map) => map.values().for_each(|value| gather(value, out)),
            _ => {}
        }
    }
    row.values().for_each(|value| gather(value, &mut out));
    out
}

fn holds_one(file: &Surveyed, ids: &[&str]) -> bool {
    if ids.is_empty() {
        return false;
    }
    let Ok(bytes) = std::fs::read(&file.real) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes);
    ids.iter().any(|id| text.contains(id))
}
