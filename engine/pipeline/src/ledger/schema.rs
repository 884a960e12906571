//! The ledger's tables and their version. Opening is safe for any number of processes at
//! once, also when none of them finds a database yet.

use super::LedgerError;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::path::Path;
use std::time::{Duration, Instant};

/// The format this code reads and writes, kept in `user_version`.
const VERSION: i64 = STEPS.len() as i64;

/// What brings a ledger from each format to the next, from an empty one on. A step that was
/// released never changes.
pub(super) const STEPS: [&str; 2] = [FIRST, BY_TIME];

/// Times are milliseconds since the epoch; stages, kinds and ids are their words.
const FIRST: &str = "
CREATE TABLE messages (
    ordinal         INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    run_id          TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    sender_kind     TEXT NOT NULL,
    sender_name     TEXT NOT NULL,
    sender_provider TEXT NOT NULL,
    sender_node     TEXT NOT NULL,
    sender_session  TEXT NOT NULL,
    sender_reason   TEXT NOT NULL,
    provider        TEXT NOT NULL,
    node            TEXT NOT NULL,
    session         TEXT NOT NULL,
    display_name    TEXT NOT NULL,
    cwd             TEXT NOT NULL,
    home            TEXT NOT NULL,
    body            TEXT NOT NULL,
    visible_body    TEXT NOT NULL,
    reply_to        TEXT,
    hop_chain       TEXT NOT NULL,
    also_matching   TEXT NOT NULL,
    stage           TEXT NOT NULL,
    route           TEXT NOT NULL,
    expires_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_by_target ON messages (provider, node, session, stage);
CREATE INDEX messages_by_sender ON messages (sender_session, created_at);
CREATE INDEX messages_by_stage ON messages (stage);
CREATE INDEX messages_by_reply ON messages (reply_to) WHERE reply_to IS NOT NULL;

CREATE TABLE stages (
    message_id TEXT NOT NULL REFERENCES messages (id),
    seq        INTEGER NOT NULL,
    run_id     TEXT NOT NULL,
    stage      TEXT NOT NULL,
    at         INTEGER NOT NULL,
    route      TEXT NOT NULL,
    evidence   TEXT NOT NULL,
    reason     TEXT NOT NULL,
    PRIMARY KEY (message_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    message_id       TEXT NOT NULL REFERENCES messages (id),
    attempt          INTEGER NOT NULL,
    token            TEXT NOT NULL,
    owner_pid        INTEGER NOT NULL,
    owner_start      INTEGER,
    lease_expires_at INTEGER NOT NULL,
    began_at         INTEGER NOT NULL,
    started          INTEGER NOT NULL DEFAULT 0,
    route            TEXT NOT NULL DEFAULT '',
    ended_at         INTEGER,
    outcome          TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (message_id, attempt)
) STRICT, WITHOUT ROWID;
";

/// Rates, inboxes and retention ask by time.
const BY_TIME: &str = "
CREATE INDEX messages_to_target_by_time ON messages (provider, node, session, created_at);
CREATE INDEX messages_by_time ON messages (created_at);
CREATE INDEX deliveries_open ON deliveries (message_id) WHERE ended_at IS NULL;
";

/// Opens a database that exists (possibly empty) and brings it to the current format.
pub(super) fn open(path: &Path, busy_wait: Duration) -> Result<Connection, LedgerError> {
    let named = |action| move |source| LedgerError::sqlite(action, path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(path, flags).map_err(named("open the ledger"))?;
    connection
        .busy_timeout(busy_wait)
        .map_err(named("open the ledger"))?;
    // Before anything is written, so that a newer format is left as it is.
    let found = version(&connection).map_err(named("read the ledger"))?;
    check_version(found, path)?;
    use_wal(&connection, busy_wait).map_err(named("open the ledger"))?;
    connection
        .execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
        .map_err(named("open the ledger"))?;
    if found == VERSION {
        return Ok(connection);
    }
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(named("make the ledger"))?;
    // Another process may have been first.
    let found = version(&tx).map_err(named("read the ledger"))?;
    check_version(found, path)?;
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        tx.execute_batch(step).map_err(named("make the ledger"))?;
    }
    tx.pragma_update(None, "user_version", VERSION)
        .map_err(named("make the ledger"))?;
    tx.commit().map_err(named("make the ledger"))?;
    Ok(connection)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

fn check_version(found: i64, path: &Path) -> Result<(), LedgerError> {
    if (0..=VERSION).contains(&found) {
        return Ok(());
    }
    Err(LedgerError::Newer {
        path: path.to_owned(),
        found,
        known: VERSION,
    })
}

/// Switches to WAL. While several processes do this to a new file, SQLite answers "busy" at
/// once instead of waiting, so the waiting is done here.
fn use_wal(connection: &Connection, wait: Duration) -> rusqlite::Result<()> {
    let until = Instant::now() + wait;
    let mut pause = Duration::from_millis(2);
    loop {
        let result = connection.query_row("PRAGMA journal_mode = WAL", [], |row| {
            row.get::<_, String>(0)
        });
        match result {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < until =>
            {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(100));
            }
            // Another mode (some file systems cannot do WAL) is as durable, only slower.
            result => return result.map(drop),
        }
    }
}
