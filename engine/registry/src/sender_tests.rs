//! Senders, statement by statement of the conformance list.

use super::*;
use crate::samples::{UUID_A, UUID_B, agent, registry};

fn snapshot(rows: Vec<AgentRecord>) -> Snapshot {
    let (_dir, registry) = registry(rows);
    registry.load().unwrap()
}

fn named(snapshot: &Snapshot, value: &str) -> (String, &'static str) {
    match snapshot.resolve_sender(value, Some("local")) {
        SenderResolution::Registered {
            display_name,
            reason,
            ..
        } => (display_name, reason.as_str()),
        other => panic!("{value}: {other:?}"),
    }
}

#[test]
fn c153_to_c159_a_session_a_name_and_an_alias_lead_to_the_registered_name() {
    let mut row = agent(
        "cursor",
        &format!("cursor:composer:{UUID_A}"),
        "Design Review",
        0,
    );
    row.aliases
        .extend(["Old title".to_owned(), "cursor-sender:7".to_owned()]);
    row.sendable = false;
    let snapshot = snapshot(vec![row]);
    for (value, reason) in [
        (&*format!("cursor:composer:{UUID_A}"), "registry_session"),
        (
            &*format!("cursor:local:cursor:composer:{UUID_A}"),
            "registry_session",
        ),
        (UUID_A, "registry_session"),
        ("Design Review", "registry_name"),
        ("Old title", "registry_alias"),
        ("cursor-sender:7", "registry_alias"),
    ] {
        assert_eq!(
            named(&snapshot, value),
            ("Design Review".to_owned(), reason),
            "{value}"
        );
    }
}

#[test]
fn c160_c161_a_session_nobody_registered_stays_unresolved() {
    let snapshot = snapshot(vec![agent("codex", UUID_A, "Review", 0)]);
    for value in [
        UUID_B,
        "ses_1",
        "opencode_cli:session:x",
        "cursor:composer:x",
        &format!("a:b:{UUID_B}"),
    ] {
        assert_eq!(
            snapshot.resolve_sender(value, None),
            SenderResolution::Unresolved {
                reason: "sender session did not match a registered AxiOwl sender".into()
            },
            "{value}"
        );
    }
    for value in ["", "  ", "\u{200b}"] {
        let unresolved = snapshot.resolve_sender(value, None);
        assert!(
            matches!(unresolved, SenderResolution::Unresolved { .. }),
            "{value:?}"
        );
    }
}

#[test]
fn c162_plain_text_is_a_claimed_name() {
    let snapshot = snapshot(vec![agent("codex", UUID_A, "Review", 0)]);
    let explicit = SenderResolution::Explicit {
        display_name: "Release bot".into(),
    };
    assert_eq!(snapshot.resolve_sender(" Release bot ", None), explicit);
    assert_eq!(
        SenderReason::ExplicitName.to_string(),
        "explicit_sender_name"
    );
}

#[test]
fn c163_a25_a_known_session_named_by_its_id_falls_back_to_it_and_says_so() {
    for name in [UUID_A, UUID_B, ""] {
        let snapshot = snapshot(vec![agent("codex", UUID_A, name, 0)]);
        assert_eq!(
            named(&snapshot, UUID_A),
            (UUID_A.to_owned(), "registry_session_id_display_fallback"),
            "{name}"
        );
    }
}

#[test]
fn c164_a_title_that_reads_like_a_prompt_is_kept() {
    let title = "please fix session:restore in the cart";
    let snapshot = snapshot(vec![agent("codex", UUID_A, title, 0)]);
    assert_eq!(
        named(&snapshot, UUID_A),
        (title.to_owned(), "registry_session")
    );
}

#[test]
fn c158_senders_are_looked_up_in_their_node_and_never_guessed_between_providers() {
    let id = "copilot_cli:session:x";
    let mut far = agent("copilot_cli", id, "Far", 0);
    far.key.node = "n2".into();
    let two = snapshot(vec![agent("copilot_cli", id, "Near", 0), far]);
    assert_eq!(named(&two, id).0, "Near");
    let shared = snapshot(vec![
        agent("copilot_cli", id, "One", 0),
        agent("vscode_copilot_backed", id, "Two", 9),
    ]);
    assert!(matches!(
        shared.resolve_sender(id, None),
        SenderResolution::Ambiguous(_)
    ));
    // A name may be shared: the newest, and the other is told.
    let same = snapshot(vec![
        agent("codex", UUID_A, "Review", 0),
        agent("codex", UUID_B, "Review", 9),
    ]);
    match same.resolve_sender("Review", None) {
        SenderResolution::Registered { row, also, .. } => {
            assert_eq!((&*row.key.session, also.len()), (UUID_B, 1));
        }
        other => panic!("{other:?}"),
    }
}
