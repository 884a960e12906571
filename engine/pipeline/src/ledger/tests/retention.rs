//! What is forgotten, and what never is.

use super::time::Hand;
use super::*;

const DAY: i64 = 86_400_000;
const KEPT: Duration = Duration::from_secs(90 * 86_400);

#[test]
fn only_what_was_settled_long_ago_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let hand = Hand::at(1_000 * DAY);
    let ledger = hand.ledger(dir.path());
    let mut ids = Vec::new();
    for &stage in Stage::ALL {
        let id = accepted(&ledger);
        if let Some(step) = step_to(stage) {
            ledger.record(id, step).unwrap();
        }
        ids.push((id, stage));
    }
    hand.moves(89 * DAY);
    let late = accepted(&ledger);
    // Old, and settled only now.
    let (uncertain, _) = ids.remove(
        ids.iter()
            .position(|(_, stage)| *stage == Stage::Uncertain)
            .unwrap(),
    );
    ledger.record(uncertain, Step::failed("test")).unwrap();
    assert_eq!(ledger.forget_settled(KEPT).unwrap(), 0);
    hand.moves(2 * DAY);
    let settled = |stage: Stage| stage.is_terminal() || stage == Stage::TurnDone;
    let old = ids.iter().filter(|(_, stage)| settled(*stage)).count();
    assert_eq!(ledger.forget_settled(KEPT).unwrap(), old);
    for (id, stage) in &ids {
        assert_eq!(ledger.message(*id).is_err(), settled(*stage), "{stage}");
    }
    assert!(ledger.message(late).is_ok() && ledger.message(uncertain).is_ok());
    let orphans: i64 = ledger
        .connection()
        .query_row(
            "SELECT COUNT(*) FROM stages WHERE message_id NOT IN (SELECT id FROM messages)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(orphans, 0);
    // Whatever their age, and however often.
    hand.moves(9_000 * DAY);
    ledger.forget_settled(KEPT).unwrap();
    let left = ledger.recent(99).unwrap();
    assert_eq!(
        left.len(),
        1 + ids.iter().filter(|(_, stage)| !settled(*stage)).count()
    );
    assert!(left.iter().all(|message| !settled(message.stage)));
}

#[test]
fn a_delivery_that_is_not_over_keeps_its_message() {
    let dir = tempfile::tempdir().unwrap();
    let hand = Hand::at(1_000 * DAY);
    let ledger = hand.ledger(dir.path());
    let id = accepted(&ledger);
    let LeaseAnswer::Taken(lease) = ledger.lease(id, &free()).unwrap() else {
        panic!("it is free")
    };
    ledger.record(id, Step::replied(MessageId::new())).unwrap();
    hand.moves(400 * DAY);
    assert_eq!(ledger.forget_settled(KEPT).unwrap(), 0);
    ledger.end(&lease, "done").unwrap();
    assert_eq!(ledger.forget_settled(KEPT).unwrap(), 1);
}

#[test]
fn more_than_one_batch_goes_and_the_operators_inbox_too() {
    let dir = tempfile::tempdir().unwrap();
    let hand = Hand::at(1_000 * DAY);
    let ledger = hand.ledger(dir.path());
    for i in 0..450 {
        let mut message = new("1");
        if i % 2 == 0 {
            message.target.key = crate::sender::operator_key();
        }
        let id = accept(&ledger, &message).unwrap();
        if i % 2 == 1 {
            ledger.record(id, Step::refused("test")).unwrap();
        }
    }
    hand.moves(91 * DAY);
    assert_eq!(ledger.forget_settled(KEPT).unwrap(), 450);
    assert!(ledger.recent(1).unwrap().is_empty());
}
