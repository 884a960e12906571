//! Chats of the Cursor CLI.

use super::case;

const GREETING: &str = "55555555-5555-4555-8555-555555555555";

fn numbered(number: u32) -> String {
    format!("88880000-0000-4000-8000-{number:012}")
}

#[test]
fn c326_axiowls_own_records_give_the_folder_and_the_name() {
    let scope = case("cursor_cli", "chats");
    // No meta.json says where this one works; the record does.
    let (name, _, status, sendable, source) = scope.says(&numbered(8));
    assert_eq!((name, status), (Some("Older place"), "active"));
    assert_eq!((sendable, source), (true, "cursor_cli_recorded_chat"));
    assert_eq!(scope.row(&numbered(8))["cwd"], "/home/dev/projects/demo");
    // A record alone is no chat: resuming an id that is not on disk starts another one.
    let (name, _, status, sendable, _) = scope.says(&numbered(10));
    assert_eq!(
        (name, status, sendable),
        (Some("Recorded, not on disk"), "stale", false)
    );
    let windows = case("cursor_cli", "windows");
    let recorded = windows.says("99990000-0000-4000-8000-000000000002");
    assert_eq!(
        (recorded.0, recorded.3),
        (Some("Recorded by the hook"), true)
    );
}

#[test]
fn c327_without_a_cursor_agent_nothing_is_enrolled() {
    let without = case("cursor_cli", "no-program");
    assert_eq!(without.rows.len(), 2);
    assert!(without.targets().is_empty());
    for row in without.rows.values() {
        assert_eq!(row["source"], "cursor_cli_without_program");
        assert_eq!(row["reason"], "missing: an installed cursor-agent");
    }
    let with = case("cursor_cli", "chats");
    assert!(with.targets().contains(&GREETING));
}

#[test]
fn c328_a_workspace_that_is_gone_makes_a_chat_stale() {
    let scope = case("cursor_cli", "chats");
    let (_, _, status, sendable, _) = scope.says(&numbered(5));
    assert_eq!((status, sendable), ("stale", false));
    assert_eq!(
        scope.error(&numbered(5)),
        "the recorded folder is gone: /home/dev/projects/gone"
    );
    // And one of which no folder is known cannot be resumed where it was.
    assert_eq!(scope.says(&numbered(9)).2, "partial");
}

#[test]
fn c330_c468_chats_are_no_composers() {
    let scope = case("cursor_cli", "chats");
    let row = scope.row(GREETING);
    assert_eq!(row["provider"], "cursor_cli");
    assert_eq!(
        row["provider_session_id"],
        format!("cursor_cli:session:{GREETING}")
    );
    // The editor's composers are another surface, even on the same machine.
    let editor = case("cursor", "composers");
    assert!(editor.rows.values().all(|row| row["provider"] == "cursor"));
    assert!(
        scope
            .rows
            .values()
            .all(|row| row["provider"] == "cursor_cli")
    );
}

#[test]
fn x04_a_chat_without_a_store_is_found_and_no_target() {
    let scope = case("cursor_cli", "chats");
    let (_, kind, status, sendable, source) = scope.says("66666666-6666-4666-8666-666666666666");
    assert_eq!((kind, status, sendable), ("empty", "active", false));
    assert_eq!(source, "cursor_cli_chat_without_store");
}

#[test]
fn x06_of_two_folders_the_one_named_after_the_recorded_folder_is_the_chat() {
    let scope = case("cursor_cli", "chats");
    // Both say the same folder: one of them lies there.
    let (_, _, _, sendable, source) = scope.says(&numbered(1));
    assert_eq!((sendable, source), (true, "cursor_cli_chat_store"));
    // Each says its own: AxiOwl's record decides.
    let (_, _, _, sendable, source) = scope.says(&numbered(2));
    assert_eq!((sendable, source), (true, "cursor_cli_recorded_chat"));
    // Nothing decides: neither is taken.
    assert!(!scope.says(&numbered(3)).3);
    assert!(
        scope
            .error(&numbered(3))
            .contains("prove this session equally")
    );
    // One that lies elsewhere alone is not the recorded chat.
    let (_, _, status, sendable, source) = scope.says(&numbered(4));
    assert_eq!((status, sendable), ("evidence_only", false));
    assert_eq!(source, "cursor_cli_misplaced_chat");
    let twice = scope.issues();
    assert_eq!(
        twice
            .iter()
            .filter(|code| **code == "duplicate_session")
            .count(),
        3
    );
}

#[test]
fn x07_acp_sessions_are_told_apart_from_chats() {
    let scope = case("cursor_cli", "chats");
    let acp = "77777777-7777-4777-8777-777777777777";
    let (name, _, _, sendable, source) = scope.says(acp);
    assert_eq!(
        (name, sendable, source),
        (Some("ACP chat"), true, "cursor_cli_acp_session")
    );
    assert!(scope.evidence(acp, "session/load reaches it, --resume does not"));
    // An id that is in both stores is the chat.
    assert_eq!(scope.says(GREETING).4, "cursor_cli_chat_store");
}

#[test]
fn sub_agents_are_no_targets_whichever_file_knows_it() {
    let scope = case("cursor_cli", "chats");
    for number in [11, 12] {
        let (_, kind, _, sendable, _) = scope.says(&numbered(number));
        assert_eq!((kind, sendable), ("subagent", false), "{number}");
    }
    assert_eq!(scope.says(&numbered(13)).0, Some("Titled in meta"));
}

#[test]
fn a_store_of_another_chat_and_a_name_that_is_none_are_not_believed() {
    let scope = case("cursor_cli", "chats");
    let (_, _, status, sendable, _) = scope.says(&numbered(7));
    assert_eq!((status, sendable), ("partial", false));
    assert_eq!(scope.says(&numbered(6)).0, Some("Cursor CLI demo"));
    assert!(!scope.rows.contains_key("tmp"));
}
