//! The message ledger: `messages.db`, the one place that knows every message, how far it got
//! and who is delivering it. An accepted message survives any crash.
//!
//! It decides nothing about targets or providers. A stage changes in one function only
//! (`stages::step`), and only by a [`axiowl_model::Move`], which no illegal step has;
//! environments have no column, and what proves or explains a stage is redacted here.

mod accept;
mod error;
mod lease;
mod message;
mod queries;
mod rates;
mod retention;
mod schema;
mod stages;

pub(crate) use accept::NewMessage;
pub use error::LedgerError;
pub use lease::{Lease, LeaseAnswer};
pub use message::Message;
pub use queries::Inbox;
pub use stages::{Decision, Step};

use crate::clock::Clock;
use crate::crash;
use axiowl_model::Timestamp;
use axiowl_registry::{create_private_dir, private_file_options};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longer than any write of another process takes, even with the disk asleep.
const BUSY_WAIT: Duration = Duration::from_secs(15);

/// How a ledger is opened.
#[derive(Debug, Clone)]
pub struct Opening {
    /// What its times come from.
    pub clock: Clock,
    /// How long a write waits for another process's.
    pub busy_wait: Duration,
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            clock: Clock::system(),
            busy_wait: BUSY_WAIT,
        }
    }
}

/// How long a write that found another one under way pauses at most before it asks again.
const ASK_AGAIN: Duration = Duration::from_millis(10);

/// The ledger of one state root. One connection, used by one thread at a time.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    clock: Clock,
    busy_wait: Duration,
    connection: Mutex<Connection>,
}

impl Ledger {
    /// Opens the ledger of a state root and makes it when there is none.
    ///
    /// # Errors
    /// When it was written by a newer AxiOwl, is damaged, or cannot be opened.
    pub fn open(state_root: impl AsRef<Path>) -> Result<Self, LedgerError> {
        Self::open_with(state_root, Opening::default())
    }

    /// The same with a clock and a patience of one's own.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn open_with(state_root: impl AsRef<Path>, opening: Opening) -> Result<Self, LedgerError> {
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
        let connection = schema::open(&path, opening.busy_wait)?;
        Ok(Self {
            path,
            clock: opening.clock,
            busy_wait: opening.busy_wait,
            connection: Mutex::new(connection),
        })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The ledger's time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
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
        transact(&mut connection, self.busy_wait, change)
            .map_err(|trouble| trouble.named(action, &self.path))
    }

    /// The same for what a power cut may take: who works on a message, and what is forgotten.
    /// A process that is killed loses nothing by it, and after a power cut nobody works.
    fn write_loosely<T>(
        &self,
        action: &'static str,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>,
    ) -> Result<T, LedgerError> {
        // Held all the while: nothing else may be written by this setting.
        let mut connection = self.connection();
        let loosely = |connection: &mut Connection| {
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            let result = transact(connection, self.busy_wait, change);
            connection.pragma_update(None, "synchronous", "FULL")?;
            result
        };
        loosely(&mut connection).map_err(|trouble| trouble.named(action, &self.path))
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

fn transact<T>(
    connection: &mut Connection,
    patience: Duration,
    change: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    crash::point("before a transaction");
    let tx = begin(connection, patience)?;
    let answer = change(&tx)?;
    crash::point("before a commit");
    tx.commit()?;
    crash::point("after a commit");
    Ok(answer)
}

/// Begins to write. SQLite's own waiting pauses ever longer, and whoever has waited long loses
/// to whoever comes new: among dozens of writers one waited in vain for 15 seconds.
fn begin(connection: &Connection, patience: Duration) -> rusqlite::Result<Transaction<'_>> {
    let until = Instant::now() + patience;
    let mut pause = Duration::from_millis(1);
    connection.busy_timeout(Duration::ZERO)?;
    let begun = loop {
        match Transaction::new_unchecked(connection, TransactionBehavior::Immediate) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < until =>
            {
                std::thread::sleep(pause);
                pause = (pause * 2).min(ASK_AGAIN);
            }
            answer => break answer,
        }
    };
    connection.busy_timeout(patience)?;
    begun
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

#[cfg(test)]
mod tests;
