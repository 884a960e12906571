//! What was added where, so that exactly that can be taken out again.
//!
//! Lies in AxiOwl's own state, one file a recipe, with the bytes that the changed files had
//! without us beside it; both are open to their owner only.

use crate::recipe::{Entry, Format};
use axiowl_registry::{create_private_dir, private_file_options};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What was added for one recipe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Record {
    /// The changed files.
    pub files: Vec<Changed>,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// Where the recipe found it.
    pub path: PathBuf,
    /// How it is written.
    pub format: Format,
    /// It was not there before.
    pub created: bool,
    /// Folders that were not there before, the outermost first.
    pub folders: Vec<PathBuf>,
    /// What was added.
    pub entries: Vec<Added>,
    /// The digest of the whole file after that.
    pub after: String,
    /// The file of the record's folder that has its bytes without us.
    pub backup: Option<String>,
}

/// An entry that was added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Added {
    /// The entry.
    pub entry: Entry,
    /// The tables and lists that came with it, the outermost first.
    pub made: Vec<Vec<String>>,
}

/// The folder of all records.
#[derive(Debug, Clone)]
pub struct Records {
    folder: PathBuf,
}

impl Records {
    /// The records of a state folder.
    pub fn of(state: &Path) -> Self {
        Self {
            folder: state.join("install"),
        }
    }

    /// Where they lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// One change after the other; held until the answer is dropped.
    ///
    /// # Errors
    /// When the folder cannot be made or locked.
    pub fn lock(&self) -> io::Result<File> {
        create_private_dir(&self.folder)?;
        let mut options = private_file_options();
        options.write(true).create(true).truncate(false);
        let guard = options.open(self.folder.join("lock"))?;
        guard.lock()?;
        Ok(guard)
    }

    /// What was added for a recipe; nothing when there is no record.
    ///
    /// # Errors
    /// When a record is there and cannot be read or understood.
    pub fn read(&self, key: &str) -> io::Result<Option<Record>> {
        match fs::read_to_string(self.file(key)) {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps a record, or removes it with its backups.
    pub(crate) fn write(&self, key: &str, record: Option<&Record>) -> io::Result<()> {
        let file = self.file(key);
        let old = self.read(key).ok().flatten();
        match record {
            Some(record) => {
                let text = serde_json::to_vec_pretty(record).map_err(io::Error::other)?;
                self.put(&file, &text)?;
            }
            None => match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            },
        }
        // Backups nobody points at any more hold what may be private.
        let kept = |name: &String| {
            let files = record.iter().flat_map(|record| &record.files);
            files
                .filter_map(|file| file.backup.as_ref())
                .any(|has| has == name)
        };
        let old = old.iter().flat_map(|record| &record.files);
        for name in old
            .filter_map(|file| file.backup.as_ref())
            .filter(|n| !kept(n))
        {
            match fs::remove_file(self.folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Keeps the bytes of a file; the name they are kept under.
    pub(crate) fn back_up(&self, key: &str, index: usize, bytes: &[u8]) -> io::Result<String> {
        create_private_dir(&self.folder)?;
        let digest = digest(bytes);
        let name = format!("{key}-{index}-{}.before", &digest[..12]);
        self.put(&self.folder.join(&name), bytes)?;
        Ok(name)
    }

    /// The bytes that were kept under a name.
    pub(crate) fn backup(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.folder.join(name))
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    fn put(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut fresh = tempfile::NamedTempFile::new_in(&self.folder)?;
        fresh.write_all(bytes)?;
        fresh.as_file().sync_all()?;
        fresh.persist(file).map_err(|error| error.error)?;
        Ok(())
    }
}

/// The digest of a file's bytes.
pub(crate) fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
