//! Live, locked and resting databases, and what is left beside them.

use super::*;
use crate::read::COPY_BYTES as COPY;
use crate::sqlite::state::{beside, hot_journal};
use std::collections::BTreeMap;
use std::fs;

struct Store {
    dir: tempfile::TempDir,
}

impl Store {
    fn new(mode: &str) -> (Self, Connection) {
        let store = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        let connection = Connection::open(store.path()).unwrap();
        let setup = format!(
            "PRAGMA journal_mode={mode}; PRAGMA wal_autocheckpoint=0; CREATE TABLE t(a); INSERT INTO t VALUES (1),(2);"
        );
        connection.execute_batch(&setup).unwrap();
        (store, connection)
    }

    fn path(&self) -> PathBuf {
        // Characters that mean something in a URI.
        self.dir.path().join("a ?#%.db")
    }

    fn count(&self, mirror: Mirror) -> (Option<i64>, Vec<String>) {
        let world = crate::harness::Home::new().world();
        let hit = Hit::new(
            &world,
            self.path(),
            "/db".into(),
            &self.path().metadata().unwrap(),
            0,
        );
        let mut report = Report::default();
        let copies = Copies::default();
        let ways = Ways {
            mirror,
            most: COPY,
            copies: &copies,
            cancel: &Cancel::default(),
        };
        let count = with_database(&hit, ways, &mut report, &mut |connection| {
            connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        });
        assert_eq!(count.is_none(), report.incomplete);
        let issues = report.into_issues("s");
        (count, issues.into_iter().map(|issue| issue.code).collect())
    }

    /// Names and contents of all files beside the database.
    fn listing(&self) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
        let entries = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let state = |path: &PathBuf| {
            (
                fs::read(path).unwrap(),
                path.metadata().unwrap().modified().unwrap(),
            )
        };
        entries.map(|path| (path.clone(), state(&path))).collect()
    }

    /// The count, with proof that nothing changed.
    fn untouched(&self, mirror: Mirror) -> (Option<i64>, Vec<String>) {
        let before = self.listing();
        let answer = self.count(mirror);
        assert!(before == self.listing(), "the provider's folder changed");
        answer
    }
}

/// A copy of a store; none when what was copied may not fit together.
fn made(path: &Path, before: &State) -> Option<Copy> {
    let ways = Ways {
        mirror: Mirror::Only,
        most: COPY,
        copies: &Copies::default(),
        cancel: &Cancel::default(),
    };
    Copy::make(path, before, ways, None).unwrap()
}

#[test]
fn a_resting_database_is_read_in_place() {
    for mode in ["wal", "delete"] {
        let (store, connection) = Store::new(mode);
        connection.close().unwrap();
        assert_eq!(store.listing().len(), 1);
        assert_eq!(store.untouched(Mirror::Auto), (Some(2), vec![]), "{mode}");
        assert_eq!(store.untouched(Mirror::Only), (Some(2), vec![]), "{mode}");
        fs::write(beside(&store.path(), "-wal"), "").unwrap();
        assert_eq!(
            store.untouched(Mirror::Auto),
            (Some(2), vec![]),
            "an empty log is none"
        );
    }
}

#[test]
fn a_live_log_is_read_from_a_private_copy() {
    let (store, connection) = Store::new("wal");
    assert!(store.listing().len() > 1);
    assert_eq!(store.untouched(Mirror::Auto), (Some(2), vec![]));
    connection
        .execute_batch("BEGIN; INSERT INTO t VALUES (3);")
        .unwrap();
    assert_eq!(
        store.untouched(Mirror::Auto),
        (Some(2), vec![]),
        "not committed"
    );
    connection.execute_batch("COMMIT").unwrap();
    assert_eq!(store.untouched(Mirror::Only), (Some(3), vec![]));
    connection
        .execute_batch("PRAGMA wal_checkpoint(PASSIVE)")
        .unwrap();
    assert_eq!(store.untouched(Mirror::Auto), (Some(3), vec![]));
}

#[test]
fn a_copy_is_private_and_gone_afterwards() {
    let (store, _connection) = Store::new("wal");
    let state = State::of(&store.path()).unwrap();
    let copy = made(&store.path(), &state).unwrap();
    let database = copy.database();
    let folder = database.parent().expect("a folder").to_path_buf();
    assert!(!folder.starts_with(store.dir.path()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&copy.database())), (0o700, 0o600));
    }
    drop(copy);
    assert!(!folder.exists());
}

#[test]
fn a_transaction_under_way_makes_the_store_busy() {
    let (store, connection) = Store::new("delete");
    let journal = beside(&store.path(), "-journal");
    let begin = "PRAGMA cache_size=1; BEGIN EXCLUSIVE; UPDATE t SET a = 9;";
    connection.execute_batch(begin).unwrap();
    // Until the journal is synced its header is zero and the database as it was.
    assert!(journal.exists());
    assert_eq!(store.untouched(Mirror::Auto), (Some(2), vec![]));
    let spill = "INSERT INTO t SELECT randomblob(900) FROM pragma_function_list LIMIT 150";
    connection.execute_batch(spill).unwrap();
    assert!(hot_journal(&store.path()).unwrap());
    let started = Instant::now();
    assert_eq!(
        store.untouched(Mirror::Auto),
        (None, vec![codes::BUSY.to_owned()])
    );
    assert!(started.elapsed() < Duration::from_secs(5));
    connection.execute_batch("COMMIT").unwrap();
    assert_eq!(store.untouched(Mirror::Auto), (Some(152), vec![]));
    fs::write(&journal, [0; 512]).unwrap();
    let finished = store.untouched(Mirror::Auto);
    assert_eq!(
        finished,
        (Some(152), vec![]),
        "a zeroed journal is finished"
    );
}

#[test]
fn a_store_too_large_for_a_copy_is_left_alone() {
    let (store, connection) = Store::new("wal");
    std::fs::File::options()
        .write(true)
        .open(store.path())
        .unwrap()
        .set_len(COPY + 1)
        .unwrap();
    assert_eq!(
        store.count(Mirror::Auto),
        (None, vec![codes::TOO_LARGE_LIVE.to_owned()])
    );
    assert_eq!(
        store.count(Mirror::Only),
        (None, vec![codes::MIRROR_TOO_LARGE.to_owned()])
    );
    drop(connection);
}

#[test]
fn a_log_that_started_over_while_it_was_copied_is_noticed() {
    let (store, connection) = Store::new("wal");
    let path = store.path();
    let before = State::of(&path).unwrap();
    connection
        .execute_batch("INSERT INTO t VALUES (3)")
        .unwrap();
    assert!(State::of(&path).unwrap() != before);
    assert!(made(&path, &before).is_some(), "a log that only grew fits");
    connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES (4)")
        .unwrap();
    let (database, log) = (
        fs::read(&path).unwrap(),
        fs::read(beside(&path, "-wal")).unwrap(),
    );
    assert!(!database.is_empty() && !log.is_empty());
    assert!(made(&path, &before).is_none() || State::of(&path).unwrap() == before);
}

#[test]
fn a_writer_at_work_is_seen_whole_transaction_by_whole_transaction() {
    let (store, connection) = Store::new("wal");
    connection
        .execute_batch("PRAGMA wal_autocheckpoint=5; PRAGMA synchronous=OFF")
        .unwrap();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let (begin, begun) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        let mut n = 0;
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            n += 1;
            let sql =
                format!("BEGIN; INSERT INTO t VALUES ({n}); INSERT INTO t VALUES ({n}); COMMIT;");
            connection.execute_batch(&sql).unwrap();
            if n == 1 {
                begin.send(()).unwrap();
            }
        }
        n
    });
    begun.recv().unwrap();
    let mut last = 0;
    let mut read = 0;
    // A writer that never rests lets few copies through on a loaded machine.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while read < 10 && std::time::Instant::now() < until {
        let (count, issues) = store.count(Mirror::Auto);
        match count {
            Some(count) => {
                assert_eq!(count % 2, 0, "half a transaction");
                assert!(count >= last, "committed rows were lost");
                (last, read) = (count, read + 1);
            }
            None => assert_eq!(issues, [codes::BUSY]),
        }
    }
    drop(stop);
    let written = writer.join().unwrap();
    assert!(
        read > 0 && written > 0,
        "{read} reads of {written} transactions"
    );
}

#[test]
fn one_state_of_a_store_is_copied_once() {
    let (store, connection) = Store::new("wal");
    let path = store.path().canonicalize().unwrap();
    let copies = Copies::default();
    let state = State::of(&path).unwrap();
    assert!(copies.get(&path, &state).is_none());
    let copy = Arc::new(made(&path, &state).unwrap());
    copies.keep(path.clone(), state, &copy);
    let kept = copies.get(&path, &State::of(&path).unwrap()).unwrap();
    assert_eq!(kept.database(), copy.database());
    connection
        .execute_batch("INSERT INTO t VALUES (3)")
        .unwrap();
    assert!(
        copies.get(&path, &State::of(&path).unwrap()).is_none(),
        "the store has changed"
    );
}

#[cfg(unix)]
#[test]
fn of_a_store_whose_log_only_grew_the_log_alone_is_copied_again() {
    use std::os::unix::fs::MetadataExt;
    let (store, connection) = Store::new("wal");
    connection
        .execute_batch("PRAGMA wal_autocheckpoint=0")
        .unwrap();
    let path = store.path().canonicalize().unwrap();
    let copies = Copies::default();
    let cancel = Cancel::default();
    let ways = Ways {
        mirror: Mirror::Only,
        most: COPY,
        copies: &copies,
        cancel: &cancel,
    };
    let mut report = Report::default();
    let hit = Hit::new(
        &crate::harness::Home::new().world(),
        path.clone(),
        "/db".into(),
        &path.metadata().unwrap(),
        0,
    );
    let mut count = || {
        with_database(&hit, ways, &mut report, &mut |connection| {
            connection.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))
        })
        .unwrap()
    };
    let inode = || {
        let state = State::of(&path).unwrap();
        let copy = copies.get(&path, &state).expect("a copy of this state");
        copy.database().metadata().unwrap().ino()
    };
    let first = count();
    let of_first = inode();
    for n in 1..4 {
        connection
            .execute_batch("INSERT INTO t VALUES (9)")
            .unwrap();
        assert_eq!(count(), first + n, "what was written since is there");
        assert_eq!(inode(), of_first, "the database was not copied again");
    }
    connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES (9)")
        .unwrap();
    assert_eq!(count(), first + 4);
    assert_ne!(inode(), of_first, "the database was written to");
}

#[test]
fn a_store_that_one_source_found_busy_is_busy_for_the_whole_run() {
    let (store, _connection) = Store::new("delete");
    let path = store.path().canonicalize().unwrap();
    let hit = Hit::new(
        &crate::harness::Home::new().world(),
        path.clone(),
        "/db".into(),
        &path.metadata().unwrap(),
        0,
    );
    let cancel = Cancel::default();
    let count = |copies: &Copies| {
        let ways = Ways {
            mirror: Mirror::Auto,
            most: COPY,
            copies,
            cancel: &cancel,
        };
        let mut report = Report::default();
        let count = with_database(&hit, ways, &mut report, &mut |connection| {
            connection.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))
        });
        let issues = report.into_issues("s").into_iter();
        (count, issues.map(|issue| issue.code).collect::<Vec<_>>())
    };
    let busy = (None, vec![codes::BUSY.to_owned()]);
    let run = Copies::of_one_state();
    let journal = beside(&path, "-journal");
    std::fs::write(&journal, "a transaction").unwrap();
    assert_eq!(count(&run), busy);
    std::fs::remove_file(&journal).unwrap();
    assert_eq!(count(&run), busy, "what it read now would not fit the rest");
    let (found, issues) = count(&Copies::of_one_state());
    assert!(found.is_some() && issues.is_empty());
}

#[test]
fn a_fixture_text_that_does_not_end_is_stopped() {
    // It ends by itself only after many seconds, so that without the limit this fails, not hangs.
    let endless = "CREATE TABLE s(n, top);
        INSERT INTO s WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 20000000)
        SELECT n, max(n) FROM c;";
    let stopped = |time, cancel: &Cancel| {
        let error = build_within(endless, time, cancel).expect_err("it is stopped");
        assert_eq!(
            error.sqlite_error_code(),
            Some(rusqlite::ErrorCode::OperationInterrupted),
            "{error}"
        );
    };
    stopped(Duration::from_millis(50), &Cancel::default());
    let ended = Cancel::default();
    ended.cancel();
    stopped(guard::TIME, &ended);
    let enough = build(
        "CREATE TABLE s(n); INSERT INTO s VALUES (1);",
        &Cancel::default(),
    );
    assert!(enough.is_ok(), "an ordinary text builds");
}
