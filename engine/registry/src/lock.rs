//! The one lock that every writer of the registry takes, with a bounded wait. Knows nothing
//! of what is written. The lock is a file of its own: the registry is replaced by rename,
//! and a lock on it would stay with the old file.

use crate::RegistryError;
use crate::private::private_file_options;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Takes the lock at `path`, for as long as the returned file lives. The system lets go of
/// it when the process dies, however it dies.
pub(crate) fn acquire(path: &Path, wait: Duration) -> Result<File, RegistryError> {
    let file = private_file_options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(RegistryError::io("open", path))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(source)) => return Err(RegistryError::io("lock", path)(source)),
    }
    // The system call has no deadline, so a thread waits in it. Should it come too late, the
    // file goes down with the message nobody takes, and the lock with it.
    let (done, locked) = mpsc::channel();
    std::thread::Builder::new()
        .name("registry-lock".into())
        .spawn(move || {
            let result = file.lock().map(|()| file);
            let _ = done.send(result);
        })
        .map_err(RegistryError::io("wait for", path))?;
    match locked.recv_timeout(wait) {
        Ok(result) => result.map_err(RegistryError::io("lock", path)),
        Err(_) => Err(RegistryError::Busy {
            path: path.to_owned(),
            waited: wait,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_never_comes_free_is_a_bounded_error_and_works_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agents.lock");
        let held = acquire(&path, Duration::ZERO).unwrap();
        let error = acquire(&path, Duration::from_millis(20)).unwrap_err();
        assert!(matches!(error, RegistryError::Busy { .. }), "{error}");
        assert!(error.hint().is_some());
        drop(held);
        // The thread that waited in vain may get it first and lets it go at once.
        acquire(&path, Duration::from_secs(30)).unwrap();
    }

    #[test]
    fn whoever_waits_gets_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agents.lock");
        let held = acquire(&path, Duration::ZERO).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| acquire(&path, Duration::from_secs(30)).is_ok());
            drop(held);
            assert!(waiter.join().unwrap());
        });
    }
}
