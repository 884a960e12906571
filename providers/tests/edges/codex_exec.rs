//! `providers/codex.md` C1: `codex exec resume`, where the app-server cannot do it.

use crate::codex::scene_for;
use crate::scene::{LONG, OTHER, Ran, SESSION, Scene};
use std::time::Duration;

const PRELUDE: &str = r#"
env > "$H/env"
body=$(cat); printf '%s' "$body" > "$H/body"
client=${body#\[AxiOwl }; client=${client%%]*}
say() { printf '%s\n' "$1"; }
thread() { say "{\"type\":\"thread.started\",\"thread_id\":\"$1\"}"; }
event() { say "{\"type\":\"$1\",\"error\":{\"message\":\"$2\"}}"; }
record() { echo "{\"text\":\"[AxiOwl $client]\"}" >> "$T"; }
end() { echo "{\"end\":$1}" >> "$T"; }
"#;

/// A Codex without an app-server whose `exec resume` does `does`.
fn scene(does: &str) -> Scene {
    let mut scene = scene_for("codex_cli", "");
    let exec = scene.file("exec.sh");
    std::fs::write(exec, format!("{PRELUDE}\n{does}\nexit 0\n")).unwrap();
    let old = "[ \"$1\" = app-server ] && { echo \"$*\" >> \"$H/argv\"; echo 'error: unrecognized subcommand' >&2; exit 2; }";
    scene.program("codex", &format!("{old}\n{}", crate::codex::CODEX));
    scene
}

fn deliver(does: &str) -> Ran {
    scene(does).deliver(LONG)
}

#[test]
fn it_is_the_last_resort_and_gets_the_body_on_its_input() {
    let scene =
        scene("thread $SESSION; event turn.started; record; end true; event turn.completed");
    let ran = scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert!(ran.evidence[0].detail.contains("no app-server"), "{ran:?}");
    let resume = format!("exec resume --json --skip-git-repo-check {SESSION} -");
    assert_eq!(scene.read("argv"), format!("app-server\n{resume}\n"));
    assert_eq!(scene.read("body"), scene.body());
}

#[test]
fn an_app_server_without_the_call_is_no_app_server() {
    let mut scene =
        scene("thread $SESSION; event turn.started; record; end true; event turn.completed");
    let old = "resume='rpc_error -32600 \"unknown variant `thread/resume`\"'".replace('`', "");
    scene.program("codex", &format!("{old}\n{}", crate::codex::CODEX));
    let ran = scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert!(ran.evidence[0].detail.contains("thread/resume"), "{ran:?}");
}

#[test]
fn another_thread_is_misdelivered_and_stopped_at_once() {
    let ran = deliver("thread $OTHER; event turn.started; sleep 600");
    ran.is(&["starting"], "misdelivered");
    ran.tells(OTHER);
    assert!(ran.took < Duration::from_secs(60));
    // A turn of an unnamed thread proves nothing.
    deliver("event turn.started; event turn.completed").is(&["starting"], "uncertain");
}

#[test]
fn refusals_on_standard_error_are_passed_on() {
    let refused = |text: &str| deliver(&format!("echo '{text}' >&2; exit 1"));
    refused("Error: thread x already has an active writer (code -32600)")
        .is(&["starting"], "refused");
    refused("Error: no rollout found for thread id x").is(&["starting"], "not_submitted");
}

#[test]
fn failures_deaths_and_hanging_are_told() {
    let failed = deliver(
        "thread $SESSION; event turn.started; record; end false; event turn.failed 'mock 401'; exit 1",
    );
    failed.is(&["starting", "submitted", "seen"], "turn_failed");
    failed.tells("mock 401");
    let ran = deliver("thread $SESSION; event turn.failed 'Missing environment variable'; exit 1");
    ran.is(&["starting"], "turn_failed");
    deliver("thread $SESSION; event turn.started; kill -9 $$")
        .is(&["starting", "submitted"], "uncertain");
    deliver("thread $SESSION; event turn.started; event turn.completed")
        .is(&["starting", "submitted"], "uncertain");
    let ran = scene("thread $SESSION; event turn.started; record; sleep 600")
        .deliver(Duration::from_secs(2));
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
}
