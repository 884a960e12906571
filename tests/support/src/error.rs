//! What can go wrong while a real program is driven; every variant carries the program's output.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

use crate::skip::Skip;

/// A driver's failure, worded for the message of a failed test.
#[derive(Debug, Error)]
pub enum DriveError {
    /// The program could not be started.
    #[error("{program} could not be started: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The awaited condition did not come in time.
    #[error("{what}: not within {within:?}\n{output}")]
    Deadline {
        /// What was waited for.
        what: String,
        /// How long.
        within: Duration,
        /// What the program had printed by then.
        output: String,
    },
    /// The program ended with failure, or ended too early.
    #[error("{program} ended with {status}\n{output}")]
    Exit {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// What it printed.
        output: String,
    },
    /// The program's answer lacks what it must contain.
    #[error("{program}: {lacking}\n{output}")]
    Answer {
        /// The program.
        program: String,
        /// What is missing or wrong.
        lacking: String,
        /// What it printed.
        output: String,
    },
    /// A JSON-RPC call was answered with an error.
    #[error("{method} was refused: {error}")]
    Rpc {
        /// The method called.
        method: String,
        /// The `error` object as received.
        error: Value,
    },
    /// A file of the temporary home could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A tool that this machine lacks.
    #[error(transparent)]
    Missing(#[from] Skip),
}

impl DriveError {
    /// Names the file an I/O error belongs to.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
