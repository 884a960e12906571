//! `providers/cursor-antigravity-grok.md` A.5, B.5 and E, case by case.

use crate::scene::{LONG, OTHER, Ran, SESSION, Scene};
use crate::stand_in::{NOTES, arguments, dead_pid, is_gone, runs};
use axiowl_model::SessionKey;
use axiowl_pipeline::edge::{Finding, Liveness};
use serde_json::json;
use std::fs;
use std::time::Duration;

/// Reads the message's file, as `--prompt-file` names it, and then does what the case says.
const GROK: &str = r#"
cp "$2" "$H/body"; ls -l "$2" | cut -c1-10 > "$H/mode"
id=$(sed -n '1s/^\[AxiOwl \([^]]*\)\].*/\1/p' "$2")
record() { echo "{\"text\":\"[AxiOwl $id]\"}" >> "${1:-$T}"; }
says() { printf '{\n "text": "fine",\n "stopReason": "%s",\n "sessionId": "%s"\n}\n' "$1" "${2:-$SESSION}"; }
"#;
const GOOD: &str = "record; says EndTurn";
const GROUP: &str = ".grok/sessions/%2Fhome%2Fdev%2Fa%20project";

fn scene(does: &str) -> Scene {
    let mut scene = Scene::new("grok", &format!("{GROUP}/{SESSION}/updates.jsonl"));
    scene.key = SessionKey::local("grok", format!("grok:session:{SESSION}"));
    scene.program("grok", &format!("{NOTES}{GROK}{does}"));
    summary(&scene, json!({}));
    scene
}

/// Writes the session's summary, with fields of the case's own.
fn summary(scene: &Scene, more: serde_json::Value) {
    let mut summary = json!({ "info": { "id": SESSION, "cwd": scene.cwd } });
    for (name, value) in more.as_object().unwrap() {
        summary[name] = value.clone();
    }
    let file = scene.file(&format!("{GROUP}/{SESSION}/summary.json"));
    fs::write(file, summary.to_string()).unwrap();
}

fn active(scene: &Scene, text: &str) {
    fs::write(scene.file(".grok/active_sessions.json"), text).unwrap();
}

fn deliver(does: &str) -> Ran {
    scene(does).deliver(LONG)
}

#[test]
fn x17_x18_grok_gets_the_message_in_a_file_its_folder_and_never_a_new_id() {
    let mut scene = scene(GOOD);
    // The registry's folder is out of date; the session's own counts.
    let moved = scene.file("moved here");
    fs::create_dir_all(&moved).unwrap();
    summary(
        &scene,
        json!({ "info": { "id": SESSION, "cwd": moved.display().to_string() } }),
    );
    let ran = scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    let argv = arguments(&scene);
    let place = scene.file(&format!("state/bodies/{}.txt", scene.message));
    let expected = [
        "--prompt-file",
        place.to_str().unwrap(),
        "--resume",
        SESSION,
        "--cwd",
        moved.to_str().unwrap(),
        "--output-format",
        "json",
    ];
    assert_eq!(argv, expected);
    assert!(
        !argv
            .iter()
            .any(|word| word == "-s" || word == "--session-id")
    );
    assert_eq!(scene.read("body"), scene.body());
    assert_eq!(scene.read("mode").trim(), "-rw-------");
    assert!(!place.exists(), "the message does not stay behind");
    assert_eq!(scene.read("pwd").trim(), moved.to_str().unwrap());
    let env = scene.read("env");
    assert!(env.contains("GROK_DISABLE_AUTOUPDATER=1\n"), "{env}");
    assert!(!env.contains("GROK_SESSION_ID") && !env.contains("GROK_HOME"));

    let other = scene.file("other grok");
    fs::rename(scene.file(".grok"), &other).unwrap();
    assert!(scene.unavailable().contains("is not below"));
    scene
        .env
        .insert("GROK_HOME".into(), other.display().to_string());
    assert!(matches!(scene.probe(), Liveness::Idle { .. }));
}

#[test]
fn x27_a_session_that_is_not_on_disk_is_rejected_before_anything_is_started() {
    let gone = scene(GOOD);
    fs::remove_dir_all(gone.file(&format!("{GROUP}/{SESSION}"))).unwrap();
    assert!(gone.unavailable().contains("is not below"));
    gone.deliver(LONG).is(&[], "not_submitted");

    let half = scene(GOOD);
    fs::remove_file(half.file(&format!("{GROUP}/{SESSION}/summary.json"))).unwrap();
    assert!(half.unavailable().contains("summary.json"));
    half.deliver(LONG).is(&[], "not_submitted");

    let foreign = scene(GOOD);
    summary(
        &foreign,
        json!({ "info": { "id": OTHER, "cwd": foreign.cwd } }),
    );
    assert!(foreign.unavailable().contains("another session"));

    let no_folder = scene(GOOD);
    summary(
        &no_folder,
        json!({ "info": { "id": SESSION, "cwd": "/gone/for/good" } }),
    );
    assert!(no_folder.unavailable().contains("folder is gone"));

    let twice = scene(GOOD);
    fs::create_dir_all(twice.file(&format!(".grok/sessions/%2Fx/{SESSION}"))).unwrap();
    assert!(twice.unavailable().contains("several folders"));

    for more in [
        json!({"hidden": true}),
        json!({"session_kind": "subagent_fork"}),
    ] {
        let hidden = scene(GOOD);
        summary(&hidden, more);
        assert!(hidden.unavailable().contains("sub-agent"));
    }
    for scene in [gone, half, foreign, no_folder, twice] {
        assert_eq!(runs(&scene), 0, "nothing was started");
    }
}

#[test]
fn x21_a_living_process_has_it_open_and_a_dead_one_crashed() {
    let scene = scene(GOOD);
    let entry =
        |session: &str, pid: u32| json!([{ "session_id": session, "pid": pid, "cwd": "/x" }]);
    active(&scene, &entry(SESSION, std::process::id()).to_string());
    let reason = scene.closed();
    assert!(reason.contains(&std::process::id().to_string()), "{reason}");
    scene.deliver(LONG).is(&[], "refused");
    // What nobody can read may name it.
    active(&scene, "[{\"session_id\":");
    assert!(scene.closed().contains("cannot be read"));
    assert_eq!(runs(&scene), 0);

    active(&scene, &entry(OTHER, std::process::id()).to_string());
    assert!(matches!(scene.probe(), Liveness::Idle { .. }));
    active(&scene, &entry(SESSION, dead_pid()).to_string());
    assert!(matches!(scene.probe(), Liveness::Idle { .. }));
    assert_eq!(scene.deliver(LONG).end(), "ok");
}

#[test]
fn an_answer_of_another_session_is_misdelivered() {
    let ran = deliver("says EndTurn $OTHER");
    ran.is(&["starting"], "misdelivered");
    ran.tells(OTHER);
    // Even where the message also stands in the right one.
    assert_eq!(deliver("record; says EndTurn $OTHER").end(), "misdelivered");
}

#[test]
fn a_turn_that_did_not_end_well_is_no_success_whatever_the_exit_code() {
    let ran = deliver("record; says Cancelled");
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    ran.tells("Cancelled");
    let error = r#"echo '{"type":"error","message":"model overloaded"}'"#;
    let ran = deliver(&format!("record; {error}"));
    ran.is(&["starting", "seen"], "turn_failed");
    ran.tells("model overloaded");
    deliver(error).is(&["starting"], "turn_failed");
    // It says why it did nothing at all.
    let ran = deliver(r#"echo '{"type":"error","message":"not signed in"}'; exit 1"#);
    ran.is(&["starting"], "not_submitted");
    ran.tells("not signed in");
    let ran = deliver("record; says EndTurn; exit 1");
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    let ran = deliver("echo 'Error: Session not found locally (404)' >&2; exit 1");
    ran.is(&["starting"], "not_submitted");
}

#[test]
fn words_without_a_record_and_a_record_without_an_id_prove_no_more_than_they_say() {
    let ran = deliver("says EndTurn");
    ran.is(&["starting", "submitted"], "uncertain");
    ran.tells("lacks the message");
    deliver("exit 0").is(&["starting"], "uncertain");
    // A stopped turn tells no id (E 20).
    deliver("record").is(&["starting", "seen"], "ok");
    let ran = deliver("record; echo '{\"text\":\"fine\",\"stopReason\":\"EndTurn\"}'");
    ran.is(&["starting", "seen"], "ok");
    let unread = deliver("rm \"$T\"; says EndTurn");
    unread.is(&["starting", "submitted"], "uncertain");
    unread.tells("cannot be read");
}

#[test]
fn a_hanging_grok_is_stopped_with_everything_it_started() {
    let scene = scene("record; hang");
    let ran = scene.deliver(Duration::from_secs(3));
    ran.is(&["starting", "seen"], "turn_failed");
    ran.tells("was stopped");
    is_gone(&scene);
    // As when a large session never comes up (E 19).
    let early = self::scene("hang");
    let ran = early.deliver(Duration::from_secs(3));
    ran.is(&["starting"], "uncertain");
    is_gone(&early);
}

#[test]
fn a_flooding_grok_is_stopped_long_before_the_deadline() {
    let mut scene = scene("flood");
    scene.output_cap = 4 * 1024;
    let ran = scene.deliver(LONG);
    ran.is(&["starting"], "uncertain");
    ran.tells("without end");
    assert!(ran.took < Duration::from_secs(60), "{ran:?}");
}

#[test]
fn an_earlier_attempt_is_looked_up_in_the_session_s_own_updates() {
    let scene = scene(GOOD);
    assert_eq!(scene.find(LONG), Finding::Absent);
    scene.deliver(LONG);
    assert!(matches!(scene.find(LONG), Finding::Seen(sighting) if sighting.message.is_some()));
    fs::remove_file(&scene.transcript).unwrap();
    assert!(matches!(scene.find(LONG), Finding::Unknown { .. }));
}

#[test]
fn a_death_while_grok_was_started_leaves_nobody_sure() {
    // It has the message as soon as it runs, so the trace stands before it does.
    let noted = scene(&format!(
        "cat \"$H\"/state/in-flight/* > \"$H/noted\"; {GOOD}"
    ));
    noted
        .deliver(LONG)
        .is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert!(noted.read("noted").starts_with('{'));
    // A worker that dies right then leaves a trace that names no process.
    let scene = scene(GOOD);
    assert_eq!(scene.find(LONG), Finding::Absent);
    fs::create_dir_all(scene.file("state/in-flight")).unwrap();
    let trace = scene.file(&format!("state/in-flight/{}.json", scene.message));
    fs::write(&trace, "{}\n").unwrap();
    let Finding::Unknown { reason } = scene.find(Duration::from_millis(200)) else {
        panic!("it may run")
    };
    assert!(reason.contains("may still work on it"), "{reason}");
    assert_eq!(runs(&scene), 0, "and nothing is started");
}
