//! Sessions of Gemini CLI, an extension of ours. Resuming one lets Gemini delete it at its next
//! start, unless its clean-up is off: only then is a session a target.

use super::{Axiowl, at_home, case, contents, program::copy_tree, told};
use serde_json::Value;

fn numbered(letter: char, number: u32) -> String {
    format!("5{letter}{number:06x}-0000-4000-8000-{number:012x}")
}

#[test]
fn c382_c469_an_extension_with_ids_of_its_own() {
    let scope = case("gemini_cli", "sessions");
    let session = numbered('a', 1);
    let row = scope.row(&session);
    assert_eq!(row["provider"], "gemini_cli");
    assert_eq!(
        row["provider_session_id"],
        format!("gemini_cli:session:{session}")
    );
    assert_eq!(row["cwd"], "/home/dev/projects/webshop");
    let run = Axiowl::new().run(&["discover", "gemini-cli"]);
    assert!(run.stdout.contains("our extension"), "{run}");
}

/// With session retention off, what is a conversation is a target and nothing else is.
#[test]
fn with_the_clean_up_off_conversations_are_targets_and_nothing_else() {
    let scope = case("gemini_cli", "sessions");
    let mut expected: Vec<String> = [1, 2, 4, 7, 8].map(|n| numbered('a', n)).to_vec();
    expected.push("30f3c047-8b75-459c-8fc3-5f57c5847b1f".into());
    expected.push("ee2bdd2b-d763-4a7e-b546-c8adbb769189".into());
    expected.sort();
    assert_eq!(scope.targets(), expected);
    for (session, kind, status) in [
        (numbered('a', 5), "subagent", "active"),
        (numbered('a', 10), "empty", "active"),
        (numbered('a', 3), "main", "partial"),
        (numbered('b', 1), "main", "stale"),
        (numbered('c', 1), "main", "partial"),
        (numbered('c', 3), "empty", "active"),
    ] {
        let (_, is, state, sendable, _) = scope.says(&session);
        assert_eq!((is, state, sendable), (kind, status, false), "{session}");
    }
}

/// The same home with the clean-up on, or decided elsewhere: found, shown, and no target.
#[test]
fn where_the_clean_up_is_not_known_to_be_off_nothing_is_a_target() {
    for (name, source, words) in [
        (
            "retention",
            "gemini_cli_retention",
            "session retention that is off",
        ),
        (
            "system-settings",
            "gemini_cli_system_settings",
            "the system's settings",
        ),
    ] {
        let scope = case("gemini_cli", name);
        assert!(scope.targets().is_empty(), "{name}");
        let session = "ee2bdd2b-d763-4a7e-b546-c8adbb769189";
        let (title, kind, status, sendable, by) = scope.says(session);
        assert_eq!((title, kind), (Some("hello from gemini TUI"), "main"));
        assert_eq!((status, sendable, by), ("evidence_only", false, source));
        let reason = scope.row(session)["reason"].as_str().expect("a reason");
        assert!(reason.contains(words), "{reason}");
    }
}

/// A project's own settings can switch the clean-up on again; they are not read.
#[test]
fn projects_with_settings_elsewhere_or_unregistered_are_no_targets() {
    let scope = case("gemini_cli", "sessions");
    for (number, source) in [
        (2, "gemini_cli_other_project"),
        (3, "gemini_cli_unregistered"),
        (4, "gemini_cli_project_settings"),
    ] {
        let (_, _, status, sendable, by) = scope.says(&numbered('b', number));
        assert_eq!((status, sendable, by), ("evidence_only", false, source));
    }
}

/// The file that a resume leaves behind has the same id: one row, from the one that says something.
#[test]
fn files_of_one_session_are_one_row_and_the_other_is_named() {
    let scope = case("gemini_cli", "sessions");
    let session = "ee2bdd2b-d763-4a7e-b546-c8adbb769189";
    assert_eq!(scope.says(session).0, Some("hello from gemini TUI"));
    assert!(scope.issues().contains(&"duplicate_session"));
    let file = numbered('a', 6);
    let (_, _, status, sendable, _) = scope.says(&file);
    assert_eq!((status, sendable), ("evidence_only", false));
    assert!(scope.error(&file).contains("named after session ffffffff"));
}

#[test]
fn what_was_said_is_read_without_the_context_of_gemini() {
    let folder = super::folder("gemini_cli", "retention");
    let session = "gemini_cli:session:ee2bdd2b-d763-4a7e-b546-c8adbb769189";
    let said = told::said("gemini_cli", &folder, session);
    let prompts: Vec<&str> = said
        .iter()
        .filter(|(role, _)| role == "user")
        .map(|(_, text)| text.as_str())
        .collect();
    assert_eq!(prompts.first(), Some(&"hello from gemini TUI"));
    assert!(!prompts.iter().any(|text| text.contains("session_context")));
}

/// A home as on a machine: nothing is written, and one file cut short costs itself alone.
#[test]
fn c374_c380_a_damaged_file_costs_itself_and_the_home_stays_as_it_is() {
    let axiowl = Axiowl::new();
    copy_tree(
        &super::folder("gemini_cli", "retention").join("home"),
        &axiowl.home(),
    );
    let chats = axiowl.home().join(".gemini/tmp/webshop/chats");
    std::fs::write(
        chats.join("session-2026-11-30T15-00-deadbeef.jsonl"),
        "{\"sessionId\":\"deadbe",
    )
    .expect("written");
    let folder = axiowl.home().join(".gemini");
    let before = contents(&folder);
    let scope = at_home(&axiowl, "gemini-cli");
    let shown: Vec<&Value> = scope
        .rows
        .values()
        .map(|row| &row["display_name"])
        .collect();
    assert_eq!(shown, ["hello from gemini TUI"]);
    assert!(!scope.issues().is_empty());
    assert_eq!(contents(&folder), before);
}
