//! Opens a provider's database without leaving a trace beside it.
//!
//! At rest (no write-ahead log, or an empty one) the file is read in place as
//! immutable, and what was read counts only if nothing changed meanwhile. With a live
//! log, a private copy of database and log is read. A hot rollback journal means a
//! transaction is under way: a short wait, then the source is busy. SQLite never opens
//! the provider's own file in a way that could lock it or create a file next to it. It
//! must not know what is in the tables.

use super::copy::Copy;
use super::guard;
use super::state::State;
use crate::Cancel;
use crate::file::Hit;
use crate::report::Report;
use axiowl_lang::source::Mirror;
use axiowl_model::{Issue, codes};
use rusqlite::{Connection, OpenFlags};
use std::collections::{HashMap, HashSet};
use std::io;
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
        (copied.database == state.database && copied.has_same_log(state)).then(|| Arc::clone(copy))
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

#[cfg(test)]
mod tests;
