//! What enrols, what demotes and what a person's word is worth, by the conformance list.

use super::*;
use crate::samples::*;
use axiowl_model::{Kind, MANUAL_SOURCE, Status};

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

/// C110: an unproven hit repairs no stale row; C131: but refreshes what is kept as evidence.
#[test]
fn c110_c131_evidence_refreshes_a_stale_row_and_repairs_nothing() {
    let mut stale = agent("codex", UUID_A, "Thread", 0);
    stale.sendable = false;
    stale.last_error = "the folder is gone".into();
    let (_dir, registry) = registry(vec![stale]);
    let mut seen = evidence("codex", UUID_A, "Thread");
    seen.last_seen_at = Some(at(700));
    let merged = registry.merge(&[seen], &ordinary("codex")).unwrap();
    assert_eq!(counts(&merged), [0, 0, 1, 0]);
    let after = row(&registry, UUID_A);
    assert!(!after.sendable && after.proof.is_empty());
    assert_eq!(after.last_seen_at, Some(at(700)));
    assert_eq!(after.last_error, "no live owner");
    registry
        .merge(&[proven("codex", UUID_A, "Thread")], &ordinary("codex"))
        .unwrap();
    assert!(row(&registry, UUID_A).is_target(), "proof repairs it");
}
