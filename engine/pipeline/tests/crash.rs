//! Workers as processes that are killed. The test binary starts itself again as the worker.
#![cfg(unix)]

mod fake;

use axiowl_model::{MessageId, Stage};
use axiowl_pipeline::{SendRequest, StartWorker, WorkerProcesses};
use fake::{PaperEdge, State, key, quick, run_worker, until};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const STATE: &str = "AXIOWL_TEST_STATE";
const MESSAGE: &str = "AXIOWL_TEST_MESSAGE";
const PARK_AT: &str = "AXIOWL_TEST_PARK_AT";

/// Not a test by itself: what the worker process runs.
#[test]
fn worker_process() {
    let (Ok(state), Ok(message)) = (std::env::var(STATE), std::env::var(MESSAGE)) else {
        return;
    };
    let state = Path::new(&state).to_owned();
    let park_at = std::env::var(PARK_AT).unwrap_or_default();
    let marker = state.join("parked");
    let edge = PaperEdge::new(&state).hook(move |point, _| {
        if point == park_at {
            std::fs::write(&marker, point).unwrap();
            loop {
                std::thread::park();
            }
        }
    });
    let id: MessageId = message.parse().unwrap();
    run_worker(&state, id, &edge.table(), &quick()).unwrap();
}

fn spawn(state: &State, id: MessageId, park_at: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["worker_process", "--exact", "--nocapture"])
        .env(STATE, state.root())
        .env(MESSAGE, id.to_string())
        .env(PARK_AT, park_at)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn parked(state: &State) {
    let marker = state.root().join("parked");
    until("the worker at its point", || marker.exists());
    std::fs::remove_file(marker).unwrap();
}

#[test]
fn a_worker_killed_at_any_point_is_followed_by_one_that_finishes_without_a_second_copy() {
    for point in [
        "before_starting",
        "starting",
        "written",
        "submitted",
        "seen",
    ] {
        let state = State::new();
        state.agent("Beta", "b");
        let id = state.message("Beta");
        let later = state.message("Beta");
        let mut first = spawn(&state, id, point);
        parked(&state);
        // The next one waits while the first lives.
        let mut second = spawn(&state, later, "");
        first.kill().unwrap();
        // Not reaped yet: a zombie holds neither lock nor lease.
        assert!(second.wait().unwrap().success(), "{point}");
        first.wait().unwrap();
        let ids = [id.to_string(), later.to_string()];
        assert_eq!(state.edge().got(&key("b")), ids, "{point}");
        for id in [id, later] {
            assert_eq!(
                state.stages(id).last().unwrap().stage,
                Stage::TurnDone,
                "{point}"
            );
        }
    }
}

#[test]
fn a_message_without_a_worker_is_taken_up_by_the_next_send_or_status() {
    let state = State::new();
    state.agent("Beta", "b");
    state.agent("Gamma", "c");
    let id = state.message("Beta");
    let mut first = spawn(&state, id, "starting");
    parked(&state);
    let queued = state.message("Beta");
    let mut waits = spawn(&state, queued, "");
    let pipeline = state.pipeline();
    // One delivers and one is next: nothing to do.
    until("nobody abandoned", || {
        pipeline.resume_abandoned().unwrap().is_empty()
    });
    waits.kill().unwrap();
    waits.wait().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(pipeline.resume_abandoned().unwrap(), [id]);
    state.started.0.lock().unwrap().clear();
    let other = state
        .send(&SendRequest::new("Gamma", "hello"))
        .unwrap()
        .line
        .message_id;
    assert_eq!(state.started.0.lock().unwrap().as_slice(), [other, id]);
    assert!(spawn(&state, id, "").wait().unwrap().success());
    assert_eq!(
        state.edge().got(&key("b")),
        [id.to_string(), queued.to_string()]
    );
    assert_eq!(pipeline.resume_abandoned().unwrap(), [other]);
}

#[test]
fn a_worker_is_started_apart_and_gets_no_body() {
    use std::os::unix::fs::PermissionsExt;
    let state = State::new();
    let program = state.root().join("fake-axiowl");
    // Written elsewhere and moved, so that no other thread's child holds it open for writing.
    let script = "#!/bin/sh\n{ pwd; printf '%s\\n' \"$@\"; cut -d' ' -f1,5 /proc/self/stat; \
                  cat; } > out.new\necho complaint >&2\nmv out.new out\n";
    let copied = Command::new("sh")
        .args(["-c", "cat > \"$1\" && chmod 700 \"$1\"", "sh"])
        .arg(&program)
        .stdin(Stdio::piped())
        .spawn()
        .and_then(|mut child| {
            use std::io::Write as _;
            child.stdin.take().unwrap().write_all(script.as_bytes())?;
            child.wait()
        })
        .unwrap();
    assert!(copied.success());
    let workers = WorkerProcesses::new(&program, state.root())
        .unwrap()
        .with_args(["--home", "/elsewhere"]);
    let id = MessageId::new();
    workers.start(id).unwrap();
    let out = state.root().join("out");
    until("the worker's output", || out.exists());
    let out = std::fs::read_to_string(out).unwrap();
    let lines: Vec<_> = out.lines().collect();
    let root = state.root().canonicalize().unwrap();
    assert_eq!(Path::new(lines[0]), root, "its folder is the state root");
    let id = id.to_string();
    let root = state.root().to_str().unwrap();
    assert_eq!(
        lines[1..8],
        [
            "worker",
            "--state",
            root,
            "--message",
            &id,
            "--home",
            "/elsewhere"
        ]
    );
    if let Some((_, group)) = lines.get(8).and_then(|line| line.split_once(' ')) {
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        let own = own
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .nth(2)
            .unwrap()
            .to_owned();
        assert_ne!(group, own, "its process group is its own");
    }
    let log = state.root().join("worker.log");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "complaint\n");
    assert_eq!(
        std::fs::metadata(&log).unwrap().permissions().mode() & 0o777,
        0o600
    );

    let missing = WorkerProcesses::new(state.root().join("none"), state.root()).unwrap();
    assert!(missing.start(MessageId::new()).is_err());
}
