//! The demo's agent, and the proof that it calls.

use crate::scene::{LONG, OTHER, Ran, SESSION, Scene};
use axiowl_model::SessionKey;
use axiowl_pipeline::identity::CallContext;
use serde_json::json;
use std::fs;
use std::time::Duration;

const CALL: &str = "01a22d45-0000-7000-8000-00000000ca11";

const AGENT: &str = r#"
printf '%s\n' "$@" > "$H/argv"
env > "$H/env"
body=$(cat); printf '%s' "$body" > "$H/body"
client=${body#\[AxiOwl }; client=${client%%]*}
record() { echo "{\"type\":\"message\",\"turn\":\"t1\",\"text\":\"[AxiOwl $client]\"}" >> "$T"; }
taken() { echo '{"type":"message_taken","turn":"t1"}'; }
end() { echo "{\"type\":\"turn_end\",\"turn\":\"t1\",\"end\":$1,\"ok\":$1}" >> "$T"; echo "{\"type\":\"turn_end\",\"turn\":\"t1\",\"ok\":$1}"; }
"#;

fn scene(does: &str) -> Scene {
    let mut scene = Scene::new("echo", &format!(".axiowl-echo/{SESSION}.jsonl"));
    scene.key = SessionKey::local("echo", format!("echo:session:{SESSION}"));
    scene.program("axiowl", &format!("{AGENT}{does}"));
    scene
}

fn deliver(does: &str) -> Ran {
    scene(does).deliver(LONG)
}

#[test]
fn a_turn_that_went_well() {
    let scene = scene("record; taken; end true");
    let ran = scene.deliver(LONG);
    assert_eq!(
        (ran.end(), ran.steps.last()),
        ("ok", Some(&"turn_done")),
        "{ran:?}"
    );
    assert!(ran.steps.contains(&"submitted") && ran.steps.contains(&"seen"));
    let home = scene.home.display();
    let argv = format!(
        "--home\n{home}\n--state\n{home}/state\necho-agent\n--store\n{home}/.axiowl-echo\n--session\n{SESSION}\n"
    );
    assert_eq!(scene.read("argv"), argv);
    assert_eq!(scene.read("body"), scene.body());
}

#[test]
fn a_turn_that_did_not() {
    let failed = deliver("record; taken; end false; echo 'no answer' >&2; exit 1");
    assert_eq!(failed.end(), "turn_failed");
    failed.tells("no answer");
    deliver("record; taken; kill -9 $$").tells("middle of its turn");
    deliver("taken; end true; rm \"$T\"; touch \"$T\"").is(&["starting", "submitted"], "uncertain");
    deliver("echo 'no session' >&2; exit 1").is(&["starting"], "not_submitted");
    let hung = scene("record; taken; sleep 600").deliver(Duration::from_secs(2));
    assert_eq!(hung.end(), "turn_failed");
}

#[test]
fn a_session_that_is_gone() {
    let mut scene = scene("");
    fs::remove_file(&scene.transcript).unwrap();
    assert!(scene.unavailable().contains("transcript is gone"));
    scene.key.session = "x".into();
    assert!(scene.unavailable().contains("no echo session"));
}

fn verify(scene: &Scene, claimed: &str) -> Result<String, String> {
    let call = CallContext {
        client_name: "axiowl-echo-agent".into(),
        client_version: "0.1.0".into(),
        tool: "axiowl_send_message".into(),
        params: json!({}),
        host: Vec::new(),
        door: Default::default(),
        given_up: Default::default(),
        received: std::time::SystemTime::now(),
        state: std::path::PathBuf::new(),
    };
    let verifiers = axiowl_providers::verifiers();
    let verifier = verifiers
        .iter()
        .find(|one| one.name() == "echo_transcript")
        .unwrap();
    let caller = verifier.verify(&scene.world(), &call, Some(claimed))?;
    Ok(caller.session)
}

#[test]
fn only_a_call_in_exactly_one_open_turn_is_the_caller_s() {
    let scene = scene("");
    let write = |session: &str, records: &[serde_json::Value]| {
        let text: String = records.iter().map(|record| format!("{record}\n")).collect();
        fs::write(scene.file(&format!(".axiowl-echo/{session}.jsonl")), text).unwrap();
    };
    let call = |name: &str| json!({ "type": "tool_call", "turn": "t1", "id": CALL, "name": name });
    let end = |turn: &str| json!({ "type": "turn_end", "turn": turn, "ok": true });
    let ours = call("axiowl_send_message");

    assert!(verify(&scene, CALL).unwrap_err().contains("no transcript"));
    write(SESSION, &[end("t0"), ours.clone(), end("t2")]);
    assert_eq!(verify(&scene, CALL).as_deref(), Ok(SESSION));
    assert!(verify(&scene, OTHER).is_err() && verify(&scene, "").is_err());

    write(SESSION, &[call("axiowl_whoami")]);
    assert!(verify(&scene, CALL).is_err(), "another tool");
    write(
        SESSION,
        &[json!({ "type": "message", "turn": "t1", "text": ours.to_string() })],
    );
    assert!(verify(&scene, CALL).is_err(), "a text that looks like it");
    write(SESSION, &[ours.clone(), end("t1")]);
    assert!(verify(&scene, CALL).is_err(), "the turn is over");
    write(SESSION, std::slice::from_ref(&ours));
    write(OTHER, std::slice::from_ref(&ours));
    assert!(verify(&scene, CALL).unwrap_err().contains("several"));
    fs::remove_dir_all(scene.file(".axiowl-echo")).unwrap();
    assert!(verify(&scene, CALL).is_err());
}
