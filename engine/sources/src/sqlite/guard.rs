//! What a statement of a rule may do to a connection: read, within limits.
//!
//! The limits hold for a hostile rule as for a hostile database file. It must not know
//! which table matters.

use crate::Cancel;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Result};
use std::time::{Duration, Instant};

/// A query that takes longer is stopped.
pub(super) const TIME: Duration = Duration::from_secs(5);
/// Bytes of the biggest cell or row that is read at all.
const CELL: i32 = 64 << 20;
/// Virtual machine steps between two looks at the clock.
const STEPS: i32 = 4_000;

/// Restricts a connection before a rule's statement reaches it, for `time` from now on, or
/// until the run is ended.
pub(super) fn restrict(connection: &mut Connection, time: Duration, cancel: &Cancel) -> Result<()> {
    // A damaged file must not lead its reader astray; nothing is mapped, since a file that
    // shrinks under a mapping kills the process.
    connection
        .execute_batch("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA query_only=ON;")?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, CELL),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 64 << 10),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, value)?;
    }
    connection.busy_timeout(Duration::ZERO)?;
    limit_time(connection, time, cancel)?;
    connection.authorizer(Some(|context: AuthContext<'_>| match context.action {
        AuthAction::Select | AuthAction::Read { .. } => Authorization::Allow,
        AuthAction::Function { function_name } if harmless(function_name) => Authorization::Allow,
        _ => Authorization::Deny,
    }))
}

/// Restricts a connection in which a fixture's text is built: no other file is opened, and it
/// ends after `time` or with the run, since a recursive statement would not end by itself.
pub(super) fn restrict_building(
    connection: &mut Connection,
    time: Duration,
    cancel: &Cancel,
) -> Result<()> {
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, CELL)?;
    limit_time(connection, time, cancel)?;
    connection.authorizer(Some(|context: AuthContext<'_>| match context.action {
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => Authorization::Deny,
        AuthAction::Function { function_name } if !harmless(function_name) => Authorization::Deny,
        _ => Authorization::Allow,
    }))
}

fn limit_time(connection: &mut Connection, time: Duration, cancel: &Cancel) -> Result<()> {
    let deadline = Instant::now() + time;
    let cancel = cancel.clone();
    let over = move || cancel.is_cancelled() || Instant::now() > deadline;
    connection.progress_handler(STEPS, Some(over))
}

fn harmless(function: &str) -> bool {
    ![
        "load_extension",
        "readfile",
        "writefile",
        "edit",
        "fts3_tokenizer",
        "zeroblob",
        "randomblob",
    ]
    .contains(&function.to_ascii_lowercase().as_str())
}
