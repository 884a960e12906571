//! Sessions of OpenCode: which are found, which are targets, and whose word counts.

use super::{Axiowl, STORE, at_home, case, database, sql};

const PRICING: &str = "ses_dd33ec978ffePQ9AJ2MPBJ0WtF";

#[test]
fn c316_ids_are_the_providers_own_after_ours() {
    let row = case("opencode_cli", "sessions").row(PRICING);
    assert_eq!(row["provider"], "opencode_cli");
    assert_eq!(
        row["provider_session_id"],
        format!("opencode_cli:session:{PRICING}")
    );
    assert_eq!(row["cwd"], "/home/dev/projects/webshop");
    assert_eq!(row["display_name"], "Pricing agent");
    assert_eq!(row["decision"], "enrolled");
}

#[test]
fn c317_without_a_folder_that_is_there_a_session_is_no_target() {
    let scope = case("opencode_cli", "sessions");
    let gone = "ses_dd33f1747fferwMn3EMExFbrLt";
    let expected = (
        Some("Gone dir"),
        "main",
        "stale",
        false,
        "opencode_cli_session_without_folder",
    );
    assert_eq!(scope.says(gone), expected);
    assert_eq!(
        scope.error(gone),
        "the recorded folder is gone: /home/dev/projects/gone"
    );
    let nowhere = "ses_dd30000002ffNoFolderNoFolde";
    assert_eq!(scope.says(nowhere).2, "partial");
    assert_eq!(scope.error(nowhere), "it names no folder");
    for session in [gone, nowhere] {
        assert!(!scope.targets().contains(&session));
    }
}

/// Nothing that is not a conversation of a person's own may be sent to.
#[test]
fn sub_agents_archived_empty_and_undone_sessions_are_no_targets() {
    let scope = case("opencode_cli", "sessions");
    for (session, kind, status) in [
        ("ses_dd33e87c5ffe2RHHdAMBZjS65v", "subagent", "active"),
        ("ses_dd33ed630ffeppwBKc0LQl4oOA", "main", "archived"),
        ("ses_dd30000000ffEmptyEmptyEmpty", "empty", "active"),
        ("ses_dd30000001ffUndoneUndoneUnd", "main", "partial"),
    ] {
        let (_, is, state, sendable, _) = scope.says(session);
        assert_eq!((is, state, sendable), (kind, status, false), "{session}");
    }
    // Two sessions of one title are two targets.
    let same = scope
        .rows
        .values()
        .filter(|row| row["display_name"] == "Design Review" && row["sendable"] == true);
    assert_eq!(same.count(), 2);
}

#[test]
fn c386_sessions_lie_in_one_database_below_the_data_folder() {
    // The default place, and nothing else needed: no program is looked for.
    let axiowl = Axiowl::new();
    drop(database(&sql("versions-1"), &axiowl.home().join(STORE)));
    assert_eq!(at_home(&axiowl, "opencode-cli").rows.len(), 10);
    // XDG_DATA_HOME decides; the default place is not looked at then. A registry of its own: one
    // keeps the places it was begun with.
    let axiowl = Axiowl::new();
    drop(database(&sql("versions-1"), &axiowl.home().join(STORE)));
    let elsewhere = axiowl.path("data");
    let axiowl = axiowl.with_env("XDG_DATA_HOME", elsewhere.to_str().expect("text"));
    assert!(at_home(&axiowl, "opencode-cli").rows.is_empty());
    drop(database(
        &sql("two-generations"),
        &elsewhere.join("opencode/opencode.db"),
    ));
    let scope = at_home(&axiowl, "opencode-cli");
    assert!(scope.rows.contains_key("ses_both0001"));
    assert!(!scope.rows.contains_key("ses_02"));
}

/// The version gates: what a session's own version makes of it, by generation.
#[test]
fn c397_c398_c402_c449_a16_only_reviewed_versions_are_more_than_metadata() {
    for (name, reviewed, unreviewed) in [
        (
            "versions-1",
            &["1.0.0", "1.2.27", "1.18.34", "1.19.5"][..],
            &[
                "0.15.31",
                "1.19.6",
                "1.20.0",
                "0.0.0-dev-202609212252",
                "local",
            ][..],
        ),
        (
            "versions-2",
            // A session that version 2 took over keeps its version, and its gate (C449).
            &["1.0.0", "1.19.5", "2.2.0", "2.2.5"],
            &["1.19.6", "2.0.15", "2.1.0", "2.2.6", "2.3.0", "3.0.0"],
        ),
    ] {
        let scope = case("opencode_cli", name);
        let of = |version: &str| {
            let title = format!("Version {version}");
            let mut rows = scope.rows.values();
            rows.find(|row| row["display_name"] == title.as_str())
                .unwrap_or_else(|| panic!("{name}: no session of {version}"))
        };
        for version in reviewed {
            let row = of(version);
            assert_eq!(row["status"], "active", "{name} {version}");
            assert_eq!(row["decision"], "enrolled", "{name} {version}");
        }
        for version in unreviewed {
            let row = of(version);
            assert_eq!(row["status"], "partial", "{name} {version}");
            assert_eq!(row["sendable"], false, "{name} {version}");
            // Its metadata stands: it is found, with its title, folder and time.
            assert_eq!(row["cwd"], "/home/dev/projects/webshop", "{version}");
            assert!(row["last_seen_at"].is_string(), "{version}");
        }
        assert_eq!(scope.targets().len(), reviewed.len(), "{name}");
        assert!(scope.issues().contains(&"unverified_version"), "{name}");
        assert_eq!(scope.summary["verdict"], "unverified_version");
    }
    // No version at all is none that was reviewed.
    let none = case("opencode_cli", "versions-1");
    assert_eq!(none.says("ses_10").2, "partial");
    assert_eq!(
        none.error("ses_10"),
        "it does not say which version wrote it"
    );
}

#[test]
fn c403_json_storage_is_said_to_be_there_and_not_read() {
    let scope = case("opencode_cli", "older");
    // A session that the database holds too is that session, and no leftover.
    assert_eq!(scope.targets().len(), 2);
    assert!(!scope.rows.contains_key("ses_dd32000000ffNeverImportedNe"));
    let found = about(scope, "ses_dd32000000ffNeverImportedNe.json");
    assert!(found.contains("JSON storage"), "{found}");
    assert!(!scope.mentions("ses_dd32acbf1ffeskdc17DHnsYJa3.json"));
}

#[test]
fn c404_databases_of_other_names_are_said_to_be_there_and_not_read() {
    let scope = case("opencode_cli", "older");
    let other = about(scope, "opencode-dev.db");
    assert!(other.contains("only opencode.db is read"), "{other}");
    assert!(scope.mentions("OPENCODE_DB is set"));
    // Even a whole store of another name gives no session.
    let axiowl = Axiowl::new();
    let beside = axiowl
        .home()
        .join(".local/share/opencode/opencode-stable.db");
    drop(database(&sql("versions-1"), &beside));
    let scope = at_home(&axiowl, "opencode-cli");
    assert!(scope.rows.is_empty());
    assert_eq!(scope.issues(), ["unsupported_store"]);
}

/// The message of the one issue about a file.
fn about(scope: &super::Scope, file: &str) -> String {
    let issues = scope.summary["issues"].as_array().expect("a list");
    let about: Vec<_> = issues
        .iter()
        .filter(|issue| issue["path"].as_str().is_some_and(|p| p.ends_with(file)))
        .collect();
    assert_eq!(about.len(), 1, "{file}: {issues:?}");
    assert_eq!(about[0]["code"], "unsupported_store");
    about[0]["message"].as_str().expect("text").to_owned()
}

#[test]
fn c444_c445_c448_session_v2_is_the_truth_where_it_has_an_id() {
    let scope = case("opencode_cli", "two-generations");
    // In both tables: version 2's own word.
    let expected = (
        Some("new v2 title"),
        "main",
        "active",
        true,
        "opencode_cli_session_v2",
    );
    assert_eq!(scope.says("ses_both0001"), expected);
    assert!(!scope.mentions("old v1 title"));
    assert!(scope.evidence("ses_both0001", "took it over from version 1"));
    // In `session_v2` alone, and in `session` alone.
    assert_eq!(scope.says("ses_full").0, Some("Checkout Rework"));
    let (name, kind, _, _, source) = scope.says("ses_onlyv1");
    assert_eq!((name, kind), (Some("Only in v1"), "main"));
    assert_eq!(source, "opencode_cli_session_left_behind");
    assert!(scope.evidence("ses_onlyv1", "written by opencode 1.19.5"));
}

/// An id is a target only of the generation that is installed: the other one does not know it.
#[test]
fn what_is_installed_decides_which_tables_sessions_are_targets() {
    let second = case("opencode_cli", "two-generations");
    let first = case("opencode_cli", "back-on-1");
    assert_eq!(
        second.targets(),
        ["ses_both0001", "ses_default", "ses_full"]
    );
    assert_eq!(first.targets(), ["ses_onlyv1"]);
    assert!(
        first.row("ses_full")["reason"]
            .as_str()
            .expect("a reason")
            .contains("an installed OpenCode 2")
    );
}

#[test]
fn c455_a15_without_a_title_or_a_prompt_a_session_is_untitled_and_no_target() {
    let scope = case("opencode_cli", "two-generations");
    let (name, _, status, sendable, _) = scope.says("ses_native");
    assert_eq!(name, Some("Untitled session"));
    assert_eq!((status, sendable), ("evidence_only", false));
    // A default title gives way to the first prompt (A15), here and in version 1.
    assert_eq!(scope.says("ses_default").0, Some("List the open issues"));
    let first = case("opencode_cli", "sessions");
    let prompted = first.says("ses_dd35d6db9ffeaIlG3TuBeM7TBp").0;
    assert_eq!(prompted, Some("\"hello from run one\""));
    let silent = first.says("ses_dd30000003ffNoPromptNoPromp");
    assert_eq!(silent.0, Some("Untitled session"));
    assert!(!silent.3);
}

#[test]
fn c456_a_pending_undo_leaves_only_metadata() {
    for (name, session, title) in [
        ("two-generations", "ses_reverted", "Reverted"),
        (
            "sessions",
            "ses_dd30000001ffUndoneUndoneUnd",
            "Undo pending",
        ),
    ] {
        let scope = case("opencode_cli", name);
        let (shown, kind, status, sendable, _) = scope.says(session);
        assert_eq!((shown, kind), (Some(title), "main"), "{name}");
        assert_eq!((status, sendable), ("partial", false), "{name}");
        assert!(
            scope.error(session).contains("an undo is pending"),
            "{name}"
        );
        let why = super::told::none(
            "opencode_cli",
            &super::folder("opencode_cli", name),
            &format!("opencode_cli:session:{session}"),
        );
        assert!(why.to_string().contains("only its metadata"), "{why}");
    }
}

/// A store that OpenCode has just made, and in which nobody has said anything yet, holds nothing
/// that was not understood.
#[test]
fn an_unused_store_is_understood_and_empty() {
    for name in ["versions-1", "two-generations"] {
        let axiowl = Axiowl::new();
        let connection = database(&sql(name), &axiowl.home().join(STORE));
        connection
            .execute_batch("DELETE FROM session; DELETE FROM message;")
            .expect("emptied");
        if name == "two-generations" {
            connection
                .execute_batch("DELETE FROM session_v2; DELETE FROM session_message;")
                .expect("emptied");
        }
        drop(connection);
        let scope = at_home(&axiowl, "opencode-cli");
        assert!(scope.rows.is_empty(), "{name}");
        assert_eq!(scope.summary["verdict"], "verified", "{name}");
        assert_eq!(scope.issues(), ["not_used"], "{name}");
    }
}
