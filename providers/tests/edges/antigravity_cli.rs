//! `providers/cursor-antigravity-grok.md` A.4, B.4 and E, case by case.

use crate::scene::{LONG, OTHER, Ran, SESSION, Scene};
use crate::stand_in::{NOTES, arguments, is_gone, runs};
use axiowl_model::SessionKey;
use axiowl_pipeline::edge::Liveness;
use std::fs;
use std::time::Duration;

/// The message is the last argument.
const AGY: &str = r#"
for last in "$@"; do :; done
id=$(printf '%s\n' "$last" | sed -n '1s/^\[AxiOwl \([^]]*\)\].*/\1/p')
record() { echo "{\"content\":\"[AxiOwl $id]\"}" >> "${1:-$T}"; }
end() { echo "{\"end\":$1}" >> "$T"; }
says() { printf '{"conversation_id":"%s","status":"%s","response":"fine","num_turns":1}\n' "${2:-$SESSION}" "$1"; }
"#;
const GOOD: &str = "record; end true; says SUCCESS";
const ROOT: &str = ".gemini/antigravity-cli";

fn scene(does: &str) -> Scene {
    let transcript = format!("{ROOT}/brain/{SESSION}/.system_generated/logs/transcript.jsonl");
    let mut scene = Scene::new("antigravity_cli", &transcript);
    scene.key = SessionKey::local(
        "antigravity_cli",
        format!("antigravity_cli:conversation:{SESSION}"),
    );
    scene.program("agy", &format!("{NOTES}{AGY}{does}"));
    for folder in ["conversations", "presence"] {
        fs::create_dir_all(scene.file(&format!("{ROOT}/{folder}"))).unwrap();
    }
    fs::write(
        scene.file(&format!("{ROOT}/conversations/{SESSION}.db")),
        "",
    )
    .unwrap();
    scene
}

fn deliver(does: &str) -> Ran {
    scene(does).deliver(LONG)
}

#[test]
fn agy_gets_the_conversation_and_the_message_as_two_arguments_and_runs_in_its_folder() {
    let scene = scene(GOOD);
    let ran = scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert_eq!(ran.evidence[3].path.as_deref(), scene.transcript.to_str());
    let argv = arguments(&scene);
    assert_eq!(argv[0], "--print-timeout");
    let seconds: u64 = argv[1].strip_suffix('s').unwrap().parse().unwrap();
    assert!(seconds > LONG.as_secs(), "its time is not over before ours");
    let expected = [
        "--output-format",
        "json",
        "--conversation",
        SESSION,
        "-p",
        &scene.body(),
    ];
    assert_eq!(argv[2..], expected);
    assert_eq!(scene.read("pwd").trim(), scene.cwd);
    assert!(
        scene
            .read("env")
            .contains("AGY_CLI_DISABLE_AUTO_UPDATE=1\n")
    );
}

#[test]
fn a_conversation_that_is_not_in_its_own_tree_is_rejected_before_anything_is_started() {
    let scene = scene(GOOD);
    let file = scene.file(&format!("{ROOT}/conversations/{SESSION}.db"));
    let apps = scene.file(".gemini/antigravity/conversations");
    fs::create_dir_all(&apps).unwrap();
    fs::rename(file, apps.join(format!("{SESSION}.db"))).unwrap();
    assert!(scene.unavailable().contains("file is gone"));
    scene.deliver(LONG).is(&[], "not_submitted");
    assert_eq!(runs(&scene), 0);
}

#[test]
fn x09_an_answer_of_another_conversation_is_misdelivered_although_agy_exits_with_0() {
    let ran = deliver("says SUCCESS $OTHER");
    ran.is(&["starting"], "misdelivered");
    ran.tells(OTHER);
    let warns = format!("echo 'warning: conversation \"{SESSION}\" not found' >&2");
    deliver(&format!("{warns}; says SUCCESS $OTHER")).is(&["starting"], "misdelivered");
}

#[test]
fn x10_a_conversation_that_agy_does_not_find_is_a_failure_although_it_exits_with_0() {
    let warns = format!("echo 'warning: conversation \"{SESSION}\" not found' >&2");
    let ran = deliver(&format!("{warns}; echo '{{\"response\":\"fine\"}}'"));
    ran.is(&["starting"], "turn_failed");
    ran.tells("not found");
    deliver(&format!("{warns}; exit 0")).is(&["starting"], "turn_failed");
    deliver(&format!("{warns}; exit 1")).is(&["starting"], "not_submitted");
    // Words that only sound alike are no such failure.
    let alike = "echo 'warning: model not found, using the default' >&2";
    assert_eq!(deliver(&format!("{alike}; {GOOD}")).end(), "ok");
}

#[test]
fn x12_an_attached_terminal_is_refused_and_a_file_it_left_behind_is_not() {
    let scene = scene(GOOD);
    let lock = fs::File::create(scene.file(&format!("{ROOT}/presence/{SESSION}.lock"))).unwrap();
    assert!(matches!(scene.probe(), Liveness::Idle { .. }));
    lock.lock().unwrap();
    assert!(scene.closed().contains("open in a terminal"));
    scene.deliver(LONG).is(&[], "refused");
    assert_eq!(runs(&scene), 0);
    drop(lock);
    assert_eq!(scene.deliver(LONG).end(), "ok");
}

#[test]
fn a_success_is_no_proof_and_an_error_is_one() {
    // Half an answer is called a success when agy's time is over.
    deliver("record; says SUCCESS").is(&["starting", "submitted", "seen"], "ok");
    deliver("says SUCCESS").is(&["starting", "submitted"], "uncertain");
    let error = r#"printf '{"conversation_id":"%s","status":"ERROR","error":"quota"}\n' $SESSION"#;
    let ran = deliver(&format!("record; {error}"));
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    ran.tells("quota");
    deliver(error).is(&["starting", "submitted"], "turn_failed");
    let ran = deliver("record; end false; says SUCCESS");
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    let ran = deliver("echo 'flag provided but not defined: -conversation' >&2; exit 2");
    ran.is(&["starting"], "not_submitted");
    // Versions before 1.1.8 print plain text, without an id.
    deliver("record; echo fine").is(&["starting", "seen"], "ok");
    deliver("echo fine").is(&["starting"], "uncertain");
}

#[test]
fn a_hanging_or_flooding_agy_is_stopped_with_everything_it_started() {
    let scene = scene("record; hang");
    let ran = scene.deliver(Duration::from_secs(3));
    ran.is(&["starting", "seen"], "turn_failed");
    is_gone(&scene);
    let mut floods = self::scene("flood");
    floods.output_cap = 4 * 1024;
    let ran = floods.deliver(LONG);
    ran.is(&["starting"], "uncertain");
    assert!(ran.took < Duration::from_secs(60), "{ran:?}");
}

#[test]
fn another_home_cannot_be_named_to_agy() {
    let mut scene = scene(GOOD);
    scene.provider_home = Some(scene.file("elsewhere"));
    assert!(scene.unavailable().contains("can be told of no other"));
}

#[test]
fn a_message_too_long_for_an_argument_is_said_to_be() {
    let mut scene = scene(GOOD);
    scene.long_body = 3 * 1024 * 1024;
    let ran = scene.deliver(LONG);
    ran.is(&["starting"], "not_submitted");
    ran.tells("cannot start");
}
