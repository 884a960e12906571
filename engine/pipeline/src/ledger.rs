//! The message ledger: `messages.db`, the one place that knows every message, how far it got
//! and who is delivering it. An accepted message survives any crash.
//!
//! It decides nothing about targets or providers. A stage changes in one function only
//! (`stages::step`), which asks [`axiowl_model::Stage::may_follow`]; environments and secrets
//! have no column.

mod accept;
mod error;
mod lease;
mod message;
mod queries;
mod schema;
mod stages;

pub(crate) use accept::NewMessage;
pub use error::LedgerError;
pub use lease::{Lease, LeaseAnswer};
pub use message::Message;
pub use queries::Inbox;
pub use stages::Step;

use axiowl_model::Timestamp;
use axiowl_registry::{create_private_dir, private_file_options};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Longer than any write of another process takes, even with the disk asleep.
const BUSY_WAIT: Duration = Duration::from_secs(15);

/// The ledger of one state root. One connection, used by one thread at a time.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    connection: Mutex<Connection>,
}

impl Ledger {
    /// Opens the ledger of a state root and makes it when there is none.
    ///
    /// # Errors
    /// When it was written by a newer AxiOwl, is damaged, or cannot be opened.
    pub fn open(state_root: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let folder = state_root.as_ref();
        let path = folder.join("messages.db");
        create_private_dir(folder).map_err(LedgerError::io("make", folder))?;
        // SQLite gives its side files the mode of the database, so that has to be right first.
        private_file_options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(LedgerError::io("open", &path))?;
        let connection = schema::open(&path, BUSY_WAIT)?;
        Ok(Self {
            path,
            connection: Mutex::new(connection),
        })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic elsewhere rolled its transaction back; the connection itself is sound.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one write transaction: all of it is durable when this returns, or none.
    fn write<T>(
        &self,
        action: &'static str,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>,
    ) -> Result<T, LedgerError> {
        let mut connection = self.connection();
        let run = || -> Result<T, Trouble> {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = change(&tx)?;
            tx.commit()?;
            Ok(answer)
        };
        run().map_err(|trouble| trouble.named(action, &self.path))
    }

    /// Runs one read.
    fn read<T>(
        &self,
        action: &'static str,
        query: impl FnOnce(&Connection) -> Result<T, Trouble>,
    ) -> Result<T, LedgerError> {
        query(&self.connection()).map_err(|trouble| trouble.named(action, &self.path))
    }
}

/// What goes wrong inside a transaction, before it is known which one.
enum Trouble {
    Sqlite(rusqlite::Error),
    Known(LedgerError),
}

impl Trouble {
    fn named(self, action: &'static str, path: &Path) -> LedgerError {
        match self {
            Self::Sqlite(source) => LedgerError::sqlite(action, path, source),
            Self::Known(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<LedgerError> for Trouble {
    fn from(error: LedgerError) -> Self {
        Self::Known(error)
    }
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}

/// A time later by a duration, in the ledger's milliseconds.
pub(crate) fn after(time: Timestamp, wait: Duration) -> Timestamp {
    let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(time.as_millis().saturating_add(millis))
}

/// A time earlier by a duration.
pub(crate) fn before(time: Timestamp, span: Duration) -> Timestamp {
    let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(time.as_millis().saturating_sub(millis))
}

#[cfg(test)]
mod tests;
