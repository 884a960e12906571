//! Agents that answer each other: what counts as an answer, and what stops them.

mod fake;

use axiowl_model::SessionKey;
use axiowl_pipeline::identity::ProvenSender;
use axiowl_pipeline::{Inbox, OPERATOR, SendRequest, SenderClaim};
use axiowl_registry::NewAgent;
use fake::{PaperEdge, State, key, proven, run_worker};
use std::sync::{Arc, Mutex};

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
fn a_reply_goes_to_the_very_sender_whoever_else_is_called_so() {
    let state = State::new();
    state.agent("Alpha", "a");
    state.agent("Beta", "b");
    let first = state.send(&from(proven("a", "Alpha"), "Beta")).unwrap();
    // Newer, and of the same name.
    state.agent("Alpha", "a2");
    for to in ["Alpha", ""] {
        let reply = SendRequest {
            reply_to: Some(first.line.message_id),
            ..from(proven("b", "Beta"), to)
        };
        assert_eq!(state.send(&reply).unwrap().target.key, key("a"), "{to:?}");
    }
    assert_eq!(
        state
            .send(&SendRequest::new("Alpha", "x"))
            .unwrap()
            .target
            .key,
        key("a2")
    );
    let named = state.send(&text("Build Bot", "Beta")).unwrap();
    let reply = SendRequest {
        reply_to: Some(named.line.message_id),
        ..from(proven("b", "Beta"), "")
    };
    assert_eq!(state.send(&reply).unwrap_err().code(), "usage");
}

#[test]
fn the_operator_can_be_answered_and_not_be_written_to() {
    let state = State::new();
    state.agent("Beta", "b");
    let rejection = state
        .send(&from(proven("b", "Beta"), OPERATOR))
        .unwrap_err();
    assert_eq!(
        (rejection.exit_code(), rejection.code()),
        (5, "operator_not_asked")
    );
    let asked = state.message("Beta");
    let reply = SendRequest {
        reply_to: Some(asked),
        ..from(proven("b", "Beta"), OPERATOR)
    };
    let reply = state.send(&reply).unwrap();
    let id = reply.line.message_id;
    assert_eq!(state.stage_words(id), ["accepted_by_axiowl", "submitted"]);
    let inbox = state.ledger().inbox(&Inbox::Operator, None).unwrap();
    assert_eq!(
        inbox.iter().map(|message| message.id).collect::<Vec<_>>(),
        [id]
    );
    assert_eq!(inbox[0].body, "hello");
    let replies = state.ledger().replies_to(asked).unwrap();
    assert_eq!(replies.len(), 1);
    // No worker for it, ever.
    assert_eq!(state.started.0.lock().unwrap().as_slice(), [asked]);
    assert!(!state.pipeline().resume_abandoned().unwrap().contains(&id));
}

#[test]
fn only_the_proven_target_settles_a_message_as_replied() {
    let state = State::new();
    state.agent("Alpha", "a");
    state.agent("Beta", "b");
    state.agent("Gamma", "c");
    let asked = state
        .send(&from(proven("a", "Alpha"), "Beta"))
        .unwrap()
        .line
        .message_id;
    let claims = [
        SenderClaim::Operator,
        SenderClaim::Text("Beta".into()),
        SenderClaim::Text("paper:session:b".into()),
        proven("c", "Beta"),
        SenderClaim::Proven(ProvenSender::new(
            SessionKey {
                node: "elsewhere".into(),
                ..key("b")
            },
            "Beta",
            "host_meta",
        )),
    ];
    for claim in claims {
        let reply = SendRequest {
            reply_to: Some(asked),
            ..from(claim.clone(), "Alpha")
        };
        let reply = state.send(&reply).unwrap();
        assert!(reply.replied.is_none(), "{claim:?}");
        assert!(
            state
                .event_words(reply.line.message_id)
                .contains(&"reply_not_counted".into())
        );
        assert_eq!(
            state.stage_words(asked),
            ["accepted_by_axiowl"],
            "{claim:?}"
        );
    }
    let reply = SendRequest {
        reply_to: Some(asked),
        ..from(proven("b", "Beta"), "Alpha")
    };
    assert!(state.send(&reply).unwrap().replied.is_some());
    assert!(state.send(&reply).unwrap().replied.is_none(), "once");
    assert_eq!(state.stage_words(asked), ["accepted_by_axiowl", "replied"]);
}

#[test]
fn a_reply_during_the_turn_settles_the_message_and_the_turns_end_changes_nothing() {
    let state = State::new();
    state.agent("Alpha", "a");
    state.agent("Beta", "b");
    let ask = SendRequest {
        from: proven("a", "Alpha"),
        ..SendRequest::new("Beta", "hello")
    };
    let id = state.send(&ask).unwrap().line.message_id;
    let pipeline = state.pipeline();
    let replies = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&replies);
    // The model answers without `reply_to`, in the turn the message started.
    let edge = state.edge().hook(move |point, _| {
        if point == "seen" {
            let reply = SendRequest {
                from: proven("b", "Beta"),
                ..SendRequest::new("Alpha", "yes")
            };
            kept.lock().unwrap().push(pipeline.send(&reply).unwrap());
        }
    });
    state.work(id, &edge).unwrap();
    let reply = replies.lock().unwrap().pop().unwrap();
    assert_eq!(reply.answers, Some(id));
    assert!(reply.replied.is_some());
    assert_eq!(
        state.stage_words(id),
        [
            "accepted_by_axiowl",
            "submitted",
            "seen",
            "replied",
            "turn_done"
        ],
        "the end of the turn is a line of its own"
    );
    let message = state.ledger().message(id).unwrap();
    assert_eq!(
        message.stage,
        axiowl_model::Stage::Replied,
        "and changes nothing"
    );
    assert_eq!(
        reply.visible_body.lines().nth(1),
        Some("hops: \"Alpha\" (paper)")
    );
}

#[test]
fn a_circle_of_messages_is_stopped_and_an_answer_is_none() {
    let state = State::new();
    for (name, session) in [("A", "a"), ("B", "b"), ("C", "c")] {
        state.agent(name, session);
    }
    let root = state.root().to_owned();
    let limits = state.limits.clone();
    let pipeline = Arc::new(state.pipeline());
    let stopped = Arc::new(Mutex::new(None));
    let outcome = Arc::clone(&stopped);
    let edge = state.edge().hook(move |point, _| {
        // B passes on what it got first; what C answers ends there.
        if point != "seen" || outcome.lock().unwrap().is_some() {
            return;
        }
        let send = |from: &str, name: &str, to: &str| {
            let from = proven(from, name);
            pipeline.send(&SendRequest {
                from,
                ..SendRequest::new(to, "pass it on")
            })
        };
        let next = send("b", "B", "C").unwrap().line.message_id;
        let (pipeline, outcome) = (Arc::clone(&pipeline), Arc::clone(&outcome));
        let inner = PaperEdge::new(&root).hook(move |point, _| {
            if point == "seen" {
                let send = |to: &str| {
                    let from = proven("c", "C");
                    pipeline.send(&SendRequest {
                        from,
                        ..SendRequest::new(to, "x")
                    })
                };
                let circle = send("A").unwrap_err();
                *outcome.lock().unwrap() = Some((circle, send("B").is_ok()));
            }
        });
        run_worker(&root, next, &inner.table(), &limits).unwrap();
    });
    let ask = SendRequest {
        from: proven("a", "A"),
        ..SendRequest::new("B", "go")
    };
    let id = state.send(&ask).unwrap().line.message_id;
    state.work(id, &edge).unwrap();
    let (circle, answer) = stopped.lock().unwrap().take().unwrap();
    assert_eq!((circle.code(), circle.exit_code()), ("hop_circle", 5));
    assert!(
        circle
            .to_string()
            .ends_with("A > B > C > paper:local:paper:session:a"),
        "{circle}"
    );
    assert!(answer, "C may answer B");
}

#[test]
fn endless_exchanges_end() {
    let mut state = State::new();
    state.limits.hops = 5;
    state.agent("A", "a");
    state.agent("B", "b");
    let mut last = None;
    let mut sent = 0;
    let rejection = loop {
        let (me, name, to) = if sent % 2 == 0 {
            ("a", "A", "B")
        } else {
            ("b", "B", "A")
        };
        let request = SendRequest {
            from: proven(me, name),
            reply_to: last,
            ..SendRequest::new(to, "and you?")
        };
        match state.send(&request) {
            Ok(accepted) => last = Some(accepted.line.message_id),
            Err(rejection) => break rejection,
        }
        sent += 1;
        assert!(sent < 50);
    };
    assert_eq!((sent, rejection.code()), (6, "hop_limit"));
}

/// Who asked, once nothing proves a way to it any more, or it is not known any more.
fn unreachable(state: &State, gone: bool) {
    let registry = state.registry();
    if gone {
        registry.remove(&key("a").to_string(), None).unwrap();
        return;
    }
    let row = NewAgent {
        sendable: false,
        ..fake::agent("Alpha", key("a"))
    };
    registry.add_agent(&row).unwrap();
}

#[test]
fn an_answer_to_whom_no_way_leads_settles_the_question_and_is_kept_for_its_asker() {
    for gone in [false, true] {
        for to in ["", "Alpha"] {
            let state = State::new();
            state.agent("Alpha", "a");
            state.agent("Beta", "b");
            let asked = state.send(&from(proven("a", "Alpha"), "Beta")).unwrap();
            let asked = asked.line.message_id;
            unreachable(&state, gone);
            let reply = SendRequest {
                reply_to: Some(asked),
                ..from(proven("b", "Beta"), to)
            };
            let reply = state.send(&reply).unwrap();
            let id = reply.line.message_id;
            assert!(reply.replied.is_some(), "gone {gone}, to {to:?}");
            assert_eq!(state.stage_words(asked), ["accepted_by_axiowl", "replied"]);
            let kept = reply.kept.expect("a line that says so");
            assert_eq!(kept.stage.as_str(), "refused");
            assert!(kept.reason.contains("axiowl_inbox"), "{}", kept.reason);
            assert_eq!(state.stage_words(id), ["accepted_by_axiowl", "refused"]);
            assert_eq!(state.event_words(id).last().unwrap(), "answer_kept");
            let inbox = state.ledger().inbox(&Inbox::Session(key("a")), None);
            let inbox = inbox.unwrap();
            assert_eq!(inbox.len(), 1);
            assert_eq!((inbox[0].id, &*inbox[0].body), (id, "hello"));
            assert_eq!(state.ledger().replies_to(asked).unwrap().len(), 1);
            // It is handed to nobody: not now, and not by whoever looks for work later.
            assert_eq!(state.started.0.lock().unwrap().as_slice(), [asked]);
            assert!(!state.pipeline().resume_abandoned().unwrap().contains(&id));
        }
    }
}

#[test]
fn an_answer_in_the_turn_of_its_question_is_kept_without_naming_the_question() {
    let state = State::new();
    state.agent("Alpha", "a");
    state.agent("Beta", "b");
    let asked = state.send(&from(proven("a", "Alpha"), "Beta")).unwrap();
    let id = asked.line.message_id;
    unreachable(&state, false);
    let (pipeline, replies) = (state.pipeline(), Arc::new(Mutex::new(Vec::new())));
    let got = Arc::clone(&replies);
    let edge = state.edge().hook(move |point, _| {
        if point == "seen" {
            let reply = from(proven("b", "Beta"), "Alpha");
            got.lock().unwrap().push(pipeline.send(&reply).unwrap());
        }
    });
    state.work(id, &edge).unwrap();
    let reply = replies.lock().unwrap().pop().unwrap();
    assert_eq!(reply.answers, Some(id));
    assert!(reply.replied.is_some() && reply.kept.is_some());
}

#[test]
fn only_the_answer_to_a_proven_asker_is_kept() {
    let state = State::new();
    for (name, session) in [("Alpha", "a"), ("Beta", "b"), ("Gamma", "c")] {
        state.agent(name, session);
    }
    let ask = |claim| state.send(&from(claim, "Beta")).unwrap().line.message_id;
    let asked = ask(proven("a", "Alpha"));
    let claimed = ask(SenderClaim::Text(key("a").to_string()));
    unreachable(&state, false);
    let answer = |claim: SenderClaim, to: &str, reply_to| {
        let reply = SendRequest {
            reply_to,
            ..from(claim, to)
        };
        state.send(&reply).map(|reply| reply.line.message_id)
    };
    let refused = |claim, reply_to, what: &str| {
        let rejection = answer(claim, "Alpha", reply_to).expect_err(what);
        assert_eq!(rejection.code(), "target_not_sendable", "{what}");
    };
    refused(proven("b", "Beta"), None, "no answer to anything");
    refused(proven("c", "Gamma"), Some(asked), "another one's answer");
    refused(SenderClaim::Text("Beta".into()), Some(asked), "a claim");
    refused(proven("b", "Beta"), Some(claimed), "nobody proven asked");
    assert_eq!(state.stage_words(asked), ["accepted_by_axiowl"]);
    // What a person switched off gets nothing.
    let off = key("a").to_string();
    state.registry().set_enabled(&off, None, false).unwrap();
    refused(proven("b", "Beta"), Some(asked), "switched off");
    let inbox = state.ledger().inbox(&Inbox::Session(key("a")), None);
    assert!(inbox.unwrap().is_empty());
}
