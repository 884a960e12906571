//! Databases that another process holds, and databases that are damaged.

use crate::home::{ALL, Home, Provider, id};
use rusqlite::Connection;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The environment variable that makes this very binary the other process.
const OTHER: &str = "AXIOWL_TEST_HOLDER";

/// Another process that runs a statement on a database, says so, and stays until it is let go.
pub struct Holder {
    child: Child,
}

impl Holder {
    pub fn new(database: &Path, sql: &str) -> Self {
        let this = std::env::current_exe().expect("this program");
        let mut child = Command::new(this)
            .args(["--exact", "locked::the_other_process", "--nocapture"])
            .env(OTHER, database)
            .env("AXIOWL_TEST_SQL", sql)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the other process");
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        while !line.contains("holding") {
            line.clear();
            let read = said.read_line(&mut line).expect("read");
            assert!(read > 0, "the other process failed");
        }
        // It says nothing more than its end, which fits into the pipe.
        child.stdout = Some(said.into_inner());
        Self { child }
    }

    /// Ends it in good order.
    pub fn let_go(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("wait").success());
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // A test that failed must not leave it behind; one that is over has ended it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does nothing, unless it is started as the other process.
#[test]
fn the_other_process() {
    let Some(database) = std::env::var_os(OTHER) else {
        return;
    };
    let sql = std::env::var("AXIOWL_TEST_SQL").expect("a statement");
    let db = Connection::open(database).expect("database");
    db.execute_batch(&sql).expect("statement");
    let mut out = std::io::stdout();
    writeln!(out, "holding").expect("write");
    out.flush().expect("write");
    // Until the test closes the pipe.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).expect("read");
}

const STORES: [(&str, Provider); 2] = [
    (".codex/state_5.sqlite", Provider::Codex),
    (".local/share/opencode/opencode.db", Provider::OpenCode),
];

/// Everything but one provider is found.
fn others_are_sound(home: &Home, found: &crate::found::Found, without: Provider) {
    for provider in ALL.into_iter().filter(|other| *other != without) {
        for number in 1..=3 {
            home.is_sound(found, provider, number);
        }
    }
}

/// The committed state is read past any lock: a lock of SQLite binds only who asks for it, and
/// what is not committed is seen by nobody.
#[test]
fn a_store_that_another_process_has_locked_is_read_as_it_was_committed() {
    for (store, provider) in STORES {
        for mode in ["DELETE", "WAL"] {
            let home = Home::new();
            let path = home.path(store);
            let db = Connection::open(&path).expect("database");
            db.query_row(&format!("PRAGMA journal_mode={mode}"), [], |_| Ok(()))
                .expect("mode");
            drop(db);
            let holder = Holder::new(
                &path,
                "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE later(x);",
            );
            let found = home.discover();
            others_are_sound(&home, &found, provider);
            let busy = found.codes_at(store).contains(&"busy");
            // A journal with pages in it is a transaction under way: that may be refused, named.
            if !busy {
                home.sound(&found);
            } else {
                assert_eq!(mode, "DELETE");
            }
            holder.let_go();
            home.discover_sound();
        }
    }
}

/// A transaction that has spilled into the database file: what stands there is not committed.
#[test]
fn a_transaction_that_is_half_in_the_file_is_never_shown() {
    for (store, provider) in STORES {
        let home = Home::new();
        let before = home.discover_sound();
        let table = match provider {
            Provider::Codex => "threads",
            _ => "session",
        };
        // A cache of one page writes early; the journal holds what stood there.
        let holder = Holder::new(
            &home.path(store),
            &format!(
                "PRAGMA journal_mode=DELETE; PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN;
                 CREATE TABLE filler(x); UPDATE {table} SET title = 'not committed';
                 INSERT INTO filler SELECT randomblob(4000) FROM
                   (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                    SELECT i FROM n);"
            ),
        );
        let found = home.discover();
        others_are_sound(&home, &found, provider);
        assert!(!found.run.stdout.contains("not committed"), "{}", found.run);
        found.names(store, "busy");
        // What was known stays known: a store that is busy proves nothing about its sessions.
        let listed = home.run(&["list", "agents", "--json"]);
        let known = before.rows.len();
        assert_eq!(listed.lines("agent").len(), known, "{listed}");
        drop(holder);
        // The process died in the middle: its journal is there and nobody has rolled it back.
        let found = home.discover();
        assert!(!found.run.stdout.contains("not committed"), "{}", found.run);
        others_are_sound(&home, &found, provider);
        // Its owner rolls it back at its next start.
        let db = Connection::open(home.path(store)).expect("database");
        db.query_row(&format!("SELECT count(*) FROM {table}"), [], |_| Ok(()))
            .expect("rolled back");
        drop(db);
        home.discover_sound();
    }
}

#[test]
fn damaged_databases_are_named_and_cost_only_themselves() {
    let cut = |bytes: &[u8]| bytes[..bytes.len() / 2 + 100].to_vec();
    let header = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[..100].fill(0);
        bytes
    };
    let pages = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[4_096..].fill(0xa5);
        bytes
    };
    let size = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        // A page size that is none.
        bytes[16] = 0x13;
        bytes[17] = 0x37;
        bytes
    };
    type Damage<'d> = &'d dyn Fn(&[u8]) -> Vec<u8>;
    let damages: [(&str, Damage<'_>); 7] = [
        ("cut", &cut),
        ("no header", &header),
        ("no pages", &pages),
        ("no page size", &size),
        ("text", &|_| b"this is no database".repeat(500)),
        ("zeros", &|bytes| vec![0; bytes.len()]),
        ("empty", &|_| Vec::new()),
    ];
    for (store, provider) in STORES {
        for (what, damage) in damages {
            let home = Home::new();
            let path = home.path(store);
            let bytes = std::fs::read(&path).expect("database");
            std::fs::write(&path, damage(&bytes)).expect("write");
            let found = home.discover();
            others_are_sound(&home, &found, provider);
            for number in 1..=3 {
                let row = found.row(provider, &id(provider, number));
                let name = row.map(|row| row["display_name"].clone());
                // What is left of a damaged store may be read, never read wrongly.
                assert!(
                    name.is_none() || name == Some(Home::name(provider, number).into()),
                    "{what}: {name:?}"
                );
            }
            // An empty file is an empty database: that the provider has nothing is said of it.
            let blind = found.issues.iter().any(|(code, _, _)| code == "blind");
            assert!(
                blind || !found.codes_at(store).is_empty(),
                "{what} of {store} is not named: {:#?}\n{}",
                found.issues,
                found.run
            );
        }
    }
}

/// A log that is damaged loses what it held, not what the database holds.
#[test]
fn a_damaged_log_costs_what_it_held() {
    for (store, provider) in STORES {
        for bytes in [vec![0; 100], vec![0xa5; 50_000], b"text\n".repeat(4_000)] {
            let home = Home::new();
            let db = Connection::open(home.path(store)).expect("database");
            db.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))
                .expect("mode");
            drop(db);
            home.write(&format!("{store}-wal"), bytes);
            let found = home.discover();
            others_are_sound(&home, &found, provider);
            home.sound(&found);
        }
    }
}

/// Cells of another type than their column, and rows of hostile size.
#[test]
fn hostile_cells_are_one_row_each() {
    let home = Home::new();
    let db = home.codex();
    let insert = |id: &str, title: &dyn rusqlite::ToSql| {
        db.execute(
            "INSERT INTO threads(id, rollout_path, cwd, source, title, archived, updated_at)
             VALUES(?1, x'00ff', 7, x'fffe', ?2, 'no number', 9e300)",
            rusqlite::params![id, title],
        )
        .expect("insert");
    };
    insert(
        "00000a01-0000-4000-8000-000000000001",
        &vec![0xff_u8; 1_000],
    );
    insert("00000a02-0000-4000-8000-000000000001", &i64::MIN);
    insert("00000a03-0000-4000-8000-000000000001", &f64::INFINITY);
    insert("00000a04-0000-4000-8000-000000000001", &"a\0b");
    insert("00000a05-0000-4000-8000-000000000001", &"x".repeat(9 << 20));
    db.execute(
        "INSERT INTO threads(id, rollout_path, archived) VALUES(NULL, '', 0)",
        [],
    )
    .expect("insert");
    db.execute(
        "INSERT INTO threads(id, rollout_path, archived) VALUES(x'8000', '', 0)",
        [],
    )
    .expect("insert");
    drop(db);
    let found = home.discover_sound();
    for (key, row) in &found.rows {
        if key.1.starts_with("00000a0") {
            assert_eq!(row["sendable"], false, "{row}");
        }
    }
    assert!(!found.issues.is_empty());
}
