//! The machine whose discovery is repeated, and what its two states hold.

use crate::program::{self, Axiowl, ROOT, Run};
use axiowl_test_support::poll;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub const FIRST: &str = "10000000-0000-4000-8000-000000000001";
pub const SECOND: &str = "10000000-0000-4000-8000-000000000002";
pub const NEW: &str = "10000000-0000-4000-8000-000000000003";

/// A machine with sessions of three providers, and the states of two that discover it: one with
/// a cache, one that never has any.
pub struct Machine {
    pub axiowl: Axiowl,
}

impl Machine {
    pub fn new() -> Self {
        let axiowl = Axiowl::new();
        let home = axiowl.home().canonicalize().expect("home");
        program::copy_tree(&Path::new(ROOT).join("rules/codex/fixtures/home"), &home);
        let sql = fs::read_to_string(home.join(".codex/state_5.sqlite.sql")).expect("sql");
        let sql = sql.replace("/home/dev", home.to_str().expect("text"));
        let database = open(&home.join(".codex/state_5.sqlite"));
        database.execute_batch(&sql).expect("the fixture's SQL");
        drop(database);
        fs::create_dir_all(home.join("projects/webshop")).expect("folder");
        fs::create_dir_all(home.join("projects/api")).expect("folder");
        let machine = Self { axiowl };
        machine.claude(FIRST, "First");
        machine.claude(SECOND, "Second");
        machine.echo('1', "Echo");
        machine.settle();
        machine
    }

    pub fn home(&self) -> PathBuf {
        self.axiowl.home().canonicalize().expect("home")
    }

    pub fn transcript(&self, id: &str) -> PathBuf {
        let home = self.home();
        let work = home.join("projects/api");
        let flat = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let slug: String = work.to_str().expect("text").chars().map(flat).collect();
        home.join(format!(".claude/projects/{slug}/{id}.jsonl"))
    }

    pub fn claude(&self, id: &str, title: &str) {
        let cwd = self.home().join("projects/api");
        let said = json!({
            "type": "user", "uuid": id, "parentUuid": null, "sessionId": id, "cwd": cwd,
            "version": "2.1.332", "userType": "external", "isSidechain": false,
            "timestamp": "2026-05-01T10:00:00.000Z",
            "message": { "role": "user", "content": "hello" },
        });
        let named = json!({ "type": "custom-title", "customTitle": title, "sessionId": id });
        let path = self.transcript(id);
        fs::create_dir_all(path.parent().expect("folder")).expect("folder");
        fs::write(path, format!("{said}\n{named}\n")).expect("transcript");
    }

    pub fn echo(&self, digit: char, name: &str) {
        let id = format!("0190aaaa-0000-7000-8000-00000000ec4{digit}");
        let cwd = self.home().join("projects/api");
        let record = json!({ "type": "session", "id": id, "name": name, "cwd": cwd });
        let file = format!("home/.axiowl-echo/{id}.jsonl");
        self.axiowl.write(&file, format!("{record}\n"));
    }

    pub fn append(&self, id: &str, record: &Value) {
        use std::io::Write as _;
        let file = File::options().append(true).open(self.transcript(id));
        writeln!(file.expect("transcript"), "{record}").expect("record");
    }

    pub fn codex(&self) -> rusqlite::Connection {
        open(&self.home().join(".codex/state_5.sqlite"))
    }

    /// Until every file is old enough for a run to trust what it saw of it.
    pub fn settle(&self) {
        let old = || newest(&self.home()) + Duration::from_millis(2_100) <= SystemTime::now();
        let waited = poll(Duration::from_secs(30), || old().then_some(()));
        assert!(waited.is_some(), "time passes");
    }

    pub fn discover(&self, state: &str, more: &[&str]) -> Run {
        let run = self
            .axiowl
            .run(&[&["--state", &self.state(state), "discover", "all"], more].concat());
        assert_eq!(run.code, 0, "{run}");
        run
    }

    pub fn state(&self, state: &str) -> String {
        self.axiowl.path(state).display().to_string()
    }

    pub fn cached(&self) -> Run {
        self.discover("cached", &[])
    }

    /// The table, without the times at which it was written.
    pub fn table(&self, state: &str) -> Vec<Vec<String>> {
        let text = self.tsv(state);
        let mut lines = text
            .lines()
            .map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
        let header = lines.next().expect("header");
        let kept: Vec<usize> = (0..header.len())
            .filter(|at| !["first_seen_at", "last_verified_at"].contains(&header[*at].as_str()))
            .collect();
        lines
            .map(|line| kept.iter().map(|at| line[*at].clone()).collect())
            .collect()
    }

    pub fn tsv(&self, state: &str) -> String {
        let file = self.axiowl.path(&format!("{state}/registry/agents.tsv"));
        fs::read_to_string(file).expect("registry")
    }

    /// The providers that a run found unchanged, by the log since the last look.
    pub fn unchanged(&self, run: impl FnOnce()) -> BTreeSet<String> {
        let log = self.axiowl.path("cached/evidence.log");
        let length = |log: &Path| log.metadata().map_or(0, |metadata| metadata.len());
        let before = usize::try_from(length(&log)).expect("length");
        run();
        let text = fs::read_to_string(&log).expect("log");
        text[before..]
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            .filter(|line| line["event"] == "discovery_unchanged")
            .map(|line| line["provider"].as_str().expect("text").to_owned())
            .collect()
    }

    /// A discovery with a cache after a change, against one that reads everything.
    pub fn same_after(&self, change: impl FnOnce(&Self)) -> BTreeSet<String> {
        self.cached();
        self.discover("plain", &["--no-cache"]);
        let before = self.table("cached");
        change(self);
        let unchanged = self.unchanged(|| drop(self.cached()));
        self.discover("plain", &["--no-cache"]);
        let after = self.table("cached");
        assert_eq!(after, self.table("plain"));
        assert_ne!(before, after, "the change shows");
        assert!(!self.axiowl.path("plain/cache").exists());
        unchanged
    }
}

pub fn open(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path).expect("database")
}

/// The newest change below a folder.
fn newest(folder: &Path) -> SystemTime {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(folder).expect("folder").flatten() {
        let metadata = entry.metadata().expect("metadata");
        newest = newest.max(changed(&metadata));
        if metadata.is_dir() {
            newest = newest.max(self::newest(&entry.path()));
        }
    }
    newest
}

fn changed(metadata: &fs::Metadata) -> SystemTime {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let seconds = u64::try_from(metadata.ctime()).unwrap_or_default();
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds + 1)
    }
    #[cfg(not(unix))]
    metadata.modified().expect("a time")
}

pub fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
