//! Lookups, statement by statement of the conformance list.

use super::*;
use crate::samples::{UUID_A, UUID_B, agent, at, registry};

fn snapshot(rows: Vec<AgentRecord>) -> Snapshot {
    let (_dir, registry) = registry(rows);
    registry.load().unwrap()
}

fn found<'a>(snapshot: &'a Snapshot, target: &str) -> (&'a str, usize, MatchedBy) {
    match snapshot.resolve(target, Lookup::default()) {
        Resolution::Found { row, also, how } => (&row.key.session, also.len(), how),
        other => panic!("{target}: {other:?}"),
    }
}

const STRICT: Lookup<'static> = Lookup {
    node: None,
    strict: true,
};

#[test]
fn test_registry_find_prefers_newest_duplicate_name_and_exact_session() {
    let snapshot = snapshot(vec![
        agent("codex", UUID_A, "Review", 10),
        agent("codex", UUID_B, "Review", 20),
    ]);
    assert_eq!(
        found(&snapshot, "Review"),
        (UUID_B, 1, MatchedBy::DisplayName)
    );
    assert_eq!(found(&snapshot, UUID_A), (UUID_A, 0, MatchedBy::SessionId));
    let key = format!("codex:local:{UUID_A}");
    assert_eq!(found(&snapshot, &key), (UUID_A, 0, MatchedBy::Key));
    match snapshot.resolve("Review", STRICT) {
        Resolution::Ambiguous(rows) => assert_eq!(rows[0].key.session, UUID_B),
        other => panic!("{other:?}"),
    }
}

#[test]
fn c143_to_c148_the_order_among_rows_of_one_name() {
    let row = |session: &str| agent("codex", session, "Review", 10);
    let mut better = [
        row("1"),
        row("2"),
        row("3"),
        row("4"),
        row("5"),
        row("6"),
        row("0"),
    ];
    // Each but the last two beats all that follow, which have it better in every later rule.
    better[0].last_seen_at = Some(at(30));
    better[1].last_seen_at = Some(at(20));
    better[1].last_verified_at = Some(at(30));
    better[2].last_seen_at = Some(at(20));
    better[2].last_verified_at = Some(at(20));
    better[2].first_seen_at = Some(at(30));
    better[3].last_seen_at = Some(at(20));
    better[3].last_verified_at = Some(at(20));
    better[3].first_seen_at = Some(at(20));
    better[4].sendable = false;
    better[4].last_seen_at = Some(at(90));
    better[5].enabled = false;
    better[5].last_seen_at = Some(at(99));
    better[6].enabled = false;
    better[6].last_seen_at = None;
    for cut in 0..better.len() {
        let mut rest = better[cut..].to_vec();
        rest.reverse();
        let snapshot = snapshot(rest);
        assert_eq!(
            found(&snapshot, "Review").0,
            better[cut].key.session,
            "{cut}"
        );
    }
    // A14: a full tie goes to the smallest agent_id.
    assert_eq!(
        found(&snapshot(vec![row("b"), row("a"), row("c")]), "Review").0,
        "a"
    );
}

#[test]
fn c142_c149_an_id_beats_a_name_and_a_name_an_alias() {
    let mut rows = vec![
        agent("codex", "nightly", "One", 0),
        agent("codex", "s2", "nightly", 9),
        agent("codex", "s3", "Old", 9),
    ];
    rows[2].aliases.push("One".into());
    let snapshot = snapshot(rows);
    assert_eq!(
        found(&snapshot, "nightly"),
        ("nightly", 0, MatchedBy::SessionId)
    );
    assert_eq!(
        found(&snapshot, "One"),
        ("nightly", 1, MatchedBy::DisplayName)
    );
    assert!(
        matches!(snapshot.resolve("One", STRICT), Resolution::Ambiguous(rows) if rows.len() == 2)
    );
}

#[test]
fn a_current_name_beats_an_alias_even_where_it_cannot_be_sent_to() {
    let mut rows = vec![
        agent("codex", "s1", "Review", 0),
        agent("codex", "s2", "Review v2", 9),
    ];
    rows[0].sendable = false;
    rows[1].aliases.push("Review".into());
    let snapshot = snapshot(rows);
    // Refused with the other one named, rather than sent to where it was not addressed.
    assert_eq!(
        found(&snapshot, "Review"),
        ("s1", 1, MatchedBy::DisplayName)
    );
}

#[test]
fn c118_c141_an_old_title_still_leads_there() {
    let mut row = agent("codex", UUID_A, "New", 0);
    row.aliases = vec!["New".into(), "Old".into()];
    let snapshot = snapshot(vec![row]);
    assert_eq!(found(&snapshot, " Old "), (UUID_A, 0, MatchedBy::Alias));
}

#[test]
fn an_id_that_several_providers_hold_is_ambiguous_unless_one_can_be_sent_to() {
    let id = format!("copilot_cli:session:{UUID_A}");
    let mut rows = vec![
        agent("copilot_cli", &id, "Fix", 0),
        agent("vscode_copilot_backed", &id, "Fix", 9),
        agent(
            "opencode_cli",
            &format!("opencode_cli:session:{UUID_A}"),
            "Other",
            9,
        ),
    ];
    let all = snapshot(rows.clone());
    assert!(
        matches!(all.resolve(&id, Lookup::default()), Resolution::Ambiguous(r) if r.len() == 2)
    );
    assert!(
        matches!(all.resolve(UUID_A, Lookup::default()), Resolution::Ambiguous(r) if r.len() == 3)
    );
    // The full key means one row in any case.
    let key = format!("copilot_cli:local:{id}");
    assert_eq!(found(&all, &key), (&*id, 0, MatchedBy::Key));
    rows[1].sendable = false;
    let one = snapshot(rows.clone());
    match one.resolve(&id, Lookup::default()) {
        Resolution::Found { row, also, .. } => {
            assert_eq!((&*row.key.provider, also.len()), ("copilot_cli", 0));
        }
        other => panic!("{other:?}"),
    }
    rows[0].enabled = false;
    let none = snapshot(rows);
    assert!(matches!(
        none.resolve(&id, Lookup::default()),
        Resolution::Ambiguous(_)
    ));
}

#[test]
fn c117_the_shapes_of_ids_are_recognised() {
    let rows = vec![
        agent("cursor", "cursor:composer:c1", "A", 0),
        agent("antigravity", "antigravity:cascade:a1", "B", 0),
        agent("codex", UUID_A, "C", 0),
        agent("vscode_copilot_backed", "copilot_cli:session:v1", "D", 0),
    ];
    let snapshot = snapshot(rows);
    for (text, session) in [
        ("cursor:composer:c1", "cursor:composer:c1"),
        ("cursor:session:c1", "cursor:composer:c1"),
        ("c1", "cursor:composer:c1"),
        ("antigravity:conversation:a1", "antigravity:cascade:a1"),
        (&*format!("codex-thread:{UUID_A}"), UUID_A),
        (&*format!("codex:thread:{UUID_A}"), UUID_A),
        ("copilot_cli:session:v1", "copilot_cli:session:v1"),
        ("vscode_copilot_backed:session:v1", "copilot_cli:session:v1"),
    ] {
        assert_eq!(
            found(&snapshot, text),
            (session, 0, MatchedBy::SessionId),
            "{text}"
        );
    }
    for text in [
        "codex:thread:c1",
        "cursor:composer:c",
        "antigravity:x:a1",
        "composer:c1",
    ] {
        let missed = snapshot.resolve(text, Lookup::default());
        assert!(
            matches!(missed, Resolution::Miss { .. }),
            "{text}: {missed:?}"
        );
    }
}

#[test]
fn c150_a_lookup_within_a_node_sees_no_other() {
    let mut far = agent("codex", UUID_A, "Review", 9);
    far.key.node = "n2".into();
    let snapshot = snapshot(vec![agent("codex", UUID_A, "Review", 0), far]);
    for target in ["Review", UUID_A] {
        for node in ["local", "n2"] {
            let lookup = Lookup {
                node: Some(node),
                strict: true,
            };
            match snapshot.resolve(target, lookup) {
                Resolution::Found { row, also, .. } => {
                    assert_eq!((&*row.key.node, also.len()), (node, 0));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(matches!(
        snapshot.resolve(UUID_A, Lookup::default()),
        Resolution::Ambiguous(_)
    ));
    let lookup = Lookup {
        node: Some("n2"),
        strict: false,
    };
    let key = format!("codex:local:{UUID_A}");
    assert!(matches!(
        snapshot.resolve(&key, lookup),
        Resolution::Miss { .. }
    ));
}

#[test]
fn c151_a_display_name_shaped_like_an_id_is_no_name() {
    let snapshot = snapshot(vec![agent("codex", UUID_A, UUID_B, 0), {
        let mut row = agent("cursor", "x", "y", 0);
        row.display_name = "some:session:1".into();
        row.aliases.clear();
        row
    }]);
    // `agent` gave the name as an alias too, which leads there as an alias does.
    assert_eq!(found(&snapshot, UUID_B).2, MatchedBy::Alias);
    let missed = snapshot.resolve("some:session:1", Lookup::default());
    assert!(matches!(missed, Resolution::Miss { .. }));
}

#[test]
fn names_match_as_a_whole_and_exactly_and_near_ones_are_only_offered() {
    let mut hidden = agent("codex", "s9", "Design Revue", 0);
    hidden.sendable = false;
    let snapshot = snapshot(vec![
        agent("codex", UUID_A, "Design Review", 0),
        agent("codex", UUID_B, "Payments", 0),
        hidden,
    ]);
    for target in [
        "design review",
        "Design Revie",
        "Design",
        "Review",
        "Desing Review",
    ] {
        match snapshot.resolve(target, Lookup::default()) {
            Resolution::Miss { near } => assert_eq!(near, ["Design Review"], "{target}"),
            other => panic!("{target}: {other:?}"),
        }
    }
    match snapshot.resolve(&UUID_A[..8], Lookup::default()) {
        Resolution::Miss { near } => assert_eq!(near, [UUID_A]),
        other => panic!("{other:?}"),
    }
    for target in ["", " ", "zzzz", &"x".repeat(10_000)] {
        assert_eq!(
            snapshot.resolve(target, Lookup::default()),
            Resolution::Miss { near: Vec::new() }
        );
    }
}

#[test]
fn nothing_is_said_of_rows_that_cannot_be_sent_to_when_one_can() {
    let mut rows: Vec<_> = (0..4)
        .map(|n| agent("codex", &format!("s{n}"), "Review", n))
        .collect();
    rows[2].sendable = false;
    rows[3].enabled = false;
    let snapshot = snapshot(rows);
    assert_eq!(
        found(&snapshot, "Review"),
        ("s1", 1, MatchedBy::DisplayName)
    );
}

#[test]
fn a_strict_lookup_names_only_what_can_be_sent_to() {
    let mut rows: Vec<_> = (0..4)
        .map(|n| agent("codex", &format!("s{n}"), "Review", n))
        .collect();
    rows[2].sendable = false;
    rows[3].enabled = false;
    let two = snapshot(rows.clone());
    let Resolution::Ambiguous(named) = two.resolve("Review", STRICT) else {
        panic!("two can be sent to");
    };
    let named: Vec<_> = named.iter().map(|row| &*row.key.session).collect();
    assert_eq!(named, ["s1", "s0"]);
    // One that can is decided, whatever else has its name; among those that cannot, none is.
    rows[1].enabled = false;
    let one = snapshot(rows.clone());
    match one.resolve("Review", STRICT) {
        Resolution::Found { row, also, .. } => {
            assert_eq!((&*row.key.session, also.len()), ("s0", 0));
        }
        other => panic!("{other:?}"),
    }
    rows[0].enabled = false;
    let none = snapshot(rows);
    assert!(
        matches!(none.resolve("Review", STRICT), Resolution::Ambiguous(rows) if rows.len() == 4)
    );
}
