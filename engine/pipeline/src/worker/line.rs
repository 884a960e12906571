//! The queue before one session, made of two file locks: whoever holds the first delivers,
//! whoever holds the second is next. Nobody else needs to wait, since the next one will find
//! everything that was accepted before it begins.
//!
//! The system lets go of a lock when its process dies, however it dies. The files stay.

use super::WorkerError;
use crate::ledger::LedgerError;
use axiowl_model::SessionKey;
use axiowl_registry::{create_private_dir, private_file_options};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
        if let Some(first) = taken(&files.first)? {
            return Ok(Entry::First(Self { _first: first }));
        }
        let Some(_next) = taken(&files.next)? else {
            return Ok(Entry::Covered);
        };
        // Leaving before the front is reached would strand the messages of workers that went
        // because of this one. `_next` is let go only after the first lock is held.
        let mut pause = Duration::from_millis(10);
        loop {
            if let Some(first) = taken(&files.first)? {
                return Ok(Entry::First(Self { _first: first }));
            }
            if pause >= MAX_PAUSE {
                meanwhile()?;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// The front of the line, when nobody is there.
    pub fn try_enter(state_root: &Path, key: &SessionKey) -> Result<Option<Self>, WorkerError> {
        let files = Files::of(state_root, key)?;
        Ok(taken(&files.first)?.map(|first| Self { _first: first }))
    }
}

const MAX_PAUSE: Duration = Duration::from_millis(500);

/// Whether a worker delivers to a session and another is next, so that a further one would
/// find nothing to do.
pub(crate) fn is_attended(state_root: &Path, key: &SessionKey) -> Result<bool, WorkerError> {
    let files = Files::of(state_root, key)?;
    Ok(taken(&files.first)?.is_none() && taken(&files.next)?.is_none())
}

struct Files {
    first: PathBuf,
    next: PathBuf,
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
        })
    }
}

fn taken(path: &Path) -> Result<Option<File>, WorkerError> {
    let file = private_file_options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(locking(path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(locking(path)(source)),
    }
}

fn locking(path: &Path) -> impl FnOnce(io::Error) -> WorkerError {
    let path = path.to_owned();
    move |source| WorkerError::Lock { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn one_delivers_one_waits_and_the_rest_goes() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let key = SessionKey::local("some_cli", "1");
        let enter = || SessionLine::enter(root, &key, || Ok(())).unwrap();
        let Entry::First(first) = enter() else {
            panic!("the line is empty")
        };
        assert!(!is_attended(root, &key).unwrap());
        assert!(SessionLine::try_enter(root, &key).unwrap().is_none());
        std::thread::scope(|scope| {
            let (waits, waiting) = mpsc::channel();
            let second = scope.spawn(move || {
                let entry = SessionLine::enter(root, &key, || {
                    let _ = waits.send(());
                    Ok(())
                });
                matches!(entry.unwrap(), Entry::First(_))
            });
            waiting.recv().unwrap();
            let key = SessionKey::local("some_cli", "1");
            assert!(is_attended(root, &key).unwrap());
            let third = SessionLine::enter(root, &key, || Ok(())).unwrap();
            assert!(matches!(third, Entry::Covered));
            let other = SessionKey::local("some_cli", "2");
            assert!(SessionLine::try_enter(root, &other).unwrap().is_some());
            drop(first);
            assert!(second.join().unwrap());
        });
    }
}
