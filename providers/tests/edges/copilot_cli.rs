//! `providers/copilot-vscode.md` section 0 and C1, case by case.

use crate::scene::{LONG, OTHER, Ran, SESSION, Scene};
use crate::stand_in::{NOTES, arguments, is_gone, runs};
use axiowl_model::SessionKey;
use axiowl_pipeline::edge::Liveness;
use std::fs;
use std::time::Duration;

/// The message comes on standard input.
const COPILOT: &str = r#"
cat > "$H/input"
id=$(sed -n '1s/^\[AxiOwl \([^]]*\)\].*/\1/p' "$H/input")
takes() { printf '{"type":"user.message","data":{"content":"[AxiOwl %s] x","messageId":"m1"}}\n' "$id"; }
record() { echo "{\"content\":\"[AxiOwl $id]\"}" >> "${1:-$T}"; }
end() { echo "{\"end\":$1}" >> "$T"; }
result() { printf '{"type":"result","sessionId":"%s","exitCode":%s}\n' "${2:-$SESSION}" "$1"; exit "$1"; }
error() { printf '{"type":"session.error","data":{"message":"%s"}}\n' "$1"; }
"#;
const GOOD: &str = "takes; record; end true; result 0";

fn scene(does: &str) -> Scene {
    let transcript = format!(".copilot/session-state/{SESSION}/events.jsonl");
    let mut scene = Scene::new("copilot_cli", &transcript);
    scene.key = SessionKey::local("copilot_cli", format!("copilot_cli:session:{SESSION}"));
    scene.program("copilot", &format!("{NOTES}{COPILOT}{does}"));
    scene
}

fn deliver(does: &str) -> Ran {
    scene(does).deliver(LONG)
}

#[test]
fn copilot_gets_the_whole_id_one_allowed_tool_and_the_message_on_standard_input() {
    let mut scene = scene(GOOD);
    let ran = scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert_eq!(ran.evidence[3].path.as_deref(), scene.transcript.to_str());
    let resume = format!("--resume={SESSION}");
    let expected = [
        resume.as_str(),
        "--output-format",
        "json",
        "--no-auto-update",
        "--allow-tool=axiowl(axiowl_send_message)",
    ];
    assert_eq!(arguments(&scene), expected);
    assert_eq!(scene.read("input"), scene.body());
    assert_eq!(scene.read("pwd").trim(), scene.cwd);
    assert!(!scene.read("env").contains("COPILOT_"));

    let other = scene.file("other copilot");
    fs::rename(scene.file(".copilot"), &other).unwrap();
    assert!(scene.unavailable().contains("holds no conversation"));
    scene
        .env
        .insert("COPILOT_HOME".into(), other.display().to_string());
    assert!(matches!(scene.probe(), Liveness::Idle { .. }));
    scene.transcript = other.join(format!("session-state/{SESSION}/events.jsonl"));
    scene.program("copilot", &format!("{NOTES}{COPILOT}{GOOD}"));
    assert_eq!(scene.deliver(LONG).end(), "ok");
    let named = format!("COPILOT_HOME={}\n", other.display());
    assert!(scene.read("env").contains(&named));
}

#[test]
fn a_session_without_a_conversation_is_none() {
    let scene = scene(GOOD);
    fs::remove_file(&scene.transcript).unwrap();
    assert!(scene.unavailable().contains("holds no conversation"));
    scene.deliver(LONG).is(&[], "not_submitted");
    assert_eq!(runs(&scene), 0);
}

#[test]
fn a_session_in_use_is_refused_and_a_crash_s_leftover_is_not() {
    let scene = scene(GOOD);
    let me = std::process::id();
    let file = |end: &str| {
        scene.file(&format!(
            ".copilot/session-state/{SESSION}/inuse.{me}.{end}"
        ))
    };
    fs::write(file("lock"), format!("{me}\n")).unwrap();
    let hold = fs::File::create(file("hold")).unwrap();
    hold.lock().unwrap();
    let reason = scene.closed();
    assert!(
        reason.contains(&me.to_string()) && reason.contains("extension"),
        "{reason}"
    );
    scene.deliver(LONG).is(&[], "refused");
    assert_eq!(runs(&scene), 0);
    drop(hold);
    assert_eq!(scene.deliver(LONG).end(), "ok");
}

#[test]
fn what_the_program_says_never_makes_more_of_it_than_the_records_do() {
    deliver("takes; result 0").is(&["starting", "submitted"], "uncertain");
    deliver("result 0").is(&["starting"], "uncertain");
    deliver("takes; record; result 0").is(&["starting", "submitted", "seen"], "ok");
    let ran = deliver("takes; record; error 'provider unreachable'; result 1");
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    ran.tells("provider unreachable");
    let ran = deliver("takes; record; end false; result 0");
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    // Somebody else's message is not ours.
    let ran = deliver("id=other; takes; result 0");
    ran.is(&["starting"], "uncertain");
    let ran = deliver("echo 'Error: No authentication information found.' >&2; exit 1");
    ran.is(&["starting"], "not_submitted");
    ran.tells("No authentication");
    let ran = deliver("echo \"Error: No session, task, or name matched 'x'.\" >&2; exit 1");
    ran.is(&["starting"], "not_submitted");
}

#[test]
fn an_answer_for_another_session_is_misdelivered() {
    let ran = deliver("takes; result 0 $OTHER");
    ran.is(&["starting", "submitted"], "misdelivered");
    ran.tells(OTHER);
}

#[test]
fn a_hanging_or_flooding_copilot_is_stopped_with_everything_it_started() {
    let scene = scene("takes; record; hang");
    let ran = scene.deliver(Duration::from_secs(3));
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    is_gone(&scene);
    let mut floods = self::scene("flood");
    floods.output_cap = 4 * 1024;
    floods.deliver(LONG).is(&["starting"], "uncertain");
}
