//! Codex: the thread that the host names, when the call stands in its rollout and the process
//! that writes the rollout is the one the call comes from.

use crate::host::{Host, Who, below as below_program};
use crate::program::Axiowl;
use axiowl_test_support::poll;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What Codex calls itself.
pub const CLIENT: &str = "codex-mcp-client";
pub const THREAD: &str = "01a22cbd-dce3-7872-8f90-1fe526a59c08";
const CHILD: &str = "01a22cbd-dfa8-7a90-910e-241b951014cc";
const TURN: &str = "01a22cbd-dd90-7702-bf65-650449e41e5b";

/// A home with threads; the test has their rollouts open, as Codex would.
struct Scene {
    axiowl: Axiowl,
    open: Vec<File>,
}

impl Scene {
    fn new(originator: &str) -> Self {
        let mut scene = Self {
            axiowl: Axiowl::new(),
            open: Vec::new(),
        };
        let source = ["vscode", "exec"][usize::from(originator == "codex_exec")];
        scene.thread(THREAD, originator, json!(source));
        let named = json!({ "id": THREAD, "thread_name": "Design Review", "updated_at": "2026-11-30T14:00:00Z" });
        scene
            .axiowl
            .write("home/.codex/session_index.jsonl", format!("{named}\n"));
        scene
    }

    fn thread(&mut self, id: &str, originator: &str, source: Value) {
        let head = json!({ "timestamp": "2026-11-30T13:56:10.531Z", "type": "session_meta", "payload": {
            "id": id, "session_id": id, "timestamp": "2026-11-30T13:56:10.531Z", "cwd": self.axiowl.home(),
            "originator": originator, "cli_version": "0.171.0", "source": source, "model_provider": "mock" } });
        let said = json!({ "timestamp": "2026-11-30T13:56:11.000Z", "type": "event_msg",
            "payload": { "type": "user_message", "message": "Review the checkout design" } });
        self.axiowl.write(&below(id), format!("{head}\n{said}\n"));
        self.open.push(self.file(id));
    }

    fn file(&self, id: &str) -> File {
        let path = self.axiowl.path(&below(id));
        OpenOptions::new().append(true).open(path).expect("rollout")
    }

    fn note(&self, thread: &str, record: &Value) {
        writeln!(self.file(thread), "{record}").expect("write");
    }

    fn whoami(&self, meta: Value) -> Who {
        Host::of(&self.axiowl, CLIENT).whoami(meta)
    }
}

fn below(thread: &str) -> String {
    format!("home/.codex/sessions/2026/11/30/rollout-2026-11-30T13-56-10-{thread}.jsonl")
}

fn called(call: &str, turn: &str) -> Value {
    json!({ "type": "response_item", "payload": { "type": "function_call", "name": "axiowl_whoami",
        "namespace": "mcp__axiowl", "arguments": "{}", "call_id": call,
        "internal_chat_message_metadata_passthrough": { "turn_id": turn } } })
}

fn answered(call: &str) -> Value {
    json!({ "type": "response_item", "payload": { "type": "function_call_output", "call_id": call, "output": "ok" } })
}

pub fn meta(thread: &str, call: &str) -> Value {
    json!({ "callId": call, "threadId": thread, "sessionId": thread, "progressToken": 1,
        "x-codex-turn-metadata": { "thread_id": thread, "turn_id": TURN } })
}

#[test]
fn c186_codex_metadata_resolves_through_the_threads_own_state() {
    for (originator, provider) in [("codex_exec", "codex_cli"), ("codex_vscode", "codex")] {
        let scene = Scene::new(originator);
        scene.note(THREAD, &called("call_1", TURN));
        let who = scene.whoami(meta(THREAD, "call_1"));
        assert_eq!(
            (who.session(), who.field("provider")),
            (THREAD.to_owned(), json!(provider))
        );
        assert_eq!(who.field("display_name"), "Design Review");
        assert_eq!(who.field("class"), "host_meta");
    }
}

#[test]
fn c187_codex_metadata_may_lead_to_a_codex_cli_row_that_is_registered() {
    let scene = Scene::new("codex_exec");
    scene.note(THREAD, &called("call_1", TURN));
    let added = scene.axiowl.run(&[
        "registry",
        "add-agent",
        "--provider",
        "codex_cli",
        "--session",
        THREAD,
        "--name",
        "By Hand",
    ]);
    assert_eq!(added.code, 0, "{added}");
    let who = scene.whoami(meta(THREAD, "call_1"));
    assert_eq!(
        (who.field("provider"), who.field("display_name")),
        (json!("codex_cli"), json!("By Hand"))
    );
}

#[test]
fn a_sub_agent_thread_speaks_as_itself_and_is_answered_through_its_main_thread() {
    let mut scene = Scene::new("codex_exec");
    let source = json!({ "subagent": { "thread_spawn": {
        "parent_thread_id": THREAD, "depth": 1, "agent_nickname": "Beauvoir" } } });
    scene.thread(CHILD, "codex_exec", source);
    scene.note(CHILD, &called("call_1", TURN));
    let mut meta = meta(CHILD, "call_1");
    meta["sessionId"] = json!(THREAD);
    let who = scene.whoami(meta);
    assert_eq!(
        (who.session(), who.field("subagent")),
        (THREAD.to_owned(), json!("Beauvoir"))
    );
}

#[test]
fn metadata_that_a_client_can_forge_is_refused() {
    let scene = Scene::new("codex_exec");
    scene.note(THREAD, &called("call_1", TURN));
    scene.note(THREAD, &called("call_old", TURN));
    scene.note(THREAD, &answered("call_old"));
    let change = |at: &[&str], to: Value| {
        let mut meta = meta(THREAD, "call_1");
        let mut value = &mut meta;
        for key in at {
            value = &mut value[*key];
        }
        *value = to;
        meta
    };
    let turn = "x-codex-turn-metadata";
    for (what, meta, part) in [
        ("no thread", change(&["threadId"], Value::Null), "threadId"),
        ("no UUID", change(&["threadId"], json!("../x")), "UUID"),
        (
            "a client's own turn metadata",
            change(&[turn, "thread_id"], json!(CHILD)),
            "does not equal",
        ),
        (
            "no call, as of mcpServer/tool/call",
            change(&["callId"], Value::Null),
            "callId",
        ),
        (
            "no turn",
            change(&[turn, "turn_id"], Value::Null),
            "turn_id",
        ),
        (
            "a made-up call",
            change(&["callId"], json!("call_9")),
            "does not stand",
        ),
        (
            "a call with a result",
            change(&["callId"], json!("call_old")),
            "does not stand",
        ),
        (
            "another turn's call",
            change(&[turn, "turn_id"], json!(CHILD)),
            "does not stand",
        ),
        ("no such thread", meta(CHILD, "call_1"), "no rollout"),
    ] {
        let why = scene.whoami(meta).refusal();
        assert!(why.contains(part), "{what}: {why}");
    }
}

#[test]
fn a_thread_that_another_process_has_open_is_not_this_servers() {
    let mut scene = Scene::new("codex_exec");
    scene.note(THREAD, &called("call_1", TURN));
    scene.open.clear();
    scene
        .whoami(meta(THREAD, "call_1"))
        .refused_for("no process has");
    let mut other = holder(&scene.axiowl.path(&below(THREAD)));
    let why = scene.whoami(meta(THREAD, "call_1")).refusal();
    other.kill().expect("kill");
    other.wait().expect("wait");
    assert!(why.contains("does not come from there"), "{why}");
}

#[test]
fn what_a_shell_of_codex_runs_speaks_for_no_thread() {
    let scene = Scene::new("codex_exec");
    scene.note(THREAD, &called("call_1", TURN));
    let server = below_program(&scene.axiowl, scene.axiowl.command(&["mcp"]), "bash");
    Host::greeting(server, CLIENT)
        .whoami(meta(THREAD, "call_1"))
        .refused_for("does not come from there");
    let who = scene.whoami(meta(THREAD, "call_1"));
    assert_eq!(who.session(), THREAD);
    // The proof of a call counts once.
    scene
        .whoami(meta(THREAD, "call_1"))
        .refused_for("answered already");
}

/// Another process that has a file open for writing.
fn holder(path: &std::path::Path) -> Child {
    let child = Command::new("/bin/sh")
        .args(["-c", "exec 3>>\"$0\"; exec sleep 600"])
        .arg(path)
        .stdin(Stdio::null())
        .spawn()
        .expect("sh runs");
    let has = || {
        let entries = std::fs::read_dir(format!("/proc/{}/fd", child.id())).ok()?;
        let open = entries.flatten().any(|fd| {
            std::fs::read_link(fd.path()).is_ok_and(|link| Some(link) == path.canonicalize().ok())
        });
        open.then_some(())
    };
    assert!(
        poll(Duration::from_secs(30), has).is_some(),
        "it never opened the file"
    );
    child
}
