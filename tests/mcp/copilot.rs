//! Copilot CLI: the hook's metadata, and the in-use lock that names this server's host.

use crate::host::{Host, Who};
use crate::program::Axiowl;
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::Stdio;

pub const ONE: &str = "c0c00001-0000-4000-8000-000000000001";
pub const TWO: &str = "c0c00002-0000-4000-8000-000000000002";

pub fn scene() -> Axiowl {
    let axiowl = Axiowl::new();
    for (id, name) in [(ONE, "Fix tests"), (TWO, "Write docs")] {
        let folder = format!("home/.copilot/session-state/{id}");
        let cwd = axiowl.home();
        axiowl.write(
            &format!("{folder}/workspace.yaml"),
            format!("id: {id}\ncwd: {}\nclient_name: github/cli\nname: {name}\nuser_named: true\ncreated_at: 2026-11-30T13:00:00Z\n", cwd.display()),
        );
        let event = |kind: &str, data: Value| json!({ "type": kind, "data": data, "id": id, "timestamp": "2026-11-30T13:00:00Z", "parentId": null });
        let events = [
            event(
                "session.start",
                json!({ "sessionId": id, "version": 1, "copilotVersion": "1.0.102", "context": { "cwd": cwd } }),
            ),
            event(
                "user.message",
                json!({ "content": "hello", "messageId": id }),
            ),
        ];
        axiowl.write(
            &format!("{folder}/events.jsonl"),
            events.map(|e| format!("{e}\n")).concat(),
        );
    }
    axiowl
}

pub fn lock(axiowl: &Axiowl, id: &str, pid: u32) {
    axiowl.write(
        &format!("home/.copilot/session-state/{id}/inuse.{pid}.lock"),
        format!("{pid}\n"),
    );
}

/// What the hook makes the host add to a request.
pub fn hooked(axiowl: &Axiowl, id: &str) -> Value {
    let mut hook = axiowl
        .command(&["hook", "copilot"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("axiowl runs");
    let payload = json!({ "sessionId": id, "toolCallId": "c", "serverName": "axiowl", "toolName": "axiowl_whoami", "arguments": {} });
    let mut input = hook.stdin.take().expect("stdin");
    write!(input, "{payload}").expect("payload");
    drop(input);
    let output = hook.wait_with_output().expect("wait");
    assert!(output.status.success());
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    answer["metaToUse"].clone()
}

fn whoami(axiowl: &Axiowl, meta: Value) -> Who {
    Host::of(axiowl, "copilot-cli").whoami(meta)
}

#[test]
fn c188_the_hooks_session_is_calling_when_its_lock_names_the_host() {
    let axiowl = scene();
    lock(&axiowl, ONE, std::process::id());
    let who = whoami(&axiowl, hooked(&axiowl, ONE));
    assert_eq!(who.session(), format!("copilot_cli:session:{ONE}"));
    assert_eq!(
        (who.field("provider"), who.field("display_name")),
        (json!("copilot_cli"), json!("Fix tests"))
    );
    let same = scene().with_env("COPILOT_AGENT_SESSION_ID", ONE);
    lock(&same, ONE, std::process::id());
    assert_eq!(
        whoami(&same, hooked(&same, ONE)).session(),
        format!("copilot_cli:session:{ONE}")
    );
}

#[test]
fn c179_what_the_environment_alone_says_is_refused_with_the_way_to_mend_it() {
    let axiowl = scene().with_env("COPILOT_AGENT_SESSION_ID", ONE);
    lock(&axiowl, ONE, std::process::id());
    let why = whoami(&axiowl, json!({ "progressToken": 2 })).refusal();
    assert!(
        why.contains("axiowl~1sessionId") && why.contains("axiowl hook copilot"),
        "{why}"
    );
    // A variable that is left from another session contradicts the hook.
    whoami(&axiowl, hooked(&axiowl, TWO)).refused_for("sender_identity_conflict");
}

#[test]
fn a_lock_of_another_process_is_no_proof() {
    let axiowl = scene();
    whoami(&axiowl, hooked(&axiowl, ONE)).refused_for("has none of the sessions");
    // The first process of the system is an ancestor of everybody's, and no host of ours.
    lock(&axiowl, ONE, 999_999);
    whoami(&axiowl, hooked(&axiowl, ONE)).refused_for("has none of the sessions");
    // The host has one session open and speaks for another one.
    lock(&axiowl, TWO, std::process::id());
    whoami(&axiowl, hooked(&axiowl, ONE)).refused_for("is not open in process");
    let none = "c0c00003-0000-4000-8000-000000000003";
    whoami(&axiowl, hooked(&axiowl, none)).refused_for("no session");
    whoami(&axiowl, json!({ "axiowl/sessionId": "../../x" })).refused_for("UUID");
}

#[test]
fn a_held_lock_file_has_to_be_held() {
    let axiowl = scene();
    let me = std::process::id();
    lock(&axiowl, ONE, me);
    let hold = format!("home/.copilot/session-state/{ONE}/inuse.{me}.hold");
    axiowl.write(&hold, "");
    whoami(&axiowl, hooked(&axiowl, ONE)).refused_for("nobody holds");
    let file = std::fs::File::open(axiowl.path(&hold)).expect("file");
    file.lock().expect("lock");
    assert_eq!(
        whoami(&axiowl, hooked(&axiowl, ONE)).session(),
        format!("copilot_cli:session:{ONE}")
    );
}
