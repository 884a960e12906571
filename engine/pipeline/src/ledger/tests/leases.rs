//! Who may deliver, for how long, and what a late or dead worker can still do.

use super::*;
use crate::process::Owner;

fn leased(ledger: &Ledger, id: MessageId) -> Lease {
    match ledger.lease(id, &Limits::default()).unwrap() {
        LeaseAnswer::Taken(lease) => lease,
        answer => panic!("{answer:?}"),
    }
}

fn own(ledger: &Ledger, id: MessageId, owner: Owner, left: Duration) {
    let changed = ledger.connection().execute(
        "UPDATE deliveries SET owner_pid = ?2, owner_start = ?3, lease_expires_at = ?4
         WHERE message_id = ?1 AND ended_at IS NULL",
        (
            id.to_string(),
            owner.pid,
            owner.start_ticks.map(u64::cast_signed),
            after(ledger.now(), left).as_millis(),
        ),
    );
    assert_eq!(changed.unwrap(), 1);
}

#[test]
fn a_lease_is_held_by_one_until_it_ends_runs_out_or_its_owner_dies() {
    let dir = tempfile::tempdir().unwrap();
    let (ours, theirs) = (
        Ledger::open(dir.path()).unwrap(),
        Ledger::open(dir.path()).unwrap(),
    );
    let limits = Limits::default();
    let id = accepted(&ours);
    let first = leased(&ours, id);
    assert_eq!((first.attempt, first.started_before), (1, false));
    assert!(matches!(
        theirs.lease(id, &limits).unwrap(),
        LeaseAnswer::Held { .. }
    ));

    // It runs out.
    own(&ours, id, Owner::current(), Duration::ZERO);
    let second = leased(&theirs, id);
    assert_eq!(second.attempt, 2);
    let step = || Step::submitted(Evidence::default());
    for late in [
        ours.record_leased(&first, step()).map(drop),
        ours.start(&first, "x"),
        ours.renew(&first, limits.lease),
        ours.end(&first, "x"),
    ] {
        assert!(
            matches!(late, Err(LedgerError::LeaseLost { .. })),
            "fenced off"
        );
    }

    // Its owner is another process of the same id.
    let me = Owner::current();
    if let Some(ticks) = me.start_ticks {
        let before = Owner {
            start_ticks: Some(ticks + 1),
            ..me
        };
        own(&theirs, id, before, limits.lease);
        assert_eq!(leased(&ours, id).attempt, 3);
    }

    // The clock was set back by years.
    own(&ours, id, me, Duration::from_secs(1 << 30));
    let last = leased(&ours, id);
    ours.end(&last, "nothing").unwrap();
    assert!(matches!(
        theirs.lease(id, &limits).unwrap(),
        LeaseAnswer::Taken(_)
    ));
}

#[test]
fn a_started_handover_is_remembered_and_a_settled_message_bars_it() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let id = accepted(&ledger);
    let first = leased(&ledger, id);
    ledger.start(&first, "door").unwrap();
    assert_eq!(ledger.message(id).unwrap().route, "door");
    own(&ledger, id, Owner::current(), Duration::ZERO);
    let second = leased(&ledger, id);
    assert!(second.started_before);
    ledger.record(id, Step::failed("a person said so")).unwrap();
    let barred = ledger.start(&second, "door").unwrap_err();
    assert!(
        matches!(barred, LedgerError::IllegalMove { .. }),
        "{barred}"
    );
}

#[test]
fn a_broken_off_delivery_is_taken_up_and_a_finished_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let key = SessionKey::local("some_cli", "1");
    let id = accepted(&ledger);
    let lease = leased(&ledger, id);
    ledger.start(&lease, "door").unwrap();
    ledger
        .record_leased(&lease, Step::submitted(Evidence::default()))
        .unwrap();
    assert_eq!(ledger.next_pending(&key).unwrap(), Some(id));
    own(&ledger, id, Owner::current(), Duration::ZERO);
    let lease = leased(&ledger, id);
    assert!(lease.started_before);
    ledger.end(&lease, "done").unwrap();
    assert_eq!(ledger.next_pending(&key).unwrap(), None);
    assert_eq!(
        ledger.lease(id, &Limits::default()).unwrap(),
        LeaseAnswer::Nothing
    );
    assert_eq!(
        ledger.in_flight().unwrap().len(),
        1,
        "still under way for its sender"
    );
}

#[test]
fn what_waits_too_long_expires_unless_it_may_be_out() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let late = |session: &str| {
        let message = NewMessage {
            expires_in: Duration::ZERO,
            ..new(session)
        };
        accept(&ledger, &message).unwrap()
    };
    let (waits, started, by_lease) = (late("1"), late("2"), late("3"));
    // Handed over before its time ran out, by a worker that died.
    ledger
        .connection()
        .execute(
            "INSERT INTO deliveries (message_id, attempt, token, owner_pid, lease_expires_at,
                 began_at, started) VALUES (?1, 1, 'x', 1, 0, 0, 1)",
            [started.to_string()],
        )
        .unwrap();
    assert_eq!(
        ledger.lease(by_lease, &Limits::default()).unwrap(),
        LeaseAnswer::Nothing
    );
    assert_eq!(ledger.message(by_lease).unwrap().stage, Stage::Expired);
    assert_eq!(ledger.expire_overdue().unwrap(), [waits]);
    assert_eq!(ledger.message(waits).unwrap().stage, Stage::Expired);
    assert_eq!(ledger.message(started).unwrap().stage, Stage::Accepted);
    assert!(
        leased(&ledger, started).started_before,
        "its outcome is for evidence to say"
    );
}

#[test]
fn a_message_that_kills_its_workers_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let id = accepted(&ledger);
    let limits = Limits {
        attempts: 3,
        ..Limits::default()
    };
    for _ in 0..3 {
        assert!(matches!(
            ledger.lease(id, &limits).unwrap(),
            LeaseAnswer::Taken(_)
        ));
        own(&ledger, id, Owner::current(), Duration::ZERO);
    }
    assert_eq!(ledger.lease(id, &limits).unwrap(), LeaseAnswer::Nothing);
    let message = ledger.message(id).unwrap();
    assert_eq!(message.stage, Stage::Failed);
    let (_, line) = ledger.lines_since(id, 1).unwrap().remove(0);
    assert!(line.reason.contains("3 deliveries"), "{}", line.reason);
}

#[test]
fn a_message_that_kills_its_workers_after_it_may_be_out_is_looked_for_and_then_uncertain() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let id = accepted(&ledger);
    let limits = Limits {
        attempts: 2,
        ..free()
    };
    for attempt in 1..=4 {
        let LeaseAnswer::Taken(lease) = ledger.lease(id, &limits).unwrap() else {
            panic!("it is free")
        };
        assert_eq!(lease.last_look, attempt > 2, "{attempt}");
        if !lease.last_look {
            ledger.start(&lease, "door").unwrap();
        }
        own(&ledger, id, Owner::current(), Duration::ZERO);
    }
    assert_eq!(ledger.lease(id, &limits).unwrap(), LeaseAnswer::Nothing);
    assert_eq!(ledger.message(id).unwrap().stage, Stage::Uncertain);
    assert!(ledger.pending_sessions().unwrap().is_empty(), "and left");
}

#[test]
fn what_was_seen_stays_seen_however_many_die_over_its_turn() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let limits = Limits {
        attempts: 1,
        ..free()
    };
    for stage in [Stage::Seen, Stage::Replied] {
        let id = accepted(&ledger);
        let LeaseAnswer::Taken(lease) = ledger.lease(id, &limits).unwrap() else {
            panic!("it is free")
        };
        ledger.start(&lease, "door").unwrap();
        at(&ledger, id, stage);
        own(&ledger, id, Owner::current(), Duration::ZERO);
        let LeaseAnswer::Taken(lease) = ledger.lease(id, &limits).unwrap() else {
            panic!("its turn is looked for once more")
        };
        assert!(lease.last_look && lease.started_before);
        own(&ledger, id, Owner::current(), Duration::ZERO);
        for _ in 0..3 {
            assert_eq!(ledger.lease(id, &limits).unwrap(), LeaseAnswer::Nothing);
            assert_eq!(ledger.message(id).unwrap().stage, stage);
        }
    }
}

#[test]
fn whatever_a_dead_worker_left_open_is_closed_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let key = SessionKey::local("some_cli", "1");
    for (stage, watched) in [
        (Stage::Refused, false),
        (Stage::Failed, false),
        (Stage::Uncertain, false),
        (Stage::TurnDone, false),
        (Stage::Misdelivered, false),
        (Stage::Seen, true),
        // Its turn may still run, and its end is worth a line.
        (Stage::Replied, true),
    ] {
        let id = accepted(&ledger);
        let lease = leased(&ledger, id);
        ledger.start(&lease, "door").unwrap();
        at(&ledger, id, stage);
        own(&ledger, id, Owner::current(), Duration::ZERO);
        assert_eq!(ledger.next_pending(&key).unwrap(), Some(id), "{stage}");
        match ledger.lease(id, &free()).unwrap() {
            LeaseAnswer::Taken(lease) if watched => {
                assert!(lease.started_before);
                ledger.end(&lease, "watched").unwrap();
            }
            LeaseAnswer::Nothing if !watched => {}
            answer => panic!("{stage}: {answer:?}"),
        }
        assert_eq!(ledger.next_pending(&key).unwrap(), None, "{stage}");
        assert_eq!(ledger.message(id).unwrap().stage, stage);
    }
}
