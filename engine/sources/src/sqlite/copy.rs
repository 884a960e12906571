//! A private copy of a database and its log, which fit together.
//!
//! Only it knows where a copy stands and how it is made. It must not know when one is wanted, nor
//! what is in it.

use super::access::Ways;
use super::guard;
use super::state::{State, beside};
use crate::Cancel;
use rusqlite::{Connection, OpenFlags};
use std::fs::{OpenOptions, Permissions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes copied between two looks at whether the run is still wanted.
const PIECE: u64 = 32 << 20;

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
    pub(super) fn make(
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
        let whole = !ways.cancel.is_cancelled();
        Ok((whole && (after == *before || after.only_grew_since(before))).then_some(copy))
    }

    pub(super) fn database(&self) -> PathBuf {
        self.folder.path().join("copy.db")
    }

    pub(super) fn open(&self, cancel: &Cancel) -> rusqlite::Result<Connection> {
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
