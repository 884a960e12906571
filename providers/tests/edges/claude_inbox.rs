//! Claude Code sessions that are open in a process with an inbox (`providers/claude-code.md`
//! C.3). The test itself is that process.

use crate::claude_code_cli::{GOOD, scene};
use crate::scene::{LONG, OTHER, Ran, SESSION, Scene};
use axiowl_pipeline::edge::{Finding, Liveness};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Enough for what never comes to an end.
const SHORT: Duration = Duration::from_secs(4);

/// An open session.
struct Desk {
    scene: Scene,
    socket: PathBuf,
}

/// What the session does with a message, once it was read to its end.
type Does = fn(&Mail);

/// A message that came in.
struct Mail {
    line: Value,
    transcript: PathBuf,
    record: PathBuf,
    other: PathBuf,
}

impl Mail {
    fn append(&self, path: &Path, record: &Value) {
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        writeln!(file, "{record}").unwrap();
    }

    fn reads(&self) {
        let record = json!({ "type": "user", "origin": { "msg_id": self.line["msg_id"] } });
        self.append(&self.transcript, &record);
    }

    fn answers(&self, well: bool) {
        self.append(
            &self.transcript,
            &json!({ "type": "assistant", "end": well }),
        );
    }

    fn says(&self, status: &str) {
        let from = self.line["from"].as_str().unwrap();
        let mut stream = UnixStream::connect(from.strip_prefix("uds:").unwrap()).unwrap();
        let notice = json!({
            "type": "control", "action": "peer_message_status", "status": status,
            "reason": "the reason", "orig_msg_id": self.line["msg_id"],
        });
        writeln!(stream, "{notice}").unwrap();
    }
}

impl Desk {
    fn new() -> Self {
        let scene = scene(GOOD);
        let folder = scene.file("socks");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let desk = Self {
            socket: folder.join("1.sock"),
            scene,
        };
        desk.record(&json!({}));
        desk
    }

    fn record_file(&self) -> PathBuf {
        let pid = std::process::id();
        self.scene.file(&format!(".claude/sessions/{pid}.json"))
    }

    /// The record of this process, with changes.
    fn record(&self, change: &Value) {
        let pid = std::process::id();
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        let start = stat.rsplit(") ").next().unwrap();
        let start = start.split(' ').nth(19).unwrap();
        let mut record = json!({
            "pid": pid, "sessionId": SESSION, "cwd": self.scene.cwd, "version": "2.1.332",
            "procStart": start, "kind": "interactive", "entrypoint": "cli", "status": "idle",
            "messagingSocketPath": self.socket,
        });
        for (name, value) in change.as_object().unwrap() {
            record[name] = value.clone();
        }
        fs::write(self.record_file(), record.to_string()).unwrap();
    }

    /// Reads one message and does something with it.
    fn serve(&self, does: Does) -> thread::JoinHandle<Value> {
        let listener = UnixListener::bind(&self.socket).unwrap();
        let transcript = self.scene.transcript.clone();
        let record = self.record_file();
        let other = transcript.with_file_name(format!("{OTHER}.jsonl"));
        thread::spawn(move || {
            loop {
                let (stream, _) = listener.accept().unwrap();
                let mut text = String::new();
                BufReader::new(&stream).read_line(&mut text).unwrap();
                // Somebody only looked whether we are there.
                let Ok(line) = serde_json::from_str(&text) else {
                    continue;
                };
                let mail = Mail {
                    line,
                    transcript,
                    record,
                    other,
                };
                drop(stream);
                does(&mail);
                return mail.line;
            }
        })
    }

    fn run(&self, limit: Duration, does: Does) -> (Ran, Value) {
        let served = self.serve(does);
        assert!(matches!(self.scene.probe(), Liveness::Door { .. }));
        let ran = self.scene.deliver(limit);
        assert_eq!(self.scene.read("argv"), "", "nothing is resumed");
        let left = fs::read_dir(self.scene.file("socks")).unwrap();
        assert_eq!(left.count(), 1, "no socket of ours stays");
        (ran, served.join().unwrap())
    }
}

#[test]
fn an_open_session_gets_the_message_through_its_inbox() {
    let desk = Desk::new();
    let (ran, line) = desk.run(LONG, |mail| {
        mail.reads();
        mail.answers(true);
    });
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert_eq!(line["msg_id"], desk.scene.message.to_string());
    assert_eq!(line["session_id"], SESSION, "the guard against `/clear`");
    assert_eq!(line["message"]["content"], desk.scene.body());
    assert_eq!((&line["type"], &line["msgV"]), (&json!("user"), &json!(1)));
}

#[test]
fn a_turn_that_fails_is_never_called_done() {
    let (ran, _) = Desk::new().run(LONG, |mail| {
        mail.reads();
        mail.answers(false);
    });
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
}

#[test]
fn what_the_session_holds_is_held_until_its_user_decides() {
    let (ran, _) = Desk::new().run(LONG, |mail| {
        mail.says("held");
        mail.says("denied");
    });
    ran.is(&["starting", "submitted", "held"], "refused");
    ran.tells("denied: the reason");

    let (ran, _) = Desk::new().run(LONG, |mail| {
        mail.says("held");
        mail.says("delivered");
        mail.reads();
        mail.answers(true);
    });
    assert_eq!((ran.steps.last(), ran.end()), (Some(&"turn_done"), "ok"));
}

#[test]
fn what_the_session_drops_is_failed_and_not_sent_again() {
    let (ran, _) = Desk::new().run(LONG, |mail| mail.says("dropped"));
    ran.is(&["starting", "submitted"], "turn_failed");
    ran.tells("dropped");
}

#[test]
fn a_notice_that_it_was_dropped_does_not_outweigh_the_transcript() {
    let (ran, _) = Desk::new().run(LONG, |mail| {
        mail.reads();
        mail.answers(true);
        mail.says("expired");
    });
    assert_eq!((ran.steps.last(), ran.end()), (Some(&"turn_done"), "ok"));
}

#[test]
fn a_message_that_waits_in_the_queue_is_queued_and_may_be_found_later() {
    let desk = Desk::new();
    let served = desk.serve(|mail| {
        let record = json!({
            "type": "queue-operation", "operation": "enqueue",
            "content": mail.line["message"]["content"],
        });
        mail.append(&mail.transcript, &record);
    });
    // The delivery notes for the next one that the session still has the message.
    let ran = desk.scene.deliver_leaving_a_trace(SHORT);
    served.join().unwrap();
    ran.is(&["starting", "submitted", "queued"], "ok");
    assert_eq!(
        ran.evidence[2].path.as_deref(),
        desk.scene.transcript.to_str()
    );
    assert!(matches!(
        desk.scene.find(Duration::from_millis(200)),
        Finding::Unknown { .. }
    ));
}

#[test]
fn silence_is_uncertain_and_is_not_taken_for_absence() {
    let desk = Desk::new();
    let served = desk.serve(|_| {});
    let ran = desk.scene.deliver_leaving_a_trace(SHORT);
    ran.is(&["starting", "submitted"], "uncertain");
    served.join().unwrap();
    let Finding::Unknown { reason } = desk.scene.find(Duration::from_millis(200)) else {
        panic!("the session may still come to it")
    };
    assert!(reason.contains("may still come to it"), "{reason}");
}

#[test]
fn a_session_that_was_left_before_it_read_the_message_is_told() {
    let desk = Desk::new();
    let left = |mail: &Mail| {
        let text = fs::read_to_string(&mail.record).unwrap();
        fs::write(&mail.record, text.replace(SESSION, OTHER)).unwrap();
    };
    let served = desk.serve(left);
    let ran = desk.scene.deliver_leaving_a_trace(LONG);
    ran.is(&["starting", "submitted"], "uncertain");
    ran.tells(&format!("left for {OTHER}"));
    served.join().unwrap();

    let (ran, _) = Desk::new().run(LONG, |mail| {
        let text = fs::read_to_string(&mail.record).unwrap();
        fs::write(&mail.record, text.replace(SESSION, OTHER)).unwrap();
        fs::write(&mail.other, format!("{}\n", mail.line)).unwrap();
    });
    ran.is(&["starting", "submitted"], "misdelivered");
}

#[test]
fn an_inbox_that_cannot_be_trusted_is_no_door() {
    let nobody = Desk::new();
    let closed = nobody.scene.closed();
    assert!(
        closed.contains("inbox") && closed.contains("/exit"),
        "{closed}"
    );
    nobody.scene.deliver(LONG).is(&[], "refused");

    let open = Desk::new();
    let _listener = UnixListener::bind(&open.socket).unwrap();
    let folder = open.scene.file("socks");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(open.scene.closed().contains("others can write"));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(matches!(open.scene.probe(), Liveness::Door { .. }));

    // The socket of one process in the record of another.
    let mut child = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let start = stat
        .rsplit(") ")
        .next()
        .unwrap()
        .split(' ')
        .nth(19)
        .unwrap();
    open.record(&json!({ "pid": child.id(), "procStart": start }));
    let closed = open.scene.closed();
    assert!(closed.contains("answers there"), "{closed}");
    child.kill().unwrap();
    child.wait().unwrap();

    // Two processes with one session.
    open.record(&json!({}));
    fs::copy(
        open.record_file(),
        open.scene.file(".claude/sessions/1.json"),
    )
    .unwrap();
    assert!(open.scene.closed().contains("; it is open in"));
}
