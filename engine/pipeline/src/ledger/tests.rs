//! The ledger by itself: moves, leases, and what a file may do to it.

mod leases;
mod machine;
mod older;
mod rates;
mod retention;
mod time;

use super::*;
use crate::clock::after;
use crate::edge::Target;
use crate::guard::Guard;
use crate::limits::Limits;
use crate::sender::Sender;
use axiowl_model::{Evidence, MessageId, RunId, SessionKey, Stage};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

fn new(session: &str) -> NewMessage {
    NewMessage {
        id: MessageId::new(),
        run_id: RunId::new(),
        sender: Sender::operator(),
        target: Target {
            key: SessionKey::local("some_cli", session),
            display_name: "Beta".into(),
            cwd: String::new(),
            home: String::new(),
        },
        body: "hello".into(),
        visible_body: "> hello".into(),
        reply_to: None,
        hops: Vec::new(),
        also_matching: vec!["some_cli:local:other".into()],
        kept: None,
        expires_in: Duration::from_secs(60),
    }
}

fn accept(ledger: &Ledger, message: &NewMessage) -> Result<MessageId, LedgerError> {
    let taken = ledger.accept(message, &free())?;
    Ok(taken.unwrap().line.message_id)
}

fn accepted(ledger: &Ledger) -> MessageId {
    accept(ledger, &new("1")).unwrap()
}

/// Limits without rates.
fn free() -> Limits {
    Limits {
        pair_messages: usize::MAX,
        target_messages: usize::MAX,
        ..Limits::default()
    }
}

/// A step to any stage, with something that looks like proof.
fn step_to(stage: Stage) -> Option<Step> {
    let proof = || Evidence::new("test", "");
    Some(match stage {
        Stage::Accepted => return None,
        Stage::Submitted => Step::submitted(proof()),
        Stage::Held => Step::held(proof()),
        Stage::Queued => Step::queued(proof()),
        Stage::Seen => Step::seen(proof()),
        Stage::TurnDone => Step::turn_done(proof()),
        Stage::Replied => Step::replied(MessageId::new()),
        Stage::Refused => Step::refused("test"),
        Stage::Failed => Step::failed("test"),
        Stage::Expired => Step::expired("test"),
        Stage::Uncertain => Step::uncertain("test"),
        Stage::Misdelivered => Step::misdelivered("test", proof()),
    })
}

fn at(ledger: &Ledger, id: MessageId, stage: Stage) {
    ledger
        .connection()
        .execute(
            "UPDATE messages SET stage = ?2 WHERE id = ?1",
            (id.to_string(), stage.as_str()),
        )
        .unwrap();
}

#[test]
fn every_move_the_model_forbids_is_an_error_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    for &from in Stage::ALL {
        for &to in Stage::ALL {
            // Nothing can even be asked to become accepted.
            let Some(step) = step_to(to) else { continue };
            let id = accepted(&ledger);
            at(&ledger, id, from);
            let before = ledger.lines_since(id, 0).unwrap();
            let result = ledger.record(id, step);
            let lines = ledger.lines_since(id, 0).unwrap();
            if let Some(legal) = from.move_to(to) {
                assert!(result.unwrap().is_some(), "{from} -> {to}");
                assert_eq!(ledger.message(id).unwrap().stage, legal.ends_at());
                assert_eq!(lines.last().unwrap().1.stage, to);
            } else if from == to {
                assert_eq!(result.unwrap(), None, "{from} -> {to}: it has been there");
                assert_eq!(lines, before);
            } else {
                let error = result.unwrap_err();
                assert!(
                    matches!(error, LedgerError::IllegalMove { from: f, to: t, .. } if (f, t) == (from, to)),
                    "{error}"
                );
                assert_eq!(lines, before);
                assert_eq!(ledger.message(id).unwrap().stage, from);
            }
        }
    }
}

#[test]
fn recording_the_same_stage_again_is_no_second_line() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let id = accepted(&ledger);
    for stage in [
        Stage::Submitted,
        Stage::Submitted,
        Stage::Seen,
        Stage::Submitted,
        Stage::Seen,
    ] {
        ledger.record(id, step_to(stage).unwrap()).unwrap();
    }
    let lines = ledger.lines_since(id, 0).unwrap();
    let stages: Vec<_> = lines.iter().map(|(seq, line)| (*seq, line.stage)).collect();
    assert_eq!(
        stages,
        [
            (1, Stage::Accepted),
            (2, Stage::Submitted),
            (3, Stage::Seen)
        ]
    );
    assert_eq!(ledger.lines_since(id, 2).unwrap().len(), 1);
    assert_eq!(lines[0].1.also_matching, ["some_cli:local:other"]);
}

#[test]
fn what_was_accepted_is_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let mut message = new("1");
    message.hops.push(message.sender.hop());
    message.body = "a\0b\u{1f989}\r\n".into();
    let id = message.id;
    accept(&ledger, &message).unwrap();
    drop(ledger);
    let ledger = Ledger::open(dir.path()).unwrap();
    let kept = ledger.message(id).unwrap();
    assert_eq!(kept.body, message.body);
    assert_eq!(kept.hops, message.hops);
    assert_eq!(kept.sender, message.sender);
    assert_eq!(kept.target, message.target);
    assert_eq!(kept.stage, Stage::Accepted);
    assert_eq!(ledger.in_flight().unwrap().len(), 1);
    assert!(matches!(
        ledger.message(MessageId::new()),
        Err(LedgerError::NoSuchMessage { .. })
    ));
}

#[test]
#[cfg(unix)]
fn nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("state");
    let ledger = Ledger::open(&root).unwrap();
    accepted(&ledger);
    for name in ["messages.db", "messages.db-wal", "messages.db-shm"] {
        let mode = std::fs::metadata(root.join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let mode = std::fs::metadata(&root).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn it_is_durable_by_its_settings() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let number = |pragma: &str| {
        let db = ledger.connection();
        db.query_row(pragma, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    let mode: String = ledger
        .connection()
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
    assert_eq!(number("PRAGMA user_version"), 2);
    assert_eq!(number("PRAGMA synchronous"), 2);
    // What is written loosely leaves the setting as it was, also when it fails.
    let id = accepted(&ledger);
    let LeaseAnswer::Taken(lease) = ledger.lease(id, &free()).unwrap() else {
        panic!("it is free")
    };
    ledger.end(&lease, "done").unwrap();
    ledger.end(&lease, "again").unwrap_err();
    ledger.renew(&lease, Duration::ZERO).unwrap_err();
    assert_eq!(number("PRAGMA synchronous"), 2);
}

#[test]
fn a_newer_format_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("messages.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE future (x); PRAGMA user_version = 9;")
        .unwrap();
    drop(db);
    let before = std::fs::read(&path).unwrap();
    let error = Ledger::open(dir.path()).unwrap_err();
    assert!(
        matches!(
            error,
            LedgerError::Newer {
                found: 9,
                known: 2,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.hint().is_some());
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_full_disk_is_a_clear_error_and_the_ledger_goes_on_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    accepted(&ledger);
    let limit = |pages: i64| {
        let set = format!("PRAGMA max_page_count = {pages}");
        let db = ledger.connection();
        db.query_row(&set, [], |row| row.get::<_, i64>(0)).unwrap();
    };
    limit(1);
    let large = || NewMessage {
        body: "x".repeat(100_000),
        ..new("1")
    };
    let error = accept(&ledger, &large()).unwrap_err();
    assert!(matches!(error, LedgerError::Full { .. }), "{error}");
    assert!(error.hint().is_some());
    assert_eq!(ledger.in_flight().unwrap().len(), 1);
    limit(100_000);
    accept(&ledger, &large()).unwrap();
}

#[test]
fn damage_is_a_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let id = accepted(&ledger);
    ledger
        .connection()
        .execute_batch("UPDATE messages SET stage = 'lost'")
        .unwrap();
    let error = ledger.message(id).unwrap_err();
    assert!(matches!(error, LedgerError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("lost"), "{error}");
    drop(ledger);
    std::fs::write(dir.path().join("messages.db"), [0x5a; 8192]).unwrap();
    let error = Ledger::open(dir.path()).unwrap_err();
    assert!(matches!(error, LedgerError::Damaged { .. }), "{error}");
    assert!(error.hint().unwrap().contains("messages.db"));
}

#[test]
fn many_may_open_it_at_once_for_the_first_time() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let ledger = Ledger::open(dir.path()).unwrap();
                accepted(&ledger);
            });
        }
    });
    assert_eq!(
        Ledger::open(dir.path()).unwrap().in_flight().unwrap().len(),
        8
    );
}
