//! Changes by hand and by proven senders, and what the check says afterwards.

use super::*;
use crate::samples::{UUID_A, UUID_B, agent, at, evidence, ordinary, proven, registry};

fn manual(session: &str, name: &str) -> NewAgent {
    NewAgent {
        key: SessionKey::local("codex", session),
        display_name: name.into(),
        aliases: Vec::new(),
        sendable: true,
        home: String::new(),
        cwd: String::new(),
        now: at(7),
    }
}

fn only(registry: &Registry) -> AgentRecord {
    let mut rows = registry.load().unwrap().into_agents();
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

#[test]
fn a_row_added_by_hand_is_a_target_and_keeps_its_name() {
    let (_dir, registry) = registry(Vec::new());
    let new = NewAgent {
        aliases: vec!["till".into()],
        ..manual(UUID_A, " Mine ")
    };
    let added = registry.add_agent(&new).unwrap();
    assert!(added.before.is_none());
    assert_eq!(added.row, only(&registry));
    assert_eq!(added.row.aliases, ["Mine", "Mine agent", UUID_A, "till"]);
    assert_eq!(added.row.first_seen_at, Some(at(7)));
    assert!(added.row.is_manual() && added.row.is_target());
    registry
        .merge(&[proven("codex", UUID_A, "Theirs")], &ordinary("codex"))
        .unwrap();
    assert_eq!(only(&registry).display_name, "Mine");
}

#[test]
fn adding_a_known_session_takes_it_under_protection() {
    let (_dir, registry) = registry(Vec::new());
    registry
        .merge(&[evidence("codex", UUID_A, "Found")], &ordinary("codex"))
        .unwrap();
    let edited = registry.add_agent(&manual(UUID_A, "Mine")).unwrap();
    assert_eq!(edited.before.unwrap().display_name, "Found");
    let row = only(&registry);
    assert!(row.is_manual() && row.is_target() && row.last_error.is_empty());
    assert!(row.aliases.contains(&"Found".to_owned()));
    assert_eq!(row.cwd, "/home/dev/shop");
}

#[test]
fn identities_and_names_that_are_none_are_refused_and_nothing_is_written() {
    let (_dir, registry) = registry(Vec::new());
    for name in ["", "\u{200b}", UUID_B, UUID_A, "some:session:x"] {
        let error = registry.add_agent(&manual(UUID_A, name)).unwrap_err();
        assert!(
            matches!(error, RegistryError::UnusableName { .. }),
            "{name}: {error}"
        );
    }
    for key in [
        SessionKey::local("", "s"),
        SessionKey::local("codex", " "),
        SessionKey::local("a:b", "s"),
    ] {
        let error = registry
            .add_agent(&NewAgent {
                key,
                ..manual("s", "Name")
            })
            .unwrap_err();
        assert!(
            matches!(error, RegistryError::BadIdentity { .. }),
            "{error}"
        );
    }
    assert!(!registry.path().exists());
}

#[test]
fn c371_a_rename_by_hand_outlasts_discovery_and_the_old_name_still_leads_there() {
    let (_dir, registry) = registry(Vec::new());
    registry
        .merge(&[proven("codex", UUID_A, "Theirs")], &ordinary("codex"))
        .unwrap();
    let edited = registry.rename("Theirs", None, "Mine").unwrap();
    assert_eq!(edited.before.unwrap().display_name, "Theirs");
    registry
        .merge(&[proven("codex", UUID_A, "Theirs too")], &ordinary("codex"))
        .unwrap();
    let row = only(&registry);
    assert_eq!(row.display_name, "Mine");
    for alias in ["Theirs", "Theirs too", "Mine agent"] {
        assert!(row.aliases.contains(&alias.to_owned()), "{alias}");
    }
    assert!(
        !row.is_manual(),
        "a rename does not vouch that messages can be sent"
    );
    registry.merge(&[], &ordinary("codex")).unwrap();
    assert!(!only(&registry).sendable);
    assert!(registry.rename("Mine", None, UUID_B).is_err());
}

#[test]
fn aliases_by_hand_come_and_go_and_may_not_divert() {
    let (_dir, registry) = registry(vec![
        agent("codex", UUID_A, "One", 0),
        agent("codex", UUID_B, "Two", 0),
    ]);
    registry.add_alias("One", None, " till ").unwrap();
    registry.add_alias("One", None, "till").unwrap();
    for alias in ["Two", UUID_B, &format!("codex:local:{UUID_B}"), " "] {
        let error = registry.add_alias("One", None, alias).unwrap_err();
        assert!(
            matches!(error, RegistryError::AliasRefused { .. }),
            "{alias}: {error}"
        );
    }
    let error = registry.add_alias("Two", None, "till").unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("an alias of `codex:local:{UUID_A}`")),
        "{error}"
    );
    assert_eq!(
        registry
            .remove_alias("till", None, "till")
            .unwrap()
            .row
            .aliases,
        ["One"]
    );
    let error = registry.remove_alias("One", None, "till").unwrap_err();
    assert!(
        matches!(error, RegistryError::NoSuchAlias { .. }),
        "{error}"
    );
    let refused = NewAgent {
        aliases: vec!["Two".into()],
        ..manual("s3", "Three")
    };
    assert!(registry.add_agent(&refused).is_err());
    assert_eq!(
        registry.load().unwrap().agents().len(),
        2,
        "a refused alias adds no row"
    );
}

#[test]
fn a_change_means_exactly_one_row() {
    let mut off = agent("codex", UUID_B, "Review", 9);
    off.enabled = false;
    let (_dir, registry) = registry(vec![agent("codex", UUID_A, "Review", 0), off]);
    match registry.set_enabled("Review", None, true).unwrap_err() {
        RegistryError::Ambiguous { agents, .. } => assert_eq!(agents.len(), 2),
        error => panic!("{error}"),
    }
    assert!(
        registry
            .set_enabled(UUID_B, None, true)
            .unwrap()
            .row
            .enabled
    );
    match registry.remove("Reviw", None).unwrap_err() {
        RegistryError::NoSuchAgent { near, .. } => assert_eq!(near, ["Review"]),
        error => panic!("{error}"),
    }
    let removed = registry.remove(UUID_A, None).unwrap();
    assert_eq!(removed.row.key.session, UUID_A);
    assert_eq!(only(&registry).key.session, UUID_B);
}

fn sender(name: Option<&str>, address: Option<&str>) -> SenderRegistration {
    SenderRegistration {
        key: SessionKey::local("codex", UUID_A),
        display_name: name.map(str::to_owned),
        address: address.map(str::to_owned),
        class: "host_meta".into(),
        sendable: true,
        now: at(50),
    }
}

#[test]
fn c119_c174_c175_a_proven_sender_is_registered_with_its_address() {
    let (_dir, registry) = registry(vec![agent("cursor", "c", "Taken", 0)]);
    let edited = registry
        .register_sender(&sender(Some("Caller"), Some("codex@host")))
        .unwrap();
    assert!(edited.issues.is_empty());
    assert_eq!(edited.row.source, "mcp_sender_identity");
    assert!(edited.row.is_target());
    assert_eq!(
        edited.row.aliases,
        ["Caller", "Caller agent", UUID_A, "codex@host"]
    );
    // An address that leads elsewhere is left out and said so; a new name is taken over.
    let edited = registry
        .register_sender(&sender(Some("Caller 2"), Some("Taken")))
        .unwrap();
    assert_eq!(edited.issues[0].code, "alias_refused");
    assert_eq!(edited.row.display_name, "Caller 2");
    assert!(!edited.row.aliases.contains(&"Taken".to_owned()));
    // Without a name, what is known stays.
    let edited = registry
        .register_sender(&sender(Some(UUID_B), None))
        .unwrap();
    assert_eq!(edited.row.display_name, "Caller 2");
}

#[test]
fn a_sender_without_a_name_adds_no_row() {
    let (_dir, registry) = registry(Vec::new());
    for name in [None, Some(""), Some(UUID_A)] {
        let error = registry.register_sender(&sender(name, None)).unwrap_err();
        assert!(
            matches!(error, RegistryError::UnusableName { .. }),
            "{error}"
        );
    }
    assert!(!registry.path().exists());
}

#[test]
fn a_sender_that_discovery_or_a_person_named_keeps_that_name() {
    let (_dir, registry) = registry(Vec::new());
    registry
        .merge(&[evidence("codex", UUID_A, "Title")], &ordinary("codex"))
        .unwrap();
    let quiet = SenderRegistration {
        sendable: false,
        ..sender(Some("Caller"), None)
    };
    assert!(
        !registry.register_sender(&quiet).unwrap().row.sendable,
        "stays as it was"
    );
    registry
        .merge(&[proven("codex", UUID_A, "Title")], &ordinary("codex"))
        .unwrap();
    let row = registry
        .register_sender(&sender(Some("Caller"), None))
        .unwrap()
        .row;
    assert_eq!(
        (&*row.display_name, &*row.source),
        ("Title", "mcp_sender_identity")
    );
    assert_eq!(
        row.proof, "codex_proof",
        "the rung that proved it is still known"
    );

    registry.add_agent(&manual(UUID_A, "Mine")).unwrap();
    let row = registry
        .register_sender(&sender(Some("Caller"), None))
        .unwrap()
        .row;
    assert_eq!((&*row.display_name, &*row.source), ("Mine", "manual"));
}

#[test]
fn the_check_names_damage_shared_names_and_aliases_that_lead_nowhere() {
    let mut rows = vec![
        agent("codex", UUID_A, "Review", 0),
        agent("codex", UUID_B, "Review", 9),
        agent("codex", "s3", UUID_B, 9),
        agent("cursor", "cursor:composer:X", "Till", 0),
    ];
    rows[3].aliases.extend([
        "Review".into(),
        "X".into(),
        "Till agent".into(),
        "old".into(),
    ]);
    let (_dir, registry) = registry(rows);
    let mut bytes = std::fs::read(registry.path()).unwrap();
    bytes.extend_from_slice(b"half a line\n");
    std::fs::write(registry.path(), bytes).unwrap();
    let report = registry.load().unwrap().check();
    assert_eq!(
        (report.rows, report.targets, report.damaged.len()),
        (4, 4, 1)
    );
    let [shared] = &report.shared_names[..] else {
        panic!("{:?}", report.shared_names)
    };
    assert_eq!(shared.name, "Review");
    assert_eq!(
        shared.agents,
        [
            format!("codex:local:{UUID_B}"),
            format!("codex:local:{UUID_A}")
        ]
    );
    assert_eq!(report.unnamed, ["codex:local:s3"]);
    let refused: Vec<_> = report
        .refused_aliases
        .iter()
        .map(|i| i.message.as_str())
        .collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].starts_with("alias `Review` of `cursor:local:cursor:composer:X`"));
    assert!(!report.is_clean());
    assert!(
        registry.load().unwrap().check().damaged.len() == 1,
        "a check changes nothing"
    );
}

#[test]
fn a10_the_class_of_a_proof_stands_in_the_row_until_discovery_proves_more() {
    let (_dir, registry) = registry(Vec::new());
    let env = SenderRegistration {
        class: "host_env_protected".into(),
        sendable: false,
        ..sender(Some("Caller"), None)
    };
    let row = registry.register_sender(&env).unwrap().row;
    assert_eq!(row.proof, "mcp_sender_identity:host_env_protected");
    assert!(!row.sendable, "a caller is no target yet");
    registry
        .merge(&[proven("codex", UUID_A, "Title")], &ordinary("codex"))
        .unwrap();
    let row = registry.register_sender(&env).unwrap().row;
    assert_eq!((&*row.proof, row.sendable), ("codex_proof", true));
}
