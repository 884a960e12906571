//! `providers/claude-code.md` C.1, C.2 and C.5, case by case.

use crate::scene::{LONG, OTHER, Ran, SESSION, Scene};
use axiowl_model::SessionKey;
use axiowl_pipeline::edge::{EdgeError, Liveness};
use std::fs;
use std::time::Duration;

/// What every stand-in can do. It notes how it was started, answers questions, reads the message
/// and then does `$1`.
pub const CLAUDE: &str = r#"
echo "$*" >> "$H/argv"
if [ "$1" = --version ]; then echo "2.1.332 (Claude Code)"; exit 0; fi
if [ "$1 $2" = "auth status" ]; then echo '{"loggedIn":true}'; exit 0; fi
env > "$H/env"; pwd > "$H/pwd"
IFS= read -r line; printf '%s\n' "$line" > "$H/input"
uuid=${line#*\"uuid\":\"}; uuid=${uuid%%\"*}
init() { echo "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"$1\"}"; }
echo_back() { echo "{\"type\":\"user\",\"uuid\":\"$uuid\",\"isReplay\":true,\"session_id\":\"$SESSION\"}"; }
record() { echo "{\"type\":\"user\",\"uuid\":\"$uuid\"}" >> "${1:-$T}"; }
end() { echo "{\"type\":\"assistant\",\"end\":$1}" >> "$T"; }
result() { echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":$1,\"num_turns\":$2,\"session_id\":\"${3:-$SESSION}\",\"result\":\"${4:-fine}\"}"; }
"#;

pub fn scene(does: &str) -> Scene {
    let transcript = format!(".claude/projects/-a-project/{SESSION}.jsonl");
    let mut scene = Scene::new("claude_code_cli", &transcript);
    scene.key = SessionKey::local(
        "claude_code_cli",
        format!("claude_code_cli:session:{SESSION}"),
    );
    scene.program("claude", &format!("{CLAUDE}{does}"));
    fs::create_dir_all(scene.file(".claude/sessions")).unwrap();
    scene
}

fn deliver(does: &str) -> Ran {
    scene(does).deliver(LONG)
}

pub const GOOD: &str = "init $SESSION; echo_back; record; end true; result false 1";

#[test]
fn a_turn_that_went_well_is_told_step_by_step() {
    let scene = scene(GOOD);
    assert!(matches!(scene.probe(), Liveness::Idle { .. }));
    let ran = scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert_eq!(ran.evidence[3].path.as_deref(), scene.transcript.to_str());

    let argv = scene.read("argv");
    let resume = argv.lines().last().unwrap();
    assert_eq!(
        resume,
        format!(
            "-p --resume {SESSION} --input-format stream-json --output-format stream-json \
             --verbose --replay-user-messages --allowedTools mcp__axiowl__axiowl_send_message"
        )
    );
    assert!(
        !argv.contains("--secret-word"),
        "the body never stands in an argument"
    );
    let input: serde_json::Value = serde_json::from_str(&scene.read("input")).unwrap();
    assert_eq!(input["uuid"], scene.message.to_string());
    assert_eq!(input["message"]["content"], scene.body());
    assert_eq!(scene.read("pwd").trim(), scene.cwd);
    let env = scene.read("env");
    assert!(env.contains("CLAUDE_CODE_MAX_RETRIES=3\n"), "{env}");
    assert!(
        env.contains(&format!("HOME={}\n", scene.home.display())),
        "{env}"
    );
    for foreign in [
        "CLAUDECODE",
        "CODEX_THREAD_ID",
        "CLAUDE_CONFIG_DIR",
        "CARGO",
    ] {
        assert!(!env.contains(foreign), "{foreign} in {env}");
    }
}

#[test]
fn another_home_of_the_provider_is_named_to_it() {
    let mut scene = scene(GOOD);
    let other = scene.file("other claude");
    fs::rename(scene.file(".claude"), &other).unwrap();
    assert!(scene.unavailable().contains("transcript"));
    scene.transcript = other.join(format!("projects/-a-project/{SESSION}.jsonl"));
    scene.program("claude", &format!("{CLAUDE}{GOOD}"));
    scene.provider_home = Some(other.clone());
    assert_eq!(scene.deliver(LONG).end(), "ok");
    assert!(
        scene
            .read("env")
            .contains(&format!("CLAUDE_CONFIG_DIR={}\n", other.display()))
    );
    scene.provider_home = None;
    scene
        .env
        .insert("CLAUDE_CONFIG_DIR".into(), other.display().to_string());
    assert!(matches!(scene.probe(), Liveness::Idle { .. }));
}

#[test]
fn the_same_message_again_runs_nothing_and_is_found_where_it_stood() {
    let scene = scene("echo_back");
    let line = format!("{{\"uuid\":\"{}\"}}\n{{\"end\":true}}\n", scene.message);
    fs::write(&scene.transcript, line).unwrap();
    let ran = scene.deliver(LONG);
    assert_eq!(ran.end(), "ok", "{ran:?}");
    assert!(
        ran.steps.contains(&"seen") && ran.steps.contains(&"turn_done"),
        "{ran:?}"
    );
}

#[test]
fn a_session_it_does_not_find_gets_nothing() {
    let ran = deliver(
        r#"echo '{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"session_id":"x","errors":["No conversation found with session ID: x"]}'
        echo "No conversation found with session ID: x" >&2; exit 1"#,
    );
    ran.is(&["starting"], "not_submitted");
    ran.tells("does not find the session");
}

#[test]
fn an_answer_for_another_session_is_misdelivered_whatever_the_exit_code() {
    let does = "init $OTHER; record \"$(dirname \"$T\")/$OTHER.jsonl\"; result false 1 $OTHER";
    let scene = scene(does);
    let ran = scene.deliver(LONG);
    ran.is(&["starting"], "misdelivered");
    ran.tells(OTHER);
    let Err(EdgeError::Misdelivered { evidence, .. }) = &ran.result else {
        unreachable!()
    };
    assert!(
        evidence
            .path
            .as_ref()
            .unwrap()
            .ends_with(&format!("{OTHER}.jsonl"))
    );
    // The same without a transcript of the other session: the event alone says it.
    deliver("result false 1 $OTHER").is(&["starting"], "misdelivered");
}

#[test]
fn a_throw_away_id_in_init_means_nothing() {
    let ran = deliver(&GOOD.replace("init $SESSION", "init $OTHER"));
    assert_eq!(
        (ran.end(), ran.steps.last()),
        ("ok", Some(&"turn_done")),
        "{ran:?}"
    );
}

#[test]
fn no_turn_is_no_success() {
    deliver("echo_back; record; result false 0").tells("no turn");
    let ran = deliver("echo_back; record; result false 0");
    assert_eq!(ran.end(), "turn_failed");
    assert!(!ran.steps.contains(&"turn_done"));
    deliver("result false 0").is(&["starting"], "turn_failed");
}

#[test]
fn a_failed_model_call_is_a_failed_turn_although_it_says_success() {
    let ran =
        deliver("echo_back; record; end false; result true 1 $SESSION 'API Error: 401'; exit 1");
    assert_eq!(ran.end(), "turn_failed");
    ran.tells("API Error: 401");
    assert!(
        ran.steps.contains(&"seen") && !ran.steps.contains(&"turn_done"),
        "{ran:?}"
    );
}

#[test]
fn nobody_signed_in_means_that_nothing_is_started() {
    let scene = scene(GOOD);
    let asks = "echo \"$*\" >> \"$H/argv\"; [ \"$1 $2\" = 'auth status' ] && exit 1\n";
    let mut scene = scene;
    scene.program("claude", &format!("{asks}{CLAUDE}{GOOD}"));
    let ran = scene.deliver(LONG);
    ran.is(&[], "not_submitted");
    ran.tells("not signed in");
    assert!(!scene.read("argv").contains("--resume"));
}

#[test]
fn an_old_version_is_not_asked_what_it_would_take_for_a_prompt() {
    let mut scene = scene(GOOD);
    let old = "echo \"$*\" >> \"$H/argv\"; [ \"$1\" = --version ] && { echo '2.0.76 (Claude Code)'; exit 0; }\n";
    scene.program("claude", &format!("{old}{CLAUDE}{GOOD}"));
    assert_eq!(scene.deliver(LONG).end(), "ok");
    assert!(!scene.read("argv").contains("auth"));
}

#[test]
fn words_without_a_record_prove_nothing() {
    let ran = deliver("echo_back; result false 1");
    ran.is(&["starting", "submitted"], "uncertain");
    ran.tells("transcript lacks it");
    deliver("result false 1").is(&["starting"], "uncertain");
    deliver("exit 0").is(&["starting"], "uncertain");
}

#[test]
fn a_good_result_whose_end_is_not_written_leaves_it_seen() {
    let ran = deliver("echo_back; record; result false 1");
    assert_eq!(ran.end(), "ok");
    assert!(
        ran.steps.contains(&"seen") && !ran.steps.contains(&"turn_done"),
        "{ran:?}"
    );
}

#[test]
fn the_transcript_s_word_is_worse_than_a_good_result() {
    let ran = deliver("echo_back; record; end false; result false 1");
    assert_eq!(ran.end(), "turn_failed");
    assert!(!ran.steps.contains(&"turn_done"));
}

#[test]
fn a_second_result_speaks_of_another_job() {
    let ran = deliver(&format!("{GOOD}; sleep 0.5; result true 1"));
    assert_eq!(
        (ran.end(), ran.steps.last()),
        ("ok", Some(&"turn_done")),
        "{ran:?}"
    );
}

#[test]
fn a_hanging_program_is_stopped_at_the_deadline() {
    let hang = "trap '' TERM; while :; do sleep 1; done";
    let ran = scene(hang).deliver(Duration::from_secs(2));
    ran.is(&["starting"], "uncertain");
    ran.tells("time for the delivery");
    assert!(ran.took < Duration::from_secs(30), "{ran:?}");
    let ran = scene(&format!("echo_back; record; {hang}")).deliver(Duration::from_secs(2));
    assert_eq!(ran.end(), "turn_failed");
    ran.tells("was stopped");
    // It hangs after everything was done.
    let ran = scene(&format!("{GOOD}; {hang}")).deliver(Duration::from_secs(2));
    assert_eq!(
        (ran.end(), ran.steps.last()),
        ("ok", Some(&"turn_done")),
        "{ran:?}"
    );
}

#[test]
fn a_flooding_program_is_stopped_long_before_the_deadline() {
    let mut scene = scene("yes '{\"type\":\"noise\"}'");
    scene.output_cap = 4 * 1024;
    let ran = scene.deliver(LONG);
    ran.is(&["starting"], "uncertain");
    ran.tells("without end");
    assert!(ran.took < Duration::from_secs(60), "{ran:?}");
}

#[test]
fn a_program_that_dies_leaves_what_it_proved() {
    deliver("kill -9 $$").is(&["starting"], "uncertain");
    deliver("echo_back; kill -9 $$").is(&["starting", "submitted"], "uncertain");
    let ran = deliver("echo_back; record; kill -9 $$");
    assert_eq!(ran.end(), "turn_failed");
    ran.tells("signal: 9");
    deliver("echo 'error: unknown option' >&2; exit 1").is(&["starting"], "not_submitted");
    let closed = deliver("echo_back; record; end true; result false 1; exec >&-; sleep 600");
    assert_eq!(
        (closed.end(), closed.steps.last()),
        ("ok", Some(&"turn_done")),
        "{closed:?}"
    );
}

#[test]
fn a_transcript_that_cannot_be_read_proves_nothing() {
    let scene = scene("echo_back; rm \"$T\"; result false 1");
    let ran = scene.deliver(LONG);
    ran.is(&["starting", "submitted"], "uncertain");
    ran.tells("cannot be read");
}

#[test]
fn a_background_session_it_does_not_touch_is_refused() {
    let ran =
        deliver("echo 'Error: That session is running in the background (a81a).' >&2; exit 1");
    ran.is(&["starting"], "refused");
}
