//! What can go wrong with the ledger, and what to do about it.

use axiowl_model::{MessageId, Stage};
use rusqlite::{ErrorCode, ffi};
use std::io;
use std::path::{Path, PathBuf};

const UNWRITABLE: &str =
    "make the state folder writable, or choose another one with --state DIR or XDG_STATE_HOME";

/// A ledger operation that could not be done. Nothing of it was recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The file system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A newer AxiOwl wrote it in a form this one does not know.
    #[error("{} has format {found}, and this axiowl knows {known}", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format known here.
        known: i64,
    },
    /// It is no database, or a damaged one.
    #[error("{} is damaged: {problem}", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What was seen.
        problem: String,
    },
    /// Another process wrote for longer than a write takes.
    #[error("cannot {action}: {} is locked by another process", path.display())]
    Busy {
        /// What was tried.
        action: &'static str,
        /// The database.
        path: PathBuf,
    },
    /// There is no room.
    #[error("cannot {action}: no space left for {}", path.display())]
    Full {
        /// What was tried.
        action: &'static str,
        /// The database.
        path: PathBuf,
    },
    /// SQLite refused for another reason.
    #[error("cannot {action} in {}: {source}", path.display())]
    Sqlite {
        /// What was tried.
        action: &'static str,
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// No message has that id.
    #[error("no message {id} is known here")]
    NoSuchMessage {
        /// The id.
        id: MessageId,
    },
    /// A message cannot go from the one stage to the other.
    #[error("message {id} is {from} and cannot become {to}")]
    IllegalMove {
        /// The message.
        id: MessageId,
        /// Its stage.
        from: Stage,
        /// The stage asked for.
        to: Stage,
    },
    /// Another worker delivers the message now.
    #[error("another worker has taken over message {id}")]
    LeaseLost {
        /// The message.
        id: MessageId,
    },
}

impl LedgerError {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    pub(super) fn sqlite(action: &'static str, path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Damaged {
                path,
                problem: source.to_string(),
            },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Busy { action, path }
            }
            Some(ErrorCode::DiskFull) => Self::Full { action, path },
            // The file beside the database that readers and writers share has no room to grow.
            _ if extended(&source) == Some(ffi::SQLITE_IOERR_SHMSIZE) => {
                Self::Full { action, path }
            }
            _ if is_damage(&source) => Self::Damaged {
                path,
                problem: source.to_string(),
            },
            _ => Self::Sqlite {
                action,
                path,
                source,
            },
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Some(UNWRITABLE.into())
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some("free some space; nothing was sent".into())
                }
                _ => None,
            },
            Self::Newer { .. } => Some(
                "use the newer axiowl that wrote it, or choose another state folder with \
                 --state DIR"
                    .into(),
            ),
            Self::Damaged { path, .. } => Some(format!(
                "nothing was changed. Move {} and the files beside it that begin with its name \
                 away, keep them, and try again: a new ledger is made, and messages of the old \
                 one are no longer known",
                path.display()
            )),
            Self::Busy { .. } => {
                Some("look for a stopped or hanging axiowl process, end it and try again".into())
            }
            Self::Full { .. } => Some("free some space and try again".into()),
            Self::NoSuchMessage { .. } => Some("see `axiowl list messages`".into()),
            Self::Sqlite { source, .. } => match source.sqlite_error_code() {
                Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => Some(UNWRITABLE.into()),
                Some(ErrorCode::SystemIoFailure) => Some(
                    "look at the disk: free space, quota, and whether it can still be written"
                        .into(),
                ),
                _ => None,
            },
            Self::IllegalMove { .. } | Self::LeaseLost { .. } => None,
        }
    }
}

fn extended(error: &rusqlite::Error) -> Option<i32> {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => Some(failure.extended_code),
        _ => None,
    }
}

/// A value that this code would never have written.
fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    )
}
