//! Sessions of Grok Build, an extension of ours.

use super::{Axiowl, ROOT, at_home, case, told};
use serde_json::{Value, json};
use std::path::Path;

fn numbered(number: u32) -> String {
    format!("0199aaaa-0000-7000-8000-{number:012x}")
}

#[test]
fn c387_c469_sessions_lie_below_grok_home_by_folder_and_id() {
    let scope = case("grok", "sessions");
    let first = numbered(1);
    let expected = (
        Some("Port the lexer"),
        "main",
        "active",
        true,
        "grok_session_summary",
    );
    assert_eq!(scope.says(&first), expected);
    let row = scope.row(&first);
    assert_eq!(row["provider"], "grok");
    assert_eq!(row["provider_session_id"], format!("grok:session:{first}"));
    // GROK_HOME decides; the default folder is not looked at then.
    let elsewhere = case("grok", "windows");
    assert_eq!(
        elsewhere.targets(),
        ["0199cccc-0000-7000-8000-000000000001"]
    );
    assert_eq!(elsewhere.rows.len(), 1);
}

#[test]
fn c382_the_rule_says_that_it_is_an_extension_of_ours() {
    let run = Axiowl::new().run(&["discover", "grok"]);
    assert!(run.stdout.contains("an extension of ours"), "{run}");
}

#[test]
fn c378_c379_c380_x19_without_its_summary_a_session_is_partial_and_costs_itself() {
    let scope = case("grok", "sessions");
    // Updates alone; a damaged summary; one of another session.
    for (number, words) in [
        (3, "no summary.json"),
        (9, "names no session"),
        (8, "another session"),
    ] {
        let (_, _, status, sendable, _) = scope.says(&numbered(number));
        assert_eq!((status, sendable), ("partial", false), "{number}");
        assert!(scope.error(&numbered(number)).contains(words), "{number}");
    }
    assert!(scope.issues().contains(&"damaged"));
    let targets = [1, 5, 6, 13].map(numbered);
    assert_eq!(scope.targets(), targets);
}

#[test]
fn x17_a_session_is_a_target_only_below_the_folder_it_records() {
    let scope = case("grok", "sessions");
    for number in [11, 14] {
        let (_, _, status, sendable, source) = scope.says(&numbered(number));
        assert_eq!((status, sendable), ("evidence_only", false), "{number}");
        assert_eq!(source, "grok_misplaced_session");
    }
    // A name that had to be cut is made whole by the file beside it.
    assert_eq!(scope.says(&numbered(13)).0, Some("Deep down"));
    let (_, _, status, _, _) = scope.says(&numbered(7));
    assert_eq!(status, "stale");
}

#[test]
fn x20_sub_agents_and_hidden_sessions_are_no_targets() {
    let scope = case("grok", "sessions");
    for number in [2, 12] {
        let (_, kind, _, sendable, _) = scope.says(&numbered(number));
        assert_eq!((kind, sendable), ("subagent", false), "{number}");
    }
    let (_, _, status, sendable, _) = scope.says(&numbered(4));
    assert_eq!((status, sendable), ("evidence_only", false));
    assert!(scope.error(&numbered(4)).contains("hides it"));
    // A fork is a conversation of its own.
    assert_eq!(scope.says(&numbered(5)).0, Some("Try a branch"));
    assert_eq!(scope.says(&numbered(10)).1, "empty");
}

#[test]
fn x21_a_recorded_process_is_evidence_and_no_sign_of_life() {
    let scope = case("grok", "sessions");
    assert!(scope.evidence(&numbered(1), "last recorded as process 999999"));
    assert_eq!(scope.says(&numbered(1)).2, "active");
}

#[test]
fn x22_x26_the_other_grok_and_the_login_are_not_read() {
    let scope = case("grok", "sessions");
    assert!(!scope.mentions("other grok") && !scope.mentions("0199bbbb"));
    assert!(!scope.mentions("never to be read") && !scope.mentions("auth.json"));
    // Alone in the folder it gives no session either.
    let axiowl = Axiowl::new();
    axiowl.write(
        "home/.grok/user-settings.json",
        r#"{"sessions": [{"id": "0199bbbb"}]}"#,
    );
    axiowl.write("home/.grok/grok.db", "");
    assert!(at_home(&axiowl, "grok").rows.is_empty());
}

/// The case with some records added to the transcript of its first session.
fn with(records: &[Value]) -> Axiowl {
    let axiowl = Axiowl::new();
    let case = Path::new(ROOT).join("rules/grok/fixtures/sessions");
    super::program::copy_tree(&case, &axiowl.path("case"));
    let below = "case/home/.grok/sessions/%2Fhome%2Fdev%2Fprojects%2Fdemo";
    let file = axiowl.path(below).join(numbered(1)).join("updates.jsonl");
    let mut text = std::fs::read_to_string(&file).expect("updates");
    for record in records {
        text.push_str(&format!("{record}\n"));
    }
    std::fs::write(&file, text).expect("updates");
    axiowl
}

fn said(records: &[Value]) -> Vec<(String, String)> {
    let session = format!("grok:session:{}", numbered(1));
    told::said("grok", &with(records).path("case"), &session)
}

fn chunk(kind: &str, text: &str, meta: Value) -> Value {
    let content = json!({ "type": "text", "text": text });
    let update = json!({ "sessionUpdate": kind, "content": content, "_meta": meta });
    json!({ "timestamp": 1, "method": "session/update", "params": { "update": update } })
}

/// What is left of the recorded transcript: reasoning, the tool's output, the shell command
/// and what the marker undoes are in the file too.
const LEFT: [(&str, &str); 5] = [
    ("user", "keep me"),
    ("assistant", "kept answer"),
    ("user", "after rewind"),
    ("assistant", "final "),
    ("assistant", "answer"),
];

#[test]
fn c377_c405_c406_only_user_and_agent_text_is_taken() {
    let owned = |(role, text): &(&str, &str)| ((*role).to_owned(), (*text).to_owned());
    let left: Vec<_> = LEFT.iter().map(owned).collect();
    assert_eq!(said(&[]), left);
    let noise = [
        chunk("agent_thought_chunk", "reasoning", json!({})),
        chunk("tool_call_update", "output", json!({})),
        chunk("user_message_chunk", "ls", json!({ "bash_command": true })),
        chunk(
            "agent_message_chunk",
            "of a sub-agent",
            json!({ "isSidechain": true }),
        ),
        chunk(
            "user_message_chunk",
            "to a sub-agent",
            json!({ "subagentId": "a" }),
        ),
        json!({ "method": "_x.ai/something_new", "params": {} }),
    ];
    assert_eq!(said(&noise), left);
}

#[test]
fn c407_x23_rewind_markers_take_back_what_they_undo() {
    let texts = |records: &[Value]| -> Vec<String> {
        said(records).into_iter().map(|(_, text)| text).collect()
    };
    let marker = |prompt: u64| {
        let update = json!({ "sessionUpdate": "rewind_marker", "target_prompt_index": prompt });
        json!({ "method": "_x.ai/session/update", "params": { "update": update } })
    };
    // In the recorded transcript the marker stands before a prompt of the same number.
    assert!(!texts(&[]).iter().any(|text| text.starts_with("undo")));
    assert_eq!(texts(&[marker(1)]), ["keep me", "kept answer"]);
    assert!(texts(&[marker(0)]).is_empty());
    let again = chunk(
        "user_message_chunk",
        "once more",
        json!({ "promptIndex": 1 }),
    );
    let expected = ["keep me", "kept answer", "once more"];
    assert_eq!(texts(&[marker(1), again.clone()]), expected);
    // A lower number that comes again says the same without a marker.
    let third = chunk("user_message_chunk", "third", json!({ "promptIndex": 2 }));
    assert_eq!(texts(&[third, again]), expected);
}

#[test]
fn what_the_agent_itself_says_is_no_sign_that_it_was_told() {
    let message = "01a30000-0000-7000-8000-000000000001";
    let text = format!("[AxiOwl {message}] from \"Tester\"\n> hello");
    let seen = |kind: &str, meta: Value| {
        let axiowl = with(&[chunk(kind, &text, meta)]);
        let session = format!("grok:session:{}", numbered(1));
        told::read("grok", &axiowl.path("case"), &session, |reader| {
            reader.look(message).expect("read").message.is_some()
        })
    };
    assert!(seen("user_message_chunk", json!({ "promptIndex": 3 })));
    assert!(!seen("agent_message_chunk", json!({})));
    assert!(!seen("agent_thought_chunk", json!({})));
    assert!(!seen("user_message_chunk", json!({ "bash_command": true })));
}
