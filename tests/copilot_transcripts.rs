//! Where a message stands in Copilot's conversations and in VS Code's chat files, by what the
//! shipped rules say: found by its first line, ended by its own turn and by no other.

use axiowl_discover::{Look, Options, TranscriptReader, row_of};
use axiowl_lang::load::{Layer, LoadedRule, RuleFolder, load};
use axiowl_model::{Timestamp, VISIBLE_MARK};
use axiowl_sources::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

const MESSAGE: &str = "0190aaaa-0000-7000-8000-000000000001";
const SESSION: &str = "10000000-0000-4000-8000-00000000000e";

fn rule(provider: &str) -> LoadedRule {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("rules")
        .join(provider);
    let folder = RuleFolder::read(&dir, Layer::Disk).expect("the rule's folder");
    load(&folder, &|_| None).expect("a sound rule")
}

/// A home with one session, whose file grows.
struct Home {
    dir: tempfile::TempDir,
    file: PathBuf,
}

impl Home {
    fn new(file: &str) -> Self {
        let dir = tempfile::tempdir().expect("folder");
        let file = dir.path().join(file);
        std::fs::create_dir_all(file.parent().expect("parent")).expect("folders");
        Self { dir, file }
    }

    fn append(&self, record: &Value) {
        let options = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.file);
        writeln!(options.expect("open"), "{record}").expect("write");
    }

    fn world(&self) -> World {
        World::real(
            self.dir.path().into(),
            BTreeMap::new(),
            Timestamp::from_millis(0),
        )
    }
}

/// Looks for [`MESSAGE`] in the session's transcript, from its start.
fn look(rule: &LoadedRule, home: &Home, session: &str) -> Look {
    let world = home.world();
    let found = row_of(rule, &world, session, &Options::default()).expect("the session");
    let mut reader = TranscriptReader::of(rule, &world, &found, u64::MAX).expect("a transcript");
    reader.look(MESSAGE).expect("readable")
}

fn ours() -> String {
    format!("{VISIBLE_MARK}{MESSAGE}] from \"operator\"; answer with axiowl_send_message\n> hello")
}

fn event(kind: &str, data: Value) -> Value {
    json!({ "type": kind, "data": data, "id": "e", "timestamp": "2026-11-30T13:30:52.200Z" })
}

fn copilot_home() -> (LoadedRule, Home, String) {
    let home = Home::new(&format!(".copilot/session-state/{SESSION}/events.jsonl"));
    let yaml = format!("id: {SESSION}\nclient_name: github/cli\nname: Bot\nuser_named: true\n");
    std::fs::write(home.file.with_file_name("workspace.yaml"), yaml).expect("yaml");
    home.append(&event(
        "session.start",
        json!({ "copilotVersion": "1.0.102" }),
    ));
    let quoted = format!(
        "what is {MESSAGE}? it began with: {}",
        ours().replace('\n', " ")
    );
    home.append(&event(
        "user.message",
        json!({ "content": quoted, "messageId": "m0" }),
    ));
    (
        rule("copilot_cli"),
        home,
        format!("copilot_cli:session:{SESSION}"),
    )
}

#[test]
fn a_copilot_turn_ends_with_the_answer_to_its_own_message() {
    let (rule, home, session) = copilot_home();
    assert_eq!(
        look(&rule, &home, &session),
        Look::default(),
        "a quoted id proves nothing"
    );
    home.append(&event(
        "user.message",
        json!({ "content": ours(), "messageId": "m1" }),
    ));
    let seen = look(&rule, &home, &session);
    assert_eq!(
        seen.message.as_ref().map(|place| place.id.as_str()),
        Some("m1")
    );
    assert_eq!(seen.end, None);

    // Another message's answer, and a call of a tool in ours, end nothing.
    let answer = |to: &str, tools: Value| json!({ "messageId": "a", "originatingMessageId": to, "content": "x", "toolRequests": tools });
    home.append(&event("assistant.message", answer("m0", json!([]))));
    home.append(&event(
        "assistant.message",
        answer("m1", json!([{ "name": "bash" }])),
    ));
    assert_eq!(look(&rule, &home, &session).end, None);
    home.append(&event("assistant.message", answer("m1", json!([]))));
    let end = look(&rule, &home, &session).end.expect("the turn ended");
    assert!(end.completed);
}

#[test]
fn a_copilot_turn_that_fails_says_so() {
    let (rule, home, session) = copilot_home();
    home.append(&event(
        "user.message",
        json!({ "content": ours(), "messageId": "m1" }),
    ));
    home.append(&event(
        "session.error",
        json!({ "message": "other", "originatingMessageId": "m0" }),
    ));
    assert_eq!(look(&rule, &home, &session).end, None);
    home.append(&event(
        "session.error",
        json!({ "message": "no model", "originatingMessageId": "m1" }),
    ));
    let end = look(&rule, &home, &session).end.expect("the turn ended");
    assert!(!end.completed);
}

/// Version 1.0.20 gave messages no id of their own; message and answer share an interaction.
#[test]
fn turns_of_early_versions_are_told_by_their_interaction() {
    let (rule, home, session) = copilot_home();
    home.append(&event(
        "user.message",
        json!({ "content": ours(), "interactionId": "i1" }),
    ));
    let answer = |interaction: &str| json!({ "content": "x", "interactionId": interaction });
    home.append(&event("assistant.message", answer("i0")));
    assert_eq!(look(&rule, &home, &session).end, None);
    home.append(&event("assistant.message", answer("i1")));
    assert!(
        look(&rule, &home, &session)
            .end
            .expect("the turn ended")
            .completed
    );
}

#[test]
fn a_message_stands_in_a_chat_once_it_is_a_request_and_not_while_it_waits() {
    let path = ".config/Code/User/workspaceStorage/w1/chatSessions";
    let home = Home::new(&format!("{path}/{SESSION}.jsonl"));
    let request = |text: &str, id: &str| json!({ "requestId": id, "message": { "text": text } });
    let state = json!({ "version": 3, "sessionId": SESSION, "requests": [request("hello", "r0")] });
    home.append(&json!({ "kind": 0, "v": state }));
    let (rule, session) = (
        rule("vscode_native"),
        format!("vscode_native:session:{SESSION}"),
    );
    let waiting =
        json!([{ "id": "r1", "kind": "queued", "request": { "message": { "text": ours() } } }]);
    home.append(&json!({ "kind": 2, "k": ["pendingRequests"], "v": waiting }));
    assert_eq!(
        look(&rule, &home, &session),
        Look::default(),
        "it is only queued"
    );
    home.append(&json!({ "kind": 2, "k": ["requests"], "v": [request(&ours(), "r1")] }));
    let seen = look(&rule, &home, &session)
        .message
        .expect("it is a request now");
    assert_eq!(seen.id, "r1");
    // The end of a turn cannot be told from that of another one.
    home.append(&json!({ "kind": 1, "k": ["requests", 0, "modelState"], "v": { "value": 1 } }));
    assert_eq!(look(&rule, &home, &session).end, None);
}

#[test]
fn a_message_is_found_in_a_chat_that_was_written_anew() {
    let path = ".config/Code/User/globalStorage/emptyWindowChatSessions";
    let home = Home::new(&format!("{path}/{SESSION}.jsonl"));
    let requests = json!([
        { "requestId": "r0", "message": { "text": "hello" } },
        { "requestId": "r1", "message": { "text": ours() } },
    ]);
    home.append(
        &json!({ "kind": 0, "v": { "version": 3, "sessionId": SESSION, "requests": requests } }),
    );
    let session = format!("vscode_native:session:{SESSION}");
    assert!(
        look(&rule("vscode_native"), &home, &session)
            .message
            .is_some()
    );
}
