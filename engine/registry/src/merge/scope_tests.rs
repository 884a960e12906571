//! What a report covers: absence, pruning, homes, nodes and dry runs.

use super::absent::NOT_FOUND;
use super::*;
use crate::samples::*;
use axiowl_model::{MANUAL_SOURCE, MCP_SENDER_SOURCE};

#[test]
fn what_a_complete_ordinary_run_does_not_list_is_kept_and_switched_off() {
    let mut other_home = agent("codex", "s3", "Elsewhere", 0);
    other_home.home = "work".into();
    let rows_before = vec![
        agent("codex", "s1", "Gone", 0),
        agent("codex", "s2", "Here", 0),
        other_home,
        agent("cursor", "s4", "Other provider", 0),
    ];
    let (_dir, registry) = registry(rows_before);
    let here = [proven("codex", "s2", "Here")];
    for options in [
        targeted("codex"),
        MergeOptions {
            complete: false,
            ..ordinary("codex")
        },
        MergeOptions {
            complete: false,
            prune: true,
            ..ordinary("codex")
        },
        MergeOptions {
            prune: true,
            ..targeted("codex")
        },
    ] {
        let merged = registry.merge(&here, &options).unwrap();
        assert!(
            merged.demoted.is_empty() && merged.pruned.is_empty(),
            "{options:?}"
        );
        assert_eq!(registry.load().unwrap().targets().count(), 4);
    }
    let default_home = MergeOptions {
        home: Some(String::new()),
        ..ordinary("codex")
    };
    let merged = registry.merge(&here, &default_home).unwrap();
    assert_eq!(merged.demoted, [SessionKey::local("codex", "s1")]);
    let gone = row(&registry, "s1");
    assert_eq!((gone.sendable, &*gone.last_error), (false, NOT_FOUND));
    assert!(row(&registry, "s3").is_target(), "another home");
    let merged = registry.merge(&here, &ordinary("codex")).unwrap();
    assert_eq!(
        merged.demoted,
        [SessionKey::local("codex", "s3")],
        "all homes"
    );
    assert!(row(&registry, "s4").is_target(), "another provider");
    // Found again, it is a target again, and its row was never lost.
    let merged = registry
        .merge(&[proven("codex", "s1", "Gone")], &targeted("codex"))
        .unwrap();
    assert_eq!(counts(&merged), [0, 1, 0, 0]);
    assert_eq!(row(&registry, "s1").first_seen_at, Some(at(0)));
}

#[test]
fn an_incomplete_run_demotes_nothing_it_sees_either() {
    let (_dir, registry) = registry(vec![agent("codex", UUID_A, "Review", 0)]);
    let options = MergeOptions {
        complete: false,
        ..ordinary("codex")
    };
    let merged = registry
        .merge(&[evidence("codex", UUID_A, "Review")], &options)
        .unwrap();
    assert_eq!(counts(&merged), [0, 0, 1, 0]);
    let row = row(&registry, UUID_A);
    assert!(row.is_target() && row.last_error.is_empty());
    assert!(merged.decisions[0].reason.contains("not every source"));
}

#[test]
fn c136_to_c140_pruning_removes_unlisted_automatic_rows_of_that_provider_and_node() {
    let mut other_node = agent("vscode_native", "n", "Other node", 0);
    other_node.key.node = "n2".into();
    let mut sender = agent("vscode_native", "m", "Sender", 0);
    sender.source = MCP_SENDER_SOURCE.into();
    let mut switched_off = agent("vscode_native", "d", "Stale evidence", 0);
    switched_off.sendable = false;
    let before = vec![
        agent("vscode_native", "a", "Stale", 0),
        agent("vscode_native", "b", "Proven", 0),
        agent("vscode_native", "c", "Seen", 0),
        agent("cursor", "e", "Other provider", 0),
        other_node,
        sender,
        switched_off,
    ];
    let (_dir, registry) = registry(before);
    let prune = MergeOptions {
        prune: true,
        ..ordinary("vscode_native")
    };
    let report = [
        proven("vscode_native", "b", "Proven"),
        evidence("vscode_native", "c", "Seen"),
    ];
    let merged = registry.merge(&report, &prune).unwrap();
    let pruned: Vec<_> = merged
        .pruned
        .iter()
        .map(|key| key.session.as_str())
        .collect();
    assert_eq!(pruned, ["a", "d"]);
    let left: Vec<_> = rows(&registry)
        .into_iter()
        .map(|row| row.key.session)
        .collect();
    assert_eq!(left, ["e", "b", "c", "m", "n"]);
    assert!(
        !row(&registry, "c").sendable,
        "seen without proof: kept as evidence"
    );
    assert!(
        !row(&registry, "m").sendable,
        "a sender is switched off, never removed"
    );
}

#[test]
fn senders_no_discovery_has_seen_are_not_missed() {
    let mut sender = agent("codex", UUID_A, "Caller", 0);
    sender.source = MCP_SENDER_SOURCE.into();
    sender.last_verified_at = None;
    let (_dir, registry) = registry(vec![sender]);
    for prune in [false, true] {
        let options = MergeOptions {
            prune,
            ..ordinary("codex")
        };
        let merged = registry.merge(&[], &options).unwrap();
        assert!(merged.demoted.is_empty() && merged.pruned.is_empty());
    }
    let merged = registry
        .merge(&[evidence("codex", UUID_A, "x")], &ordinary("codex"))
        .unwrap();
    assert!(merged.demoted.is_empty());
    let row = row(&registry, UUID_A);
    assert!(row.is_target());
    assert_eq!(row.source, MCP_SENDER_SOURCE);
}

fn in_home(found: DiscoveredAgent, home: &str) -> DiscoveredAgent {
    DiscoveredAgent {
        home: home.to_owned(),
        ..found
    }
}

#[test]
fn a21_the_home_that_enrolled_a_session_first_keeps_it() {
    let (_dir, registry) = registry(Vec::new());
    let here = in_home(proven("codex", UUID_A, "Here"), "");
    let there = in_home(proven("codex", UUID_A, "There"), "backup");
    let only = |home: &str| MergeOptions {
        home: Some(home.into()),
        ..ordinary("codex")
    };
    registry
        .merge(std::slice::from_ref(&there), &only("backup"))
        .unwrap();
    let merged = registry
        .merge(std::slice::from_ref(&here), &only(""))
        .unwrap();
    assert_eq!(counts(&merged), [0, 0, 1, 0]);
    assert_eq!(codes(&merged), ["duplicate_across_sources"]);
    let kept = row(&registry, UUID_A);
    assert_eq!((&*kept.home, &*kept.display_name), ("backup", "There"));
    // Both in one report: the same.
    let merged = registry
        .merge(&[here.clone(), there], &ordinary("codex"))
        .unwrap();
    assert_eq!(counts(&merged), [0, 1, 1, 0]);
    assert_eq!(row(&registry, UUID_A).home, "backup");
    // When its home has lost it, the other one takes over.
    registry.merge(&[], &only("backup")).unwrap();
    registry.merge(&[here], &only("")).unwrap();
    let moved = row(&registry, UUID_A);
    assert!(moved.is_target());
    assert_eq!((&*moved.home, &*moved.display_name), ("", "Here"));
    assert!(moved.aliases.contains(&"There".to_owned()));
}

#[test]
fn a_new_session_in_two_homes_of_one_report_is_one_row() {
    let (_dir, registry) = registry(Vec::new());
    let report = [
        in_home(evidence("codex", UUID_A, "Seen"), ""),
        in_home(proven("codex", UUID_A, "Proven"), "work"),
        in_home(proven("codex", UUID_A, "Too"), "work2"),
        in_home(proven("codex", UUID_A, "Proven"), "work"),
    ];
    let merged = registry.merge(&report, &ordinary("codex")).unwrap();
    assert_eq!(counts(&merged), [1, 0, 3, 0]);
    assert_eq!(
        codes(&merged),
        [
            "duplicate_across_sources",
            "duplicate_across_sources",
            "duplicate_session"
        ]
    );
    let row = row(&registry, UUID_A);
    assert_eq!((&*row.home, &*row.display_name), ("work", "Proven"));
}

#[test]
fn a_manual_row_learns_its_home_from_the_first_proof() {
    let mut manual = agent("codex", UUID_A, "Mine", 0);
    manual.source = MANUAL_SOURCE.into();
    manual.last_verified_at = None;
    let (_dir, registry) = registry(vec![manual]);
    let seen = in_home(evidence("codex", UUID_A, "x"), "backup");
    registry.merge(&[seen], &ordinary("codex")).unwrap();
    assert_eq!(
        row(&registry, UUID_A).home,
        "",
        "evidence does not place it"
    );
    let found = in_home(proven("codex", UUID_A, "x"), "work");
    registry.merge(&[found], &ordinary("codex")).unwrap();
    assert_eq!(row(&registry, UUID_A).home, "work");
}

#[test]
fn c029_the_same_session_on_another_node_is_another_row() {
    let (_dir, registry) = registry(Vec::new());
    let mut remote = proven("codex", UUID_A, "Review");
    remote.key.node = "n2".into();
    registry
        .merge(&[proven("codex", UUID_A, "Review")], &ordinary("codex"))
        .unwrap();
    let on_n2 = MergeOptions {
        node: "n2".into(),
        ..ordinary("codex")
    };
    registry.merge(&[remote], &on_n2).unwrap();
    let ids: Vec<_> = rows(&registry).iter().map(AgentRecord::agent_id).collect();
    assert_eq!(
        ids,
        [
            format!("codex:local:{UUID_A}"),
            format!("codex:n2:{UUID_A}")
        ]
    );
}

#[test]
fn a_dry_run_says_what_the_merge_would_do_and_writes_nothing() {
    let (_dir, registry) = registry(vec![agent("codex", UUID_A, "Review", 0)]);
    let report = [proven("codex", UUID_B, "New")];
    let mut copy = registry.load().unwrap();
    let dry = copy.merge(&report, &ordinary("codex"));
    assert_eq!(rows(&registry).len(), 1);
    assert_eq!(registry.merge(&report, &ordinary("codex")).unwrap(), dry);
    assert_eq!(copy.agents(), rows(&registry));
}
