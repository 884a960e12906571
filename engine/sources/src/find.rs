//! Finds the files of a source below its roots.
//!
//! Only the wild parts of a pattern list a folder. Nothing outside the roots, through a
//! symlink or `..`, and nothing on the secret list is ever returned, so readers open
//! what they get without a second thought. It must not look into a file.

mod listing;
mod named;
mod pattern;
mod secrets;

use crate::World;
use crate::file::Hit;
use crate::report::Report;
use crate::roots::{Folder, Place, Root};
use crate::witness::Depth;
use axiowl_lang::at::At;
use axiowl_lang::secrets::is_secret_path;
use axiowl_lang::source::STATE_ROOT;
use axiowl_lang::template::{Piece, Template};
use axiowl_model::{Issue, codes};
use listing::{Entry, Listings};
use pattern::{Part, parts};
pub(crate) use secrets::is_secret;
use std::collections::{BTreeMap, HashMap};
use std::fs::{FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Entries looked at for one pattern; beyond it the folder is no session store.
const ENTRIES: usize = 2_000_000;
/// Folders that `**` goes down.
const DEPTH: usize = 16;

/// What a pattern is to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Regular files.
    File,
    /// Folders.
    Folder,
}

/// Finds what the patterns of one source fit.
pub(crate) struct Finder<'a> {
    world: &'a World,
    roots: &'a BTreeMap<String, Root>,
    kind: Kind,
    entries: usize,
    parents: HashMap<PathBuf, Option<PathBuf>>,
    named: Option<&'a str>,
    known: Option<&'a dyn Fn(&str) -> bool>,
    passed: usize,
    /// Several patterns look into the same folders.
    listings: Listings,
}

/// A pattern being followed below one folder of its root.
struct Walk<'a> {
    /// The folder as recorded.
    folder: &'a str,
    place: &'a Place,
    pattern: usize,
    hits: Vec<Hit>,
}

impl<'a> Finder<'a> {
    /// A finder for one source.
    pub(crate) fn new(world: &'a World, roots: &'a BTreeMap<String, Root>, kind: Kind) -> Self {
        Self {
            world,
            roots,
            kind,
            entries: 0,
            parents: HashMap::new(),
            named: None,
            known: None,
            passed: 0,
            listings: Listings::default(),
        }
    }

    /// Passes over files whose name, where a pattern leaves it open, says that all of them is
    /// known: they are counted, and not looked at.
    pub(crate) fn passing_over(mut self, known: Option<&'a dyn Fn(&str) -> bool>) -> Self {
        self.known = known;
        self
    }

    /// How many files were passed over.
    pub(crate) fn passed(&self) -> usize {
        self.passed
    }

    /// Leaves out what has not this in its name, where a pattern leaves the name open.
    pub(crate) fn with_in_name(mut self, part: Option<&'a str>) -> Self {
        self.named = part;
        self
    }

    /// All hits of the patterns with `suffix` put behind each, sorted by recorded path. A
    /// file that several patterns find belongs to the first of them.
    pub(crate) fn find(
        &mut self,
        patterns: &[At<Template>],
        suffix: &str,
        report: &mut Report,
    ) -> Vec<Hit> {
        let mut all: Vec<Hit> = Vec::new();
        for (number, template) in patterns.iter().enumerate() {
            let Some((root, rest)) = self.split(template) else {
                report.issue(outside(
                    template.as_str(),
                    "the pattern starts with no root",
                ));
                continue;
            };
            let Some(parts) = parts(&format!("{rest}{suffix}")) else {
                report.issue(outside(
                    template.as_str(),
                    "the pattern leads out of its root",
                ));
                continue;
            };
            for folder in root.folders() {
                self.note_own(template, &folder.recorded);
                let Some(place) = &folder.place else {
                    continue;
                };
                let mut walk = Walk {
                    folder: &folder.recorded,
                    place,
                    pattern: number,
                    hits: Vec::new(),
                };
                self.entries = 0;
                self.follow(&mut walk, place.real.clone(), &parts, 0, report);
                all.append(&mut walk.hits);
            }
        }
        all.sort_by(|a, b| (&a.recorded, a.pattern).cmp(&(&b.recorded, b.pattern)));
        all.dedup_by(|later, first| later.real == first.real);
        all
    }

    /// Notes that a path is there, which its own metadata says unless it is a symlink.
    fn note(&self, path: &Path, metadata: Option<&Metadata>) {
        match (self.world.witness(), metadata) {
            (None, _) => {}
            (Some(_), Some(metadata)) if metadata.is_symlink() => {
                self.world.note_path(path, Depth::Identity);
            }
            (Some(witness), metadata) => witness.seen_as(path, Depth::Identity, metadata),
        }
    }

    /// Notes AxiOwl's own folder, which is a root of every rule and searched by few.
    fn note_own(&self, template: &Template, recorded: &str) {
        let own =
            matches!(template.pieces().first(), Some(Piece::Field(name)) if name == STATE_ROOT);
        if let Some(real) = self.world.real_path(recorded).filter(|_| own) {
            self.world.note_path(&real, Depth::Identity);
        }
    }

    /// Whether any root of the provider that the patterns start with exists. AxiOwl's own
    /// folder says nothing about a provider.
    pub(crate) fn root_exists(&self, patterns: &[At<Template>]) -> bool {
        let named = patterns.iter().flat_map(|t| t.fields());
        let mut named = named.filter(|name| *name != STATE_ROOT);
        named.any(|name| self.roots.get(name).is_some_and(Root::exists))
    }

    /// The same for patterns that rows of another source fill in: any root may be meant.
    pub(crate) fn any_root_exists(&self) -> bool {
        let mut roots = self.roots.iter();
        roots.any(|(name, root)| name != STATE_ROOT && root.exists())
    }

    /// The root a template starts with and the rest as a glob pattern.
    fn split(&self, template: &Template) -> Option<(&'a Root, String)> {
        let (first, rest) = template.pieces().split_first()?;
        let Piece::Field(name) = first else {
            return None;
        };
        let root = self.roots.get(name)?;
        let mut pattern = String::new();
        for piece in rest {
            match piece {
                Piece::Text(text) => pattern.push_str(text),
                Piece::Field(name) => {
                    pattern.push_str(&glob::Pattern::escape(self.roots.get(name)?.recorded()));
                }
                Piece::Variable(name) => {
                    pattern.push_str(&glob::Pattern::escape(self.world.env(name)?))
                }
            }
        }
        Some((root, pattern))
    }

    fn follow(
        &mut self,
        walk: &mut Walk<'_>,
        dir: PathBuf,
        parts: &[Part],
        depth: usize,
        report: &mut Report,
    ) {
        let Some((part, rest)) = parts.split_first() else {
            return;
        };
        match part {
            Part::Plain(name) => {
                let path = dir.join(name);
                let metadata = path.symlink_metadata();
                self.note(&path, metadata.as_ref().ok());
                match metadata {
                    Ok(metadata) => self.step(walk, path, &metadata, rest, report),
                    Err(error) => report_unless_absent(report, self.world, &path, &error),
                }
            }
            Part::Wild(pattern) => {
                let named = self.named.filter(|_| rest.is_empty());
                for entry in &*self.list(&dir, report) {
                    let name = entry.name.as_str();
                    if !pattern.fits(name) || named.is_some_and(|part| !name.contains(part)) {
                        continue;
                    }
                    let known = self.known.filter(|_| rest.is_empty());
                    // What a symlink leads to is looked at, wherever its name stands.
                    if known.is_some_and(|known| known(name))
                        && entry.kind.as_ref().is_ok_and(FileType::is_file)
                    {
                        self.passed += 1;
                        continue;
                    }
                    let path = entry.path(&dir);
                    match path.symlink_metadata() {
                        Ok(metadata) => self.step(walk, path, &metadata, rest, report),
                        Err(error) => report_unless_absent(report, self.world, &path, &error),
                    }
                }
            }
            Part::Deep => {
                self.follow(walk, dir.clone(), rest, depth, report);
                if depth < DEPTH {
                    for entry in &*self.list(&dir, report) {
                        if entry.kind.as_ref().is_ok_and(FileType::is_dir) {
                            self.follow(walk, entry.path(&dir), parts, depth + 1, report);
                        }
                    }
                }
            }
        }
    }

    /// One path further: into a folder, or a hit.
    fn step(
        &mut self,
        walk: &mut Walk<'_>,
        path: PathBuf,
        metadata: &Metadata,
        rest: &[Part],
        report: &mut Report,
    ) {
        let target;
        let mut metadata = metadata;
        if metadata.is_symlink() {
            self.world.note_path(&path, Depth::Identity);
            let Some(followed) = self.inside(walk, &path, report) else {
                return;
            };
            target = followed;
            metadata = &target;
        }
        if !rest.is_empty() {
            if metadata.is_dir() {
                self.follow(walk, path, rest, 0, report);
            }
            return;
        }
        let fits = match self.kind {
            Kind::File => metadata.is_file(),
            Kind::Folder => metadata.is_dir(),
        };
        if !fits {
            return;
        }
        let recorded = self.world.recorded(&path);
        if is_secret(&recorded, walk.folder, self.world.home()) {
            report.issue(secret(&recorded));
            return;
        }
        walk.hits
            .push(Hit::new(self.world, path, recorded, metadata, walk.pattern));
    }

    /// What a symlink leads to, when that lies below the root and is no secret.
    fn inside(&self, walk: &Walk<'_>, path: &Path, report: &mut Report) -> Option<Metadata> {
        let recorded = self.world.recorded(path);
        let canonical = path
            .canonicalize()
            .map_err(|error| report_unless_absent(report, self.world, path, &error))
            .ok()?;
        let Ok(below) = canonical.strip_prefix(&walk.place.canonical) else {
            report.gap(outside(&recorded, "the symlink leads out of the root"));
            return None;
        };
        if is_secret_path(&below.to_string_lossy()) {
            report.issue(secret(&recorded));
            return None;
        }
        canonical.metadata().ok()
    }

    /// The entries of a folder, sorted by name.
    fn list(&mut self, dir: &Path, report: &mut Report) -> Rc<[Entry]> {
        if let Some(listed) = self.listings.get(dir) {
            self.entries += listed.len();
            return listed;
        }
        self.world.note_path(dir, Depth::Content);
        let entries = match std::fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) => {
                report_unless_absent(report, self.world, dir, &error);
                return Rc::default();
            }
        };
        let mut out = Vec::new();
        for entry in entries {
            self.entries += 1;
            if self.entries > ENTRIES {
                let message = format!("more than {ENTRIES} entries; the rest was not looked at");
                report.gap(Issue::new(codes::CAP, message).at(self.world.recorded(dir)));
                break;
            }
            match entry {
                Ok(entry) => out.push(Entry::from(entry)),
                Err(error) => report.unreadable(&self.world.recorded(dir), &error),
            }
        }
        self.listings.keep(dir, out)
    }

    /// The files in a folder that was found before; `name` may have `*` in it.
    pub(crate) fn within(&mut self, folder: &Hit, name: &str, report: &mut Report) -> Vec<Hit> {
        let below = |own: &&'a Folder| {
            let place = own.place.as_ref();
            place.is_some_and(|place| folder.real.starts_with(&place.real))
        };
        let Some(parts) = parts(name) else {
            report.issue(outside(name, "the name leads out of the folder"));
            return Vec::new();
        };
        let mut folders = self.roots.values().flat_map(Root::folders);
        let Some(own) = folders.find(below) else {
            return Vec::new();
        };
        let Some(place) = &own.place else {
            return Vec::new();
        };
        let mut walk = Walk {
            folder: &own.recorded,
            place,
            pattern: 0,
            hits: Vec::new(),
        };
        self.entries = 0;
        self.follow(&mut walk, folder.real.clone(), &parts, 0, report);
        walk.hits.sort_by(|a, b| a.recorded.cmp(&b.recorded));
        walk.hits
    }
}

fn outside(path: &str, why: &str) -> Issue {
    Issue::new(codes::OUTSIDE_ROOTS, format!("{why}; it was not read")).at(path)
}

fn secret(path: &str) -> Issue {
    let message = "a file that may hold keys or tokens is never read, whatever a rule says";
    Issue::new(codes::SECRET, message).at(path)
}

/// A path that is not there, or whose parent is a file, holds nothing; that is no issue.
fn report_unless_absent(report: &mut Report, world: &World, path: &Path, error: &io::Error) {
    if error.kind() != io::ErrorKind::NotADirectory {
        report.unreadable(&world.recorded(path), error);
    }
}

#[cfg(test)]
mod tests;
