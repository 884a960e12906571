//! Several processes on one registry: none loses what another wrote, and one that is killed
//! at any moment leaves a whole table and no lock. The processes are this test binary again.

use axiowl_model::{DiscoveredAgent, Kind, SessionKey, Status, Timestamp};
use axiowl_registry::{MergeOptions, Registry};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const STATE: &str = "AXIOWL_REGISTRY_TEST_STATE";
const NUMBER: &str = "AXIOWL_REGISTRY_TEST_NUMBER";
const ROWS: usize = 150;
/// Long enough that writing the table takes a good part of a merge.
const FOLDER: usize = 8192;

fn folder(generation: i64) -> String {
    format!("/{generation:0>FOLDER$}")
}

fn found(session: String, generation: i64, cwd: String) -> DiscoveredAgent {
    DiscoveredAgent {
        key: SessionKey::local("codex", &session),
        display_name: Some(format!("Session {session}")),
        weak_name: false,
        status: Status::Active,
        kind: Kind::Main,
        sendable: true,
        has_enrollment_proof: true,
        source: "codex_desktop_thread_state".into(),
        evidence: Vec::new(),
        aliases: Vec::new(),
        guarded_aliases: Vec::new(),
        last_seen_at: Some(Timestamp::from_millis(generation)),
        last_error: None,
        cwd: Some(cwd),
        home: String::new(),
        reason: String::new(),
        trace: Vec::new(),
    }
}

fn options(now: i64, targeted: bool) -> MergeOptions {
    MergeOptions {
        provider: "codex".into(),
        node: "local".into(),
        home: None,
        now: Timestamp::from_millis(now),
        targeted,
        prune: false,
        complete: true,
    }
}

/// Another run of one test of this file. Ends with the test that started it.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(test: &str, state: &std::path::Path, number: i64) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(STATE, state)
            .env(NUMBER, number.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    /// The number in the next line that says `done <number>`.
    fn next_done(&mut self) -> i64 {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some(number) = line.trim().strip_prefix("done ") {
                return number.parse().unwrap();
            }
            line.clear();
        }
        panic!("the process ended by itself");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The state folder and number of a started process; `None` in the test itself.
fn task() -> Option<(Registry, i64)> {
    let state = std::env::var_os(STATE)?;
    let number = std::env::var(NUMBER).unwrap().parse().unwrap();
    Some((Registry::at(state), number))
}

fn say_done(number: i64) -> bool {
    let mut out = std::io::stdout();
    writeln!(out, "\ndone {number}")
        .and_then(|()| out.flush())
        .is_ok()
}

#[test]
fn a_process_killed_at_any_moment_leaves_the_old_or_the_new_table() {
    if let Some((registry, mut generation)) = task() {
        // Merges for ever, each time changing every row.
        loop {
            generation += 1;
            let report: Vec<_> = (0..ROWS)
                .map(|n| found(format!("s{n}"), generation, folder(generation)))
                .collect();
            registry
                .merge(&report, &options(generation, false))
                .unwrap();
            if !say_done(generation) {
                return;
            }
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::at(dir.path());
    // The generation that every row of the table belongs to.
    let generation = || {
        let snapshot = registry.load().unwrap();
        assert_eq!(snapshot.issues(), []);
        assert_eq!(snapshot.agents().len(), ROWS);
        let first = snapshot.agents()[0].last_verified_at.unwrap();
        let folder = folder(first.as_millis());
        for row in snapshot.agents() {
            assert_eq!(row.last_verified_at, Some(first));
            assert!(row.cwd == folder, "{}", row.agent_id());
            assert!(row.is_target());
        }
        first.as_millis()
    };
    let mut reached = 0;
    for round in 0..40 {
        let test = "a_process_killed_at_any_moment_leaves_the_old_or_the_new_table";
        let mut process = Process::start(test, dir.path(), reached);
        let mut done = 0;
        for _ in 0..=round % 4 {
            done = process.next_done();
        }
        // Readings while it writes; their number moves the moment of the kill.
        for _ in 0..round % 7 {
            assert!(generation() >= done);
        }
        process.child.kill().unwrap();
        process.child.wait().unwrap();
        reached = generation();
        assert!(reached >= done, "what a merge returned from is there");
    }
    assert!(!dir.path().join("registry/damaged.tsv").exists());
    registry.rename("s0", None, "Still writable").unwrap();
}

#[test]
fn processes_that_merge_at_once_lose_nothing() {
    const EACH: i64 = 20;
    const PROCESSES: i64 = 4;
    if let Some((registry, number)) = task() {
        assert!(say_done(0));
        let mut go = String::new();
        std::io::stdin().read_line(&mut go).unwrap();
        for n in 0..EACH {
            let report = [
                found(format!("p{number}-{n}"), n, String::new()),
                found("shared".into(), n, String::new()),
            ];
            registry.merge(&report, &options(n, true)).unwrap();
            let alias = format!("alias {number} {n}");
            registry.add_alias("shared", None, &alias).unwrap();
        }
        assert!(say_done(1));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut processes: Vec<_> = (0..PROCESSES)
        .map(|n| Process::start("processes_that_merge_at_once_lose_nothing", dir.path(), n))
        .collect();
    for process in &mut processes {
        assert_eq!(process.next_done(), 0);
    }
    for process in &mut processes {
        process.input.write_all(b"go\n").unwrap();
    }
    for process in &mut processes {
        assert_eq!(process.next_done(), 1);
        assert!(process.child.wait().unwrap().success());
    }
    let snapshot = Registry::at(dir.path()).load().unwrap();
    assert_eq!(snapshot.issues(), []);
    assert_eq!(snapshot.targets().count() as i64, PROCESSES * EACH + 1);
    let shared = snapshot.get(&SessionKey::local("codex", "shared")).unwrap();
    let own = shared
        .aliases
        .iter()
        .filter(|alias| alias.starts_with("alias "));
    assert_eq!(own.count() as i64, PROCESSES * EACH);
}
