//! `providers/opencode-gemini.md` A and C, Gemini, case by case.

use crate::scene::{LONG, OTHER, Ran, SESSION, Scene};
use crate::stand_in::{NOTES, arguments, is_gone, runs};
use axiowl_model::SessionKey;
use axiowl_pipeline::edge::Liveness;
use serde_json::json;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The message comes on standard input.
const GEMINI: &str = r#"
cat > "$H/input"
id=$(sed -n '1s/^\[AxiOwl \([^]]*\)\].*/\1/p' "$H/input")
init() { printf '{"type":"init","session_id":"%s"}\n' "${1:-$SESSION}"; }
takes() { echo '{"type":"message","role":"user","content":"x"}'; }
record() { echo "{\"content\":\"[AxiOwl $id]\"}" >> "${1:-$T}"; }
result() { printf '{"type":"result","status":"%s","error":{"message":"%s"}}\n' "$1" "$2"; }
"#;
const GOOD: &str = "init; takes; record; result success";
const CHATS: &str = ".gemini/tmp/a-project/chats";

fn scene(does: &str) -> Scene {
    let short = &SESSION[..8];
    let transcript = format!("{CHATS}/session-2026-09-21T14-13-{short}.jsonl");
    let mut scene = Scene::new("gemini_cli", &transcript);
    scene.key = SessionKey::local("gemini_cli", format!("gemini_cli:session:{SESSION}"));
    scene.program("gemini", &format!("{NOTES}{GEMINI}{does}"));
    let header = json!({ "sessionId": SESSION, "kind": "main" });
    fs::write(&scene.transcript, format!("{header}\n")).unwrap();
    retention(
        &scene,
        r#"{"general":{"sessionRetention":{"enabled":false}}}"#,
    );
    scene
}

fn retention(scene: &Scene, settings: &str) {
    fs::write(scene.file(".gemini/settings.json"), settings).unwrap();
}

fn deliver(does: &str) -> Ran {
    scene(does).deliver(LONG)
}

#[test]
fn gemini_gets_the_id_in_its_project_and_the_message_on_standard_input() {
    let scene = scene(GOOD);
    let ran = scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    let expected = ["--resume", SESSION, "--output-format", "stream-json"];
    assert_eq!(arguments(&scene), expected);
    assert_eq!(scene.read("input"), scene.body());
    assert_eq!(scene.read("pwd").trim(), scene.cwd);
    assert!(scene.read("env").contains("GEMINI_CLI_NO_RELAUNCH=true\n"));
}

#[test]
fn without_retention_off_nothing_is_started_and_the_reason_is_said() {
    let scene = scene(GOOD);
    for settings in [
        "{}",
        "{",
        r#"{"general":{"sessionRetention":{"enabled":true}}}"#,
    ] {
        retention(&scene, settings);
        let reason = scene.unavailable();
        assert!(
            reason.contains("Gemini deletes a resumed session"),
            "{reason}"
        );
        scene.deliver(LONG).is(&[], "not_submitted");
    }
    assert_eq!(runs(&scene), 0);
}

#[test]
fn a_session_that_is_not_on_disk_or_only_looks_like_it_is_rejected() {
    let scene = scene(GOOD);
    let header = json!({ "sessionId": format!("{}{}", &SESSION[..8], &OTHER[8..]) });
    fs::write(&scene.transcript, format!("{header}\n")).unwrap();
    assert!(scene.unavailable().contains("is not below"));
    fs::remove_file(&scene.transcript).unwrap();
    assert!(scene.unavailable().contains("is not below"));
    assert_eq!(runs(&scene), 0);
}

#[test]
fn a_project_in_which_gemini_runs_is_refused() {
    let scene = scene(GOOD);
    let mut other = Scene::new("gemini_cli", "x.jsonl");
    other.program("gemini", "touch \"$H/up\"; IFS= read -r never");
    let mut child = Command::new(other.file("bin/gemini"))
        .current_dir(&scene.cwd)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    while !other.file("up").exists() {
        std::thread::yield_now();
    }
    let reason = scene.closed();
    let ran = scene.deliver(LONG);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(reason.contains(&child.id().to_string()), "{reason}");
    ran.is(&[], "refused");
    assert_eq!(runs(&scene), 0);
    assert!(matches!(scene.probe(), Liveness::Idle { .. }));
}

#[test]
fn what_the_program_says_is_held_against_the_session_s_own_file() {
    deliver("init; takes; result success").is(&["starting", "submitted"], "uncertain");
    deliver("init; takes; record").is(&["starting", "submitted", "seen"], "ok");
    let ran = deliver("init; takes; record; result error quota");
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    ran.tells("quota");
    let ran = deliver("init; takes; record; result success; exit 1");
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    let ran =
        deliver("echo 'Error resuming session: Invalid session identifier \"x\".' >&2; exit 42");
    ran.is(&["starting"], "not_submitted");
    // A result of a session that was never named proves nothing.
    let ran = deliver("takes; record; result success");
    ran.is(&["starting", "seen"], "turn_failed");
}

#[test]
fn another_session_is_noticed_at_its_first_word() {
    let scene = scene("children; init $OTHER; linger");
    let ran = scene.deliver(LONG);
    ran.is(&["starting"], "misdelivered");
    ran.tells(OTHER);
    is_gone(&scene);
}

#[test]
fn a_hanging_or_flooding_gemini_is_stopped_with_everything_it_started() {
    let scene = scene("init; takes; record; hang");
    let ran = scene.deliver(Duration::from_secs(3));
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    is_gone(&scene);
    let mut floods = self::scene("flood");
    floods.output_cap = 4 * 1024;
    floods.deliver(LONG).is(&["starting"], "uncertain");
}
