//! What would change, file by file; nothing is written here.

use crate::error::{Refusal, Why};
use crate::file::Snapshot;
use crate::recipe::{ConfigFile, Entry, Format, Recipe};
use crate::record::{Added, Changed, Record, Records, digest};
use crate::text::{Document, Found};
use std::path::PathBuf;

/// A change that was worked out and not made yet.
#[derive(Debug)]
pub struct Plan {
    pub(crate) key: String,
    pub(crate) files: Vec<FileChange>,
    /// What is to be on record afterwards.
    pub(crate) record: Option<Record>,
    /// What happens to each entry.
    pub steps: Vec<Step>,
}

/// A file that changes.
#[derive(Debug)]
pub(crate) struct FileChange {
    pub snapshot: Snapshot,
    /// What is to stand in it; nothing when it is to go.
    pub new: Option<Vec<u8>>,
    /// Its bytes without us, to be kept.
    pub base: Option<Vec<u8>>,
    /// Its place in the record.
    pub recorded: Option<usize>,
    /// Folders to remove afterwards when they are empty, the innermost first.
    pub folders: Vec<PathBuf>,
}

/// What happens to one entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The file.
    pub path: PathBuf,
    /// The entry.
    pub entry: Entry,
    /// What happens to it.
    pub what: What,
}

/// What happens to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It is there.
    Keeps,
    /// It is added.
    Adds,
    /// An older one of ours is replaced.
    Renews,
    /// It is taken out.
    TakesOut,
    /// It is taken out, with what others changed in it since.
    TakesOutChanged,
    /// Somebody took it out already.
    IsGone,
    /// What stands there now is not what was added, so it stays.
    LeavesForeign,
}

impl Plan {
    /// Whether it changes no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files it changes or makes, and whether each is there now.
    pub fn changes(&self) -> impl Iterator<Item = (&std::path::Path, bool)> {
        let files = self.files.iter();
        files.map(|file| (file.snapshot.real.as_path(), file.snapshot.bytes.is_some()))
    }
}

/// Works out how a recipe gets into its files.
///
/// # Errors
/// When one of them is damaged, holds something foreign where an entry belongs, or cannot be
/// changed without changing more.
pub fn plan(recipe: &Recipe, old: Option<&Record>) -> Result<Plan, Refusal> {
    let mut out = Plan {
        key: recipe.key.clone(),
        files: Vec::new(),
        record: None,
        steps: Vec::new(),
    };
    let mut record = Record::default();
    for file in &recipe.files {
        let known = old.and_then(|old| old.files.iter().find(|known| known.path == file.path));
        let changed = out
            .put_in(file, known, record.files.len())
            .map_err(|why| why.at(&file.path))?;
        record.files.extend(changed);
    }
    // Files that an older recipe used are given back.
    let dropped = old.iter().flat_map(|old| &old.files);
    for known in dropped.filter(|known| recipe.files.iter().all(|file| file.path != known.path)) {
        out.take_out(known, None)
            .map_err(|why| why.at(&known.path))?;
    }
    out.record = Some(record).filter(|record| !record.files.is_empty());
    Ok(out)
}

/// Works out how everything that is on record gets out again.
///
/// # Errors
/// When a file is damaged or cannot be changed without changing more.
pub fn plan_removal(key: &str, old: &Record, records: &Records) -> Result<Plan, Refusal> {
    let mut out = Plan {
        key: key.to_owned(),
        files: Vec::new(),
        record: None,
        steps: Vec::new(),
    };
    for known in &old.files {
        out.take_out(known, Some(records))
            .map_err(|why| why.at(&known.path))?;
    }
    Ok(out)
}

impl Plan {
    /// One file of a recipe; what is on record of it afterwards.
    fn put_in(
        &mut self,
        file: &ConfigFile,
        known: Option<&Changed>,
        index: usize,
    ) -> Result<Option<Changed>, Why> {
        let snapshot = Snapshot::take(&file.path)?;
        let text = snapshot.text()?.to_owned();
        let added: &[Added] = known.map_or(&[], |known| &known.entries);
        let before = Document::read(file.format, &text)?;
        let mut there = true;
        for entry in &file.entries {
            there &= is_there(&before, entry)?;
        }
        let wanted = |one: &&Added| file.entries.contains(&one.entry);
        if there && added.iter().all(|one| wanted(&one)) {
            self.note(file, What::Keeps);
            return Ok(known.cloned());
        }
        // The file as it would be without us, then with us.
        let mut base = text.clone();
        let mut renewed = Vec::new();
        for one in added.iter().rev() {
            let (without, what) = without(&base, file.format, one)?;
            base = without;
            if matches!(what, What::TakesOut | What::TakesOutChanged) {
                renewed.push(one.entry.path.clone());
            }
        }
        let mut with = base.clone();
        let mut entries = Vec::new();
        for entry in &file.entries {
            let document = Document::read(file.format, &with)?;
            let what = match document.find(entry)? {
                Found::Same => What::Keeps,
                Found::Other(_) if entry.part.yields() => What::Keeps,
                Found::Other(_) if file.format == Format::Whole => return Err(Why::ForeignFile),
                Found::Other(_) => return Err(Why::Foreign(entry.shown())),
                Found::Absent => {
                    let (new, made) = document.add(entry)?;
                    with = new;
                    entries.push(Added {
                        entry: entry.clone(),
                        made,
                    });
                    if renewed.contains(&entry.path) {
                        What::Renews
                    } else {
                        What::Adds
                    }
                }
            };
            self.steps.push(Step {
                path: file.path.clone(),
                entry: entry.clone(),
                what,
            });
        }
        let created = known.map_or(snapshot.bytes.is_none(), |known| known.created);
        let new = snapshot.bytes_of(&with);
        let base = (!created).then(|| snapshot.bytes_of(&base));
        let changed = Changed {
            path: file.path.clone(),
            format: file.format,
            created,
            folders: known.map_or_else(Vec::new, |known| known.folders.clone()),
            entries,
            after: digest(&new),
            backup: None,
        };
        self.files.push(FileChange {
            snapshot,
            new: Some(new),
            base,
            recorded: Some(index),
            folders: Vec::new(),
        });
        Ok(Some(changed))
    }

    fn note(&mut self, file: &ConfigFile, what: What) {
        self.steps.extend(file.entries.iter().map(|entry| Step {
            path: file.path.clone(),
            entry: entry.clone(),
            what,
        }));
    }

    /// One file that is on record, without us.
    fn take_out(&mut self, known: &Changed, records: Option<&Records>) -> Result<(), Why> {
        let snapshot = Snapshot::take(&known.path)?;
        let mut text = snapshot.text()?.to_owned();
        for one in known.entries.iter().rev() {
            let (without, what) = match snapshot.bytes {
                Some(_) => without(&text, known.format, one)?,
                None => (String::new(), What::IsGone),
            };
            text = without;
            self.steps.push(Step {
                path: known.path.clone(),
                entry: one.entry.clone(),
                what,
            });
        }
        let Some(bytes) = &snapshot.bytes else {
            return Ok(());
        };
        let mut new = Some(snapshot.bytes_of(&text));
        if known.created && Document::read(known.format, &text)?.is_empty() && is_bare(&text) {
            new = None;
        } else if digest(bytes) == known.after
            && let (Some(records), Some(name)) = (records, &known.backup)
        {
            // Nobody wrote it since: every byte is as it was.
            new = Some(records.backup(name).map_err(Why::Unreadable)?);
        }
        if new.as_ref() != Some(bytes) {
            self.files.push(FileChange {
                snapshot,
                new,
                base: None,
                recorded: None,
                folders: known.folders.iter().rev().cloned().collect(),
            });
        }
        Ok(())
    }
}

/// Whether a text holds no comment that somebody would miss.
fn is_bare(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || c == '{' || c == '}')
}

fn is_there(document: &Document<'_>, entry: &Entry) -> Result<bool, Why> {
    Ok(match document.find(entry)? {
        Found::Same => true,
        Found::Other(_) => entry.part.yields(),
        Found::Absent => false,
    })
}

/// The text without one entry of ours, and what that meant.
fn without(text: &str, format: crate::recipe::Format, one: &Added) -> Result<(String, What), Why> {
    let document = Document::read(format, text)?;
    let found = match document.find(&one.entry) {
        Ok(found) => found,
        // Somebody made something else of the tables around it.
        Err(Why::Shape(..)) => return Ok((text.to_owned(), What::LeavesForeign)),
        Err(why) => return Err(why),
    };
    Ok(match found {
        Found::Absent => (text.to_owned(), What::IsGone),
        Found::Same => (document.take(&one.entry, &one.made)?, What::TakesOut),
        Found::Other(found) if one.entry.is_kin(&found) => {
            let entry = Entry {
                value: found,
                ..one.entry.clone()
            };
            (document.take(&entry, &one.made)?, What::TakesOutChanged)
        }
        Found::Other(_) => (text.to_owned(), What::LeavesForeign),
    })
}
