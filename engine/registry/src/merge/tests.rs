//! The merge, statement by statement of the conformance list.

use super::absent::NOT_FOUND;
use super::*;
use crate::Registry;
use crate::samples::{UUID_A, UUID_B, agent, at, evidence, ordinary, proven, registry, targeted};
use axiowl_model::{Kind, MANUAL_SOURCE, MCP_SENDER_SOURCE, Status};

fn rows(registry: &Registry) -> Vec<AgentRecord> {
    registry.load().unwrap().into_agents()
}

fn row(registry: &Registry, session: &str) -> AgentRecord {
    rows(registry)
        .into_iter()
        .find(|row| row.key.session == session)
        .unwrap()
}

fn counts(report: &MergeReport) -> [usize; 4] {
    [
        report.enrolled,
        report.updated,
        report.evidence,
        report.skipped,
    ]
}

fn codes(report: &MergeReport) -> Vec<&str> {
    report
        .issues
        .iter()
        .map(|issue| issue.code.as_str())
        .collect()
}

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
fn c120_to_c125_c360_a_manual_row_stays_manual_and_sendable() {
    let mut manual = agent("codex", UUID_A, "My Review", 0);
    manual.source = MANUAL_SOURCE.into();
    let (_dir, registry) = registry(vec![manual]);
    let mut weaker = evidence("codex", UUID_A, "Provider Title");
    weaker.last_seen_at = Some(at(500));
    let merged = registry.merge(&[weaker], &ordinary("codex")).unwrap();
    assert_eq!(merged.decisions[0].decision, Decision::Updated);
    let after = row(&registry, UUID_A);
    assert_eq!(
        (&*after.display_name, &*after.source),
        ("My Review", "manual")
    );
    assert!(after.sendable);
    assert!(after.aliases.contains(&"Provider Title".to_owned()));
    assert_eq!(after.last_seen_at, Some(at(500)));

    registry
        .merge(
            &[proven("codex", UUID_A, "Provider Title")],
            &ordinary("codex"),
        )
        .unwrap();
    let proven_row = row(&registry, UUID_A);
    assert_eq!(
        (&*proven_row.display_name, &*proven_row.source),
        ("My Review", "manual")
    );

    let prune = MergeOptions {
        prune: true,
        ..ordinary("codex")
    };
    assert!(registry.merge(&[], &prune).unwrap().pruned.is_empty());
    assert!(row(&registry, UUID_A).is_target());
}

#[test]
fn c361_c362_weak_codex_evidence_is_counted_and_enrolls_nothing() {
    let (_dir, registry) = registry(Vec::new());
    let mut seen = evidence("codex", UUID_A, "Thread");
    seen.source = "codex_active_codex_sqlite_thread_without_desktop_state".into();
    let mut vscode = evidence("codex", UUID_B, "Other");
    vscode.source = "codex_active_workspace_vscode_thread".into();
    let merged = registry.merge(&[seen, vscode], &ordinary("codex")).unwrap();
    assert_eq!(counts(&merged), [0, 0, 2, 0]);
    let stored = rows(&registry);
    assert!(
        stored
            .iter()
            .all(|row| !row.sendable && row.enabled && row.proof.is_empty())
    );
    assert_eq!(stored[0].last_error, "no live owner");
    assert_eq!(registry.load().unwrap().targets().count(), 0);
}

#[test]
fn c363_a_targeted_ipc_owner_row_enrolls_also_over_stored_evidence() {
    let (_dir, registry) = registry(Vec::new());
    registry
        .merge(&[evidence("codex", UUID_A, "Thread")], &ordinary("codex"))
        .unwrap();
    let mut owner = proven("codex", UUID_A, "Thread");
    owner.source = "codex_desktop_ipc_owner".into();
    let merged = registry.merge(&[owner], &targeted("codex")).unwrap();
    assert_eq!(counts(&merged), [1, 0, 0, 0]);
    let row = row(&registry, UUID_A);
    assert!(row.is_target() && row.last_error.is_empty());
    assert_eq!(
        (&*row.source, &*row.proof),
        ("codex_desktop_ipc_owner", "codex_desktop_ipc_owner")
    );
}

#[test]
fn a19_an_ordinary_run_that_only_sees_it_never_demotes_what_a_targeted_proof_enrolled() {
    let (_dir, registry) = registry(Vec::new());
    registry
        .merge(&[proven("codex", UUID_A, "Thread")], &targeted("codex"))
        .unwrap();
    let seen = evidence("codex", UUID_A, "Thread");
    let merged = registry
        .merge(std::slice::from_ref(&seen), &ordinary("codex"))
        .unwrap();
    assert_eq!(counts(&merged), [0, 0, 1, 0]);
    assert!(merged.demoted.is_empty());
    assert!(row(&registry, UUID_A).is_target());

    // What shows that it cannot be reached does, and so does a targeted run.
    let archived = DiscoveredAgent {
        status: Status::Archived,
        ..seen.clone()
    };
    let subagent = DiscoveredAgent {
        kind: Kind::Subagent,
        ..seen.clone()
    };
    for (found, options) in [
        (archived, ordinary("codex")),
        (subagent, ordinary("codex")),
        (seen, targeted("codex")),
    ] {
        registry
            .merge(&[proven("codex", UUID_A, "Thread")], &targeted("codex"))
            .unwrap();
        let merged = registry.merge(&[found], &options).unwrap();
        assert_eq!(merged.demoted.len(), 1);
        assert!(!row(&registry, UUID_A).sendable);
    }
}

#[test]
fn once_an_ordinary_run_has_proven_a_row_only_seeing_it_demotes_it() {
    let (_dir, registry) = registry(Vec::new());
    let found = [proven("codex", UUID_A, "Thread")];
    registry.merge(&found, &targeted("codex")).unwrap();
    registry.merge(&found, &ordinary("codex")).unwrap();
    registry.merge(&found, &targeted("codex")).unwrap();
    registry
        .merge(&[evidence("codex", UUID_A, "Thread")], &ordinary("codex"))
        .unwrap();
    let row = row(&registry, UUID_A);
    assert!(!row.sendable);
    assert_eq!((&*row.last_error, &*row.proof), ("no live owner", ""));
}

#[test]
fn c094_c095_rows_without_identity_or_name_are_skipped_and_said_so() {
    let (_dir, registry) = registry(Vec::new());
    let mut report: Vec<_> = (0..6)
        .map(|n| proven("codex", &format!("s{n}"), "Name"))
        .collect();
    report[0].key.provider.clear();
    report[1].key.node = " ".into();
    report[2].key.session.clear();
    report[3].display_name = None;
    report[4].display_name = Some("\u{200b}".into());
    report[5].key.provider = "cursor".into();
    let merged = registry.merge(&report, &ordinary("codex")).unwrap();
    assert_eq!(counts(&merged), [0, 0, 0, 6]);
    assert!(
        codes(&merged)
            .iter()
            .all(|code| *code == "incomplete_identity")
    );
    assert_eq!(
        merged.issues.len(),
        5,
        "the nameless ones share an issue: {:?}",
        merged.issues
    );
    assert!(rows(&registry).is_empty());
}

#[test]
fn c097_to_c101_each_missing_part_of_the_proof_bars_enrolment() {
    let base = || proven("codex", UUID_A, "Thread");
    let cases: [(&str, DiscoveredAgent); 9] = [
        (
            "no proof",
            DiscoveredAgent {
                has_enrollment_proof: false,
                ..base()
            },
        ),
        (
            "not sendable",
            DiscoveredAgent {
                sendable: false,
                ..base()
            },
        ),
        (
            "error",
            DiscoveredAgent {
                last_error: Some("gone".into()),
                ..base()
            },
        ),
        (
            "archived",
            DiscoveredAgent {
                status: Status::Archived,
                ..base()
            },
        ),
        (
            "auth",
            DiscoveredAgent {
                status: Status::AuthUnproven,
                ..base()
            },
        ),
        (
            "evidence",
            DiscoveredAgent {
                status: Status::EvidenceOnly,
                ..base()
            },
        ),
        (
            "subagent",
            DiscoveredAgent {
                kind: Kind::Subagent,
                ..base()
            },
        ),
        (
            "empty",
            DiscoveredAgent {
                kind: Kind::Empty,
                ..base()
            },
        ),
        (
            "copy",
            DiscoveredAgent {
                kind: Kind::Copy,
                ..base()
            },
        ),
    ];
    for (case, found) in cases {
        assert!(!is_proven(&found), "{case}");
        let (_dir, registry) = registry(Vec::new());
        let merged = registry.merge(&[found], &ordinary("codex")).unwrap();
        assert_eq!(counts(&merged), [0, 0, 1, 0], "{case}");
        let row = row(&registry, UUID_A);
        assert!(!row.sendable && !row.last_error.is_empty(), "{case}");
    }
    assert!(is_proven(&base()));
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
    let mut named = |name: &str, weak: bool| {
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
fn a_row_a_person_switched_off_is_refreshed_and_stays_off() {
    let mut off = agent("codex", UUID_A, "Review", 0);
    off.enabled = false;
    let (_dir, registry) = registry(vec![off]);
    let merged = registry
        .merge(&[proven("codex", UUID_A, "Review 2")], &ordinary("codex"))
        .unwrap();
    assert_eq!(counts(&merged), [0, 1, 0, 0]);
    let row = row(&registry, UUID_A);
    assert!(!row.enabled && row.sendable && row.display_name == "Review 2");
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
