//! Where a message stands in Claude Code's transcripts, in Copilot's conversations and in VS
//! Code's chat files, by what the shipped rules say: found by its first line or by its id, ended
//! by its own turn and by no other.

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

const CLAUDE: &str = "70000000-0000-4000-8000-00000000000a";

/// A Claude Code session that has read our message, which came in while it was open.
fn claude_home() -> (LoadedRule, Home, String) {
    let home = Home::new(&format!(".claude/projects/-home-dev/{CLAUDE}.jsonl"));
    let typed = json!({ "role": "user", "content": "hello" });
    home.append(&claude("user", json!({ "message": typed })));
    let came = json!({ "role": "user", "content": format!("Another Claude session sent a message:\n{}", ours()) });
    let origin = json!({ "kind": "peer", "msg_id": MESSAGE });
    home.append(&claude(
        "user",
        json!({ "isMeta": true, "message": came, "origin": origin }),
    ));
    (
        rule("claude_code_cli"),
        home,
        format!("claude_code_cli:session:{CLAUDE}"),
    )
}

fn claude(kind: &str, more: Value) -> Value {
    let mut record = json!({
        "type": kind, "isSidechain": false, "uuid": "u", "sessionId": CLAUDE, "cwd": "/home/dev",
        "version": "2.1.332", "timestamp": "2026-12-01T03:01:52.509Z",
    });
    let more = more.as_object().expect("an object").clone();
    record.as_object_mut().expect("an object").extend(more);
    record
}

fn claude_answer(stop: Value, text: &str) -> Value {
    let content = json!([{ "type": "text", "text": text }]);
    let message = json!({ "role": "assistant", "stop_reason": stop, "content": content });
    claude("assistant", json!({ "message": message }))
}

/// As Claude Code 2.1.332 writes it when its user presses Esc, before the model said anything
/// and in the middle of what it said; whatever is answered afterwards answers something else.
#[test]
fn a_claude_turn_that_its_user_breaks_off_is_not_done() {
    for (words, begun) in [
        ("[Request interrupted by user]", false),
        ("[Request interrupted by user]", true),
        ("[Request interrupted by user for tool use]", true),
    ] {
        let (rule, home, session) = claude_home();
        let seen = look(&rule, &home, &session);
        assert!(seen.message.is_some() && seen.end.is_none(), "{seen:?}");
        if begun {
            home.append(&claude_answer(Value::Null, "I begin"));
        }
        assert_eq!(look(&rule, &home, &session).end, None);
        let content = json!([{ "type": "text", "text": words }]);
        let message = json!({ "role": "user", "content": content });
        home.append(&claude(
            "user",
            json!({ "message": message, "rowSource": "harness" }),
        ));
        let next = json!({ "role": "user", "content": "Something else" });
        home.append(&claude("user", json!({ "message": next })));
        home.append(&claude_answer("end_turn".into(), "Of course"));
        let end = look(&rule, &home, &session).end.expect("the turn ended");
        assert!(!end.completed, "{words}: {end:?}");
    }
}

/// What a sub-agent's turn or somebody's words say of an interruption ends no turn.
#[test]
fn words_about_an_interruption_do_not_break_off_a_claude_turn() {
    let (rule, home, session) = claude_home();
    let words = "[Request interrupted by user]";
    let content = json!([{ "type": "text", "text": words }]);
    home.append(&claude(
        "user",
        json!({ "isSidechain": true, "message": { "role": "user", "content": content } }),
    ));
    // Typed by somebody, with a picture beside it, or put in by the client.
    for more in [
        json!({ "origin": { "kind": "human" } }),
        json!({ "isMeta": true }),
    ] {
        let content = json!([{ "type": "text", "text": words }]);
        let mut record = claude(
            "user",
            json!({ "message": { "role": "user", "content": content } }),
        );
        for (name, value) in more.as_object().expect("a field") {
            record[name] = value.clone();
        }
        home.append(&record);
    }
    let quoted = json!([{ "type": "tool_result", "content": words }]);
    home.append(&claude(
        "user",
        json!({ "message": { "role": "user", "content": quoted } }),
    ));
    let quoted = json!([{ "type": "text", "text": format!("what does {words} mean?") }]);
    home.append(&claude(
        "user",
        json!({ "message": { "role": "user", "content": quoted } }),
    ));
    assert_eq!(look(&rule, &home, &session).end, None);
    home.append(&claude_answer("end_turn".into(), "It is done"));
    let end = look(&rule, &home, &session).end.expect("the turn ended");
    assert!(end.completed, "{end:?}");
}
