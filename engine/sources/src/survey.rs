//! Every file below a rule's roots, and which source fits it: for a provider that moved or
//! added files, and for captures.
//!
//! It lists folders and opens no file. Discovery asks only when something expected is
//! missing, since a provider's folder may hold far more than sessions.

use crate::World;
use crate::file::DATABASE_TEXT;
use crate::find::{Finder, Kind, is_secret};
use crate::report::Report;
use crate::roots::{self, Root};
use axiowl_lang::at::At;
use axiowl_lang::load::LoadedRule;
use axiowl_lang::source::{STATE_ROOT, Source};
use axiowl_lang::template::{Piece, Template};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Entries that are looked at.
const ENTRIES: usize = 50_000;
/// Folders that are gone down.
const DEPTH: usize = 10;

/// A file below a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surveyed {
    /// As the examined world writes it.
    pub recorded: String,
    /// Where it really lies.
    pub real: PathBuf,
    /// Bytes.
    pub size: u64,
    /// The sources (and stores that are known and not read) whose patterns fit it.
    pub fits: BTreeSet<String>,
    /// The roots below which it lies.
    pub roots: BTreeSet<String>,
}

/// The files below a rule's roots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// The folders that are roots, as recorded.
    pub roots: Vec<String>,
    /// By real path.
    pub files: Vec<Surveyed>,
    /// Places that were not looked into: folders that cannot be read or lie too deep, and links.
    pub closed: Vec<Surveyed>,
    /// There are more than were looked at.
    pub capped: bool,
}

impl Survey {
    /// The files that nothing in the rule fits.
    pub fn unmatched(&self) -> impl Iterator<Item = &Surveyed> {
        self.files.iter().filter(|file| file.fits.is_empty())
    }

    /// The places that were not looked into and that the rule does not name.
    pub fn unknown(&self) -> impl Iterator<Item = &Surveyed> {
        self.closed.iter().filter(|place| place.fits.is_empty())
    }
}

/// The name that stands for stores a rule knows and does not read.
pub const UNREAD: &str = "unread";

/// The name that stands for what a provider keeps beside its sessions.
pub const BESIDE: &str = "beside";

/// Lists the files. Secret files, links and AxiOwl's own folder are left out.
pub fn survey(loaded: &LoadedRule, world: &World) -> Survey {
    if let Some(witness) = world.witness() {
        witness.unsure("folders were searched for files that nothing reads");
    }
    let rule = &loaded.rule;
    let (roots, _) = roots::resolve(rule, world);
    let mut found: BTreeMap<PathBuf, Surveyed> = BTreeMap::new();
    let mut closed = BTreeMap::new();
    let mut left = ENTRIES;
    let mut folders = BTreeSet::new();
    let own = roots.iter().filter(|(name, _)| *name != STATE_ROOT);
    for (name, root) in own {
        for folder in root.folders() {
            let Some(place) = &folder.place else { continue };
            folders.insert(folder.recorded.clone());
            let mut walk = Walk {
                world,
                name,
                root: &folder.recorded,
                found: &mut found,
                closed: &mut closed,
                left: &mut left,
            };
            walk.folder(&place.real, 0);
        }
    }
    for (name, source) in &rule.sources {
        let folders = matches!(source, Source::Folder(_));
        mark(name, source.paths(), folders, &roots, world, &mut found);
    }
    for unread in &rule.unread {
        mark(UNREAD, &unread.files, false, &roots, world, &mut found);
    }
    for folders in [false, true] {
        mark(BESIDE, &rule.beside, folders, &roots, world, &mut found);
    }
    // What lies in a folder that is named does not matter; a folder that is not named may be where
    // anything is by now.
    mark(BESIDE, &rule.beside, true, &roots, world, &mut closed);
    Survey {
        roots: folders.into_iter().collect(),
        files: found.into_values().collect(),
        closed: closed.into_values().collect(),
        capped: left == 0,
    }
}

/// Files elsewhere below the roots that are called like those of a source.
pub fn alike(loaded: &LoadedRule, survey: &Survey, source: &str) -> Vec<String> {
    let paths = loaded.rule.sources.get(source).map(Source::paths);
    let names: Vec<glob::Pattern> = paths
        .unwrap_or_default()
        .iter()
        .filter_map(|path| {
            let last = path.as_str().rsplit('/').next()?;
            // A pattern that fits everything tells nothing.
            let telling = last
                .trim_start_matches(['*', '.'])
                .contains(char::is_alphanumeric);
            glob::Pattern::new(last)
                .ok()
                .filter(|_| telling && !last.starts_with("*."))
        })
        .collect();
    let unmatched = survey.unmatched();
    let fits = |file: &&Surveyed| {
        let name = file.recorded.rsplit(['/', '\\']).next().unwrap_or_default();
        names.iter().any(|pattern| pattern.matches(name))
    };
    unmatched.filter(fits).map(|f| f.recorded.clone()).collect()
}

/// What the files are called that `folder` sources look at.
pub fn members(loaded: &LoadedRule) -> Vec<glob::Pattern> {
    let mut out = Vec::new();
    for source in loaded.rule.sources.values() {
        if let Source::Folder(folder) = source {
            let names = folder.fields.values().map(|field| &field.value.file);
            let names = names.filter_map(|file| file.rsplit('/').next());
            out.extend(names.filter_map(|name| glob::Pattern::new(name).ok()));
        }
    }
    out
}

struct Walk<'a> {
    world: &'a World,
    name: &'a str,
    root: &'a str,
    found: &'a mut BTreeMap<PathBuf, Surveyed>,
    closed: &'a mut BTreeMap<PathBuf, Surveyed>,
    left: &'a mut usize,
}

impl Walk<'_> {
    fn folder(&mut self, dir: &Path, depth: usize) {
        let Ok(entries) = std::fs::read_dir(dir) else {
            self.note(dir, 0, false);
            return;
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort_unstable();
        for path in paths {
            if *self.left == 0 {
                return;
            }
            *self.left -= 1;
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            if metadata.is_dir() && depth < DEPTH {
                self.folder(&path, depth + 1);
            } else if metadata.is_file() {
                self.note(&path, metadata.len(), true);
            } else if metadata.is_dir() || metadata.is_symlink() {
                self.note(&path, 0, false);
            }
        }
    }

    fn note(&mut self, path: &Path, size: u64, file: bool) {
        let recorded = self.world.recorded(path);
        if is_secret(&recorded, self.root, self.world.home()) {
            return;
        }
        let places = match file {
            true => &mut *self.found,
            false => &mut *self.closed,
        };
        let place = places.entry(path.to_owned());
        let place = place.or_insert_with(|| Surveyed {
            recorded,
            real: path.to_owned(),
            size,
            fits: BTreeSet::new(),
            roots: BTreeSet::new(),
        });
        place.roots.insert(self.name.to_owned());
    }
}

/// Marks the files that patterns fit; of a folder, all files in it.
fn mark(
    name: &str,
    patterns: &[At<Template>],
    folders: bool,
    roots: &BTreeMap<String, Root>,
    world: &World,
    found: &mut BTreeMap<PathBuf, Surveyed>,
) {
    // What follows the rows of another source has no place of its own.
    let own: Vec<At<Template>> = patterns
        .iter()
        .filter(|path| match path.pieces().first() {
            Some(Piece::Field(root)) => roots.contains_key(root),
            _ => false,
        })
        .cloned()
        .collect();
    let kind = if folders { Kind::Folder } else { Kind::File };
    let mut finder = Finder::new(world, roots, kind);
    let mut hits = finder.find(&own, "", &mut Report::default());
    if world.is_fixture() && !folders {
        // A fixture keeps databases as text.
        hits.extend(finder.find(&own, DATABASE_TEXT, &mut Report::default()));
    }
    for hit in hits {
        if folders {
            for (path, file) in found.iter_mut() {
                if path.starts_with(&hit.real) {
                    file.fits.insert(name.to_owned());
                }
            }
            continue;
        }
        let listed = found.entry(hit.real.clone());
        // AxiOwl's own folder is not walked: what nothing fits there is no drift.
        let file = listed.or_insert_with(|| Surveyed {
            recorded: hit.recorded.clone(),
            real: hit.real.clone(),
            size: hit.size,
            fits: BTreeSet::new(),
            roots: BTreeSet::new(),
        });
        file.fits.insert(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_lang::load::{Layer, RuleFolder, load};
    use axiowl_model::Timestamp;

    const RULE: &str = "axiowl: 1
provider: p
title: t
roots: { r: \"~/.p\" }
sources:
  threads: { sqlite: { path: [\"{r}/state_*.sqlite\", \"{r}/old/state.sqlite\"], sql: SELECT id FROM t, columns: { id: text } } }
  chats: { jsonl: { path: \"{r}/chats/*.jsonl\", take: [ { fields: { name: /name } } ] } }
  boxes: { folder: { path: \"{r}/boxes/*\", needs: a.json, fields: { x: { file: a.json, json: /x } } } }
rows: { from: threads, session: \"{id}\" }
name: { candidates: [ { from: id, label: id } ] }
proof: [ { source: p_thread, when: { id: { present: true } }, grants: [enroll, send] } ]
";

    #[test]
    fn files_are_told_apart_by_what_fits_them() {
        let dir = tempfile::tempdir().unwrap();
        for file in [
            ".p/state_5.sqlite",
            ".p/new/state_6.sqlite",
            ".p/chats/a.jsonl",
            ".p/chats/deep/b.jsonl",
            ".p/boxes/one/a.json",
            ".p/boxes/one/b/c.txt",
            ".p/auth.json",
            "elsewhere.txt",
        ] {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let folder = RuleFolder::new("p", Layer::User, "rules/p", RULE);
        let loaded = load(&folder, &|_| None).unwrap();
        let world = World::real(
            dir.path().into(),
            BTreeMap::new(),
            Timestamp::from_millis(0),
        );
        let survey = survey(&loaded, &world);
        let home = dir.path().to_string_lossy().into_owned();
        let short = |path: &str| path.replace(&format!("{home}/.p/"), "");
        let all: Vec<(String, Vec<String>)> = survey
            .files
            .iter()
            .map(|f| (short(&f.recorded), f.fits.iter().cloned().collect()))
            .collect();
        let fits = |path: &str, by: &[&str]| {
            (
                path.to_owned(),
                by.iter().map(|b| (*b).to_owned()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            all,
            [
                fits("boxes/one/a.json", &["boxes"]),
                fits("boxes/one/b/c.txt", &["boxes"]),
                fits("chats/a.jsonl", &["chats"]),
                fits("chats/deep/b.jsonl", &[]),
                fits("new/state_6.sqlite", &[]),
                fits("state_5.sqlite", &["threads"]),
            ]
        );
        let moved: Vec<String> = alike(&loaded, &survey, "threads")
            .iter()
            .map(|f| short(f))
            .collect();
        assert_eq!(moved, ["new/state_6.sqlite"]);
        // `*.jsonl` fits everything of that ending, and tells nothing.
        assert!(alike(&loaded, &survey, "chats").is_empty());
    }
}
