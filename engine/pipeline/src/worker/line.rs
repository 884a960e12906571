//! The queue before one session, made of two file locks: whoever holds the first delivers,
//! whoever holds the second is next. Nobody else needs to wait, since the next one will find
//! everything that was accepted before it begins.
//!
//! A third lock, the gate, is held for the moment in which somebody looks who holds the two.
//! Without it a look, which has to take what it looks at, could be mistaken for a worker that
//! waits, and a real one would go away for it.
//!
//! The system lets go of a lock when its process dies, however it dies. The files stay.

use super::WorkerError;
use crate::ledger::LedgerError;
use axiowl_model::SessionKey;
use axiowl_registry::{create_private_dir, private_file_options};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often somebody who waits for a session looks after the rest.
const LOOK_AROUND: Duration = Duration::from_secs(2);
/// Longer than anybody stands in the gate, even on a machine that hardly moves.
const GATE: Duration = Duration::from_secs(15);

/// The right to deliver to one session, until dropped.
#[derive(Debug)]
pub(super) struct SessionLine {
    _first: File,
}

/// What a worker is to do.
#[derive(Debug)]
pub(super) enum Entry {
    /// Deliver.
    First(SessionLine),
    /// Go: somebody is next already.
    Covered,
}

impl SessionLine {
    /// Comes to the front of the line. `meanwhile` is called now and then while waiting.
    pub fn enter(
        state_root: &Path,
        key: &SessionKey,
        mut meanwhile: impl FnMut() -> Result<(), LedgerError>,
    ) -> Result<Entry, WorkerError> {
        let files = Files::of(state_root, key)?;
        let gate = files.pass()?;
        if let Some(first) = taken(&files.first)? {
            return Ok(Entry::First(Self { _first: first }));
        }
        let Some(_next) = taken(&files.next)? else {
            return Ok(Entry::Covered);
        };
        drop(gate);
        // Leaving before the front is reached would strand the messages of workers that went
        // because of this one. `_next` is let go only after the first lock is held.
        let first = waited(&files.first, LOOK_AROUND, || Ok(meanwhile()?))?;
        Ok(Entry::First(Self { _first: first }))
    }

    /// The front of the line, when nobody is there.
    pub fn try_enter(state_root: &Path, key: &SessionKey) -> Result<Option<Self>, WorkerError> {
        let files = Files::of(state_root, key)?;
        let _gate = files.pass()?;
        Ok(taken(&files.first)?.map(|first| Self { _first: first }))
    }
}

/// Who stands in a session's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attendance {
    /// Nobody.
    Nobody,
    /// A worker delivers. It finds whatever was accepted before it looks for the last time.
    Served,
    /// A worker delivers and another is next, which finds whatever is accepted by now.
    Attended,
}

/// Looks who stands in a session's line.
pub(crate) fn attendance(state_root: &Path, key: &SessionKey) -> Result<Attendance, WorkerError> {
    let files = Files::of(state_root, key)?;
    let _gate = files.pass()?;
    if taken(&files.first)?.is_some() {
        return Ok(Attendance::Nobody);
    }
    Ok(match taken(&files.next)? {
        Some(_) => Attendance::Served,
        None => Attendance::Attended,
    })
}

struct Files {
    first: PathBuf,
    next: PathBuf,
    gate: PathBuf,
}

impl Files {
    fn of(state_root: &Path, key: &SessionKey) -> Result<Self, WorkerError> {
        let folder = state_root.join("locks");
        create_private_dir(&folder).map_err(locking(&folder))?;
        // Session ids are foreign text of any length; two that share a hash would only wait
        // for each other.
        let hash = blake3::hash(key.to_string().as_bytes()).to_hex();
        Ok(Self {
            first: folder.join(format!("{}.lock", &hash[..32])),
            next: folder.join(format!("{}.next", &hash[..32])),
            gate: folder.join("gate"),
        })
    }

    /// Takes the gate.
    fn pass(&self) -> Result<File, WorkerError> {
        if let Some(gate) = taken(&self.gate)? {
            return Ok(gate);
        }
        let until = Instant::now() + GATE;
        waited(&self.gate, GATE, || {
            if Instant::now() < until {
                return Ok(());
            }
            let stuck = io::Error::new(
                io::ErrorKind::TimedOut,
                "another axiowl process holds it and does not move",
            );
            Err(locking(&self.gate)(stuck))
        })
    }
}

fn open(path: &Path) -> Result<File, WorkerError> {
    private_file_options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(locking(path))
}

fn taken(path: &Path) -> Result<Option<File>, WorkerError> {
    let file = open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(locking(path)(source)),
    }
}

/// Waits for a lock, and calls `meanwhile` whenever a pause has gone by; its error ends the
/// waiting.
fn waited(
    path: &Path,
    pause: Duration,
    mut meanwhile: impl FnMut() -> Result<(), WorkerError>,
) -> Result<File, WorkerError> {
    let file = open(path)?;
    // The system call has no deadline, so a thread waits in it. Should it come too late, the
    // file goes down with the message nobody takes, and the lock with it.
    let (done, locked) = mpsc::channel();
    std::thread::Builder::new()
        .name("session-line".into())
        .spawn(move || {
            let result = file.lock().map(|()| file);
            let _ = done.send(result);
        })
        .map_err(locking(path))?;
    loop {
        match locked.recv_timeout(pause) {
            Ok(result) => return result.map_err(locking(path)),
            Err(RecvTimeoutError::Timeout) => meanwhile()?,
            Err(RecvTimeoutError::Disconnected) => {
                let gone = io::Error::other("the thread that waited for it is gone");
                return Err(locking(path)(gone));
            }
        }
    }
}

fn locking(path: &Path) -> impl FnOnce(io::Error) -> WorkerError {
    let path = path.to_owned();
    move |source| WorkerError::Lock { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn one_delivers_one_waits_and_the_rest_goes() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let key = SessionKey::local("some_cli", "1");
        let enter = || SessionLine::enter(root, &key, || Ok(())).unwrap();
        let Entry::First(first) = enter() else {
            panic!("the line is empty")
        };
        assert_eq!(attendance(root, &key).unwrap(), Attendance::Served);
        assert!(SessionLine::try_enter(root, &key).unwrap().is_none());
        std::thread::scope(|scope| {
            let second = scope.spawn(|| matches!(enter(), Entry::First(_)));
            while attendance(root, &key).unwrap() != Attendance::Attended {
                std::thread::yield_now();
            }
            let third = SessionLine::enter(root, &key, || Ok(())).unwrap();
            assert!(matches!(third, Entry::Covered));
            let other = SessionKey::local("some_cli", "2");
            assert!(SessionLine::try_enter(root, &other).unwrap().is_some());
            drop(first);
            assert!(second.join().unwrap());
        });
    }
    /// Tells the onlookers to go home.
    struct End<'a>(&'a AtomicBool);

    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// A look takes the locks it looks at for a moment. Workers that come just then must not
    /// take it for one that waits: they would go, and nobody would be left.
    #[test]
    fn a_look_is_never_taken_for_a_worker() {
        let dir = tempfile::tempdir().unwrap();
        let (root, key) = (dir.path(), SessionKey::local("some_cli", "1"));
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Also when something below panics.
            let _end = End(&over);
            for _ in 0..3 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        attendance(root, &key).unwrap();
                    }
                });
            }
            for _ in 0..100 {
                let first = SessionLine::enter(root, &key, || Ok(())).unwrap();
                let Entry::First(first) = first else {
                    panic!("nobody is there but onlookers")
                };
                // With the front taken, the only one that comes is the next.
                let second = scope.spawn(|| SessionLine::enter(root, &key, || Ok(())).unwrap());
                while !second.is_finished()
                    && attendance(root, &key).unwrap() != Attendance::Attended
                {
                    std::thread::yield_now();
                }
                drop(first);
                assert!(matches!(second.join().unwrap(), Entry::First(_)));
            }
        });
    }
}
