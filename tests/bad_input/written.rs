//! Stores that are written while they are read, by another process: what a reader shows is at
//! every moment something that the owner meant.

use crate::found::Found;
use crate::home::{Home, Provider, id, insert_opencode};
use rusqlite::Connection;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The environment variable that makes this very binary the writer: which way it writes.
const WRITER: &str = "AXIOWL_TEST_WRITER";
/// Discoveries that run against one writer.
const ROUNDS: usize = 12;

/// Another process that writes until it is let go.
struct Writer {
    child: Child,
}

impl Writer {
    fn new(way: &str, home: &Home, file: &Path) -> Self {
        let this = std::env::current_exe().expect("this program");
        let mut child = Command::new(this)
            .args(["--exact", "written::the_writer", "--nocapture"])
            .env(WRITER, way)
            .env("AXIOWL_TEST_FILE", file)
            .env("AXIOWL_TEST_CWD", home.cwd())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the writer");
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        while !line.contains("writing") {
            line.clear();
            assert!(said.read_line(&mut line).expect("read") > 0, "it failed");
        }
        // It says nothing more than its end, which fits into the pipe.
        child.stdout = Some(said.into_inner());
        Self { child }
    }

    /// Whether it wrote all the time.
    fn writes(&mut self) -> bool {
        self.child.try_wait().expect("wait").is_none()
    }

    fn let_go(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("wait").success());
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A test that failed must not leave it behind; one that is over has ended it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does nothing, unless it is started as the writer.
#[test]
fn the_writer() {
    let Ok(way) = std::env::var(WRITER) else {
        return;
    };
    let file = std::env::var("AXIOWL_TEST_FILE").expect("a file");
    let cwd = std::env::var("AXIOWL_TEST_CWD").expect("a folder");
    let over = std::thread::spawn(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    let mut round = 0_u64;
    let mut started = || {
        if round == 0 {
            let mut out = std::io::stdout();
            writeln!(out, "writing").expect("write");
            out.flush().expect("write");
        }
        round += 1;
        !over.is_finished()
    };
    match way.as_str() {
        "append" => append(&file, &mut started),
        "replace" => replace(&file, &mut started),
        "wal" => database(&file, &cwd, "WAL", &mut started),
        "journal" => database(&file, &cwd, "DELETE", &mut started),
        other => panic!("{other}"),
    }
}

/// Half a line at a time, cut anywhere.
fn append(file: &str, go_on: &mut dyn FnMut() -> bool) {
    let mut out = OpenOptions::new().append(true).open(file).expect("file");
    let mut number = 0_usize;
    while go_on() {
        number += 1;
        let text = "growing ".repeat(number % 900);
        let line = json!({"isSidechain": false, "type": "assistant", "uuid": number.to_string(),
            "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}});
        let line = format!("{line}\n");
        let (head, tail) = line.as_bytes().split_at(number % line.len());
        out.write_all(head).expect("write");
        out.flush().expect("write");
        out.write_all(tail).expect("write");
    }
}

/// A new file under the same name, of either of two contents that are both sound.
fn replace(file: &str, go_on: &mut dyn FnMut() -> bool) {
    let sound = std::fs::read(file).expect("file");
    let mut longer = sound.clone();
    for _ in 0..3_000 {
        longer.extend_from_slice(b"{\"type\":\"mode\",\"mode\":\"plan\"}\n");
    }
    let end = sound[..sound.len() - 1]
        .iter()
        .rposition(|b| *b == b'\n')
        .expect("lines");
    longer.extend_from_slice(&sound[end + 1..]);
    let fresh = format!("{file}.new");
    let mut number = 0_usize;
    while go_on() {
        number += 1;
        let bytes = if number.is_multiple_of(2) {
            &sound
        } else {
            &longer
        };
        std::fs::write(&fresh, bytes).expect("write");
        std::fs::rename(&fresh, file).expect("rename");
    }
}

/// Pairs of sessions in one transaction each: a reader sees both or neither.
fn database(file: &str, cwd: &str, mode: &str, go_on: &mut dyn FnMut() -> bool) {
    let mut db = Connection::open(file).expect("database");
    db.query_row(&format!("PRAGMA journal_mode={mode}"), [], |_| Ok(()))
        .expect("mode");
    db.execute_batch("PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=20")
        .expect("settings");
    let mut number = 0_usize;
    while go_on() {
        number += 1;
        let pair = number % 40;
        let transaction = db.transaction().expect("transaction");
        for half in ["a", "b"] {
            let id = format!("ses_pair{pair:03}{half}");
            for table in ["session", "message"] {
                let column = if table == "session" {
                    "id"
                } else {
                    "session_id"
                };
                transaction
                    .execute(&format!("DELETE FROM {table} WHERE {column} = ?1"), [&id])
                    .expect("delete");
            }
            if (number / 40).is_multiple_of(2) {
                insert_opencode(&transaction, &id, cwd, &format!("Pair {pair}"));
            }
        }
        transaction.commit().expect("commit");
    }
}

#[test]
fn transcripts_that_grow_and_are_replaced_are_sound_at_every_moment() {
    let home = Home::new();
    let file = |number| home.path(&home.file(Provider::Claude, number));
    let mut writers = [
        Writer::new("append", &home, &file(1)),
        Writer::new("replace", &home, &file(2)),
    ];
    for _ in 0..ROUNDS {
        let found = home.discover_while_written();
        assert!(writers.iter_mut().all(Writer::writes), "a writer ended");
        for number in 1..=3 {
            // The name of the one that grows lies further and further from its end.
            let id = id(Provider::Claude, number);
            assert!(found.sendable(Provider::Claude, &id), "{}", found.run);
        }
        home.is_sound(&found, Provider::Claude, 2);
        home.is_sound(&found, Provider::Claude, 3);
        for number in 1..=3 {
            home.is_sound(&found, Provider::Gemini, number);
            home.is_sound(&found, Provider::OpenCode, number);
        }
    }
    writers.into_iter().for_each(Writer::let_go);
    home.discover();
}

/// Pairs are whole, or the store is said to be busy.
fn pairs(found: &Found) -> bool {
    let sessions = found
        .rows
        .keys()
        .filter(|(_, id)| id.starts_with("ses_pair"));
    let mut seen: Vec<&str> = sessions.map(|(_, id)| &id[..id.len() - 1]).collect();
    seen.sort_unstable();
    for pair in seen.chunk_by(|a, b| a == b) {
        assert_eq!(pair.len(), 2, "half a transaction: {pair:?}\n{}", found.run);
    }
    !seen.is_empty()
}

#[test]
fn a_database_that_is_written_all_the_time_shows_whole_transactions() {
    for mode in ["wal", "journal"] {
        let home = Home::new();
        let store = ".local/share/opencode/opencode.db";
        let mut writer = Writer::new(mode, &home, &home.path(store));
        let mut read = 0;
        for _ in 0..ROUNDS {
            let found = home.discover_while_written();
            assert!(writer.writes(), "the writer ended");
            for number in 1..=3 {
                for provider in [Provider::Claude, Provider::Codex, Provider::Copilot] {
                    home.is_sound(&found, provider, number);
                }
            }
            pairs(&found);
            if found.codes_at(store).contains(&"busy") {
                // Nothing is taken for gone that could not be looked at.
                let known = home.run(&["list", "agents", "--all", "--json"]);
                assert_eq!(known.code, 0, "{known}");
                continue;
            }
            read += 1;
            for number in 1..=3 {
                home.is_sound(&found, Provider::OpenCode, number);
            }
        }
        // With a log a reader is shut out only while checkpoint after checkpoint starts it over.
        assert!(mode == "journal" || read > 0, "{read} of {ROUNDS}");
        writer.let_go();
        let found = home.discover_sound();
        pairs(&found);
    }
}
