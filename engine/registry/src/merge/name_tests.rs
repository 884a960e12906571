//! Names and aliases in the merge, statement by statement of the conformance list.

use super::*;
use crate::samples::*;

#[test]
fn test_discovery_merge_repairs_existing_session_without_duplicate() {
    let (_dir, registry) = registry(vec![agent("codex", UUID_A, "Old Name", 0)]);
    let merged = registry
        .merge(&[proven("codex", UUID_A, "New Name")], &ordinary("codex"))
        .unwrap();
    assert_eq!(counts(&merged), [0, 1, 0, 0]);
    let [row] = &rows(&registry)[..] else {
        panic!("one row")
    };
    assert_eq!(row.display_name, "New Name");
    assert_eq!(row.agent_id(), format!("codex:local:{UUID_A}"));
    assert!(row.aliases.contains(&"Old Name".to_owned()));
    assert!(row.aliases.contains(&"New Name agent".to_owned()));
    assert!(
        merged.decisions[0]
            .reason
            .contains("renamed from `Old Name`")
    );
}

#[test]
fn test_discovery_merge_duplicate_name_enrolls_new_session() {
    let (_dir, registry) = registry(vec![agent("codex", UUID_A, "Review", 0)]);
    let report = [
        proven("codex", UUID_A, "Review"),
        proven("codex", UUID_B, "Review"),
    ];
    let merged = registry.merge(&report, &ordinary("codex")).unwrap();
    assert_eq!(counts(&merged), [1, 1, 0, 0]);
    let rows = rows(&registry);
    assert_eq!(rows.len(), 2);
    assert!(
        rows.iter()
            .all(|row| row.display_name == "Review" && row.is_target())
    );
}

#[test]
fn c359_same_session_updates_its_row_and_keeps_the_old_name_and_first_seen() {
    let (_dir, registry) = registry(Vec::new());
    registry
        .merge(&[proven("codex", UUID_A, "Old")], &ordinary("codex"))
        .unwrap();
    let later = MergeOptions {
        now: at(2000),
        ..ordinary("codex")
    };
    let mut found = proven("codex", UUID_A, "New");
    found.cwd = None;
    found.last_seen_at = Some(at(-50));
    registry.merge(&[found], &later).unwrap();
    let row = row(&registry, UUID_A);
    for alias in ["Old", "Old agent", "New", "New agent", UUID_A] {
        assert!(
            row.aliases.contains(&alias.to_owned()),
            "{alias}: {:?}",
            row.aliases
        );
    }
    assert_eq!(row.first_seen_at, Some(at(1000)), "kept");
    assert_eq!(row.last_seen_at, Some(at(0)), "moves forward only");
    assert_eq!(row.last_verified_at, Some(at(2000)));
    assert_eq!(
        row.cwd, "/home/dev/shop",
        "what the new row does not know is not lost"
    );
}

#[test]
fn c106_c151_an_unusable_name_never_replaces_one() {
    for name in [
        None,
        Some(""),
        Some(" \u{200b}"),
        Some(UUID_B),
        Some(UUID_A),
    ] {
        let (_dir, registry) = registry(vec![agent("codex", UUID_A, "Review", 0)]);
        let found = DiscoveredAgent {
            display_name: name.map(str::to_owned),
            ..proven("codex", UUID_A, "")
        };
        let merged = registry.merge(&[found], &ordinary("codex")).unwrap();
        assert_eq!(counts(&merged), [0, 1, 0, 0], "{name:?}");
        assert_eq!(row(&registry, UUID_A).display_name, "Review", "{name:?}");
    }
}

#[test]
fn an_id_as_name_gives_way_to_any_name() {
    let (_dir, registry) = registry(Vec::new());
    registry
        .merge(&[proven("codex", UUID_A, UUID_A)], &ordinary("codex"))
        .unwrap();
    let first = row(&registry, UUID_A);
    assert_eq!(
        (&*first.display_name, first.aliases),
        (UUID_A, vec![UUID_A.to_owned()])
    );
    let weak = DiscoveredAgent {
        weak_name: true,
        ..proven("codex", UUID_A, "fix the till")
    };
    registry.merge(&[weak], &ordinary("codex")).unwrap();
    assert_eq!(row(&registry, UUID_A).display_name, "fix the till");
}

#[test]
fn a_weak_name_enrolls_gives_way_to_any_and_never_replaces_a_strong_one() {
    let (_dir, registry) = registry(Vec::new());
    let named = |name: &str, weak: bool| {
        let found = DiscoveredAgent {
            weak_name: weak,
            ..proven("codex", UUID_A, name)
        };
        registry.merge(&[found], &ordinary("codex")).unwrap();
        row(&registry, UUID_A).display_name
    };
    assert_eq!(named("first prompt", true), "first prompt");
    assert_eq!(named("later prompt", true), "later prompt");
    assert_eq!(named("Review", false), "Review");
    assert_eq!(named("later prompt", true), "Review");
    assert_eq!(named("Review", true), "Review");
    assert_eq!(
        named("first prompt", true),
        "Review",
        "the same text, weakly, changes nothing"
    );
    assert_eq!(named("Review two", false), "Review two");
    let row = row(&registry, UUID_A);
    for old in ["first prompt", "later prompt", "Review"] {
        assert!(row.aliases.contains(&old.to_owned()), "{old}");
    }
    assert!(
        row.extra.is_empty(),
        "a strong name leaves no mark: {:?}",
        row.extra
    );
}

#[test]
fn c112_to_c116_the_aliases_the_engine_gives() {
    let (_dir, registry) = registry(Vec::new());
    let mut found = proven("cursor", "cursor:composer:X", "Design Review");
    found.aliases = vec!["cursor-thread:X".into(), " ".into(), "X".into()];
    registry.merge(&[found], &ordinary("cursor")).unwrap();
    assert_eq!(
        row(&registry, "cursor:composer:X").aliases,
        [
            "Design Review",
            "Design Review agent",
            "cursor:composer:X",
            "X",
            "cursor-thread:X"
        ]
    );
}

#[test]
fn aliases_of_free_text_that_lead_elsewhere_are_refused_to_everybody_and_in_any_order() {
    let mut taken = agent("cursor", "cursor:composer:Y", "Payments", 0);
    taken.aliases.push("till".into());
    let (_dir, registry) = registry(vec![taken]);
    let mut one = proven("codex", UUID_A, "One");
    one.guarded_aliases = [
        "Payments",
        "till ",
        "Y",
        "cursor:composer:Y",
        "cursor:local:cursor:composer:Y",
        "Two",
        "shared",
        UUID_B,
        "ses_unknown",
        "ok",
        "One",
        "",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut two = proven("codex", UUID_B, "Two");
    two.guarded_aliases = vec!["shared".into()];
    let merged = registry
        .merge(&[one.clone(), two.clone()], &ordinary("codex"))
        .unwrap();
    assert_eq!(merged.issues.len(), 10, "{:#?}", merged.issues);
    assert!(codes(&merged).iter().all(|code| *code == "alias_refused"));
    let aliases = row(&registry, UUID_A).aliases;
    assert_eq!(aliases, ["One", "One agent", UUID_A, "ok"]);
    // An alias once granted stays, and whoever wants it later is refused.
    one.guarded_aliases.clear();
    two.guarded_aliases = vec!["ok".into()];
    let merged = registry.merge(&[two, one], &ordinary("codex")).unwrap();
    assert!(
        merged
            .issues
            .iter()
            .any(|issue| issue.message.contains("alias `ok`"))
    );
    assert_eq!(row(&registry, UUID_A).aliases, aliases);
}
