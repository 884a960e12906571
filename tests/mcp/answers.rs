//! Inbox, status and answers, with the demo's agent as the provider whose session is calling.

use crate::host::{Host, Who};
use crate::program::Axiowl;
use axiowl_test_support::poll;
use serde_json::{Value, json};
use std::io::Write as _;
use std::time::{Duration, Instant};

const ECHO: &str = "0190aaaa-0000-7000-8000-00000000ec40";
const OTHER: &str = "0190aaaa-0000-7000-8000-00000000ec41";

struct Scene(Axiowl);

impl Scene {
    fn new() -> Self {
        let scene = Self(Axiowl::new());
        for (id, name) in [(ECHO, "Echo"), (OTHER, "Other")] {
            let head = json!({ "type": "session", "id": id, "name": name, "cwd": scene.0.home() });
            scene.0.write(
                &format!("home/.axiowl-echo/{id}.jsonl"),
                format!("{head}\n"),
            );
        }
        assert_eq!(scene.0.run(&["discover", "echo"]).code, 0);
        scene
    }

    /// Adds a record to a session's transcript.
    fn note(&self, session: &str, record: &Value) {
        let path = self.0.home().join(format!(".axiowl-echo/{session}.jsonl"));
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.append(true).open(path).expect("transcript");
        writeln!(file, "{record}").expect("a record");
    }

    /// Writes a call of a session into its transcript, as its host would: the turn, and what the
    /// host says of the call.
    fn announce(&self, session: &str, tool: &str, arguments: &Value) -> (String, Value) {
        let (call, turn) = (new_id(), new_id());
        let record = json!({ "type": "tool_call", "turn": turn, "id": call, "name": tool, "arguments": arguments });
        self.note(session, &record);
        (turn, json!({ "axiowl/echoCall": call }))
    }

    /// The same, and makes it.
    fn call(&self, host: &mut Host, session: &str, tool: &str, arguments: Value) -> Who {
        let (turn, meta) = self.announce(session, tool, &arguments);
        let answer = host.call(tool, arguments, meta);
        self.note(
            session,
            &json!({ "type": "turn_end", "turn": turn, "ok": true }),
        );
        Who::of(&answer)
    }

    /// A call of the other session that waits for an answer which never comes: its number.
    fn waiting(&self, host: &mut Host) -> u64 {
        // It takes messages and reads none, so nothing will ever be seen.
        let keeps = format!("home/.axiowl-echo/{ECHO}.keeps");
        self.0.write(&keeps, "held");
        let (tool, arguments) = (
            "axiowl_send_message",
            json!({ "to": "Echo", "body": "x", "wait": "reply" }),
        );
        let (_, meta) = self.announce(OTHER, tool, &arguments);
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        host.ask("tools/call", params)
    }

    fn host(&self) -> Host {
        Host::of(&self.0, "axiowl-echo-agent")
    }

    /// Waits until the ledger says that a message is answered.
    fn replied(&self, id: &str) {
        let came = poll(Duration::from_secs(60), || {
            let lines = self.0.run(&["message", id, "--json"]).lines("stage");
            lines
                .iter()
                .any(|line| line["stage"] == "replied")
                .then_some(())
        });
        assert!(came.is_some(), "{id} was never answered");
    }
}

fn new_id() -> String {
    axiowl_model::RunId::new().to_string()
}

#[test]
fn a_message_is_seen_by_its_two_ends_and_by_nobody_else() {
    let scene = Scene::new();
    let run = scene.0.run(&[
        "send", "--to", "Echo", "--body", "hello", "--wait", "reply", "--json",
    ]);
    assert_eq!(run.code, 0, "{run}");
    let id = run.lines("stage")[0]["message_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    scene.replied(&id);
    let mut host = scene.host();
    let inbox = scene
        .call(&mut host, ECHO, "axiowl_inbox", json!({}))
        .field("messages");
    assert_eq!(inbox.as_array().map(Vec::len), Some(1), "{inbox}");
    let got = &inbox[0];
    assert_eq!(
        (
            &got["message_id"],
            &got["body"],
            &got["from"],
            &got["answered"]
        ),
        (
            &json!(id),
            &json!("hello"),
            &json!("operator"),
            &json!(true)
        )
    );
    let status = scene.call(
        &mut host,
        ECHO,
        "axiowl_message_status",
        json!({ "id": id }),
    );
    let stages = status.field("stages");
    assert!(
        stages
            .as_array()
            .expect("stages")
            .iter()
            .any(|line| line["stage"] == "replied"),
        "{stages}"
    );
    assert_eq!(status.field("replies")[0]["body"], "echo: hello");
    assert_eq!(
        scene
            .call(&mut host, OTHER, "axiowl_inbox", json!({}))
            .field("messages"),
        json!([])
    );
    let why = scene
        .call(
            &mut host,
            OTHER,
            "axiowl_message_status",
            json!({ "id": id }),
        )
        .refusal();
    let unknown = scene
        .call(
            &mut host,
            OTHER,
            "axiowl_message_status",
            json!({ "id": new_id() }),
        )
        .refusal();
    assert!(
        why.contains("you sent or got no message")
            && unknown.contains("you sent or got no message")
    );
    let later = json!({ "since": "2126-01-01T00:00:00Z" });
    assert_eq!(
        scene
            .call(&mut host, ECHO, "axiowl_inbox", later)
            .field("messages"),
        json!([])
    );
    for (tool, arguments) in [
        ("axiowl_inbox", json!({ "since": "yesterday" })),
        ("axiowl_message_status", json!({ "id": "seven" })),
        (
            "axiowl_send_message",
            json!({ "to": "Echo", "body": "x", "wait": "forever" }),
        ),
        (
            "axiowl_send_message",
            json!({ "to": "Echo", "body": "x", "reply_to": "seven" }),
        ),
    ] {
        let why = scene.call(&mut host, OTHER, tool, arguments).refusal();
        assert!(!why.is_empty());
    }
    host.whoami(json!({ "axiowl/echoCall": id }))
        .refused_for("no transcript");
    assert_eq!(
        scene
            .0
            .run(&["list", "messages", "--json"])
            .lines("message")
            .len(),
        2
    );
}

#[test]
fn the_echo_agent_answers_whoever_asked_and_no_echo() {
    let scene = Scene::new();
    let send = |from: &[&str], wait: &str| {
        let asked = [
            "send", "--to", "Echo", "--body", "hello", "--json", "--wait", wait,
        ];
        let run = scene.0.run(&[&asked[..], from].concat());
        assert_eq!(run.code, 0, "{from:?}: {run}");
        run
    };
    let run = send(&["--from", "Other"], "reply");
    assert_eq!(run.lines("reply")[0]["body"], "echo: hello", "{run}");
    let (turn, answer) = ("turn_done", run.lines("reply")[0]["message_id"].clone());
    let answer = answer.as_str().expect("an id");
    // The answer is Other's to read, which takes it and leaves it there.
    let ended = poll(Duration::from_secs(60), || {
        let lines = scene.0.run(&["message", answer, "--json"]).lines("stage");
        lines.iter().any(|line| line["stage"] == turn).then_some(())
    });
    assert!(ended.is_some(), "Other never took {answer}");
    let transcript = format!("home/.axiowl-echo/{OTHER}.jsonl");
    let other = std::fs::read_to_string(scene.0.path(&transcript)).expect("transcript");
    assert!(
        other.contains("echo: hello") && !other.contains("tool_call"),
        "{other}"
    );
    // A name without a session cannot be answered, and that is no mistake of the agent.
    send(&["--from", "Nobody Here"], "turn");
    send(&[], "reply");
    let listed = scene
        .0
        .run(&["list", "messages", "--json"])
        .lines("message");
    assert_eq!(listed.len(), 5, "{listed:?}");
}

#[test]
fn c174_c175_a_proven_sender_is_registered_as_one() {
    let scene = Scene::new();
    let mut host = scene.host();
    let third = "0190aaaa-0000-7000-8000-00000000ec42";
    let head = json!({ "type": "session", "id": third, "name": "Newcomer", "cwd": scene.0.home() });
    scene.0.write(
        &format!("home/.axiowl-echo/{third}.jsonl"),
        format!("{head}\n"),
    );
    let receipt = scene.call(
        &mut host,
        third,
        "axiowl_send_message",
        json!({ "to": "Echo", "body": "hi" }),
    );
    assert_eq!(receipt.field("from"), "Newcomer");
    let rows = scene
        .0
        .run(&["list", "agents", "--all", "--json"])
        .lines("agent");
    let row = rows
        .iter()
        .find(|row| row["provider_session_id"] == format!("echo:session:{third}"));
    let row = row.unwrap_or_else(|| panic!("no row: {rows:?}"));
    assert_eq!(
        (&row["source"], &row["display_name"]),
        (&json!("mcp_sender_identity"), &json!("Newcomer"))
    );
}

#[test]
fn a_call_that_its_host_gives_up_ends_and_so_does_the_server() {
    let scene = Scene::new();
    let mut host = scene.host();
    let id = scene.waiting(&mut host);
    host.write(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id, "reason": "test" } }));
    let listed = host.request("tools/list", json!({}));
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    // It waits for the answer already, or is not even accepted.
    let start = Instant::now();
    let (well, rest) = host.close_and_read();
    assert!(well && rest.is_empty(), "{rest}");
    let took = start.elapsed();
    assert!(
        took < Duration::from_secs(4),
        "it went on for nobody: {took:?}"
    );
}

#[test]
fn the_end_of_a_host_ends_the_wait_for_an_answer_and_says_how_far_the_message_is() {
    let scene = Scene::new();
    let mut host = scene.host();
    let id = scene.waiting(&mut host);
    // It waits once its message is held.
    let held = poll(Duration::from_secs(60), || {
        let listed = scene.0.run(&["list", "messages", "--json"]);
        let listed = listed.lines("message");
        listed
            .iter()
            .any(|one| one["stage"] == "held")
            .then_some(())
    });
    assert!(held.is_some(), "nothing was sent");
    let start = Instant::now();
    let (well, rest) = host.close_and_read();
    let took = start.elapsed();
    assert!(well && took < Duration::from_secs(4), "{took:?}");
    let answer: Value = serde_json::from_str(&rest).expect("one answer");
    assert_eq!(answer["id"], id, "{answer}");
    assert_eq!(
        answer["result"]["structuredContent"]["stage"], "held",
        "{answer}"
    );
}
