//! What folders hold, kept for the next pattern that looks into the same ones. It must not know
//! what a pattern is.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{DirEntry, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Folders and entries that are kept together. One more listing costs less than the room for
/// those of many folders.
const KEPT: usize = 4_096;

/// What a folder holds under a name. Keeping the system's own entries would keep folders open.
pub(super) struct Entry {
    /// The name as text.
    pub name: String,
    /// The name as it is, where that is no text.
    odd: Option<OsString>,
    /// What it is, symlinks not followed.
    pub kind: io::Result<FileType>,
}

impl Entry {
    /// Its path in the folder.
    pub fn path(&self, dir: &Path) -> PathBuf {
        match &self.odd {
            None => dir.join(&self.name),
            Some(odd) => dir.join(odd),
        }
    }
}

impl From<DirEntry> for Entry {
    fn from(entry: DirEntry) -> Self {
        let (name, odd) = match entry.file_name().into_string() {
            Ok(name) => (name, None),
            Err(odd) => (odd.to_string_lossy().into_owned(), Some(odd)),
        };
        let kind = entry.file_type();
        Self { name, odd, kind }
    }
}

/// The folders that were listed last.
#[derive(Default)]
pub(super) struct Listings {
    folders: HashMap<PathBuf, Rc<[Entry]>>,
    /// Folders and entries in them.
    kept: usize,
}

impl Listings {
    /// What a folder holds, where it was listed before.
    pub fn get(&self, dir: &Path) -> Option<Rc<[Entry]>> {
        self.folders.get(dir).map(Rc::clone)
    }

    /// Keeps what a folder holds, sorted by name.
    pub fn keep(&mut self, dir: &Path, mut entries: Vec<Entry>) -> Rc<[Entry]> {
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        if self.kept > KEPT {
            self.folders.clear();
            self.kept = 0;
        }
        self.kept += 1 + entries.len();
        let entries: Rc<[Entry]> = entries.into();
        self.folders.insert(dir.to_path_buf(), Rc::clone(&entries));
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_kept_up_to_a_limit_and_empty_folders_count() {
        let mut listings = Listings::default();
        for number in 0..20_000 {
            listings.keep(Path::new(&format!("/f{number}")), Vec::new());
            assert!(listings.folders.len() <= KEPT + 1, "{number}");
        }
        assert!(listings.get(Path::new("/f19999")).is_some());
        assert!(listings.get(Path::new("/f0")).is_none());
    }
}
