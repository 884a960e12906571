//! Opens a provider's database without leaving a trace beside it.
//!
//! At rest (no write-ahead log, or an empty one) the file is read in place as
//! immutable, and what was read counts only if nothing changed meanwhile. With a live
//! log, a private copy of database and log is read. A hot rollback journal means a
//! transaction is under way: a short wait, then the source is busy. SQLite never opens
//! the provider's own file in a way that could lock it or create a file next to it. It
//! must not know what is in the tables.

use super::guard;
use crate::Cancel;
use crate::file::Hit;
use crate::report::Report;
use axiowl_lang::source::Mirror;
use axiowl_model::{Issue, codes};
use rusqlite::{Connection, OpenFlags};
use std::collections::{HashMap, HashSet};
use std::fs::{Metadata, OpenOptions, Permissions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long another program's transaction is waited for.
const PATIENCE: Duration = Duration::from_millis(250);
/// How often it is looked whether it is over.
const PAUSE: Duration = Duration::from_millis(10);
/// How often a store that changes while it is read is read anew.
const ATTEMPTS: usize = 5;
/// Bytes at the start of a database, with its change counter, and of a log's header, which
/// changes whenever the log starts over.
const HEADER: usize = 32;
/// Bytes copied between two looks at whether the run is still wanted.
const PIECE: u64 = 32 << 20;
/// Bytes of copies that are kept to be used again, beside the newest.
const KEPT: u64 = 512 << 20;

/// Private copies that are used again.
#[derive(Default)]
pub(crate) struct Copies {
    kept: Mutex<HashMap<PathBuf, (State, Arc<Copy>)>>,
    /// Stores that were too busy to be read, of a run that sees each store in one state.
    given_up: Mutex<HashSet<PathBuf>>,
    one_state: bool,
}

impl Copies {
    /// Copies for the sources of one rule in one run: a store is copied once, and all its
    /// sources see it in one state, whatever its owner writes meanwhile.
    pub fn of_one_state() -> Self {
        Self {
            one_state: true,
            ..Self::default()
        }
    }

    /// The copy that stands for a store during a whole run.
    fn of_the_run(&self, path: &Path) -> Option<Arc<Copy>> {
        let kept = self.kept.lock().ok().filter(|_| self.one_state)?;
        kept.get(path).map(|(_, copy)| Arc::clone(copy))
    }

    /// Whether a source of this run found the store too busy. Another one that meets a quiet
    /// moment would see half of it: sessions without what was said in them.
    fn gave_up(&self, path: &Path) -> bool {
        let given_up = self.given_up.lock();
        given_up.is_ok_and(|given_up| given_up.contains(path))
    }

    fn give_up(&self, path: PathBuf) {
        if let Some(mut given_up) = self.given_up.lock().ok().filter(|_| self.one_state) {
            given_up.insert(path);
        }
    }

    /// The copy of a store that is still in the state it was copied in.
    fn get(&self, path: &Path, state: &State) -> Option<Arc<Copy>> {
        let kept = self.kept.lock().ok()?;
        let (copied, copy) = kept.get(path)?;
        (copied == state).then(|| Arc::clone(copy))
    }

    /// The copy of a store whose database has not been written since, only its log: it was
    /// not started over, so it still holds all it held.
    fn of_database(&self, path: &Path, state: &State) -> Option<Arc<Copy>> {
        let kept = self.kept.lock().ok()?;
        let (copied, copy) = kept.get(path)?;
        let logs = copied.log.as_ref().zip(state.log.as_ref());
        let same_log = logs.is_some_and(|(a, b)| a.inode == b.inode && a.start == b.start);
        (copied.database == state.database && same_log).then(|| Arc::clone(copy))
    }

    fn keep(&self, path: PathBuf, state: State, copy: &Arc<Copy>) {
        let Ok(mut kept) = self.kept.lock() else {
            return;
        };
        kept.remove(&path);
        let bytes: u64 = kept.values().map(|(state, _)| state.bytes()).sum();
        if bytes.saturating_add(state.bytes()) > KEPT {
            // The newest stays, however large it is: the next source most likely reads it too.
            kept.clear();
        }
        kept.insert(path, (state, Arc::clone(copy)));
    }
}

/// How a store may be opened.
#[derive(Clone, Copy)]
pub(super) struct Ways<'a> {
    pub mirror: Mirror,
    /// Bytes of database and log that are copied at most.
    pub most: u64,
    pub copies: &'a Copies,
    /// Ends copying and reading early.
    pub cancel: &'a Cancel,
}

/// Reads a database by `read`, which may be called several times; its last answer counts.
pub(super) fn with_database<T>(
    hit: &Hit,
    ways: Ways<'_>,
    report: &mut Report,
    read: &mut dyn FnMut(&mut Connection) -> rusqlite::Result<T>,
) -> Option<T> {
    let Ways {
        mirror,
        most,
        copies,
        cancel,
    } = ways;
    let mut opened = || -> Result<T, Refusal> {
        // SQLite looks for the log beside the file a symlink leads to.
        let path = hit.real.canonicalize()?;
        if let Some(copy) = copies.of_the_run(&path) {
            return Ok(read(&mut copy.open(cancel)?)?);
        }
        let busy = |why| {
            copies.give_up(path.clone());
            Err(Refusal::Busy(why))
        };
        if copies.gave_up(&path) {
            return busy("it was too busy to be read");
        }
        let patience = Instant::now() + PATIENCE;
        for _ in 0..ATTEMPTS {
            if cancel.is_cancelled() {
                return Err(Refusal::Cancelled);
            }
            let before = loop {
                let state = State::of(&path)?;
                if !state.hot_journal {
                    break state;
                }
                if Instant::now() > patience {
                    return busy("a transaction is under way in it");
                }
                // The only way to learn that another program has finished.
                sleep(PAUSE);
            };
            if mirror == Mirror::Only || before.log.is_some() {
                if before.bytes() > most {
                    return Err(Refusal::TooLarge(before.bytes()));
                }
                let copy = match copies.get(&path, &before) {
                    Some(copy) => copy,
                    None => {
                        let known = copies.of_database(&path, &before);
                        let Some(copy) = Copy::make(&path, &before, ways, known.as_deref())? else {
                            continue;
                        };
                        let copy = Arc::new(copy);
                        copies.keep(path.clone(), before, &copy);
                        copy
                    }
                };
                return Ok(read(&mut copy.open(cancel)?)?);
            }
            let answer =
                open_at_rest(&path, cancel).and_then(|mut connection| read(&mut connection));
            if State::of(&path)? == before {
                return Ok(answer?);
            }
        }
        busy("it changed each time it was read")
    };
    match opened() {
        Ok(answer) => Some(answer),
        Err(refusal) => {
            refusal.report(hit, ways, report);
            None
        }
    }
}

/// A database built from a fixture's SQL text, in memory.
pub(super) fn build(sql: &str, cancel: &Cancel) -> rusqlite::Result<Connection> {
    build_within(sql, guard::TIME, cancel)
}

/// The same, with the time its text may take to build.
fn build_within(sql: &str, time: Duration, cancel: &Cancel) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    guard::restrict_building(&mut connection, time, cancel)?;
    connection.execute_batch(sql)?;
    guard::restrict(&mut connection, guard::TIME, cancel)?;
    Ok(connection)
}

/// Why a database was not read.
enum Refusal {
    Cancelled,
    Busy(&'static str),
    TooLarge(u64),
    Io(io::Error),
    Sqlite(rusqlite::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Refusal {
    fn report(self, hit: &Hit, ways: Ways<'_>, report: &mut Report) {
        let issue = match self {
            Self::Io(error) => return report.unreadable(&hit.recorded, &error),
            Self::Cancelled => Issue::new(codes::CANCELLED, "the run was ended before it was read"),
            Self::Busy(why) => Issue::new(codes::BUSY, format!("{why}; the last known rows stay")),
            Self::TooLarge(bytes) => {
                let code = match ways.mirror {
                    Mirror::Only => codes::MIRROR_TOO_LARGE,
                    Mirror::Auto => codes::TOO_LARGE_LIVE,
                };
                let (bytes, most) = (bytes.div_ceil(1 << 20), ways.most >> 20);
                let message = format!(
                    "database and log have {bytes} MiB, and at most {most} MiB are copied (`limits.live_store` in config.yaml); the last known rows stay"
                );
                Issue::new(code, message)
            }
            Self::Sqlite(error) => {
                Issue::new(codes::DAMAGED, format!("it cannot be opened: {error}"))
            }
        };
        report.gap(issue.at(&hit.recorded));
    }
}

/// Database and side files as they stand on the disk.
#[derive(Debug, PartialEq)]
pub(crate) struct State {
    database: Stamp,
    /// A log that holds something.
    log: Option<Stamp>,
    hot_journal: bool,
}

/// What changes when a file is written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    size: u64,
    modified: Option<std::time::SystemTime>,
    inode: u64,
    changed: (i64, i64),
    /// Its first bytes: clocks of file systems are too coarse to tell two writes apart.
    start: Vec<u8>,
}

impl State {
    fn of(path: &Path) -> io::Result<Self> {
        let database = Stamp::of(path)?;
        let log = match Stamp::of(&beside(path, "-wal")) {
            Ok(stamp) => Some(stamp).filter(|log| log.size > 0),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            database,
            log,
            hot_journal: hot_journal(path)?,
        })
    }

    fn bytes(&self) -> u64 {
        self.database.size + self.log.as_ref().map_or(0, |log| log.size)
    }
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let file = crate::file::open(path)?;
        let metadata = file.metadata()?;
        let mut start = Vec::with_capacity(HEADER);
        file.take(HEADER as u64).read_to_end(&mut start)?;
        Ok(Self::new(&metadata, start))
    }

    fn new(metadata: &Metadata, start: Vec<u8>) -> Self {
        #[cfg(unix)]
        let (inode, changed) = {
            use std::os::unix::fs::MetadataExt;
            (metadata.ino(), (metadata.ctime(), metadata.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let (inode, changed) = (0, (0, 0));
        Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            inode,
            changed,
            start,
        }
    }
}

/// Whether a rollback journal says that a transaction is under way. A finished one is
/// deleted, emptied, or has its header zeroed.
fn hot_journal(path: &Path) -> io::Result<bool> {
    let mut first = [0];
    match crate::file::open(&beside(path, "-journal")) {
        Ok(mut file) => Ok(file.read(&mut first)? == 1 && first[0] != 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn open_at_rest(path: &Path, cancel: &Cancel) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let uri = format!("file:{}?immutable=1", encoded(path));
    let mut connection = Connection::open_with_flags(uri, flags)?;
    guard::restrict(&mut connection, guard::TIME, cancel)?;
    Ok(connection)
}

/// A path as a URI's path: every byte that could mean something is percent-encoded.
fn encoded(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut out = String::new();
    if cfg!(windows) {
        out.push_str("///");
    }
    for byte in bytes {
        match byte {
            b'\\' if cfg!(windows) => out.push('/'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b':' => {
                out.push(char::from(*byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A private copy, gone when dropped.
pub(crate) struct Copy {
    folder: tempfile::TempDir,
}

impl Copy {
    /// Copies database and log; `None` when what was copied may not fit together.
    ///
    /// They fit when neither changed, and also when the log only grew: a log is valid up
    /// to its last whole transaction, and whatever a checkpoint wrote into the database
    /// meanwhile still stands in the log, which is copied after it. Only a log that
    /// started over, which shows in its header, loses that.
    ///
    /// Of `known`, a copy of the very same database, only the log is new: a store of many
    /// gigabytes that is looked at again and again is copied once.
    fn make(
        path: &Path,
        before: &State,
        ways: Ways<'_>,
        known: Option<&Self>,
    ) -> io::Result<Option<Self>> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("axiowl-copy-");
        #[cfg(unix)]
        builder.permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700));
        let copy = Self {
            folder: builder.tempdir().map_err(no_place)?,
        };
        let log = beside(path, "-wal");
        // To its end as it is now: a checkpoint may have made it longer since `before`, and a log
        // that started over since then no longer holds what it wrote.
        let linked = known.is_some_and(|known| {
            // Nobody writes to a copy, so two may share their bytes.
            std::fs::hard_link(known.database(), copy.database()).is_ok()
        });
        if !linked {
            copy_file(path, &copy.database(), ways)?;
        }
        if before.log.is_some() {
            copy_file(&log, &beside(&copy.database(), "-wal"), ways)?;
        }
        let after = State::of(path)?;
        let only_grew = || {
            let grew = |(a, b): (&Stamp, &Stamp)| {
                a.inode == b.inode && a.size <= b.size && a.start == b.start
            };
            let logs = before.log.as_ref().zip(after.log.as_ref());
            before.database.inode == after.database.inode
                && logs.is_some_and(grew)
                && !after.hot_journal
        };
        let whole = !ways.cancel.is_cancelled();
        Ok((whole && (after == *before || only_grew())).then_some(copy))
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("copy.db")
    }

    fn open(&self, cancel: &Cancel) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(self.database(), flags)?;
        guard::restrict(&mut connection, guard::TIME, cancel)?;
        Ok(connection)
    }
}

/// That there is no place for a copy says nothing about the store: not that it vanished.
fn no_place(error: io::Error) -> io::Error {
    io::Error::other(format!("no private copy of it can be made: {error}"))
}

/// Copies at most as many bytes as a copy may have; the kernel shares the blocks where the
/// file system can.
fn copy_file(from: &Path, to: &Path, ways: Ways<'_>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut to = options.open(to).map_err(no_place)?;
    let mut from = crate::file::open(from)?;
    let mut left = ways.most;
    while left > 0 && !ways.cancel.is_cancelled() {
        let copied = io::copy(&mut (&mut from).take(left.min(PIECE)), &mut to)?;
        if copied == 0 {
            break;
        }
        left -= copied;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
