//! The registry as files: `registry/agents.tsv`, its lock, and `damaged.tsv` beside it.
//! Reads need no lock, since a rename replaces the table as a whole; every write happens
//! under the lock, from what the file holds then. What a write changes is not decided here.

use crate::lock;
use crate::lookup::first_match;
use crate::private::{close_to_others, create_private_dir, private_file_options, sync_dir};
use crate::table::{DamagedLine, Table};
use crate::{RegistryError, Snapshot};
use axiowl_model::{AgentRecord, Issue};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longer than any write takes, even with the disk asleep.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// The registry under one state root. Cheap to make; holds no file open.
#[derive(Debug, Clone)]
pub struct Registry {
    folder: PathBuf,
    file: PathBuf,
    lock_wait: Duration,
    own: Arc<Mutex<Own>>,
}

/// What the changes of this process met and left; many follow each other in one discovery.
#[derive(Debug, Default)]
struct Own {
    /// The digest of the file that the first change met.
    met: Option<String>,
    /// The bytes that the last change left, and what stands in them. It counts only where the
    /// file still holds these very bytes.
    last: Option<(Vec<u8>, Table)>,
    /// Somebody else wrote between two of the changes.
    others: bool,
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
        Snapshot::parse(&self.file, &self.read()?.unwrap_or_default())
    }

    /// Reads only what lookups of these texts can need, which is much faster in a big table:
    /// the rows in which one of them occurs. Lookups in it answer as in the whole table. It
    /// is the whole table when one of the texts fits no row, so that near names can be
    /// offered. Damage in other lines is not reported.
    ///
    /// # Errors
    /// As [`Registry::load`].
    pub fn load_for(&self, texts: &[&str]) -> Result<Snapshot, RegistryError> {
        let bytes = self.read()?.unwrap_or_default();
        let needles: Option<Vec<_>> = texts.iter().map(|text| needle(text)).collect();
        if let Some(needles) = needles {
            let finders: Vec<_> = needles.iter().map(memchr::memmem::Finder::new).collect();
            // Behind a backslash a text may stand in another form.
            let wanted = |line: &[u8]| {
                memchr::memchr(b'\\', line).is_some()
                    || finders.iter().any(|finder| finder.find(line).is_some())
            };
            if let Ok(some) = Table::parse_some(&bytes, wanted) {
                let known = |text: &&str| first_match(&some.rows, text.trim(), None).is_some();
                if texts.iter().all(known) {
                    return Ok(Snapshot::of(&self.file, some));
                }
            }
        }
        Snapshot::parse(&self.file, &bytes)
    }

    /// A digest of the file's bytes as they are now; of no file, that of no bytes.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn digest(&self) -> Result<String, RegistryError> {
        let hashed = || -> io::Result<String> {
            let mut hash = blake3::Hasher::new();
            io::copy(&mut open_regular(&self.file)?, &mut hash)?;
            Ok(hash.finalize().to_hex().to_string())
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
        let (left, _) = own.last.as_ref().filter(|_| !own.others)?;
        Some(Changes {
            met: own.met.clone()?,
            left: digest(left),
        })
    }

    /// Shows the rows that the last change left, or where there was none, those of the file.
    ///
    /// # Errors
    /// As [`Registry::load`].
    pub fn with_latest<T>(
        &self,
        show: impl FnOnce(&[AgentRecord]) -> T,
    ) -> Result<T, RegistryError> {
        if let Ok(own) = self.own.lock()
            && let Some((_, table)) = &own.last
        {
            return Ok(show(&table.rows));
        }
        Ok(show(self.load()?.agents()))
    }

    /// Changes the table under the lock and replaces the file, unless nothing changed.
    /// Returns the answer of `change` and an issue for each line that was set aside.
    pub(crate) fn update<T>(
        &self,
        change: impl FnOnce(&mut Table) -> Result<T, RegistryError>,
    ) -> Result<(T, Vec<Issue>), RegistryError> {
        create_private_dir(&self.folder).map_err(RegistryError::io("make", &self.folder))?;
        close_to_others(&self.folder).map_err(RegistryError::io("close", &self.folder))?;
        let _held = lock::acquire(&self.folder.join("agents.lock"), self.lock_wait)?;
        let before = self.read()?;
        let Snapshot { mut table, issues } = self.parse(before.as_deref().unwrap_or_default())?;
        let answer = change(&mut table)?;
        table.sort();
        let after = table.render();
        let unchanged = match &before {
            Some(before) => *before == after.as_bytes(),
            None => table.rows.is_empty(),
        };
        if unchanged {
            tracing::debug!(path = %self.file.display(), "registry unchanged");
            self.keep(after, table);
            return Ok((answer, issues));
        }
        // First aside, then out of the table: a crash between leaves a line in both.
        self.keep_aside(&table.damaged)?;
        self.replace(after.as_bytes())?;
        tracing::debug!(path = %self.file.display(), rows = table.rows.len(), "registry written");
        self.keep(after, table);
        Ok((answer, issues))
    }

    /// The rows of these bytes: those that the last change left, where it left these bytes.
    fn parse(&self, bytes: &[u8]) -> Result<Snapshot, RegistryError> {
        let mut known = None;
        if let Ok(mut own) = self.own.lock() {
            if own.met.is_none() {
                own.met = Some(digest(bytes));
            }
            let last = own.last.take();
            own.others |= last.as_ref().is_some_and(|(left, _)| left != bytes);
            known = last.filter(|(left, _)| left == bytes);
        }
        match known {
            Some((_, table)) => Ok(Snapshot {
                table,
                issues: Vec::new(),
            }),
            None => Snapshot::parse(&self.file, bytes),
        }
    }

    fn keep(&self, bytes: String, table: Table) {
        let Ok(mut own) = self.own.lock() else {
            return;
        };
        // Damaged lines are issues each time they are read.
        match table.damaged.is_empty() {
            true => own.last = Some((bytes.into_bytes(), table)),
            false => own.others = true,
        }
    }

    /// Whether a text stands anywhere in the table.
    pub(crate) fn mentions(&self, text: &str) -> Result<bool, RegistryError> {
        let bytes = self.read()?.unwrap_or_default();
        // Behind a backslash a text may stand in another form.
        Ok(memchr::memchr(b'\\', &bytes).is_some()
            || memchr::memmem::find(&bytes, text.as_bytes()).is_some())
    }

    fn read(&self) -> Result<Option<Vec<u8>>, RegistryError> {
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

    fn replace(&self, bytes: &[u8]) -> Result<(), RegistryError> {
        // One name is enough under the lock, and what a killed writer left is overwritten.
        let temp = self.folder.join("agents.tsv.new");
        let written = (|| {
            match std::fs::remove_file(&temp) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = private_file_options()
                .write(true)
                .create_new(true)
                .open(&temp)?;
            file.write_all(bytes)?;
            file.sync_all()
        })();
        if let Err(error) = written {
            let _ = std::fs::remove_file(&temp);
            return Err(RegistryError::io("write", &temp)(error));
        }
        std::fs::rename(&temp, &self.file).map_err(RegistryError::io("replace", &self.file))?;
        sync_dir(&self.folder).map_err(RegistryError::io("save", &self.folder))
    }

    /// Appends lines to `damaged.tsv`, each with where it stood and what is wrong with it;
    /// the line itself comes last, byte for byte, so that it can be repaired and put back.
    /// One that is there already is not added again.
    fn keep_aside(&self, lines: &[DamagedLine]) -> Result<(), RegistryError> {
        if lines.is_empty() {
            return Ok(());
        }
        let path = self.damaged_path();
        let known = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(RegistryError::io("read", &path)(error)),
        };
        let content = |line| <[u8]>::splitn(line, 3, |b| *b == b'\t').nth(2);
        let mut kept: HashSet<&[u8]> = known
            .split(|b| *b == b'\n')
            .skip(1)
            .filter_map(content)
            .collect();
        let mut out = Vec::new();
        if known.is_empty() {
            out.extend_from_slice(b"line\tproblem\tcontent\n");
        } else if !known.ends_with(b"\n") {
            out.push(b'\n');
        }
        for line in lines.iter().filter(|line| kept.insert(&line.bytes)) {
            let mut problem = String::new();
            crate::field::escape_into(&mut problem, &line.problem);
            out.extend_from_slice(format!("{}\t{problem}\t", line.line).as_bytes());
            out.extend_from_slice(&line.bytes);
            out.push(b'\n');
        }
        private_file_options()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| {
                file.write_all(&out)?;
                file.sync_all()
            })
            .map_err(RegistryError::io("append to", &path))
    }
}

/// Opens a file that is one: opening a pipe would wait for somebody to write into it.
fn open_regular(file: &Path) -> io::Result<File> {
    match std::fs::metadata(file)?.is_file() {
        true => File::open(file),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        )),
    }
}

fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
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
