//! Many senders and many sessions through the binary at once: counts add up, the order of every
//! sender and target is kept, nothing is doubled, and neither a process nor a lease is left.
//!
//! `AXIOWL_LOAD` is the number of messages a sender sends; 1000 is the full size, for which
//! `AXIOWL_PROGRAM` should name a program built with `--release`.

use crate::desk::{Desk, message_id};
use axiowl_test_support::poll;
use rusqlite::Connection;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

const SENDERS: usize = 8;
const SESSIONS: usize = 20;
/// Enough for meetings of every kind, and a few seconds.
const USUAL: usize = 5;

fn load() -> usize {
    let set = std::env::var("AXIOWL_LOAD").ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(USUAL)
}

/// The session that a sender's message with a number goes to.
fn target(sender: usize, number: usize) -> usize {
    (sender * 7 + number * 3) % SESSIONS
}

fn send_all(desk: &Desk, sender: usize) -> Vec<String> {
    let name = format!("Sender {sender}");
    let send = |number: usize| {
        let (to, body) = (
            Desk::id(target(sender, number)),
            format!("{sender}/{number}"),
        );
        let run = desk.run(&[
            "send", "--to", &to, "--from", &name, "--body", &body, "--json",
        ]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{body}: {run}");
        message_id(&run)
    };
    (0..load()).map(send).collect()
}

#[test]
fn eight_senders_and_twenty_sessions_through_the_binary_lose_double_and_reorder_nothing() {
    let names: Vec<String> = (0..SESSIONS)
        .map(|number| format!("Agent {number}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let desk = Desk::with(&names);
    desk.configure("limits: { pair_per_minute: 1000000, target_per_minute: 1000000 }\n");
    let begin = Instant::now();
    let sent: Vec<String> = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                scope.spawn({
                    let desk = &desk;
                    move || send_all(desk, sender)
                })
            })
            .collect();
        let joined = senders
            .into_iter()
            .map(|sender| sender.join().expect("no panic"));
        joined.flatten().collect()
    });
    let (total, accepted) = (SENDERS * load(), begin.elapsed());
    let db = Connection::open(desk.axiowl.home().join(".axiowl/messages.db")).expect("database");
    let count = |sql: &str| {
        db.query_row(sql, [], |row| row.get::<_, i64>(0))
            .expect("count")
    };
    // Nothing but waiting: whoever was promised a worker has one.
    let done = poll(Duration::from_secs(60) + 20 * accepted, || {
        let open = count("SELECT COUNT(*) FROM messages WHERE stage = 'accepted_by_axiowl'");
        (open == 0 && desk.processes().is_empty()).then_some(())
    });
    assert!(done.is_some(), "left: {:?}", desk.processes());
    eprintln!(
        "{total} messages: accepted in {:.1} s, delivered in {:.1} s",
        accepted.as_secs_f64(),
        begin.elapsed().as_secs_f64()
    );

    assert_eq!(sent.iter().collect::<HashSet<_>>().len(), total);
    assert_eq!(count("SELECT COUNT(*) FROM messages"), total as i64);
    let finished = count("SELECT COUNT(*) FROM messages WHERE stage = 'turn_done'");
    assert_eq!(finished, total as i64);
    assert_eq!(
        count("SELECT COUNT(*) FROM deliveries WHERE ended_at IS NULL"),
        0
    );
    assert_eq!(
        count("SELECT COUNT(*) FROM deliveries"),
        total as i64,
        "one attempt each"
    );

    // By session, in the order of acceptance.
    let mut ledger: BTreeMap<usize, Vec<(String, String)>> = BTreeMap::new();
    let mut query = db
        .prepare("SELECT id, session, body FROM messages ORDER BY rowid")
        .expect("sql");
    let rows = query.query_map([], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
        ))
    });
    for row in rows.expect("rows") {
        let (id, session, body) = row.expect("a row");
        let number = session
            .rsplit('-')
            .next()
            .and_then(|digits| digits.parse().ok());
        ledger
            .entry(number.expect("a session"))
            .or_default()
            .push((id, body));
    }
    let known: HashSet<&String> = sent.iter().collect();
    for (number, accepted) in &ledger {
        let transcript = std::fs::read_to_string(desk.transcript(*number)).expect("transcript");
        let read: Vec<&str> = transcript
            .lines()
            .filter_map(|line| line.split_once("\"uuid\":\"")?.1.split_once('"'))
            .map(|(id, _)| id)
            .filter(|id| known.contains(&(*id).to_owned()))
            .collect();
        let ids: Vec<&str> = accepted.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(
            read, ids,
            "session {number} got what was accepted for it, in that order"
        );
        let mut last: HashMap<usize, usize> = HashMap::new();
        for (_, body) in accepted {
            let (sender, sequence) = body.split_once('/').expect("a body");
            let (sender, sequence) = (
                sender.parse().expect("a sender"),
                sequence.parse().expect("a number"),
            );
            assert_eq!(
                target(sender, sequence),
                *number,
                "it went where it was meant"
            );
            let before = last.insert(sender, sequence);
            assert!(
                before.is_none_or(|before| before < sequence),
                "sender {sender}"
            );
        }
    }
    assert_eq!(ledger.values().map(Vec::len).sum::<usize>(), total);
    let locks = desk.axiowl.home().join(".axiowl/locks");
    for entry in std::fs::read_dir(locks).expect("locks").flatten() {
        let lock = std::fs::File::open(entry.path()).expect("lock");
        assert!(lock.try_lock().is_ok(), "{}", entry.path().display());
    }
}
