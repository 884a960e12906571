//! A clock that is set by hand, and what a jump of it may and may not do.

use super::*;
use std::path::Path;

/// The hand of a clock.
#[derive(Clone)]
pub struct Hand(Arc<AtomicI64>);

impl Hand {
    pub fn at(millis: i64) -> Self {
        Self(Arc::new(AtomicI64::new(millis)))
    }

    pub fn moves(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }

    pub fn ledger(&self, root: &Path) -> Ledger {
        let hand = Self::clone(self);
        let clock = Clock::telling(move || Timestamp::from_millis(hand.0.load(Ordering::SeqCst)));
        let opening = Opening {
            clock,
            ..Opening::default()
        };
        Ledger::open_with(root, opening).unwrap()
    }
}

const HOUR: i64 = 3_600_000;

#[test]
fn a_jump_of_the_clock_hands_nothing_over_twice_and_loses_nothing() {
    for jump in [-HOUR, HOUR, -1_000 * 24 * HOUR] {
        let dir = tempfile::tempdir().unwrap();
        let hand = Hand::at(5_000 * 24 * HOUR);
        let ledger = hand.ledger(dir.path());
        let message = NewMessage {
            expires_in: Duration::from_secs(24 * 3600),
            ..new("1")
        };
        let id = accept(&ledger, &message).unwrap();
        let LeaseAnswer::Taken(first) = ledger.lease(id, &free()).unwrap() else {
            panic!("it is free")
        };
        ledger.start(&first, "door").unwrap();
        hand.moves(jump);
        // The old lease ran out, or lies impossibly far ahead: it counts as over.
        let LeaseAnswer::Taken(second) = ledger.lease(id, &free()).unwrap() else {
            panic!("{jump}: a jump must not lock anybody out")
        };
        assert!(second.started_before, "{jump}: the store is asked first");
        let late = ledger.record_leased(&first, Step::submitted(Evidence::new("test", "")));
        assert!(
            matches!(late, Err(LedgerError::LeaseLost { .. })),
            "{jump}: the first is fenced off"
        );
        assert!(ledger.expire_overdue().unwrap().is_empty());
        ledger
            .record_leased(&second, Step::seen(Evidence::new("test", "")))
            .unwrap();
        ledger.end(&second, "done").unwrap();
        let seqs: Vec<_> = ledger.lines_since(id, 0).unwrap();
        let stages: Vec<_> = seqs.iter().map(|(seq, line)| (*seq, line.stage)).collect();
        assert_eq!(
            stages,
            [(1, Stage::Accepted), (2, Stage::Seen)],
            "in the order of events"
        );
    }
}

#[test]
fn a_clock_that_runs_ahead_expires_what_waits_and_not_what_may_be_out() {
    let dir = tempfile::tempdir().unwrap();
    let hand = Hand::at(5_000 * 24 * HOUR);
    let ledger = hand.ledger(dir.path());
    let (waits, out) = (accepted(&ledger), accepted(&ledger));
    let LeaseAnswer::Taken(lease) = ledger.lease(out, &free()).unwrap() else {
        panic!("it is free")
    };
    ledger.start(&lease, "door").unwrap();
    hand.moves(48 * HOUR);
    assert_eq!(ledger.expire_overdue().unwrap(), [waits]);
    hand.moves(-48 * HOUR);
    assert_eq!(ledger.message(waits).unwrap().stage, Stage::Expired);
    assert_eq!(ledger.message(out).unwrap().stage, Stage::Accepted);
}

#[test]
fn order_is_that_of_acceptance_whatever_the_clock_says() {
    let dir = tempfile::tempdir().unwrap();
    let hand = Hand::at(5_000 * 24 * HOUR);
    let ledger = hand.ledger(dir.path());
    let mut sent = Vec::new();
    for jump in [0, -HOUR, 2 * HOUR, -5 * HOUR] {
        hand.moves(jump);
        sent.push(accepted(&ledger));
    }
    let listed: Vec<_> = ledger.in_flight().unwrap().iter().map(|m| m.id).collect();
    assert_eq!(listed, sent);
    let key = SessionKey::local("some_cli", "1");
    assert_eq!(ledger.next_pending(&key).unwrap(), Some(sent[0]));
}
