//! Never overstated: whatever edges say and wherever workers die, what the receipt says about a
//! message is true of the target's own store.

mod fake;

use axiowl_model::{MessageId, Stage, Timestamp};
use axiowl_pipeline::{Clock, Ledger, Opening};
use fake::{Memory, Script, State, key, run_worker_on};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// One worker that comes for the message.
#[derive(Debug, Clone)]
struct Attempt {
    script: Script,
    memory: Memory,
    /// Where it dies, if it does.
    dies: Option<&'static str>,
}

fn attempt() -> impl Strategy<Value = Attempt> {
    let scripts = vec![
        Script::Deliver,
        Script::OnlySubmit,
        Script::Queue,
        Script::Closed,
        Script::Unavailable,
        Script::Refuse,
        Script::NotSubmitted,
        Script::SubmittedThenNot,
        Script::TurnFailed,
        Script::Uncertain,
        Script::Misdeliver,
        Script::Silent,
        Script::Forgetful,
    ];
    let points = vec![
        "before_starting",
        "starting",
        "written",
        "submitted",
        "seen",
    ];
    (
        // The good one mostly: deaths in the middle of it are what this is about.
        prop_oneof![Just(Script::Deliver), proptest::sample::select(scripts)],
        proptest::sample::select(vec![Memory::Honest, Memory::Unknown, Memory::NoTurn]),
        proptest::option::weighted(0.6, proptest::sample::select(points)),
    )
        .prop_map(|(script, memory, dies)| Attempt {
            script,
            memory,
            dies,
        })
}

fn comes(state: &State, hand: &Arc<AtomicI64>, id: MessageId, attempt: &Attempt) {
    let dies = attempt.dies;
    let edge = state
        .edge()
        .script(attempt.script)
        .memory(attempt.memory)
        .hook(move |at, _| {
            if Some(at) == dies {
                std::panic::resume_unwind(Box::new("killed"));
            }
        });
    let ledger = ledger(state, hand);
    let (root, limits) = (state.root().to_owned(), state.limits.clone());
    let worker = move || run_worker_on(ledger, &root, id, &edge.table(), &limits).map(drop);
    match std::thread::spawn(worker).join() {
        Ok(result) => result.unwrap(),
        // Its lease runs out, since its process, which is this one, lives.
        Err(_) => drop(hand.fetch_add(600_000, Ordering::SeqCst)),
    }
}

fn ledger(state: &State, hand: &Arc<AtomicI64>) -> Ledger {
    let hand = Arc::clone(hand);
    let opening = Opening {
        clock: Clock::telling(move || Timestamp::from_millis(hand.load(Ordering::SeqCst))),
        ..Opening::default()
    };
    Ledger::open_with(state.root(), opening).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn what_a_receipt_says_is_true_of_the_targets_store(
        attempts in proptest::collection::vec(attempt(), 1..5)
    ) {
        let mut state = State::in_memory();
        state.limits.watch = Duration::ZERO;
        state.agent("Beta", "b");
        let id = state.message("Beta");
        let hand = Arc::new(AtomicI64::new(fake::now().as_millis()));
        for attempt in &attempts {
            comes(&state, &hand, id, attempt);
            let lines = state.stages(id);
            let last = lines.last().unwrap();
            let got = state.edge().got(&key("b"));
            // Edges that know are asked before anything is handed over again, and those that
            // do not know are not used again.
            prop_assert!(got.len() <= 1, "doubled: {:?}", got);
            let there = got == [id.to_string()];
            match last.stage {
                Stage::Seen | Stage::TurnDone => prop_assert!(there, "{:?}", last),
                Stage::Refused | Stage::Expired => prop_assert!(!there, "{:?}", last),
                // A turn that failed has proof of it; without proof nothing arrived.
                Stage::Failed => prop_assert_eq!(there, !last.evidence.kind.is_empty(), "{:?}", last),
                _ => {}
            }
            // What was proven once stays in the receipt.
            prop_assert_eq!(lines[0].stage, Stage::Accepted);
            if lines.iter().any(|line| line.stage == Stage::Seen) {
                prop_assert!(there);
            }
        }
        // Nothing accepted is forgotten: it has an end, or somebody will come for it.
        let stage = state.ledger().message(id).unwrap().stage;
        let waits = !state.pipeline().resume_abandoned().unwrap().is_empty();
        let rests = stage != Stage::Accepted;
        prop_assert!(waits || rests, "{}", stage);
    }
}
