//! Reading leaves a provider's home exactly as it was: at rest, live, read-only, damaged.
//!
//! The live database belongs to another process, which is this test binary started again.

#![cfg(unix)]

use axiowl_lang::load::{Layer, LoadedRule, RuleFolder, load};
use axiowl_model::{Timestamp, codes};
use axiowl_sources::{ReadOptions, Tables, World, read_all};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Set in the child that plays another part; its value is the folder it works in.
const WRITER: &str = "AXIOWL_TEST_WRITER";
const READER: &str = "AXIOWL_TEST_READER";

const RULE: &str = "axiowl: 1
provider: sample
title: A sample provider
roots: { r: ~/.sample }
sources:
  threads:
    sqlite:
      path: \"{r}/state_*.sqlite\"
      pick: highest_number
      sql: SELECT * FROM threads
      columns: { id: text, name: text, file: text }
  heads:
    jsonl:
      path: \"{threads.file}\"
      take: [ { prefix: true, fields: { who: /who } } ]
  chats:
    jsonl:
      path: \"{r}/chats/*.jsonl\"
      tail: 64 KiB
      then: whole
      take: [ { probe: '\"title\"', fields: { title: /title } } ]
  settings:
    json: { path: \"{r}/state.json\", fields: { pinned: /pinned } }
rows: { from: threads, session: \"{id}\" }
name: { candidates: [ { from: name, label: name } ] }
status: [ { is: active } ]
proof: [ { source: sample_thread, grants: [enroll, send] } ]
";

fn rule() -> LoadedRule {
    let folder = RuleFolder::new("sample", Layer::Disk, "sample", RULE);
    load(&folder, &|_| None).unwrap_or_else(|found| panic!("{found:#?}"))
}

fn read(home: &Path) -> Tables {
    let world = World::real(home.into(), BTreeMap::new(), Timestamp::from_millis(0));
    let strong = [("chats".to_owned(), "title".to_owned())].into();
    read_all(
        &rule(),
        &world,
        &ReadOptions {
            strong_fields: strong,
            ..ReadOptions::default()
        },
    )
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        // Another user has to get in.
        fs::set_permissions(home.0.path(), Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(home.path("chats")).unwrap();
        fs::write(home.path("state.json"), "{\"pinned\":[\"a\"]}").unwrap();
        fs::write(home.path("head.jsonl"), "{\"who\":\"cli\"}\n").unwrap();
        let filler = "{\"text\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}\n".repeat(20_000);
        fs::write(
            home.path("chats/a.jsonl"),
            format!("{filler}{{\"title\":\"A\"}}\n{filler}"),
        )
        .unwrap();
        fs::write(home.path("chats/b.jsonl"), "{\"title\":\"B\"}\n{\"ti").unwrap();
        home
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(".sample").join(below)
    }

    fn database(&self) -> PathBuf {
        self.path("state_5.sqlite")
    }

    fn fill(&self, connection: &Connection) {
        let file = self.path("head.jsonl");
        let sql = format!(
            "PRAGMA journal_mode=WAL; CREATE TABLE threads(id, name, file);
             INSERT INTO threads VALUES ('one', 'One', '{}'), ('two', NULL, NULL);",
            file.display()
        );
        connection.execute_batch(&sql).unwrap();
    }

    /// Every file and folder: type and mode, owner, size, times, content.
    fn listing(&self) -> BTreeMap<PathBuf, String> {
        let mut out = BTreeMap::new();
        let mut left = vec![self.0.path().to_path_buf()];
        while let Some(path) = left.pop() {
            let meta = path.symlink_metadata().unwrap();
            let mut hasher = DefaultHasher::new();
            if meta.is_dir() {
                left.extend(
                    fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            } else {
                hasher.write(&fs::read(&path).unwrap());
            }
            let times = [
                meta.mtime(),
                meta.mtime_nsec(),
                meta.ctime(),
                meta.ctime_nsec(),
            ];
            let (mode, owner, size) = (meta.mode(), meta.uid(), meta.size());
            out.insert(
                path,
                format!("{mode:o} {owner} {size} {times:?} {:x}", hasher.finish()),
            );
        }
        out
    }

    /// Reads, and shows that nothing changed.
    fn read_untouched(&self) -> Tables {
        let before = self.listing();
        let tables = read(self.0.path());
        let again = read(self.0.path());
        assert_eq!(
            format!("{tables:?}"),
            format!("{again:?}"),
            "the same bytes, the same tables"
        );
        assert_eq!(before, self.listing());
        tables
    }
}

fn ids(tables: &Tables) -> Vec<&str> {
    tables.tables["threads"]
        .rows
        .iter()
        .filter_map(|row| row["id"].as_str())
        .collect()
}

fn codes_of(tables: &Tables) -> Vec<&str> {
    tables
        .issues
        .iter()
        .map(|issue| issue.code.as_str())
        .collect()
}

#[test]
fn a_home_at_rest() {
    let home = Home::new();
    home.fill(&Connection::open(home.database()).unwrap());
    assert!(!home.path("state_5.sqlite-wal").exists(), "closed cleanly");
    let tables = home.read_untouched();
    assert_eq!(
        (ids(&tables), codes_of(&tables)),
        (vec!["one", "two"], vec![])
    );
    assert_eq!(tables.tables["heads"].rows[0]["who"], "cli");
    assert_eq!(tables.tables["heads"].rows[0]["id"], "one");
    let titles: Vec<_> = tables.tables["chats"]
        .rows
        .iter()
        .map(|row| &row["title"])
        .collect();
    assert_eq!(titles, ["A", "B"]);
    assert_eq!(
        tables.roots["r"],
        home.path("").to_str().unwrap().trim_end_matches('/')
    );
}

/// The part of the writer, when this binary is started as one; else nothing.
#[test]
fn plays_the_writer() {
    let Some(database) = std::env::var_os(WRITER) else {
        return;
    };
    let connection = Connection::open(database).unwrap();
    connection
        .execute_batch("PRAGMA wal_autocheckpoint=0; INSERT INTO threads VALUES ('three', 'x', '')")
        .unwrap();
    println!("\nwriting");
    // Holds the database open until the parent closes the pipe.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn start(part: &str, variable: &str, value: &Path, user: Option<u32>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", part, "--nocapture"])
        .env(variable, value);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command.spawn().unwrap()
}

#[test]
fn a_database_that_another_process_keeps_open() {
    let home = Home::new();
    home.fill(&Connection::open(home.database()).unwrap());
    let mut writer = start("plays_the_writer", WRITER, &home.database(), None);
    // Kept to the end: a writer that cannot print would fail.
    let mut said = BufReader::new(writer.stdout.take().unwrap()).lines();
    assert!(
        said.by_ref()
            .map_while(Result::ok)
            .any(|line| line == "writing"),
        "the writer started"
    );
    assert!(home.path("state_5.sqlite-wal").metadata().unwrap().len() > 0);
    let tables = home.read_untouched();
    assert_eq!(
        (ids(&tables), codes_of(&tables)),
        (vec!["one", "two", "three"], vec![])
    );
    drop(writer.stdin.take());
    let rest = said.count();
    assert!(writer.wait().unwrap().success(), "{rest} more lines");
}

/// The part of a reader without privileges, when this binary is started as one.
#[test]
fn plays_the_reader() {
    let Some(home) = std::env::var_os(READER) else {
        return;
    };
    let tables = read(Path::new(&home));
    let incomplete: Vec<_> = tables
        .tables
        .iter()
        .filter(|(_, t)| t.incomplete)
        .map(|(n, _)| n)
        .collect();
    println!(
        "\nread {:?} {:?} {incomplete:?}",
        ids(&tables),
        codes_of(&tables)
    );
    std::io::stdout().flush().unwrap();
}

/// What a user without privileges reads; `None`, said in one line, where this process cannot
/// become one.
fn read_as_nobody(home: &Home) -> Option<String> {
    if fs::metadata("/proc/self").map(|meta| meta.uid()).ok() != Some(0) {
        println!("skipped: needs root to drop it");
        return None;
    }
    let before = home.listing();
    let output = start("plays_the_reader", READER, home.0.path(), Some(65_534)).wait_with_output();
    assert_eq!(before, home.listing());
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    Some(
        text.lines()
            .find_map(|line| line.strip_prefix("read "))
            .unwrap()
            .to_owned(),
    )
}

#[test]
fn a_home_that_cannot_be_written() {
    let home = Home::new();
    let connection = Connection::open(home.database()).unwrap();
    home.fill(&connection);
    connection.close().unwrap();
    if let Some(read) = read_as_nobody(&home) {
        assert_eq!(read, r#"["one", "two"] [] []"#);
    }
    let connection = Connection::open(home.database()).unwrap();
    connection
        .execute_batch("INSERT INTO threads VALUES ('live', '', '')")
        .unwrap();
    if let Some(read) = read_as_nobody(&home) {
        assert_eq!(read, r#"["one", "two", "live"] [] []"#);
    }
}

#[test]
fn files_that_cannot_be_read_cost_themselves_and_are_named() {
    let home = Home::new();
    home.fill(&Connection::open(home.database()).unwrap());
    let close =
        |below: &str| fs::set_permissions(home.path(below), Permissions::from_mode(0o000)).unwrap();
    close("chats/b.jsonl");
    close("state.json");
    if let Some(read) = read_as_nobody(&home) {
        let unreadable = codes::UNREADABLE;
        assert_eq!(
            read,
            format!(r#"["one", "two"] ["{unreadable}", "{unreadable}"] ["chats", "settings"]"#)
        );
    }
    close("state_5.sqlite");
    close("chats");
    if let Some(read) = read_as_nobody(&home) {
        assert!(
            read.starts_with("[] [") && read.ends_with(r#"["chats", "settings", "threads"]"#),
            "{read}"
        );
    }
    fs::set_permissions(home.path("chats"), Permissions::from_mode(0o755)).unwrap();
}
