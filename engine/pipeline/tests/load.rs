//! Many senders and many sessions at once, each in processes of their own: counts add up, the
//! order of every sender and target is kept, nothing is doubled, and nobody stays behind.
//!
//! `AXIOWL_LOAD` is the number of messages a sender sends; 1000 is the full size.
#![cfg(target_os = "linux")]

mod fake;

use axiowl_model::{MessageId, Stage};
use axiowl_pipeline::{Inbox, Pipeline, SendRequest, SenderClaim, StartWorker};
use fake::{CountedPass, PaperEdge, State, key, quick, run_worker, until};
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const SENDER: &str = "AXIOWL_TEST_SENDER";
const STATE: &str = "AXIOWL_TEST_STATE";
const MESSAGE: &str = "AXIOWL_TEST_MESSAGE";
/// What the file is called in which a worker that could not go on says why.
const FAILED: &str = "failed-";
const LOAD: &str = "AXIOWL_LOAD";
const SENDERS: usize = 8;
const SESSIONS: usize = 20;
/// Enough for every kind of meeting, and a few seconds.
const USUAL: usize = 40;

fn load() -> usize {
    let set = std::env::var(LOAD).ok().and_then(|text| text.parse().ok());
    set.unwrap_or(USUAL)
}

fn session(number: usize) -> String {
    format!("s{number:02}")
}

/// Where the message of a sender with a number goes.
fn target(sender: usize, number: usize) -> usize {
    (sender * 7 + number * 3) % SESSIONS
}

/// A process of this test binary. The state folder stands in its command line, so that whoever
/// stays behind can be found.
fn process(root: &Path, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([role, "--exact", "--nocapture", "--skip"])
        .arg(root)
        .env(STATE, root)
        .env_remove(SENDER)
        .env_remove(MESSAGE)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

struct Workers(PathBuf);

impl StartWorker for Workers {
    fn start(&self, message: MessageId) -> io::Result<()> {
        let mut command = process(&self.0, "worker_process");
        let mut child = command.env(MESSAGE, message.to_string()).spawn()?;
        std::thread::spawn(move || child.wait());
        Ok(())
    }
}

/// Not a test by itself: what a worker process runs.
#[test]
fn worker_process() {
    let (Ok(state), Ok(message)) = (std::env::var(STATE), std::env::var(MESSAGE)) else {
        return;
    };
    let root = PathBuf::from(state);
    let edge = PaperEdge::new(&root);
    if let Err(error) = run_worker(&root, message.parse().unwrap(), &edge.table(), &quick()) {
        let file = root.join(format!("{FAILED}{message}"));
        std::fs::write(file, error.to_string()).unwrap();
    }
}

/// Not a test by itself: what a sender process runs.
#[test]
fn sender_process() {
    let (Ok(state), Ok(sender)) = (std::env::var(STATE), std::env::var(SENDER)) else {
        return;
    };
    let (root, sender) = (PathBuf::from(state), sender.parse::<usize>().unwrap());
    let (pass, starter) = (
        Box::<CountedPass>::default(),
        Box::new(Workers(root.clone())),
    );
    let pipeline = Pipeline::open(&root, quick(), pass, starter).unwrap();
    for number in 0..load() {
        let request = SendRequest {
            from: SenderClaim::Text(format!("Sender {sender}")),
            ..SendRequest::new(
                format!("paper:session:{}", session(target(sender, number))),
                format!("{sender}/{number}"),
            )
        };
        let accepted = pipeline.send(&request).unwrap();
        assert_eq!(accepted.worker_problem, None);
    }
}

/// Processes that have the state folder in their command line.
fn processes(root: &Path) -> usize {
    let root = root.display().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| String::from_utf8_lossy(line).contains(&root))
        .count()
}

#[test]
fn eight_senders_and_twenty_sessions_lose_double_and_reorder_nothing() {
    let state = State::new();
    for number in 0..SESSIONS {
        state.agent(&format!("Agent {number}"), &session(number));
    }
    let (root, begin) = (state.root(), Instant::now());
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let mut command = process(root, "sender_process");
            command.env(SENDER, sender.to_string()).spawn().unwrap()
        })
        .collect();
    for mut sender in senders {
        assert!(sender.wait().unwrap().success());
    }
    let sent = begin.elapsed();
    let ledger = state.ledger();
    until("every delivery", || {
        // Nothing but waiting: whoever was promised a worker has one.
        ledger.in_flight().unwrap().is_empty() && processes(root) == 0
    });
    let total = SENDERS * load();
    eprintln!(
        "{total} messages: sent in {:.1} s, delivered in {:.1} s",
        sent.as_secs_f64(),
        begin.elapsed().as_secs_f64()
    );

    let failures = std::fs::read_dir(root).unwrap().flatten();
    let failures: Vec<_> = failures
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(FAILED))
        .map(|entry| std::fs::read_to_string(entry.path()).unwrap())
        .collect();
    assert_eq!(failures, [""; 0], "every worker served to its end");

    let mut delivered = HashSet::new();
    let mut counted = 0;
    for number in 0..SESSIONS {
        let inbox = Inbox::Session(key(&session(number)));
        let accepted = ledger.inbox(&inbox, None).unwrap();
        let got = state.edge().got(&key(&session(number)));
        let ids: Vec<_> = accepted
            .iter()
            .map(|message| message.id.to_string())
            .collect();
        assert_eq!(
            got, ids,
            "session {number} got what was accepted for it, in that order"
        );
        let mut last = BTreeMap::new();
        for message in &accepted {
            assert_eq!(message.stage, Stage::TurnDone);
            assert!(delivered.insert(message.id), "one message in two sessions");
            let (sender, sequence) = message.body.split_once('/').unwrap();
            let (sender, sequence): (usize, usize) =
                (sender.parse().unwrap(), sequence.parse().unwrap());
            assert_eq!(
                target(sender, sequence),
                number,
                "it went where it was meant"
            );
            let before = last.insert(sender, sequence);
            assert!(
                before.is_none_or(|before| before < sequence),
                "sender {sender}"
            );
        }
        counted += accepted.len();
    }
    assert_eq!((counted, delivered.len()), (total, total));
    assert_eq!(ledger.recent(usize::MAX).unwrap().len(), total);

    // No lease is left open and nobody stands in a session's line.
    let db = rusqlite::Connection::open(ledger.path()).unwrap();
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(
        count("SELECT COUNT(*) FROM deliveries WHERE ended_at IS NULL"),
        0
    );
    assert_eq!(
        count("SELECT COUNT(*) FROM deliveries WHERE attempt > 1"),
        0
    );
    assert_eq!(count("SELECT COUNT(*) FROM deliveries"), total as i64);
    assert_eq!(count("SELECT COUNT(*) FROM stages"), 4 * total as i64);
    for entry in std::fs::read_dir(root.join("locks")).unwrap().flatten() {
        let lock = std::fs::File::open(entry.path()).unwrap();
        assert!(lock.try_lock().is_ok(), "{}", entry.path().display());
    }
}
