//! Codex threads that somebody has open (`providers/codex.md` C3 to C5): the message goes into
//! Codex's queue, once, to exactly the process that has the thread, and what nobody confirmed is
//! not claimed.

use crate::codex::scene_for;
use crate::codex_owner::{CALLS, DAEMON, EXEC, HOST, Owner, TERMINAL, called};
use crate::scene::{LONG, Ran, STEPS, Scene};
use axiowl_pipeline::edge::{Finding, Liveness};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Enough for what never comes to an end.
const SHORT: Duration = Duration::from_secs(8);
/// Takes it; who has the thread open has not come to it.
const TAKES: &str = r#"
add='ok "{\"queuedSubmission\":{\"id\":\"q1\"}}"; echo "$client" > "$H/waits"'
queue='if [ -e "$H/waits" ]; then ok "{\"data\":[{\"id\":\"q0\"},{\"id\":\"q1\",\"clientUserMessageId\":\"$(cat "$H/waits")\"}]}"; else ok "{\"data\":[]}"; fi'
delete='rm "$H/waits"; ok "{\"deleted\":true}"'
"#;
/// The server dies once it has read the message; what it did with it nobody says.
const DIES: &str = "add='exit 1'";

fn scene(settings: &str) -> Scene {
    scene_for("codex_cli", settings)
}

/// Waits for what a stand-in writes.
fn await_text(scene: &Scene, file: &str, text: &str) {
    let until = Instant::now() + LONG;
    while !scene.read(file).contains(text) {
        assert!(Instant::now() < until, "no {text} in {file}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// How often the queue was asked to take a message.
fn adds(scene: &Scene) -> usize {
    scene.read("input").matches("thread/queue/add").count() + {
        let calls = called(scene);
        let adds = calls.iter().filter(|method| *method == "thread/queue/add");
        adds.count()
    }
}

/// What Codex records once it came to the message, and when its turn is over.
fn record(scene: &Scene, line: &str) {
    let mut file = OpenOptions::new()
        .append(true)
        .open(&scene.transcript)
        .unwrap();
    writeln!(file, "{line}").unwrap();
}

/// Delivers, and the owner comes to the message once a file says something.
fn deliver_to_a_reader(scene: &Scene, file: &str, text: &str) -> Ran {
    thread::scope(|scope| {
        scope.spawn(|| {
            await_text(scene, file, text);
            record(scene, &format!("{{\"client_id\":\"{}\"}}", scene.message));
            await_text(scene, STEPS, "seen");
            record(scene, "{\"type\":\"task\",\"end\":true}");
        });
        scene.deliver(LONG)
    })
}

#[test]
fn a_message_for_an_open_thread_is_queued_once_and_followed_to_the_end_of_its_turn() {
    for (provider, words) in [("codex_cli", TERMINAL), ("codex", HOST)] {
        let scene = scene_for(provider, TAKES);
        let _owner = Owner::start(&scene, words, "takes");
        assert!(matches!(scene.probe(), Liveness::Door { route } if route.contains("private")));
        let ran = deliver_to_a_reader(&scene, STEPS, "queued");
        let steps = ["starting", "submitted", "queued", "seen", "turn_done"];
        ran.is(&steps, "ok");
        assert!(ran.evidence[1].detail.contains("entry=q1"), "{ran:?}");
        assert!(ran.evidence[2].detail.contains("before_it=1"), "{ran:?}");
        assert_eq!(adds(&scene), 1);
        let input = scene.read("input");
        let add = input.lines().find(|line| line.contains("queue/add"));
        let add: serde_json::Value = serde_json::from_str(add.unwrap()).unwrap();
        let params = &add["params"];
        let message = scene.message.to_string();
        assert_eq!(params["clientUserMessageId"], message.as_str());
        assert_eq!(params["input"][0]["text"], scene.body());
        let metadata = &params["responsesapiClientMetadata"];
        assert_eq!(metadata["axiowl_message_id"], message.as_str());
        // The thread is its owner's: nobody else loads it or starts a turn in it.
        for method in ["thread/resume", "turn/start"] {
            assert!(!input.contains(method), "{input}");
        }
    }
}

#[test]
fn the_daemon_that_has_the_thread_is_asked_itself() {
    let scene = scene(TAKES);
    let _owner = Owner::start(&scene, DAEMON, "takes");
    assert!(matches!(scene.probe(), Liveness::Door { route } if route.contains("daemon")));
    let ran = deliver_to_a_reader(&scene, STEPS, "queued");
    ran.is(
        &["starting", "submitted", "queued", "seen", "turn_done"],
        "ok",
    );
    assert_eq!(adds(&scene), 1);
    assert_eq!(scene.read("argv"), "", "no app-server beside the daemon");
}

#[test]
fn another_process_at_the_daemons_socket_gets_nothing() {
    let scene = scene(TAKES);
    let _owner = Owner::start(&scene, DAEMON, "takes");
    let socket = scene.file(".codex/app-server-control/app-server-control.sock");
    fs::remove_file(&socket).unwrap();
    let _impostor = UnixListener::bind(&socket).unwrap();
    let ran = scene.deliver(SHORT);
    ran.is(&[], "refused");
    ran.tells(&format!("process {} answers there", std::process::id()));
    assert_eq!(adds(&scene), 0);
}

#[test]
fn codex_exec_is_never_given_anything_to_queue() {
    let scene = scene(TAKES);
    let owner = Owner::start(&scene, EXEC, "takes");
    assert!(scene.closed().contains("`codex exec`"));
    scene.deliver(SHORT).is(&[], "refused");
    assert_eq!(scene.read("argv"), "", "no server was started");
    drop(owner);
    assert!(matches!(scene.probe(), Liveness::Idle { .. }));
}

/// What is done between the look at the owner and the handover, while the server starts.
fn deliver_with_a_change(scene: &Scene, change: impl FnOnce() + Send) -> Ran {
    thread::scope(|scope| {
        scope.spawn(|| {
            await_text(scene, "input", "initialize");
            change();
            fs::write(scene.file("changed"), "").unwrap();
        });
        scene.deliver(LONG)
    })
}

#[test]
fn a_thread_that_changes_hands_between_the_look_and_the_handover_gets_nothing() {
    let begin = r#"begin='while [ ! -e "$H/changed" ]; do sleep 0.05; done; ok "{}"'"#;
    for (next, end) in [
        (Some(TERMINAL), "not_submitted"),
        (Some(EXEC), "refused"),
        (None, "not_submitted"),
    ] {
        let scene = scene(&format!("{begin}\n{TAKES}"));
        let owner = Owner::start(&scene, HOST, "takes");
        let (owner, after) = (Mutex::new(Some(owner)), Mutex::new(None));
        let ran = deliver_with_a_change(&scene, || {
            drop(owner.lock().unwrap().take());
            *after.lock().unwrap() = next.map(|words| Owner::start(&scene, words, "takes"));
        });
        ran.is(&[], end);
        match next {
            Some(EXEC) => ran.tells("`codex exec`"),
            _ => ran.tells("has just changed; send again"),
        }
        assert_eq!(adds(&scene), 0, "{next:?}");
    }
}

#[test]
fn a_lost_answer_is_neither_sent_again_nor_claimed() {
    for (words, does, calls) in [
        (TERMINAL, "", "input"),
        (DAEMON, "dies", CALLS),
        (DAEMON, "hangs", CALLS),
    ] {
        let scene = scene(DIES);
        let owner = Owner::start(&scene, words, does);
        let ran = scene.deliver_leaving_a_trace(SHORT);
        ran.is(&["starting"], "uncertain");
        ran.tells("the transcript lacks it until now");
        assert_eq!(adds(&scene), 1, "{calls}: {}", scene.read(calls));
        // As long as it may come to it, nobody may say that it is not there.
        let found = scene.find(SHORT);
        assert!(matches!(found, Finding::Unknown { .. }), "{found:?}");
        // Its id in the rollout is the proof, whatever the answer would have been.
        record(&scene, &format!("{{\"client_id\":\"{}\"}}", scene.message));
        let found = scene.find(SHORT);
        assert!(matches!(found, Finding::Seen(_)), "{found:?}");
        assert_eq!(adds(&scene), 1);
        drop(owner);
    }
}

#[test]
fn a_message_whose_answer_was_lost_is_proven_by_its_id_alone() {
    for (words, does, calls) in [(TERMINAL, "", "input"), (DAEMON, "dies", CALLS)] {
        let scene = scene(DIES);
        let _owner = Owner::start(&scene, words, does);
        let ran = deliver_to_a_reader(&scene, calls, "thread/queue/add");
        // Nobody said that it was taken.
        ran.is(&["starting", "seen", "turn_done"], "ok");
        assert_eq!(adds(&scene), 1);
    }
}

#[test]
fn what_codex_does_not_take_is_not_queued_and_leaves_nothing_behind() {
    let none = scene("add='rpc_error -32601 \"method not found\"'");
    let _owner = Owner::start(&none, TERMINAL, "");
    let ran = none.deliver(SHORT);
    ran.is(&["starting"], "not_submitted");
    ran.tells("no queue for open threads");
    let child = scene("add='rpc_error -32600 \"direct app-server input is not allowed\"'");
    let _owner = Owner::start(&child, TERMINAL, "");
    let ran = child.deliver(SHORT);
    ran.is(&["starting"], "not_submitted");
    ran.tells("direct app-server input is not allowed");
    let dead = scene("begin='exit 1'");
    let _owner = Owner::start(&dead, TERMINAL, "");
    dead.deliver(SHORT).is(&[], "not_submitted");
}

#[test]
fn a_thread_that_is_closed_before_the_message_was_read_gives_it_back() {
    let scene = scene(TAKES);
    let owner = Mutex::new(Some(Owner::start(&scene, TERMINAL, "")));
    let ran = thread::scope(|scope| {
        scope.spawn(|| {
            await_text(&scene, STEPS, "queued");
            drop(owner.lock().unwrap().take());
        });
        scene.deliver(LONG)
    });
    ran.is(&["starting", "submitted", "queued"], "refused");
    ran.tells("taken back");
    assert!(
        !scene.file("waits").exists(),
        "it waits for nobody any more"
    );
    assert_eq!(scene.find(SHORT), Finding::Absent);
}

#[test]
fn a_thread_that_is_closed_with_a_message_that_nobody_can_find_is_uncertain() {
    // Codex lost it: it is neither in the queue nor in the rollout.
    let lost = scene(&format!("{TAKES}\nadd='ok \"{{}}\"'"));
    let owner = Mutex::new(Some(Owner::start(&lost, TERMINAL, "")));
    let ran = thread::scope(|scope| {
        scope.spawn(|| {
            await_text(&lost, STEPS, "submitted");
            drop(owner.lock().unwrap().take());
        });
        lost.deliver(LONG)
    });
    ran.is(&["starting", "submitted"], "uncertain");
    ran.tells("not in the thread's queue any more");
    assert_eq!(adds(&lost), 1);
}
