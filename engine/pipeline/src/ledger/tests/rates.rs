//! Rates as the ledger counts them, also when several come at once.

use super::time::Hand;
use super::*;

fn limits(pair: usize, target: usize) -> Limits {
    Limits {
        pair_messages: pair,
        target_messages: target,
        rate_window: Duration::from_secs(60),
        ..Limits::default()
    }
}

fn from(name: &str, session: &str) -> NewMessage {
    NewMessage {
        sender: Sender {
            name: name.into(),
            ..Sender::operator()
        },
        ..new(session)
    }
}

#[test]
fn a_full_window_says_how_long_and_opens_again_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let hand = Hand::at(1_000_000);
    let ledger = hand.ledger(dir.path());
    let limits = limits(2, 3);
    let send = |name: &str, session: &str| ledger.accept(&from(name, session), &limits).unwrap();
    send("a", "1").unwrap();
    hand.moves(10_000);
    send("a", "1").unwrap();
    hand.moves(5_500);
    let Err(Guard::PairRate { wait, limit: 2, .. }) = send("a", "1") else {
        panic!("the pair's window is full")
    };
    // The first of the two leaves the window after 60 s, of which 15.5 are gone.
    assert_eq!(wait, Duration::from_millis(44_500));
    send("b", "1").unwrap();
    let Err(guard @ Guard::TargetRate { limit: 3, .. }) = send("c", "1") else {
        panic!("the target's window is full")
    };
    assert!(
        guard.to_string().contains("the next one may go in 45 s"),
        "{guard}"
    );
    assert!(
        guard.hint().contains("target_per_minute"),
        "{}",
        guard.hint()
    );
    send("a", "2").unwrap();
    assert_eq!(
        ledger.recent(10).unwrap().len(),
        4,
        "what was refused is nowhere"
    );
    hand.moves(44_500);
    send("a", "1").unwrap();
}

#[test]
fn a_rate_of_none_lets_nothing_through() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    assert!(matches!(
        ledger.accept(&new("1"), &limits(0, 9)).unwrap(),
        Err(Guard::PairRate { limit: 0, .. })
    ));
    assert!(matches!(
        ledger.accept(&new("1"), &limits(9, 0)).unwrap(),
        Err(Guard::TargetRate { limit: 0, .. })
    ));
}

#[test]
fn answers_to_the_operator_are_only_bounded_by_pair() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let answer = |name: &str| NewMessage {
        target: Target {
            key: crate::sender::operator_key(),
            ..new("1").target
        },
        ..from(name, "1")
    };
    for name in ["a", "b", "c"] {
        ledger
            .accept(&answer(name), &limits(1, 1))
            .unwrap()
            .unwrap();
    }
    assert!(ledger.accept(&answer("a"), &limits(1, 1)).unwrap().is_err());
}

#[test]
fn of_many_that_come_at_once_only_as_many_pass_as_may() {
    let dir = tempfile::tempdir().unwrap();
    let passed: usize = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let ledger = Ledger::open(dir.path()).unwrap();
                    let pass = |_| ledger.accept(&new("1"), &limits(5, 99)).unwrap().is_ok();
                    (0..4).map(pass).filter(|passed| *passed).count()
                })
            })
            .collect();
        senders.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(passed, 5);
}

/// Messages from before the clock was set back fill no window.
#[test]
fn a_clock_that_went_back_does_not_stop_anybody() {
    let dir = tempfile::tempdir().unwrap();
    let hand = Hand::at(10_000_000);
    let ledger = hand.ledger(dir.path());
    let limits = limits(1, 1);
    ledger.accept(&new("1"), &limits).unwrap().unwrap();
    hand.moves(-3_600_000);
    ledger.accept(&new("1"), &limits).unwrap().unwrap();
    assert!(ledger.accept(&new("1"), &limits).unwrap().is_err());
}
