//! The registry as files: `registry/agents.tsv`, its lock, and `damaged.tsv` beside it, and what
//! is read of them. Reads need no lock, since a rename replaces the table as a whole; how it is
//! written stands in [`crate::change`].

use crate::digest::{Digested, digest};
use crate::lookup::first_match;
use crate::table::{self, Table};
use crate::{RegistryError, Snapshot};
use axiowl_model::SessionKey;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longer than any write takes, even with the disk asleep.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// Bytes that are read or written at once.
pub(crate) const PIECE: usize = 64 << 10;

/// The registry under one state root. Cheap to make; holds no file open.
#[derive(Debug, Clone)]
pub struct Registry {
    pub(crate) folder: PathBuf,
    pub(crate) file: PathBuf,
    pub(crate) lock_wait: Duration,
    pub(crate) own: Arc<Mutex<Own>>,
}

/// What the changes of this process met and left; many follow each other in one discovery.
#[derive(Debug, Default)]
pub(crate) struct Own {
    /// The digest of the file that the first change met.
    pub(crate) met: Option<String>,
    /// The digest of the bytes that the last change left, all of which it read or wrote.
    pub(crate) left: Option<String>,
    /// The digest of bytes that are in order, as this process has seen or made them.
    pub(crate) sound: Option<String>,
    /// Somebody else wrote between two of the changes.
    pub(crate) others: bool,
}

/// The table before and after the changes of this process, when nobody else wrote between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The digest of the file that the first change met.
    pub met: String,
    /// The digest of the file that the last change left.
    pub left: String,
}

impl Registry {
    /// The registry of a state root (see [`crate::state_root`]). Nothing needs to exist yet.
    pub fn at(state_root: impl AsRef<Path>) -> Self {
        let folder = state_root.as_ref().join("registry");
        let file = folder.join("agents.tsv");
        Self {
            folder,
            file,
            lock_wait: LOCK_WAIT,
            own: Arc::default(),
        }
    }

    /// The table's file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Where lines that could not be read are kept.
    pub fn damaged_path(&self) -> PathBuf {
        self.folder.join("damaged.tsv")
    }

    /// Waits for other writers no longer than this before giving up with
    /// [`RegistryError::Busy`]; 30 seconds unless set.
    pub fn with_lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }

    /// Reads the table as it is now, without a lock. A missing file is an empty registry; a
    /// damaged line is an issue of the snapshot and stays in the file until the next write.
    ///
    /// # Errors
    /// When the file cannot be read, or is no registry.
    pub fn load(&self) -> Result<Snapshot, RegistryError> {
        self.load_some(|_| true)
    }

    fn load_some(&self, wanted: impl Fn(&[u8]) -> bool) -> Result<Snapshot, RegistryError> {
        let read = || -> io::Result<Result<Table, String>> {
            let file = open_regular(&self.file)?;
            let bytes = file.metadata()?.len();
            Table::read(&mut BufReader::with_capacity(PIECE, file), bytes, wanted)
        };
        match read() {
            Ok(Ok(table)) => Ok(Snapshot::of(&self.file, table)),
            Ok(Err(problem)) => Err(RegistryError::ForeignHeader {
                path: self.file.clone(),
                problem,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Snapshot::of(&self.file, Table::default()))
            }
            Err(error) => Err(RegistryError::io("read", &self.file)(error)),
        }
    }

    /// Reads only what lookups of these texts can need, which is much faster in a big table:
    /// the rows in which one of them occurs. Lookups in it answer as in the whole table. It
    /// is the whole table when one of the texts fits no row, so that near names can be
    /// offered. Damage in other lines is not reported.
    ///
    /// # Errors
    /// As [`Registry::load`].
    pub fn load_for(&self, texts: &[&str]) -> Result<Snapshot, RegistryError> {
        let needles: Option<Vec<_>> = texts.iter().map(|text| needle(text)).collect();
        if let Some(needles) = needles {
            let finders: Vec<_> = needles.iter().map(memchr::memmem::Finder::new).collect();
            // Behind a backslash a text may stand in another form.
            let wanted = |line: &[u8]| {
                memchr::memchr(b'\\', line).is_some()
                    || finders.iter().any(|finder| finder.find(line).is_some())
            };
            let some = self.load_some(wanted)?;
            let known = |text: &&str| first_match(some.agents(), text.trim(), None).is_some();
            if texts.iter().all(known) {
                return Ok(some);
            }
        }
        self.load()
    }

    /// A digest of the file's bytes as they are now; of no file, that of no bytes.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn digest(&self) -> Result<String, RegistryError> {
        let hashed = || -> io::Result<String> {
            let mut file = Digested::new(open_regular(&self.file)?);
            io::copy(&mut file, &mut io::sink())?;
            Ok(file.digest())
        };
        match hashed() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(digest(&[])),
            digest => digest.map_err(RegistryError::io("read", &self.file)),
        }
    }

    /// What the changes made through this registry met and left; `None` when there were none, or
    /// when somebody else wrote between them.
    pub fn changes(&self) -> Option<Changes> {
        let own = self.own.lock().ok()?;
        let left = own.left.clone().filter(|_| !own.others)?;
        let met = own.met.clone()?;
        Some(Changes { met, left })
    }

    /// Shows the identity of every row, one after the other, without keeping the rows.
    ///
    /// # Errors
    /// As [`Registry::load`].
    pub fn each_key(&self, show: impl FnMut(&SessionKey)) -> Result<(), RegistryError> {
        let file = match open_regular(&self.file) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(RegistryError::io("read", &self.file)(error)),
        };
        let sound = self.own.lock().ok().and_then(|own| own.sound.clone());
        let read = || -> io::Result<Result<(), String>> {
            let mut digested = Digested::new(&file);
            let sound = match sound {
                None => false,
                Some(sound) => {
                    io::copy(&mut digested, &mut io::sink())?;
                    digested.digest() == sound
                }
            };
            let mut input = BufReader::with_capacity(PIECE, &file);
            input.seek(SeekFrom::Start(0))?;
            table::each_key(&mut input, sound, show)
        };
        let foreign = |problem| RegistryError::ForeignHeader {
            path: self.file.clone(),
            problem,
        };
        read()
            .map_err(RegistryError::io("read", &self.file))?
            .map_err(foreign)
    }

    /// Whether a text stands anywhere in the table.
    pub(crate) fn mentions(&self, text: &str) -> Result<bool, RegistryError> {
        let found = || -> io::Result<bool> {
            let mut file = open_regular(&self.file)?;
            // What may be the beginning of the text stays for the next piece.
            let keep = text.len().saturating_sub(1);
            let mut piece = vec![0; PIECE.max(keep * 2)];
            let mut kept = 0;
            loop {
                let read = file.read(&mut piece[kept..])?;
                let known = kept + read;
                // Behind a backslash a text may stand in another form.
                if memchr::memchr(b'\\', &piece[kept..known]).is_some()
                    || memchr::memmem::find(&piece[..known], text.as_bytes()).is_some()
                {
                    return Ok(true);
                }
                if read == 0 {
                    return Ok(false);
                }
                let from = known - keep.min(known);
                piece.copy_within(from..known, 0);
                kept = known - from;
            }
        };
        match found() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(text.is_empty()),
            found => found.map_err(RegistryError::io("read", &self.file)),
        }
    }

    pub(crate) fn read(&self) -> Result<Option<Vec<u8>>, RegistryError> {
        let bytes = || -> io::Result<Vec<u8>> {
            let mut file = open_regular(&self.file)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        match bytes() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(RegistryError::io("read", &self.file)(error)),
        }
    }
}

/// Opens a file that is one: opening a pipe would wait for somebody to write into it.
pub(crate) fn open_regular(file: &Path) -> io::Result<File> {
    match std::fs::metadata(file)?.is_file() {
        true => File::open(file),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        )),
    }
}

/// The bytes that stand in every line a text can lead to: its last part, since a prefix may
/// be written in another column. `None` when the file may hold them in another form.
fn needle(text: &str) -> Option<&[u8]> {
    let text = text.trim();
    let last = text
        .rsplit(':')
        .next()
        .filter(|last| !last.is_empty())
        .unwrap_or(text);
    let plain = !last
        .bytes()
        .any(|b| b == b'"' || b == b'\\' || b.is_ascii_control());
    (plain && !last.is_empty()).then_some(last.as_bytes())
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
