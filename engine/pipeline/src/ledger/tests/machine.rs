//! Any sequence of calls, by any worker, at any time of day: the stages of a message are a
//! path that the state machine allows, and at most one worker has it.

use super::time::Hand;
use super::*;
use proptest::prelude::*;

/// What may happen to a message.
#[derive(Debug, Clone)]
enum Call {
    Lease,
    /// By the worker with that number, which may be long gone.
    Start(usize),
    Record(usize, Stage),
    Renew(usize),
    End(usize),
    /// By somebody without a lease: an answer, a person.
    Settle(Stage),
    TakeBack,
    Expire,
    Forget,
    /// Time goes by, or is set back.
    Clock(i64),
    Reopen,
}

fn stage() -> impl Strategy<Value = Stage> {
    proptest::sample::select(&Stage::ALL[1..])
}

fn call() -> impl Strategy<Value = Call> {
    let worker = 0..4_usize;
    prop_oneof![
        4 => Just(Call::Lease),
        3 => worker.clone().prop_map(Call::Start),
        6 => (worker.clone(), stage()).prop_map(|(worker, stage)| Call::Record(worker, stage)),
        1 => worker.clone().prop_map(Call::Renew),
        2 => worker.prop_map(Call::End),
        2 => stage().prop_map(Call::Settle),
        1 => Just(Call::TakeBack),
        1 => Just(Call::Expire),
        1 => Just(Call::Forget),
        2 => (-200_000..200_000_i64).prop_map(Call::Clock),
        1 => Just(Call::Reopen),
    ]
}

/// What the test knows of the attempts.
#[derive(Default)]
struct Workers {
    leases: Vec<Lease>,
    /// The attempt that counts, while it is not over.
    holder: Option<u32>,
    started: bool,
}

/// Whether an answer is one that a ledger in order gives.
fn fine<T>(answer: Result<T, LedgerError>) -> Option<T> {
    match answer {
        Ok(value) => Some(value),
        Err(LedgerError::IllegalMove { .. } | LedgerError::LeaseLost { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

fn apply(ledger: &Ledger, id: MessageId, call: &Call, workers: &mut Workers) {
    let limits = Limits {
        attempts: 3,
        lease: Duration::from_secs(30),
        ..free()
    };
    let known = |n: usize, workers: &Workers| {
        let count = workers.leases.len();
        (count > 0).then(|| workers.leases[n % count].clone())
    };
    match call {
        Call::Lease => match ledger.lease(id, &limits).unwrap() {
            LeaseAnswer::Taken(lease) => {
                // What a stage says counts as well.
                let known = ledger.message(id).unwrap().stage != Stage::Accepted;
                let may_be_out = workers.started || known;
                assert_eq!(lease.started_before, may_be_out, "what began is remembered");
                workers.holder = Some(lease.attempt);
                workers.leases.push(lease);
            }
            LeaseAnswer::Held { .. } => assert!(workers.holder.is_some()),
            LeaseAnswer::Nothing => {}
        },
        Call::Start(n) => {
            let Some(lease) = known(*n, workers) else {
                return;
            };
            let stage = ledger.message(id).unwrap().stage;
            if fine(ledger.start(&lease, "door")).is_some() {
                assert_eq!(
                    workers.holder,
                    Some(lease.attempt),
                    "only the one that counts starts"
                );
                assert!(
                    stage == Stage::Accepted || stage.is_with_provider(),
                    "{stage}"
                );
                workers.started = true;
            }
        }
        Call::Record(n, stage) => {
            let Some(lease) = known(*n, workers) else {
                return;
            };
            let step = step_to(*stage).unwrap();
            if fine(ledger.record_leased(&lease, step)).is_some() {
                assert_eq!(workers.holder, Some(lease.attempt));
            }
        }
        Call::Renew(n) => {
            if let Some(lease) = known(*n, workers) {
                fine(ledger.renew(&lease, limits.lease));
            }
        }
        Call::End(n) => {
            let Some(lease) = known(*n, workers) else {
                return;
            };
            if fine(ledger.end(&lease, "over")).is_some() {
                workers.holder = None;
            }
        }
        Call::Settle(stage) => drop(fine(ledger.record(id, step_to(*stage).unwrap()))),
        Call::TakeBack => {
            if ledger
                .take_back(id, Step::refused("taken back"))
                .unwrap()
                .is_some()
            {
                assert!(!workers.started, "what may be out is not taken back");
            }
        }
        Call::Expire => {
            if ledger.expire_overdue().unwrap().contains(&id) {
                assert!(!workers.started, "what may be out does not expire");
            }
        }
        Call::Forget => drop(ledger.forget_settled(Duration::from_secs(3_600)).unwrap()),
        Call::Clock(_) | Call::Reopen => unreachable!("done by the caller"),
    }
}

fn check(ledger: &Ledger, id: MessageId) {
    let message = ledger.message(id).unwrap();
    let lines = ledger.lines_since(id, 0).unwrap();
    let mut stage = Stage::Accepted;
    for (at, (seq, line)) in lines.iter().enumerate() {
        assert_eq!(*seq, at as u64 + 1, "no line is missing");
        if at == 0 {
            assert_eq!(line.stage, Stage::Accepted);
            continue;
        }
        let legal = stage.move_to(line.stage);
        let legal = legal.unwrap_or_else(|| panic!("{stage} -> {} was recorded", line.stage));
        stage = legal.ends_at();
        let good = line.stage.rank().is_some();
        assert!(
            !good || !line.evidence.kind.is_empty(),
            "{}: no proof",
            line.stage
        );
        assert!(good || !line.reason.is_empty(), "{}: no reason", line.stage);
    }
    assert_eq!(
        message.stage, stage,
        "the message stands where its lines lead"
    );
    let open: i64 = ledger
        .connection()
        .query_row(
            "SELECT COUNT(*) FROM deliveries WHERE message_id = ?1 AND ended_at IS NULL",
            [id.to_string()],
            |row| row.get(0),
        )
        .unwrap();
    assert!(open <= 1, "{open} attempts at once");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn whatever_is_called_in_whatever_order_the_ledger_tells_a_possible_story(
        calls in proptest::collection::vec(call(), 1..40)
    ) {
        // In memory where there is such a place: every call is a write that is waited for.
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() {
            tempfile::tempdir_in(memory).unwrap()
        } else {
            tempfile::tempdir().unwrap()
        };
        let hand = Hand::at(2_000_000_000_000);
        let mut ledger = hand.ledger(dir.path());
        let message = NewMessage { expires_in: Duration::from_secs(120), ..new("1") };
        let id = accept(&ledger, &message).unwrap();
        let mut workers = Workers::default();
        for call in &calls {
            match call {
                Call::Clock(millis) => hand.moves(*millis),
                Call::Reopen => ledger = hand.ledger(dir.path()),
                call => apply(&ledger, id, call, &mut workers),
            }
            check(&ledger, id);
        }
    }
}
