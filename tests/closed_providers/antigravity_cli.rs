//! Conversations of the Antigravity CLI.

use super::program::{Axiowl, ROOT, copy_tree};
use super::{case, contents};
use std::path::Path;

const CURRENT: &str = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
const GONE: &str = "cccccccc-cccc-4ccc-8ccc-cccccccccccc";

fn numbered(number: u32) -> String {
    format!("e0000000-0000-4000-8000-{number:012}")
}

#[test]
fn c302_without_agy_nothing_is_enrolled() {
    let without = case("antigravity_cli", "no-program");
    let (_, _, status, sendable, source) = without.says(CURRENT);
    assert_eq!((status, sendable), ("evidence_only", false));
    assert_eq!(source, "antigravity_cli_without_program");
    assert_eq!(without.row(CURRENT)["reason"], "missing: an installed agy");
    assert!(
        case("antigravity_cli", "conversations")
            .targets()
            .contains(&CURRENT)
    );
}

#[test]
fn c303_c304_c388_c467_current_and_listed_conversations_are_targets() {
    let scope = case("antigravity_cli", "conversations");
    let row = scope.row(CURRENT);
    assert_eq!(row["provider"], "antigravity_cli");
    let id = format!("antigravity_cli:conversation:{CURRENT}");
    assert_eq!(row["provider_session_id"], id.as_str());
    assert_eq!(
        scope.says(CURRENT).4,
        "antigravity_cli_current_conversation"
    );
    for number in [1, 6, 7] {
        let (_, _, _, sendable, source) = scope.says(&numbered(number));
        assert_eq!(
            (sendable, source),
            (true, "antigravity_cli_listed_conversation")
        );
    }
    assert_eq!(scope.targets().len(), 4);
    // A current conversation whose file is gone: `agy` would start another one.
    let (_, _, status, sendable, _) = scope.says(&numbered(10));
    assert_eq!((status, sendable), ("stale", false));
    // Before there were summaries, the files have to do.
    let older = case("antigravity_cli", "older");
    assert_eq!(
        older.says(CURRENT).4,
        "antigravity_cli_current_conversation"
    );
    assert_eq!(
        older.says(&numbered(20)).4,
        "antigravity_cli_conversation_file"
    );
    assert_eq!(older.targets().len(), 2);
}

#[test]
fn c305_names_are_built_from_the_workspace() {
    let scope = case("antigravity_cli", "conversations");
    for (session, name) in [
        (CURRENT.to_owned(), "Antigravity CLI demo"),
        (GONE.to_owned(), "Antigravity CLI gone"),
        (numbered(1), "Antigravity CLI my shop"),
        (numbered(7), "Antigravity CLI other"),
        // Somebody renamed it.
        (numbered(6), "Renamed by hand"),
    ] {
        assert_eq!(scope.says(&session).0, Some(name));
    }
    let windows = case("antigravity_cli", "windows");
    assert_eq!(windows.says(&numbered(30)).0, Some("Antigravity CLI shop"));
}

#[test]
fn c306_a_folder_that_is_gone_makes_a_conversation_stale() {
    let scope = case("antigravity_cli", "conversations");
    let (_, _, status, sendable, _) = scope.says(GONE);
    assert_eq!((status, sendable), ("stale", false));
    assert_eq!(
        scope.error(GONE),
        "the recorded folder is gone: /home/dev/projects/gone"
    );
}

#[test]
fn c291_c408_x11_app_and_cli_are_never_taken_for_each_other() {
    // The app's tree lies beside the CLI's in this home.
    let home = Path::new(ROOT).join("rules/antigravity_cli/fixtures/conversations");
    let app = "88888888-8888-4888-8888-888888888888";
    let cli = case("antigravity_cli", "conversations");
    assert!(!cli.rows.contains_key(app));
    let axiowl = Axiowl::new();
    let folder = home.to_str().expect("text");
    let run = axiowl.run(&["discover", "antigravity", "--json", "--fixture", folder]);
    let rows = run.lines("discovered_agent");
    assert_eq!(rows.len(), 1, "{run}");
    assert_eq!(
        rows[0]["provider_session_id"],
        format!("antigravity:cascade:{app}")
    );
    // One that the app made does not become the CLI's by lying there.
    let (_, _, status, sendable, _) = cli.says(&numbered(5));
    assert_eq!((status, sendable), ("evidence_only", false));
    assert!(
        cli.error(&numbered(5))
            .contains("the Antigravity app made it")
    );
}

#[test]
fn c409_the_unverified_version_is_said() {
    let run = Axiowl::new().run(&["discover", "antigravity-cli"]);
    assert!(
        run.stdout.contains("not verified with a real agy 1.3.5"),
        "{run}"
    );
}

#[test]
fn x13_a_presence_file_is_evidence_and_no_more() {
    let scope = case("antigravity_cli", "conversations");
    assert!(scope.evidence(CURRENT, "a terminal was attached to it once"));
    assert!(scope.row(CURRENT)["sendable"] == true);
    assert!(!scope.evidence(&numbered(1), "terminal"));
}

#[test]
fn x15_sub_agents_and_unlisted_conversations_are_no_targets() {
    let scope = case("antigravity_cli", "conversations");
    for number in [3, 4] {
        let (_, kind, _, sendable, _) = scope.says(&numbered(number));
        assert_eq!((kind, sendable), ("subagent", false), "{number}");
    }
    let (_, _, status, sendable, source) = scope.says(&numbered(2));
    assert_eq!((status, sendable), ("evidence_only", false));
    assert_eq!(source, "antigravity_cli_unlisted_conversation");
    assert_eq!(scope.says(&numbered(11)).1, "empty");
    assert_eq!(
        scope.says(&numbered(8)).2,
        "partial",
        "a file of another conversation"
    );
}

#[test]
fn c374_reading_leaves_the_tree_as_it_is() {
    let axiowl = Axiowl::new();
    let case = Path::new(ROOT).join("rules/antigravity_cli/fixtures/conversations/home");
    copy_tree(&case, &axiowl.home());
    let tree = axiowl.home().join(".gemini/antigravity-cli");
    for text in std::fs::read_dir(tree.join("conversations")).expect("folder") {
        let text = text.expect("entry").path();
        if text.extension().is_some_and(|end| end == "sql") {
            drop(super::database(&text, &text.with_extension("")));
            std::fs::remove_file(text).expect("text");
        }
    }
    let before = contents(&axiowl.home().join(".gemini"));
    let scope = super::at_home(&axiowl, "antigravity-cli");
    assert!(scope.rows.len() > 10);
    assert_eq!(contents(&axiowl.home().join(".gemini")), before);
}
