//! What becomes of messages whose delivery broke off, and of those nobody can be sure about.

mod fake;

use axiowl_model::{MessageId, Stage};
use axiowl_pipeline::edge::Liveness;
use axiowl_pipeline::{EvidenceLog, LeaseAnswer, Settled, Step, Worker};
use fake::{Desk, Memory, Script, State, key, run_worker, until};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

fn one_message() -> (State, MessageId) {
    let state = State::new();
    state.agent("Beta", "b");
    let id = state.message("Beta");
    (state, id)
}

/// An edge that panics in a worker's thread at a point, once.
fn dies_at(state: &State, id: MessageId, point: &'static str) {
    let edge = state
        .edge()
        .hook(move |at, _| assert_ne!(at, point, "on purpose"));
    let root = state.root().to_owned();
    let limits = state.limits.clone();
    let died = std::thread::spawn(move || run_worker(&root, id, &edge.table(), &limits)).join();
    assert!(died.is_err(), "the panic is not swallowed");
}

#[test]
fn after_a_death_the_store_is_asked_before_anything_is_handed_over_again() {
    for (point, memory, last, submits) in [
        ("before_starting", Memory::Honest, "turn_done", 1),
        ("starting", Memory::Honest, "turn_done", 1),
        ("written", Memory::Honest, "turn_done", 0),
        ("submitted", Memory::Honest, "turn_done", 0),
        ("seen", Memory::Honest, "turn_done", 0),
        ("before_starting", Memory::Unknown, "turn_done", 1),
        ("starting", Memory::Unknown, "uncertain", 0),
        ("written", Memory::Unknown, "uncertain", 0),
        ("submitted", Memory::Unknown, "uncertain", 0),
        ("seen", Memory::Unknown, "uncertain", 0),
        ("seen", Memory::Blank, "uncertain", 0),
        ("written", Memory::NoTurn, "seen", 0),
    ] {
        let (mut state, id) = one_message();
        // The dead worker's process is this one and lives, so its lease has to run out.
        state.limits.lease = Duration::from_millis(150);
        dies_at(&state, id, point);
        let edge = state.edge().memory(memory);
        state.work(id, &edge).unwrap();
        assert_eq!(
            state.stage_words(id).last(),
            Some(&last),
            "{point} {memory:?}"
        );
        assert_eq!(edge.submits(), submits, "{point} {memory:?}");
        let asked = edge.finds.load(Ordering::SeqCst) > 0;
        assert_eq!(asked, point != "before_starting", "{point} {memory:?}");
        let written = matches!(point, "written" | "submitted" | "seen");
        let copies = usize::from(written) + submits;
        assert_eq!(edge.got(&key("b")).len(), copies, "{point} {memory:?}");
        // Uncertain stays so: nobody tries again.
        state.work(id, &edge).unwrap();
        assert_eq!(edge.submits(), submits);
    }
}

#[test]
fn after_too_many_deaths_the_store_is_asked_and_nothing_is_handed_over() {
    for (point, memory, last) in [
        ("starting", Memory::Honest, "failed"),
        ("written", Memory::Honest, "turn_done"),
        ("submitted", Memory::Honest, "turn_done"),
        ("written", Memory::NoTurn, "seen"),
        ("written", Memory::Unknown, "uncertain"),
        ("written", Memory::BrokenOff, "failed"),
        ("seen", Memory::BrokenOff, "failed"),
        // What was proven stays so where it only cannot be looked up again.
        ("seen", Memory::Unknown, "seen"),
    ] {
        let (mut state, id) = one_message();
        state.limits.lease = Duration::from_millis(150);
        state.limits.attempts = 1;
        dies_at(&state, id, point);
        let edge = state.edge().memory(memory);
        state.work(id, &edge).unwrap();
        assert_eq!(
            state.stage_words(id).last(),
            Some(&last),
            "{point} {memory:?}"
        );
        assert_eq!(edge.submits(), 0, "{point} {memory:?}");
    }
}

#[test]
fn a_handover_that_cannot_be_recorded_does_not_happen() {
    let (state, id) = one_message();
    let ledger = Arc::new(state.ledger());
    let settle = Arc::clone(&ledger);
    let edge = state.edge().hook(move |point, delivery| {
        if point == "before_starting" && delivery.message_id == id {
            let step = Step::failed("settled meanwhile");
            settle.record(delivery.message_id, step).unwrap();
        }
    });
    let behind = state.message("Beta");
    state.work(id, &edge).unwrap();
    assert_eq!(
        edge.got(&key("b")),
        [behind.to_string()],
        "nothing was handed over"
    );
    assert!(
        state
            .event_words(id)
            .contains(&"handover_barred".to_owned())
    );
    assert_eq!(state.stage_words(id), ["accepted_by_axiowl", "failed"]);
}

#[test]
fn the_lease_is_renewed_while_the_edge_works() {
    let (state, id) = one_message();
    let other = state.ledger();
    let limits = state.limits.clone();
    let edge = state.edge().hook(move |point, delivery| {
        if point != "written" {
            return;
        }
        let mut ends = Vec::new();
        until("two renewals", || {
            match other.lease(delivery.message_id, &limits).unwrap() {
                LeaseAnswer::Held { until, .. } => ends.push(until),
                answer => panic!("taken from a living worker: {answer:?}"),
            }
            ends.dedup();
            ends.len() == 3
        });
        assert!(ends.is_sorted());
    });
    state.work(id, &edge).unwrap();
    assert_eq!(state.stage_words(id).last(), Some(&"turn_done"));
}

#[test]
fn an_uncertain_message_is_settled_by_what_the_store_says() {
    for (memory, wrote, stage) in [
        (Memory::Honest, true, Stage::TurnDone),
        (Memory::Honest, false, Stage::Failed),
        (Memory::Unknown, true, Stage::Uncertain),
    ] {
        let (state, id) = one_message();
        let edge = state.edge().memory(memory);
        let script = if wrote {
            Script::SubmittedThenNot
        } else {
            Script::Uncertain
        };
        state.work(id, &edge.clone().script(script)).unwrap();
        assert_eq!(state.stages(id).last().unwrap().stage, Stage::Uncertain);
        let (ledger, log) = (state.ledger(), EvidenceLog::at(state.root()));
        let (table, desk) = (edge.table(), Desk::new(state.root()));
        let worker = Worker {
            state_root: state.root(),
            ledger: &ledger,
            log: &log,
            edges: &table,
            surroundings: &desk,
            limits: &state.limits,
        };
        let settled = worker.settle(id).unwrap();
        assert_eq!(
            matches!(settled, Settled::Moved(_)),
            stage != Stage::Uncertain,
            "{settled:?}"
        );
        assert_eq!(ledger.message(id).unwrap().stage, stage);
        assert_eq!(edge.submits(), 1, "settling hands nothing over");
        let again = worker.settle(id).unwrap();
        assert!(matches!(again, Settled::Unchanged { .. }), "{again:?}");
        let target = ledger.message(id).unwrap().target;
        assert_eq!(
            worker.probe(&target),
            Ok(Liveness::Idle {
                route: "paper".into()
            })
        );
    }
}
