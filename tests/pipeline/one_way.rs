//! One pipeline for every send: the command line's and the MCP server's. The demo's echo agent
//! is the host of the second kind.

use crate::desk::{Desk, message_id, words};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write as _};
use std::process::Stdio;

const ECHO: &str = "0190aaaa-0000-7000-8000-00000000ec40";

fn with_echo() -> Desk {
    let desk = Desk::new();
    let head = json!({ "type": "session", "id": ECHO, "name": "Echo", "cwd": desk.axiowl.home() });
    desk.axiowl.write(
        &format!("home/.axiowl-echo/{ECHO}.jsonl"),
        format!("{head}\n"),
    );
    assert_eq!(desk.run(&["discover", "echo"]).code, 0);
    desk
}

/// The evidence log's lines about a message.
fn events(desk: &Desk, message: &str) -> Vec<Value> {
    let log = desk.axiowl.home().join(".axiowl/evidence.log");
    let text = std::fs::read_to_string(log).expect("log");
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["message_id"] == message).collect()
}

fn names(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect()
}

#[test]
fn c194_c195_c196_a_send_over_mcp_takes_the_very_steps_of_the_command_line() {
    let desk = with_echo();
    let run = desk.send("Echo", &["--wait", "reply", "--timeout", "60s"]);
    assert_eq!(run.code, 0, "{run}");
    let asked = message_id(&run);
    let answer = run.lines("reply")[0]["message_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    desk.quiet();
    let steps = [
        "request",
        "validated",
        "sender_resolved",
        "target_resolved",
        "guards_passed",
        "body_built",
        "accepted",
    ];
    let by_hand = events(&desk, &asked);
    assert_eq!(names(&by_hand)[..7], steps, "{by_hand:?}");
    let over_mcp = events(&desk, &answer);
    // The operator's inbox is no row of the registry, so nothing is looked up for it.
    let mut expected = steps.to_vec();
    expected.retain(|step| *step != "target_resolved");
    // A proven sender is registered while it is resolved.
    expected.insert(2, "sender_registered");
    assert_eq!(names(&over_mcp)[..7], expected, "{over_mcp:?}");
    assert_eq!(
        (&by_hand[0]["from"], &over_mcp[0]["from"]),
        (&"operator".into(), &"proven".into())
    );
    for events in [&by_hand, &over_mcp] {
        assert!(events[0]["run_id"].is_string() && events[0]["message_id"].is_string());
    }
    // C206, C212: which row was selected, that AxiOwl accepted, what the provider reported.
    let accepted = &by_hand[6];
    assert_eq!(
        accepted["agent_id"],
        format!("echo:local:echo:session:{ECHO}")
    );
    let reported: Vec<_> = by_hand
        .iter()
        .filter(|event| event["event"] == "stage")
        .collect();
    assert!(!reported.is_empty(), "{by_hand:?}");
    for stage in reported {
        assert_eq!(stage["provider_session_id"], format!("echo:session:{ECHO}"));
        assert!(stage["evidence"].is_object() && stage["route"].is_string());
    }
    assert!(names(&over_mcp).contains(&"reply_recorded"));
}

#[test]
fn c229_to_c233_acceptance_the_providers_word_and_an_answer_are_three_things() {
    let desk = with_echo();
    let run = desk.send("Echo", &["--wait", "reply", "--timeout", "60s"]);
    let id = message_id(&run);
    desk.until(&id, &["turn_done"]);
    let lines = desk.stages(&id);
    let of = |stage: &str| {
        let line = lines.iter().find(|line| line["stage"] == stage);
        line.unwrap_or_else(|| panic!("no {stage}: {lines:?}"))
            .clone()
    };
    let kinds = ["accepted_by_axiowl", "seen", "replied"]
        .map(|stage| of(stage)["evidence"]["kind"].clone());
    assert_eq!(kinds, ["ledger_row", "transcript_record", "reply_message"]);
    let listed = desk.run(&["list", "messages", "--json"]);
    let message = listed
        .lines("message")
        .into_iter()
        .find(|m| m["message_id"] == id.as_str());
    // The end of the turn is recorded after the answer and does not weaken it.
    assert_eq!(message.expect("listed")["stage"], "replied", "{listed}");
    assert_eq!(words(&lines).last().map(String::as_str), Some("turn_done"));
    let reply = &run.lines("reply")[0];
    assert_eq!(
        (&reply["proof"], &reply["reply_to"]),
        (&"proven".into(), &id.into())
    );
}

/// Asks the server, as a host would, and gives back its answers.
fn server(desk: &Desk, requests: &[Value]) -> Vec<Value> {
    let mut child = desk
        .axiowl
        .command(&["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("axiowl runs");
    let mut input = child.stdin.take().expect("stdin");
    let mut answers = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let mut out = Vec::new();
    for request in requests {
        writeln!(input, "{request}").expect("write");
        if request.get("id").is_some() {
            let answer = answers.next().expect("an answer").expect("a line");
            out.push(serde_json::from_str(&answer).expect("JSON"));
        }
    }
    drop(input);
    child.wait().expect("wait");
    out
}

#[test]
fn c169_to_c172_c192_the_tool_asks_for_no_sender_and_says_who_is_taken_for_one() {
    let desk = with_echo();
    let answers = server(
        &desk,
        &[
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "some-host", "version": "1" } } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
        ],
    );
    let instructions = answers[0]["result"]["instructions"].to_string();
    for part in [
        "typed axiowl_ tools",
        "raw arguments",
        "do not invent a --from",
    ] {
        assert!(instructions.contains(part), "{part}: {instructions}");
    }
    let tools = answers[1]["result"]["tools"].as_array().expect("tools");
    let send = tools
        .iter()
        .find(|tool| tool["name"] == "axiowl_send_message")
        .expect("the tool");
    let description = send["description"].as_str().expect("text");
    assert!(description.contains("session id"), "{description}");
    assert!(
        description.contains("stable sender identity key"),
        "{description}"
    );
    let arguments = send["inputSchema"]["properties"]
        .as_object()
        .expect("arguments");
    for name in arguments.keys() {
        assert!(
            ["to", "body", "reply_to", "wait"].contains(&name.as_str()),
            "{name}"
        );
    }
    assert_eq!(send["inputSchema"]["additionalProperties"], false);
    assert_eq!(send["annotations"]["destructiveHint"], false);
    assert_eq!(send["annotations"]["openWorldHint"], false);
}

#[test]
fn c177_to_c179_c191_a_call_whose_caller_nobody_proves_sends_nothing() {
    let desk = with_echo();
    let call = |client: &str, meta: Value| {
        let answers = server(
            &desk,
            &[
                json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                    "protocolVersion": "2025-06-18", "capabilities": {},
                    "clientInfo": { "name": client, "version": "1" } } }),
                json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
                json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
                    "name": "axiowl_send_message", "_meta": meta,
                    "arguments": { "to": "Echo", "body": "hi" } } }),
            ],
        );
        answers[1]["result"].clone()
    };
    for (client, meta) in [
        ("some-host", json!({})),
        ("axiowl-echo-agent", json!({})),
        (
            "axiowl-echo-agent",
            json!({ "axiowl/echoCall": "0190aaaa-0000-7000-8000-00000000ca11" }),
        ),
        (
            "codex-mcp-client",
            json!({ "threadId": "0190aaaa-0000-7000-8000-00000000ca11" }),
        ),
    ] {
        let result = call(client, meta.clone());
        assert_eq!(result["isError"], true, "{client} {meta}: {result}");
        assert!(
            result["content"][0]["text"].to_string().contains("refused"),
            "{result}"
        );
    }
    assert!(
        desk.run(&["list", "messages", "--json"])
            .lines("message")
            .is_empty()
    );
}
