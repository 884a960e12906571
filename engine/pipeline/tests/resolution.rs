//! Who sends and who is meant, and what is said when that is not clear.

mod fake;

use axiowl_model::Stage;
use axiowl_pipeline::{OPERATOR, SendRequest, SenderClaim, SenderKind, Why};
use fake::{CountedPass, State, agent, key, proven};
use std::sync::atomic::Ordering;

fn from(claim: SenderClaim, to: &str) -> SendRequest {
    SendRequest {
        from: claim,
        ..SendRequest::new(to, "hello")
    }
}

fn text(sender: &str, to: &str) -> SendRequest {
    from(SenderClaim::Text(sender.into()), to)
}

#[test]
fn c201_c205_a_miss_gets_one_pass_and_a_detailed_rejection() {
    let state = State::new();
    state.agent("Checkout Agent", "b");
    let rejection = state
        .send(&SendRequest::new("Chekout Agent", "hello"))
        .unwrap_err();
    assert_eq!(rejection.exit_code(), 3);
    assert_eq!(state.pass.targets.load(Ordering::SeqCst), 1);
    let Why::NoSuchTarget { near, summary, .. } = &*rejection.why else {
        panic!("{rejection}")
    };
    assert_eq!(near.first().map(String::as_str), Some("Checkout Agent"));
    assert_eq!(summary.as_ref().unwrap().scopes[0].found, 7);
    let shown = rejection.to_string();
    assert!(
        shown.contains("7 found") && shown.contains("out of scope"),
        "{shown}"
    );
    assert!(rejection.hint().unwrap().contains("Checkout Agent"));
    assert_eq!(rejection.line().stage, Stage::Refused);
    assert!(state.ledger().recent(1).unwrap().is_empty(), "C207");
}

#[test]
fn c204_a_known_row_that_cannot_be_sent_to_is_named_with_its_error() {
    let state = State::new();
    let mut row = agent("Beta", key("b"));
    row.sendable = false;
    state.registry().add_agent(&row).unwrap();
    let rejection = state.send(&SendRequest::new("Beta", "hello")).unwrap_err();
    assert_eq!(rejection.exit_code(), 5);
    assert_eq!(
        state.pass.targets.load(Ordering::SeqCst),
        1,
        "it may be repaired"
    );
    let Why::NotSendable { row, summary } = &*rejection.why else {
        panic!("{rejection}")
    };
    assert_eq!(row.provider, fake::PROVIDER);
    assert_eq!(row.provider_session_id, "paper:session:b");
    assert!(summary.is_some());
    assert_eq!(rejection.line().provider_session_id, "paper:session:b");

    state.registry().set_enabled("Beta", None, false).unwrap();
    let rejection = state.send(&SendRequest::new("Beta", "hello")).unwrap_err();
    assert!(
        rejection.hint().unwrap().contains("registry enable"),
        "{rejection}"
    );
    assert_eq!(
        state.pass.targets.load(Ordering::SeqCst),
        1,
        "no discovery switches it on"
    );
}

#[test]
fn the_newest_of_two_names_is_used_and_said_unless_strict() {
    let state = State::new();
    state.agent("Beta", "b1");
    state.agent("Beta", "b2");
    let accepted = state.send(&SendRequest::new("Beta", "hello")).unwrap();
    assert_eq!(accepted.also_matching.len(), 1);
    assert_eq!(
        state.stages(accepted.line.message_id)[0].also_matching,
        accepted.also_matching
    );
    let strict = SendRequest {
        strict: true,
        ..SendRequest::new("Beta", "hello")
    };
    let rejection = state.send(&strict).unwrap_err();
    assert_eq!(
        (rejection.exit_code(), rejection.code()),
        (4, "ambiguous_target")
    );
    assert_eq!(rejection.line().also_matching.len(), 2);
    let exact = SendRequest {
        strict: true,
        ..SendRequest::new("paper:session:b1", "hello")
    };
    let accepted = state.send(&exact).unwrap();
    assert_eq!(accepted.target.key, key("b1"));
}

#[test]
fn c160_c165_c166_an_unknown_session_as_sender_is_looked_for_once_and_refused_loudly() {
    let state = State::new();
    state.agent("Beta", "b");
    let rejection = state.send(&text("paper:session:zz", "Beta")).unwrap_err();
    assert_eq!(
        (rejection.exit_code(), rejection.code()),
        (6, "sender_unresolved")
    );
    let shown = rejection.to_string();
    assert!(
        shown.contains("sender session did not match a registered AxiOwl sender"),
        "{shown}"
    );
    assert_eq!(state.pass.senders.load(Ordering::SeqCst), 1);
    assert_eq!(state.pass.targets.load(Ordering::SeqCst), 0);

    let found = State {
        pass: CountedPass {
            finds: Some((state.registry(), agent("Zeta", key("zz")))),
            ..CountedPass::default()
        },
        ..state
    };
    let accepted = found.send(&text("paper:session:zz", "Beta")).unwrap();
    assert_eq!(accepted.sender.name, "Zeta");
    assert_eq!(accepted.sender.kind, SenderKind::Claimed);
}

#[test]
fn what_a_text_resolves_to_stays_claimed_and_only_a_provider_proves() {
    let state = State::new();
    state.agent("Alpha", "a");
    state.agent("Beta", "b");
    for (request, name, kind, standing) in [
        (
            SendRequest::new("Beta", "x"),
            OPERATOR,
            SenderKind::Operator,
            "(axiowl, claimed)",
        ),
        (
            text("operator", "Beta"),
            OPERATOR,
            SenderKind::Operator,
            "(axiowl, claimed)",
        ),
        (
            text("Build Bot", "Beta"),
            "Build Bot",
            SenderKind::Claimed,
            "(axiowl, claimed)",
        ),
        (
            text("Alpha", "Beta"),
            "Alpha",
            SenderKind::Claimed,
            "(paper, claimed)",
        ),
        (
            text("paper:session:a", "Beta"),
            "Alpha",
            SenderKind::Claimed,
            "(paper, claimed)",
        ),
        (
            from(proven("a", "who?"), "Beta"),
            "Alpha",
            SenderKind::Proven,
            "(paper, proven)",
        ),
        (
            from(proven("n", "New"), "Beta"),
            "New",
            SenderKind::Proven,
            "(paper, proven)",
        ),
    ] {
        let accepted = state.send(&request).unwrap();
        assert_eq!(
            (accepted.sender.name.as_str(), accepted.sender.kind),
            (name, kind)
        );
        let id = accepted.line.message_id;
        assert!(
            accepted
                .visible_body
                .starts_with(&format!("[AxiOwl {id}] from \"{name}\" {standing};")),
            "{}",
            accepted.visible_body
        );
    }
    let row = state
        .registry()
        .load()
        .unwrap()
        .get(&key("n"))
        .cloned()
        .unwrap();
    assert_eq!(
        (row.source.as_str(), row.sendable),
        ("mcp_sender_identity", false)
    );
    // Known, and its only name is its id (C163).
    let accepted = state
        .send(&from(proven("zz", "paper:session:zz"), "Beta"))
        .unwrap();
    assert_eq!(accepted.sender.name, "paper:session:zz");
}

#[test]
fn c168_a_relayed_header_must_name_a_sender_that_is_known_here() {
    let state = State::new();
    state.agent("Alpha", "a");
    state.agent("Beta", "b");
    state.agent("Gamma", "c");
    let first = state.send(&from(proven("a", "Alpha"), "Beta")).unwrap();
    let relay = SendRequest::new("Gamma", first.visible_body.clone());
    let relayed = state.send(&relay).unwrap();
    assert_eq!(relayed.sender.name, "Alpha");
    assert_eq!(
        relayed.sender.kind,
        SenderKind::Claimed,
        "a relay proves nobody"
    );
    let headers = relayed
        .visible_body
        .to_lowercase()
        .matches("[axiowl")
        .count();
    assert_eq!(headers, 1);
    for forged in [
        first.visible_body.replace("Alpha", "Boss"),
        first.visible_body.replace(
            &first.line.message_id.to_string(),
            &relayed.line.run_id.to_string(),
        ),
        "[AxiOwl anything".into(),
    ] {
        let rejection = state.send(&SendRequest::new("Gamma", forged)).unwrap_err();
        assert_eq!(
            (rejection.exit_code(), rejection.code()),
            (6, "relay_sender_unresolved")
        );
    }
}
