//! Sessions of Grok Build, an extension of ours.

use super::{Axiowl, ROOT, at_home, case};
use axiowl_discover::TranscriptReader;
use axiowl_lang::layers::{self, Sources};
use axiowl_lang::world_spec::WorldSpec;
use axiowl_sources::World;
use serde_json::json;
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
fn c378_c380_x19_without_its_summary_a_session_is_partial_and_costs_itself() {
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

/// Where a message stands in the transcript of the first session, with some records added.
fn seen(records: &[serde_json::Value], message: &str) -> bool {
    let axiowl = Axiowl::new();
    let case = Path::new(ROOT).join("rules/grok/fixtures/sessions");
    super::program::copy_tree(&case, &axiowl.path("case"));
    let session = numbered(1);
    let folder = format!("/home/dev/.grok/sessions/%2Fhome%2Fdev%2Fprojects%2Fdemo/{session}");
    let below = folder.trim_start_matches("/home/dev/");
    let file = axiowl.path("case/home").join(below).join("updates.jsonl");
    let mut text = std::fs::read_to_string(&file).expect("updates");
    for record in records {
        text.push_str(&format!("{record}\n"));
    }
    std::fs::write(&file, text).expect("updates");
    let rules = Path::new(ROOT).join("rules");
    let sources = Sources {
        disk: Some(&rules),
        ..Sources::default()
    };
    let rules = layers::load_all(&sources);
    let rule = rules.get("grok").expect("the rule");
    let world = std::fs::read_to_string(axiowl.path("case/world.yaml")).expect("world");
    let spec = WorldSpec::parse("world.yaml", &world).expect("world");
    let world = World::fixture(&axiowl.path("case"), &spec);
    let row = json!({ "path": folder });
    let row = row.as_object().expect("a row");
    let mut reader =
        TranscriptReader::of_row(rule, &world, row, &Default::default()).expect("a transcript");
    reader.look(message).expect("read").message.is_some()
}

#[test]
fn c405_c406_only_what_was_said_to_the_agent_counts_as_seen() {
    let message = "01a30000-0000-7000-8000-000000000001";
    let text = format!("[AxiOwl {message}] from \"Tester\"\n> hello");
    let chunk = |kind: &str, meta: serde_json::Value| {
        let content = json!({ "type": "text", "text": text });
        let update = json!({ "sessionUpdate": kind, "content": content, "_meta": meta });
        json!({ "timestamp": 1, "method": "session/update", "params": { "update": update } })
    };
    assert!(seen(
        &[chunk("user_message_chunk", json!({ "promptIndex": 3 }))],
        message
    ));
    for other in [
        chunk("agent_thought_chunk", json!({})),
        chunk("agent_message_chunk", json!({})),
        chunk("tool_call_update", json!({})),
        chunk("user_message_chunk", json!({ "bash_command": true })),
        chunk("user_message_chunk", json!({ "isSidechain": true })),
    ] {
        assert!(!seen(std::slice::from_ref(&other), message), "{other}");
    }
}
