//! Composers of the Cursor editor.

use super::{Axiowl, ROOT, Scope, at_home, case, contents, database};
use std::path::{Path, PathBuf};

const ORDINARY: &str = "11111111-1111-4111-8111-111111111111";
/// What was said in it stands in its state, not in its list of messages.
const IN_STATE: &str = "55555555-5555-4555-8555-555555555508";
const STATE: &str = ".config/Cursor/User/globalStorage/state.vscdb";

fn sql(case: &str) -> PathBuf {
    let path = format!("rules/cursor/fixtures/{case}/home/{STATE}.sql");
    Path::new(ROOT).join(path)
}

#[test]
fn c292_the_global_state_is_found_on_every_platform() {
    for (name, session) in [
        ("windows", "a1000000-0000-4000-8000-000000000001"),
        ("macos", "b1000000-0000-4000-8000-000000000001"),
        ("composers", ORDINARY),
    ] {
        assert_eq!(
            case("cursor", name).row(session)["sendable"],
            true,
            "{name}"
        );
    }
}

#[test]
fn c293_c296_c301_a_composer_in_the_headers_is_a_target() {
    let scope = case("cursor", "composers");
    let expected = (
        Some("Refactor parser"),
        "main",
        "active",
        true,
        "cursor_composer_headers",
    );
    assert_eq!(scope.says(ORDINARY), expected);
    let row = scope.row(ORDINARY);
    assert_eq!(row["provider"], "cursor");
    assert_eq!(
        row["provider_session_id"],
        format!("cursor:composer:{ORDINARY}")
    );
    assert_eq!(row["cwd"], "/home/dev/projects/demo");
    assert_eq!(row["decision"], "enrolled");
    assert_eq!(scope.targets(), [ORDINARY, IN_STATE]);
}

#[test]
fn c294_c295_both_lists_and_both_names_are_understood() {
    let all = case("cursor", "composers");
    assert_eq!(
        all.says(ORDINARY).0,
        Some("Refactor parser"),
        "allComposers, name"
    );
    let other = case("cursor", "windows");
    let titled = other.says("a1000000-0000-4000-8000-000000000001");
    assert_eq!(titled.0, Some("Rechnung prüfen 日"), "composers, title");
    // A composer without a usable one is found, and nobody's target.
    for unusable in [4, 5, 6] {
        let session = format!("a1000000-0000-4000-8000-00000000000{unusable}");
        assert_eq!(other.says(&session).0, None, "{session}");
        assert_eq!(other.row(&session)["sendable"], false, "{session}");
    }
}

#[test]
fn c297_archived_composers_are_no_targets() {
    for (name, session, source) in [
        (
            "windows",
            "a1000000-0000-4000-8000-000000000003",
            "cursor_composer_headers",
        ),
        (
            "macos",
            "b1000000-0000-4000-8000-000000000002",
            "cursor_composer_table",
        ),
        (
            "legacy",
            "c1000000-0000-4000-8000-000000000002",
            "cursor_legacy_composer",
        ),
    ] {
        let scope = case("cursor", name);
        let (_, kind, status, sendable, by) = scope.says(session);
        assert_eq!(
            (kind, status, sendable, by),
            ("main", "archived", false, source)
        );
    }
}

#[test]
fn c298_x01_ids_that_are_no_uuid_are_evidence_with_a_clear_error() {
    let scope = case("cursor", "composers");
    for (session, error) in [
        (
            "empty-state-draft",
            "a draft: Cursor shows it where no composer is open",
        ),
        ("task-7", "its id is no UUID: task-7"),
    ] {
        let (_, _, status, sendable, _) = scope.says(session);
        assert_eq!((status, sendable), ("evidence_only", false), "{session}");
        assert_eq!(scope.error(session), error);
    }
}

#[test]
fn c299_a_blocked_bridge_makes_a_composer_unhealthy_with_its_reason() {
    let scope = case("cursor", "bridge");
    let session = "d1000000-0000-4000-8000-000000000001";
    let (_, _, status, sendable, _) = scope.says(session);
    assert_eq!((status, sendable), ("unhealthy", false));
    let reason = "Cursor has the hooks switched off";
    assert!(
        scope.error(session).ends_with(reason),
        "{}",
        scope.error(session)
    );
    assert_eq!(scope.row(session)["has_enrollment_proof"], false);
    // Archived comes first: that is its owner's word.
    assert_eq!(
        scope.says("d1000000-0000-4000-8000-000000000002").2,
        "archived"
    );
}

#[test]
fn x01_sub_agents_are_no_targets_whichever_list_knows_it() {
    let scope = case("cursor", "composers");
    for session in [
        "44444444-4444-4444-8444-444444444444",
        "55555555-5555-4555-8555-555555555502",
        "55555555-5555-4555-8555-555555555503",
        "55555555-5555-4555-8555-555555555504",
    ] {
        let (_, kind, _, sendable, _) = scope.says(session);
        assert_eq!((kind, sendable), ("subagent", false), "{session}");
    }
    // Without the column that tells, nobody is.
    let renamed = case("cursor", "renamed-column");
    assert!(renamed.targets().is_empty());
    assert!(renamed.issues().contains(&"guard_missing"));
}

#[test]
fn empty_drafted_passing_and_foreign_composers_are_no_targets() {
    let scope = case("cursor", "composers");
    for (number, kind, status) in [
        (1, "empty", "active"),
        (5, "main", "evidence_only"),
        (6, "main", "evidence_only"),
        (7, "main", "out_of_scope"),
    ] {
        let session = format!("55555555-5555-4555-8555-55555555550{number}");
        let (_, is, state, sendable, _) = scope.says(&session);
        assert_eq!((is, state, sendable), (kind, status, false), "{session}");
    }
}

#[test]
fn x02_the_first_place_that_lists_a_composer_counts() {
    let both = case("cursor", "composers");
    assert_eq!(both.says(ORDINARY).4, "cursor_composer_headers");
    assert_eq!(
        both.says("44444444-4444-4444-8444-444444444444").4,
        "cursor_composer_table"
    );
    let table = case("cursor", "macos");
    let source = table.says("b1000000-0000-4000-8000-000000000001").4;
    assert_eq!(source, "cursor_composer_table");
    let legacy = case("cursor", "legacy");
    let session = "c1000000-0000-4000-8000-000000000001";
    assert_eq!(legacy.says(session).4, "cursor_legacy_composer");
    assert_eq!(legacy.row(session)["cwd"], "/home/dev/projects/my shop");
    // A migrated workspace has no list, which is no error; a damaged one is named.
    assert_eq!(legacy.issues(), ["damaged"]);
    assert_eq!(both.issues(), ["incomplete_identity"]);
}

#[test]
fn x02_c380_a_damaged_list_costs_itself_and_the_table_still_counts() {
    let scope = case("cursor", "damaged");
    assert_eq!(scope.targets(), ["e1000000-0000-4000-8000-000000000001"]);
    assert!(scope.issues().contains(&"damaged"));
}

/// A home with the state file of the case, its writer still at work: part of it stands only
/// in the log.
fn live(axiowl: &Axiowl) -> rusqlite::Connection {
    let connection = database(&sql("composers"), &axiowl.home().join(STATE));
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
             UPDATE ItemTable SET value = replace(value, 'Refactor parser', 'Renamed just now');",
        )
        .expect("a log");
    connection
}

#[test]
fn x03_c374_a_store_at_work_is_read_whole_and_left_as_it_is() {
    let axiowl = Axiowl::new();
    let writer = live(&axiowl);
    let folder = axiowl.home().join(".config");
    let before = contents(&folder);
    assert!(before.keys().any(|path| path.ends_with("state.vscdb-wal")));
    let scope = at_home(&axiowl, "cursor");
    assert_eq!(scope.says(ORDINARY).0, Some("Renamed just now"));
    assert_eq!(contents(&folder), before);
    drop(writer);
}

#[test]
fn x03_c374_a_store_at_rest_gets_no_files_beside_it() {
    let axiowl = Axiowl::new();
    drop(database(&sql("composers"), &axiowl.home().join(STATE)));
    let folder = axiowl.home().join(".config");
    let before = contents(&folder);
    assert_eq!(before.len(), 1);
    let scope: Scope = at_home(&axiowl, "cursor");
    assert_eq!(scope.targets(), [ORDINARY, IN_STATE]);
    assert_eq!(contents(&folder), before);
}

#[test]
fn x26_tokens_beside_the_list_are_never_read() {
    let scope = case("cursor", "composers");
    assert!(!scope.mentions("not-a-real-token") && !scope.mentions("cursorAuth"));
}
