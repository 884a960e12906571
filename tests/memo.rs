//! A discovery of what has not changed reads nothing again, and says and keeps the same as one
//! that reads everything: whatever changes in between, and whatever becomes of the cache.

mod program;

use axiowl_test_support::poll;
use program::{Axiowl, ROOT, Run};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

const FIRST: &str = "10000000-0000-4000-8000-000000000001";
const SECOND: &str = "10000000-0000-4000-8000-000000000002";
const NEW: &str = "10000000-0000-4000-8000-000000000003";

/// A machine with sessions of three providers, and the states of two that discover it: one with
/// a cache, one that never has any.
struct Machine {
    axiowl: Axiowl,
}

impl Machine {
    fn new() -> Self {
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

    fn home(&self) -> PathBuf {
        self.axiowl.home().canonicalize().expect("home")
    }

    fn transcript(&self, id: &str) -> PathBuf {
        let home = self.home();
        let work = home.join("projects/api");
        let flat = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let slug: String = work.to_str().expect("text").chars().map(flat).collect();
        home.join(format!(".claude/projects/{slug}/{id}.jsonl"))
    }

    fn claude(&self, id: &str, title: &str) {
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

    fn echo(&self, digit: char, name: &str) {
        let id = format!("0190aaaa-0000-7000-8000-00000000ec4{digit}");
        let cwd = self.home().join("projects/api");
        let record = json!({ "type": "session", "id": id, "name": name, "cwd": cwd });
        let file = format!("home/.axiowl-echo/{id}.jsonl");
        self.axiowl.write(&file, format!("{record}\n"));
    }

    fn append(&self, id: &str, record: &Value) {
        use std::io::Write as _;
        let file = File::options().append(true).open(self.transcript(id));
        writeln!(file.expect("transcript"), "{record}").expect("record");
    }

    fn codex(&self) -> rusqlite::Connection {
        open(&self.home().join(".codex/state_5.sqlite"))
    }

    /// Until every file is old enough for a run to trust what it saw of it.
    fn settle(&self) {
        let old = || newest(&self.home()) + Duration::from_millis(2_100) <= SystemTime::now();
        let waited = poll(Duration::from_secs(30), || old().then_some(()));
        assert!(waited.is_some(), "time passes");
    }

    fn discover(&self, state: &str, more: &[&str]) -> Run {
        let run = self
            .axiowl
            .run(&[&["--state", &self.state(state), "discover", "all"], more].concat());
        assert_eq!(run.code, 0, "{run}");
        run
    }

    fn state(&self, state: &str) -> String {
        self.axiowl.path(state).display().to_string()
    }

    fn cached(&self) -> Run {
        self.discover("cached", &[])
    }

    /// The table, without the times at which it was written.
    fn table(&self, state: &str) -> Vec<Vec<String>> {
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

    fn tsv(&self, state: &str) -> String {
        let file = self.axiowl.path(&format!("{state}/registry/agents.tsv"));
        fs::read_to_string(file).expect("registry")
    }

    /// The providers that a run found unchanged, by the log since the last look.
    fn unchanged(&self, run: impl FnOnce()) -> BTreeSet<String> {
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
    fn same_after(&self, change: impl FnOnce(&Self)) -> BTreeSet<String> {
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

fn open(path: &Path) -> rusqlite::Connection {
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

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn what_has_not_changed_is_not_read_and_the_registry_stays_as_it_is() {
    let machine = Machine::new();
    let first = machine.cached();
    let tsv = machine.tsv("cached");
    assert!(tsv.contains("First") && tsv.contains("Echo"), "{tsv}");
    let mut second = None;
    let unchanged = machine.unchanged(|| second = Some(machine.cached()));
    assert_eq!(
        unchanged,
        set(&["claude_code_cli", "codex", "codex_cli", "echo"])
    );
    assert_eq!(machine.tsv("cached"), tsv, "byte for byte");
    // It says what a run that reads everything says.
    let said = |run: &Run| {
        run.stdout
            .replace(&machine.state("plain"), &machine.state("cached"))
    };
    machine.discover("plain", &["--no-cache"]);
    let plain = machine.discover("plain", &["--no-cache"]);
    assert_eq!(said(&second.expect("a run")), said(&plain));
    assert_ne!(first.stdout, plain.stdout, "new targets are known ones now");
}

#[test]
fn what_others_read_or_only_look_at_is_read_whatever_is_known() {
    let machine = Machine::new();
    machine.cached();
    for more in [
        &["--json"][..],
        &["--dry-run"],
        &["--target", "First"],
        &["--no-cache"],
    ] {
        let unchanged = machine.unchanged(|| drop(machine.discover("cached", more)));
        assert_eq!(unchanged, set(&[]), "{more:?}");
    }
}

#[test]
fn a_run_shows_where_its_time_went_and_why_it_read_anew() {
    let machine = Machine::new();
    let shown = |more: &[&str]| -> String {
        let state = machine.state("cached");
        let run = [&["--state", &state, "discover", "echo", "--timings"], more].concat();
        machine.axiowl.run(&run).stdout
    };
    let first = shown(&[]);
    assert!(
        first.contains("read anew  nothing is known of it"),
        "{first}"
    );
    assert!(
        first.contains("judge (1)") && first.contains("merge (1)"),
        "{first}"
    );
    let second = shown(&[]);
    assert!(
        second.contains("compare") && !second.contains("judge"),
        "{second}"
    );
    machine.echo('1', "Another");
    let third = shown(&[]);
    assert!(
        third.contains("read anew  ") && third.contains("changed"),
        "{third}"
    );
    let plain = shown(&["--no-cache"]);
    assert!(
        plain.contains("judge (1)") && !plain.contains("compare"),
        "{plain}"
    );
    let state = machine.state("cached");
    let json = machine
        .axiowl
        .run(&["--state", &state, "discover", "echo", "--timings", "--json"]);
    let stages = json.lines("discovery_timing");
    let judged = stages.iter().find(|line| line["stage"] == "judge");
    let judged = judged.unwrap_or_else(|| panic!("{json}"));
    assert!(
        judged["count"] == 1 && judged["cpu_ms"].as_f64() > Some(0.0),
        "{json}"
    );
    assert!(
        stages
            .iter()
            .any(|line| line["stage"].as_str() > Some("read ")),
        "{json}"
    );
}

#[test]
fn a_renamed_session_is_seen() {
    let machine = Machine::new();
    let unchanged = machine.same_after(|machine| {
        let named = json!({ "type": "custom-title", "customTitle": "Renamed", "sessionId": FIRST });
        machine.append(FIRST, &named);
    });
    assert_eq!(unchanged, set(&["codex", "codex_cli", "echo"]));
    assert!(machine.tsv("cached").contains("Renamed"));
    // What did not change is known with the new registry too.
    let unchanged = machine.unchanged(|| drop(machine.cached()));
    assert!(
        unchanged.is_superset(&set(&["codex", "codex_cli", "echo"])),
        "{unchanged:?}"
    );
}

#[test]
fn a_new_session_and_one_that_is_gone_are_seen() {
    let machine = Machine::new();
    let unchanged = machine.same_after(|machine| machine.claude(NEW, "Third"));
    assert!(!unchanged.contains("claude_code_cli"));
    let machine = Machine::new();
    let gone = |machine: &Machine| fs::remove_file(machine.transcript(SECOND)).expect("gone");
    machine.same_after(gone);
}

#[test]
fn a_folder_that_is_gone_is_seen_though_no_file_of_the_provider_changed() {
    let machine = Machine::new();
    let unchanged = machine.same_after(|machine| {
        fs::rename(
            machine.home().join("projects/api"),
            machine.home().join("moved"),
        )
        .expect("move");
    });
    assert!(
        !unchanged.contains("claude_code_cli") && !unchanged.contains("echo"),
        "{unchanged:?}"
    );
}

#[test]
fn what_stands_only_in_the_log_of_a_database_is_seen() {
    let machine = Machine::new();
    let database = machine.codex();
    database
        .pragma_update(None, "journal_mode", "wal")
        .expect("a log");
    machine.settle();
    machine.same_after(|_| {
        let sql = "UPDATE threads SET name = 'Named in the log' WHERE name IS NOT NULL";
        let changed = database.execute(sql, []).expect("an update");
        assert!(changed > 0);
    });
    assert!(machine.tsv("cached").contains("Named in the log"));
    drop(database);
}

#[cfg(unix)]
#[test]
fn a_file_rewritten_with_its_old_size_and_time_is_seen() {
    let machine = Machine::new();
    machine.same_after(|machine| {
        let path = machine.transcript(FIRST);
        let before = fs::metadata(&path).expect("metadata");
        let text = fs::read_to_string(&path).expect("text");
        fs::write(&path, text.replace("\"First\"", "\"Other\"")).expect("rewritten");
        let file = File::options().write(true).open(&path).expect("file");
        file.set_modified(before.modified().expect("time"))
            .expect("old time");
        let after = fs::metadata(&path).expect("metadata");
        assert_eq!(after.len(), before.len());
    });
    assert!(machine.tsv("cached").contains("Other"));
}

#[test]
fn a_rule_of_the_user_counts_at_once() {
    let machine = Machine::new();
    machine.same_after(|machine| {
        let mine = machine.axiowl.path("home/.config/axiowl/rules/echo");
        machine.axiowl.copy_rule("echo", &mine);
        let rule = fs::read_to_string(mine.join("rule.yaml")).expect("rule");
        assert!(rule.contains("\"{name} agent\""), "{rule}");
        let rule = rule.replace("\"{name} agent\"", "\"{name} parrot\"");
        fs::write(mine.join("rule.yaml"), rule).expect("rule");
    });
    assert!(machine.tsv("cached").contains("Echo parrot"));
}

#[test]
fn what_somebody_changed_in_the_registry_is_merged_with() {
    let machine = Machine::new();
    machine.cached();
    let state = machine.state("cached");
    let agents = machine
        .axiowl
        .run(&["--state", &state, "registry", "remove", "First"]);
    assert_eq!(agents.code, 0, "{agents}");
    assert!(!machine.tsv("cached").contains("First"));
    let unchanged = machine.unchanged(|| drop(machine.cached()));
    assert_eq!(unchanged, set(&[]));
    assert!(machine.tsv("cached").contains("First"), "found again");
}

#[test]
fn a_cache_that_is_deleted_damaged_or_anothers_costs_a_discovery_and_no_row() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 6] = [
        ("deleted", |cache| fs::remove_dir_all(cache).expect("gone")),
        ("emptied", |cache| each(cache, |_| Vec::new())),
        ("cut", |cache| {
            each(cache, |bytes| bytes[..bytes.len() / 2].to_vec())
        }),
        ("changed", |cache| {
            each(cache, |mut bytes| {
                let at = bytes.len() - 20;
                bytes[at] ^= 1;
                bytes
            })
        }),
        ("no text", |cache| each(cache, |_| vec![0xff; 4096])),
        ("another's", |cache| {
            let other = fs::read(cache.join("echo.json")).expect("a memo");
            each(cache, |_| other.clone());
        }),
    ];
    let machine = Machine::new();
    machine.cached();
    let known = machine.table("cached");
    for (what, harm) in harms {
        machine.cached();
        let cache = machine.axiowl.path("cached/cache");
        assert!(cache.join("echo.json").exists(), "{what}");
        harm(&cache);
        // Another's memo of echo is echo's own.
        let left = if what == "another's" {
            set(&["echo"])
        } else {
            set(&[])
        };
        assert_eq!(machine.unchanged(|| drop(machine.cached())), left, "{what}");
        assert_eq!(machine.table("cached"), known, "{what}");
        let all = set(&["claude_code_cli", "codex", "codex_cli", "echo"]);
        assert_eq!(
            machine.unchanged(|| drop(machine.cached())),
            all,
            "{what}: known again"
        );
    }
}

fn each(folder: &Path, harm: impl Fn(Vec<u8>) -> Vec<u8>) {
    for entry in fs::read_dir(folder).expect("cache").flatten() {
        let bytes = fs::read(entry.path()).expect("memo");
        fs::write(entry.path(), harm(bytes)).expect("harm");
    }
}

#[test]
fn discoveries_at_once_share_a_cache_while_sessions_come_and_end_with_the_right_rows() {
    let machine = Machine::new();
    machine.cached();
    machine.discover("plain", &["--no-cache"]);
    let start = || -> Child {
        let state = machine.state("cached");
        machine
            .axiowl
            .command(&["--state", &state, "discover", "all"])
            .stdout(Stdio::null())
            .spawn()
            .expect("a discovery")
    };
    for round in 0..4 {
        let mut running: Vec<Child> = (0..3).map(|_| start()).collect();
        let title = format!("Round {round}");
        let named = json!({ "type": "custom-title", "customTitle": title, "sessionId": FIRST });
        machine.append(FIRST, &named);
        machine.echo(char::from_digit(round + 2, 10).expect("digit"), &title);
        for child in &mut running {
            assert!(child.wait().expect("an end").success());
        }
    }
    machine.cached();
    machine.discover("plain", &["--no-cache"]);
    // Names that only one of the two saw on the way stay as aliases.
    let without_aliases = |state: &str| {
        let mut rows = machine.table(state);
        rows.iter_mut().for_each(|row| drop(row.remove(2)));
        rows
    };
    assert_eq!(without_aliases("cached"), without_aliases("plain"));
    machine.settle();
    machine.cached();
    let all = set(&["claude_code_cli", "codex", "codex_cli", "echo"]);
    assert_eq!(machine.unchanged(|| drop(machine.cached())), all);
}
