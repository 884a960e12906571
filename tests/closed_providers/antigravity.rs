//! Conversations of the Antigravity app.

use super::{Axiowl, at_home, case};

const REVIEW: &str = "88888888-8888-4888-8888-888888888888";

fn annotated(number: u32) -> String {
    format!("a0000000-0000-4000-8000-{number:012}")
}

fn listed(number: u32) -> String {
    format!("b0000000-0000-4000-8000-{number:012}")
}

#[test]
fn c285_c287_c289_titles_of_annotations_make_targets() {
    let scope = case("antigravity", "annotations");
    let expected = (
        Some("Design \"review\" 日"),
        "main",
        "active",
        true,
        "antigravity_annotation",
    );
    assert_eq!(scope.says(&annotated(1)), expected);
    let row = scope.row(&annotated(1));
    assert_eq!(row["provider"], "antigravity");
    let id = format!("antigravity:cascade:{}", annotated(1));
    assert_eq!(row["provider_session_id"], id.as_str());
    assert_eq!(row["last_seen_at"], "2026-09-21T14:13:20.000Z");
    let windows = case("antigravity", "windows");
    assert_eq!(
        windows.says("c0000000-0000-4000-8000-000000000001").0,
        Some("Kasse prüfen")
    );
}

#[test]
fn c286_big_annotations_are_skipped_and_said() {
    let axiowl = Axiowl::new();
    let folder = "home/.gemini/antigravity/annotations";
    let long = format!("title:\"Big\" {}", "# padding\n".repeat(8 << 10));
    axiowl.write(&format!("{folder}/{}.pbtxt", annotated(1)), long);
    axiowl.write(
        &format!("{folder}/{}.pbtxt", annotated(2)),
        "title:\"Small\"\n",
    );
    let scope = at_home(&axiowl, "antigravity");
    assert_eq!(scope.targets(), [annotated(2)]);
    assert_eq!(scope.issues(), ["cap_reached"]);
}

#[test]
fn c288_five_json_like_fields_name_a_conversation() {
    let scope = case("antigravity", "annotations");
    for (number, name) in [
        (3, "A JSON title"),
        (4, "A JSON name"),
        (5, "A display name"),
        (6, "A chat name"),
        (7, "A conversation name"),
        (10, "Single quotes and a 'tick'"),
    ] {
        let (title, _, _, sendable, _) = scope.says(&annotated(number));
        assert_eq!((title, sendable), (Some(name), true));
    }
}

#[test]
fn c290_without_a_usable_title_there_is_no_target() {
    let scope = case("antigravity", "annotations");
    // Only a time of viewing, "untitled", and two lines.
    for number in [2, 8, 11] {
        let (title, _, _, sendable, _) = scope.says(&annotated(number));
        assert_eq!((title, sendable), (None, false), "{number}");
    }
    assert_eq!(scope.targets().len(), 8);
}

#[test]
fn c380_a_damaged_annotation_costs_itself() {
    let scope = case("antigravity", "annotations");
    assert!(!scope.rows.contains_key(&annotated(9)));
    assert!(scope.issues().contains(&"damaged"));
    // Of damaged stores nothing is enrolled, and each is named.
    let scope = case("antigravity", "damaged");
    assert!(scope.targets().is_empty());
    let damaged = scope.issues();
    assert_eq!(damaged.iter().filter(|code| **code == "damaged").count(), 2);
    assert!(damaged.contains(&"column_missing"));
}

#[test]
fn x15_sub_agents_are_no_targets_whichever_store_knows_it() {
    let scope = case("antigravity", "summaries");
    for session in [
        "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa",
        &listed(6),
        &listed(9),
        &listed(10),
    ] {
        let (_, kind, _, sendable, _) = scope.says(session);
        assert_eq!((kind, sendable), ("subagent", false), "{session}");
    }
    assert_eq!(scope.says(&listed(7)).1, "empty");
}

#[test]
fn x15_what_the_summaries_do_not_list_is_evidence_only() {
    let scope = case("antigravity", "summaries");
    // A title and no row; a file and no row; a row and no file.
    for (session, source) in [
        (listed(12), "antigravity_unlisted_conversation"),
        (listed(2), "antigravity_unlisted_conversation"),
        (listed(4), "antigravity_unproven_conversation"),
    ] {
        let (_, _, status, sendable, by) = scope.says(&session);
        assert_eq!(
            (status, sendable, by),
            ("evidence_only", false, source),
            "{session}"
        );
    }
    // The same title without any store of summaries is a target.
    let alone = case("antigravity", "annotations");
    assert_eq!(alone.says(&annotated(1)).4, "antigravity_annotation");
}

#[test]
fn a_name_somebody_gave_beats_a_generated_one_and_the_first_prompt() {
    let scope = case("antigravity", "summaries");
    for (session, name) in [
        (REVIEW.to_owned(), "Design \"review\" 日"),
        (listed(1), "Plan the release"),
        (listed(3), "Only in the hub"),
        (listed(11), "Why does the build"),
        (listed(13), "Renamed in the hub"),
    ] {
        let (title, kind, status, sendable, source) = scope.says(&session);
        assert_eq!(title, Some(name));
        assert_eq!(
            (kind, status, sendable),
            ("main", "active", true),
            "{session}"
        );
        assert_eq!(source, "antigravity_conversation");
    }
    assert_eq!(scope.targets().len(), 5);
    assert_eq!(scope.row(&listed(1))["cwd"], "/home/dev/projects/my shop");
}

#[test]
fn x16_an_encrypted_conversation_gives_metadata_only() {
    let scope = case("antigravity", "summaries");
    for session in ["99999999-9999-4999-8999-999999999999", &listed(5)] {
        let (_, _, status, sendable, _) = scope.says(session);
        assert_eq!((status, sendable), ("partial", false), "{session}");
        assert!(scope.error(session).contains("encrypted"));
    }
    // A file of another conversation is no better.
    assert_eq!(scope.says(&listed(8)).2, "partial");
    // Annotated before there were summaries: the seed rule, checked again at the send (A7).
    let before = case("antigravity", "annotations");
    let (_, _, status, sendable, _) = before.says(&annotated(12));
    assert_eq!((status, sendable), ("active", true));
    assert!(before.evidence(&annotated(12), "an encrypted file is there"));
}

#[test]
fn x26_the_editor_state_with_its_tokens_is_never_opened() {
    let axiowl = Axiowl::new();
    let state = "home/.config/Antigravity/User/globalStorage/state.vscdb";
    axiowl.write(
        state,
        "not a database, and it would be said if it were read",
    );
    let folder = "home/.gemini/antigravity";
    axiowl.write(
        &format!("{folder}/antigravity-oauth-token"),
        "not-a-real-token",
    );
    let note = format!("{folder}/annotations/{}.pbtxt", annotated(1));
    axiowl.write(&note, "title:\"One\"\n");
    let scope = at_home(&axiowl, "antigravity");
    assert_eq!(scope.targets(), [annotated(1)]);
    assert!(scope.issues().is_empty(), "{:?}", scope.issues());
    assert!(!scope.mentions("not-a-real-token") && !scope.mentions("state.vscdb"));
}
