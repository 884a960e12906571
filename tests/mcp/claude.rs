//! Claude Code: the pending call in a live transcript, and nothing else.

use crate::host::{Host, Who, below};
use crate::program::Axiowl;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::Command;

pub const ONE: &str = "0190aaaa-0000-4000-8000-000000000001";
pub const TWO: &str = "0190aaaa-0000-4000-8000-000000000002";
pub const CALL: &str = "toolu_01abc";

pub struct Scene(pub Axiowl);

impl Scene {
    pub fn new() -> Self {
        let scene = Self(Axiowl::new());
        for (session, name) in [(ONE, "Design Review"), (TWO, "Stock Feed")] {
            let cwd = scene.0.home();
            scene.append(
                &format!("{session}.jsonl"),
                &[
                    json!({ "type": "custom-title", "customTitle": name, "sessionId": session }),
                    json!({ "type": "user", "uuid": session, "isSidechain": false, "sessionId": session,
                        "cwd": cwd, "version": "2.1.332", "entrypoint": "cli",
                        "message": { "role": "user", "content": "hello" } }),
                ],
            );
        }
        scene
    }

    fn append(&self, below: &str, records: &[Value]) {
        let path = self.0.home().join(".claude/projects/-p").join(below);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .expect("file");
        for record in records {
            writeln!(file, "{record}").expect("write");
        }
    }

    /// The session's model calls `axiowl_whoami`.
    pub fn calls(&self, session: &str) {
        let call = called(session, CALL, "axiowl_whoami", json!({}));
        self.append(&format!("{session}.jsonl"), &[call]);
    }

    /// This test's own process has the session open, as Claude Code says.
    pub fn opened(&self, session: &str) {
        self.record(std::process::id(), session, &start_of("self"));
    }

    fn record(&self, pid: u32, session: &str, start: &str) {
        let record = json!({ "pid": pid, "sessionId": session, "procStart": start, "pidDomain": domain("") });
        self.written(pid, &record);
    }

    fn written(&self, pid: u32, record: &Value) {
        let path = format!("home/.claude/sessions/{pid}.json");
        self.0.write(&path, record.to_string());
    }

    /// The server as Claude Code starts it.
    fn host(&self) -> Host {
        self.host_below("claude")
    }

    /// The same by a program of another name.
    fn host_below(&self, program: &str) -> Host {
        let server = below(&self.0, self.0.command(&["mcp"]), program);
        Host::greeting(server, "claude-code")
    }

    /// Forgets which calls were answered.
    fn forget(&self) {
        std::fs::remove_dir_all(self.0.path("home/.axiowl/calls")).expect("calls were noted");
    }
}

/// The processes that a number stands for, as Claude Code writes it.
fn domain(other: &str) -> String {
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").expect("a namespace");
    format!("linux:{}:{}{other}", machine.trim(), namespace.display())
}

/// When a process started, as the system counts it.
fn start_of(process: &str) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("stat");
    let fields = stat.rsplit(')').next();
    let start = fields.and_then(|rest| rest.split_whitespace().nth(19));
    start.expect("a start").to_owned()
}

fn called(session: &str, id: &str, tool: &str, input: Value) -> Value {
    json!({ "type": "assistant", "isSidechain": false, "sessionId": session,
        "message": { "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": format!("mcp__axiowl__{tool}"), "input": input } ] } })
}

fn result(session: &str, id: &str) -> Value {
    json!({ "type": "user", "isSidechain": false, "sessionId": session,
        "message": { "role": "user", "content": [ { "type": "tool_result", "tool_use_id": id, "content": "ok" } ] } })
}

pub fn meta(id: &str) -> Value {
    json!({ "claudecode/toolUseId": id, "progressToken": 2 })
}

#[test]
fn c189_the_session_whose_transcript_holds_the_pending_call_is_calling() {
    let scene = Scene::new();
    scene.append(
        &format!("{ONE}.jsonl"),
        &[called(ONE, CALL, "axiowl_whoami", json!({}))],
    );
    let who = scene.host().whoami(meta(CALL));
    assert_eq!(who.session(), format!("claude_code_cli:session:{ONE}"));
    assert_eq!(who.field("display_name"), "Design Review");
    assert_eq!(who.field("class"), "transcript_call");
    assert_eq!(who.field("subagent"), Value::Null);
}

#[test]
fn a_call_that_is_written_down_a_moment_later_is_waited_for() {
    let scene = Scene::new();
    let mut host = scene.host();
    let params = json!({ "name": "axiowl_whoami", "arguments": {}, "_meta": meta(CALL) });
    host.ask("tools/call", params);
    scene.append(
        &format!("{TWO}.jsonl"),
        &[called(TWO, CALL, "axiowl_whoami", json!({}))],
    );
    let who = Who::of(&host.read());
    assert_eq!(who.session(), format!("claude_code_cli:session:{TWO}"));
}

#[test]
fn c179_a_stale_environment_names_nobody_and_changes_nothing() {
    let scene = Scene(Scene::new().0.with_env("CLAUDE_CODE_SESSION_ID", TWO));
    scene
        .host()
        .whoami(json!({ "progressToken": 1 }))
        .refused_for("claudecode~1toolUseId");
    scene.append(
        &format!("{ONE}.jsonl"),
        &[called(ONE, CALL, "axiowl_whoami", json!({}))],
    );
    // After /clear, /branch and the resume picker the variable is the old session's.
    let who = scene.host().whoami(meta(CALL));
    assert_eq!(who.session(), format!("claude_code_cli:session:{ONE}"));
}

#[test]
fn a_sub_agent_speaks_as_itself_and_is_answered_through_its_session() {
    let scene = Scene::new();
    let mut record = called(ONE, CALL, "axiowl_whoami", json!({}));
    record["isSidechain"] = json!(true);
    scene.append(&format!("{ONE}/subagents/agent-a1b2.jsonl"), &[record]);
    let who = scene.host().whoami(meta(CALL));
    assert_eq!(who.session(), format!("claude_code_cli:session:{ONE}"));
    assert_eq!(who.field("subagent"), "a1b2");
}

#[test]
fn what_is_no_pending_call_of_exactly_one_session_is_refused() {
    let refused = |records: &[(&str, Value)], part: &str| {
        let scene = Scene::new();
        for (session, record) in records {
            scene.append(&format!("{session}.jsonl"), std::slice::from_ref(record));
        }
        scene.host().whoami(meta(CALL)).refused_for(part);
    };
    let call = |session: &str| called(session, CALL, "axiowl_whoami", json!({}));
    let none = "holds the pending call";
    // No transcript at all: --no-session-persistence, or an id that somebody made up.
    refused(&[], none);
    // Used before: its result is there.
    refused(&[(ONE, call(ONE)), (ONE, result(ONE, CALL))], none);
    // Another tool, other arguments, a text that looks like it, a copy of another session's past.
    refused(&[(ONE, called(ONE, CALL, "axiowl_inbox", json!({})))], none);
    refused(
        &[(ONE, called(ONE, CALL, "axiowl_whoami", json!({ "x": 1 })))],
        none,
    );
    let text = json!({ "type": "user", "sessionId": ONE, "message": { "role": "user", "content": call(ONE).to_string() } });
    refused(&[(ONE, text)], none);
    refused(&[(ONE, call(TWO))], none);
    refused(&[(ONE, call(ONE)), (TWO, call(TWO))], "several transcripts");
}

#[test]
fn a_call_is_found_behind_the_large_result_of_another_one() {
    let scene = Scene::new();
    let transcript = format!("{ONE}.jsonl");
    let other = "toolu_01img";
    for (id, size) in [("toolu_01near", 1_200_000), ("toolu_01far", 12 << 20)] {
        let mut picture = result(ONE, other);
        picture["message"]["content"][0]["content"] = json!("A".repeat(size));
        let call = called(ONE, id, "axiowl_whoami", json!({}));
        scene.append(&transcript, &[call, picture]);
        let who = scene.host().whoami(meta(id));
        assert_eq!(who.session(), format!("claude_code_cli:session:{ONE}"));
        // Its own result ends it, however far back it stands.
        scene.append(&transcript, &[result(ONE, id)]);
        scene.forget();
        scene
            .host()
            .whoami(meta(id))
            .refused_for("holds the pending call");
    }
}

#[test]
fn a_call_id_that_the_model_wrote_or_that_is_none_is_no_proof() {
    let scene = Scene::new();
    scene.append(
        &format!("{ONE}.jsonl"),
        &[called(ONE, CALL, "axiowl_whoami", json!({}))],
    );
    let mut host = scene.host();
    for bad in ["../../x", "call_1", "", "toolu_ x"] {
        let why = host.whoami(meta(bad)).refusal();
        assert!(why.starts_with("refused: "), "{why}");
    }
    let forged = host.call("axiowl_whoami", json!({ "_meta": meta(CALL) }), json!({}));
    Who::of(&forged).refused_for("unknown field `_meta`");
}

#[test]
fn the_process_that_has_another_session_open_contradicts_the_transcript() {
    let scene = Scene::new();
    scene.append(
        &format!("{ONE}.jsonl"),
        &[called(ONE, CALL, "axiowl_whoami", json!({}))],
    );
    scene.opened(TWO);
    scene
        .host()
        .whoami(meta(CALL))
        .refused_for("sender_identity_conflict");
    // A record that an earlier process of this number left behind says nothing.
    scene.record(std::process::id(), TWO, "1");
    assert_eq!(
        scene.host().whoami(meta(CALL)).session(),
        format!("claude_code_cli:session:{ONE}")
    );
    // Neither does one of another container, where the number is another process's.
    scene.forget();
    let mut record = json!({ "sessionId": TWO, "procStart": start_of("self") });
    record["pidDomain"] = json!(domain("0"));
    scene.written(std::process::id(), &record);
    assert_eq!(
        scene.host().whoami(meta(CALL)).session(),
        format!("claude_code_cli:session:{ONE}")
    );
    scene.opened(ONE);
    scene.forget();
    assert_eq!(
        scene.host().whoami(meta(CALL)).session(),
        format!("claude_code_cli:session:{ONE}")
    );
}

#[test]
fn a_call_that_is_still_under_way_is_not_answered_a_second_time() {
    let scene = Scene::new();
    scene.calls(ONE);
    let mut host = scene.host();
    // A refused one may be made again.
    host.call("axiowl_whoami", json!({ "x": 1 }), meta(CALL));
    let who = host.whoami(meta(CALL));
    assert_eq!(who.session(), format!("claude_code_cli:session:{ONE}"));
    for mut host in [host, scene.host()] {
        // Nothing is wrong with the client, so nothing is said about mending it.
        let why = host.whoami(meta(CALL)).refusal();
        assert!(
            why.contains("answered already") && !why.contains("update Claude Code"),
            "{why}"
        );
    }
}

#[test]
fn a_server_that_no_claude_code_started_is_refused_although_it_knows_the_call() {
    let scene = Scene::new();
    scene.calls(ONE);
    let mut stranger = Host::of(&scene.0, "claude-code");
    stranger
        .whoami(meta(CALL))
        .refused_for("no process of Claude Code");
    for program in ["claudette", "not-claude"] {
        scene
            .host_below(program)
            .whoami(meta(CALL))
            .refused_for("no process of Claude Code");
    }
    // One that says which session it has open is known by that.
    scene.opened(ONE);
    let who = stranger.whoami(meta(CALL));
    assert_eq!(who.session(), format!("claude_code_cli:session:{ONE}"));
}

#[test]
fn a_stranger_that_only_knows_the_call_of_an_open_session_is_refused() {
    let scene = Scene::new();
    scene.calls(ONE);
    let mut other = Command::new("sleep").arg("600").spawn().expect("sleep");
    let pid = other.id();
    scene.record(pid, ONE, &start_of(&pid.to_string()));
    let who = scene.host().whoami(meta(CALL));
    other.kill().expect("kill");
    other.wait().expect("wait");
    who.refused_for("the call does not come from there");
    // The process is gone, and what it left behind bars nobody.
    let who = scene.host().whoami(meta(CALL));
    assert_eq!(who.session(), format!("claude_code_cli:session:{ONE}"));
}
