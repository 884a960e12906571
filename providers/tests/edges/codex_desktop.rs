//! A Codex thread that the desktop app has open (`providers/codex.md` C6). The test plays the
//! app's router; a stand-in app-server has the rollout open, as versions without a queue do.

use crate::codex::scene_for;
use crate::scene::{LONG, Ran, SESSION, Scene};
use axiowl_pipeline::edge::{Finding, Liveness};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Enough for what never comes to an end.
const SHORT: Duration = Duration::from_secs(4);
const IDLE: &str = r#"{"type":"event_msg","payload":{"type":"task_complete","turn_id":"t0"}}"#;
const BUSY: &str = r#"{"type":"event_msg","payload":{"type":"task_started","turn_id":"t0"}}"#;

/// What the app does with a request for a turn: its answer, or none.
type Does = fn(&Ask) -> Option<Value>;

struct Ask {
    request: Value,
    transcript: PathBuf,
}

impl Ask {
    fn append(&self, record: &Value) {
        let file = fs::OpenOptions::new().append(true).open(&self.transcript);
        writeln!(file.unwrap(), "{record}").unwrap();
    }

    /// The turn takes place, as its rollout says.
    fn takes_place(&self, well: bool) {
        let id = &self.request["params"]["turnStart"]["request"]["clientUserMessageId"];
        let said = match id {
            Value::Null => self.request["params"]["turnStartParams"]["input"].clone(),
            id => id.clone(),
        };
        self.append(&json!({ "client_id": said }));
        self.append(&json!({ "type": "task", "end": well }));
    }
}

fn started() -> Option<Value> {
    let turn = json!({ "turn": { "id": "t7", "status": "inProgress" } });
    Some(json!({ "resultType": "success", "result": { "result": turn } }))
}

fn no(error: &str) -> Option<Value> {
    Some(json!({ "resultType": "error", "error": error }))
}

/// An app that has the thread open.
struct App {
    scene: Scene,
    host: Child,
    asked: Receiver<Value>,
}

impl App {
    fn new(last: &str, owner: Value, does: Does) -> Self {
        let mut scene = scene_for("codex", "");
        scene.experimental = true;
        fs::write(&scene.transcript, format!("{last}\n")).unwrap();
        let host = host(&mut scene);
        let folder = scene.file(".codex/ipc");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let listener = UnixListener::bind(folder.join("ipc.sock")).unwrap();
        let (tell, asked) = channel();
        let transcript = scene.transcript.clone();
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                while let Some(request) = receive(&mut stream) {
                    let answer = match request["method"].as_str() {
                        Some("initialize") => {
                            Some(json!({ "resultType": "success", "result": { "clientId": "c1" } }))
                        }
                        Some("thread-owner-discovery") => Some(owner.clone()),
                        _ => {
                            let _ = tell.send(request.clone());
                            let transcript = transcript.clone();
                            let ask = Ask {
                                request: request.clone(),
                                transcript,
                            };
                            does(&ask)
                        }
                    };
                    // The end of a line that nobody answers.
                    let Some(mut answer) = answer else { break };
                    answer["type"] = json!("response");
                    answer["requestId"] = request["requestId"].clone();
                    send(&mut stream, &answer);
                }
            }
        });
        Self { scene, host, asked }
    }

    fn owning(does: Does) -> Self {
        Self::new(IDLE, owned(), does)
    }

    /// The versions of the requests for a turn.
    fn versions(&self) -> Vec<u64> {
        let asked = self.asked.try_iter();
        asked.map(|one| one["version"].as_u64().unwrap()).collect()
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.host.kill();
        let _ = self.host.wait();
    }
}

fn owned() -> Value {
    json!({ "resultType": "success", "handledByClientId": "w1",
        "result": { "supportsUntrustedAppInput": true } })
}

/// An app-server that has the rollout open for writing, and no lock.
fn host(scene: &mut Scene) -> Child {
    let program = scene.file("host/codex");
    fs::create_dir_all(scene.file("host")).unwrap();
    // A shell by that name; copied by another process, since what this one has open for writing
    // cannot be run.
    let shell = fs::canonicalize("/bin/sh").unwrap();
    let copied = Command::new("cp").arg(shell).arg(&program).status();
    assert!(copied.unwrap().success());
    let mut child = Command::new(&program)
        .args([
            "-c",
            "exec 3>>\"$1\"; echo open; read -r line",
            "app-server",
        ])
        .arg(&scene.transcript)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let said = BufReader::new(child.stdout.take().unwrap()).read_line(&mut line);
    assert!(said.unwrap() > 0, "it opened the rollout");
    child
}

fn receive(stream: &mut UnixStream) -> Option<Value> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; u32::from_le_bytes(head) as usize];
    stream.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn send(stream: &mut UnixStream, message: &Value) {
    let text = message.to_string();
    let mut frame = u32::try_from(text.len()).unwrap().to_le_bytes().to_vec();
    frame.extend_from_slice(text.as_bytes());
    // The other side may be gone.
    let _ = stream.write_all(&frame);
}

#[test]
fn the_app_starts_a_turn_and_the_rollout_proves_it() {
    let app = App::owning(|ask| {
        ask.takes_place(true);
        started()
    });
    let Liveness::Door { route } = app.scene.probe() else {
        panic!("{:?}", app.scene.probe());
    };
    assert!(route.contains("experimental"), "{route}");
    let ran = app.scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert!(
        ran.evidence
            .iter()
            .any(|one| one.detail.contains("turn=t7"))
    );
    let asked: Vec<Value> = app.asked.try_iter().collect();
    let [request] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!(request["method"], "thread-follower-start-turn");
    assert_eq!(
        (&request["sourceClientId"], &request["targetClientId"]),
        (&json!("c1"), &json!("w1"))
    );
    let start = &request["params"]["turnStart"]["request"];
    assert_eq!(start["threadId"], SESSION);
    assert_eq!(start["clientUserMessageId"], app.scene.message.to_string());
    assert_eq!(start["input"][0]["text"], app.scene.body());
}

#[test]
fn without_the_users_word_the_app_is_not_asked() {
    let mut app = App::owning(|_| panic!("it was asked"));
    app.scene.experimental = false;
    assert!(app.scene.closed().contains("an app-server started by"));
    app.scene.deliver(SHORT).is(&[], "refused");
}

#[test]
fn an_app_that_does_not_own_the_thread_or_runs_a_turn_of_it_gets_nothing() {
    let closed = |last: &str, owner: Value| {
        let app = App::new(last, owner, |_| panic!("it was asked"));
        let why = app.scene.closed();
        app.scene.deliver(SHORT).is(&[], "refused");
        why
    };
    let nobody = json!({ "resultType": "error", "error": "no-client-found" });
    assert!(closed(IDLE, nobody).contains("does not own it"));
    assert!(closed(BUSY, owned()).contains("would cut short"));
    assert!(closed("{\"type\":\"earlier\"}", owned()).contains("does not tell"));
    let mut shy = owned();
    shy["result"]["supportsUntrustedAppInput"] = json!(false);
    assert!(closed(IDLE, shy).contains("takes no input"));
}

#[test]
fn what_the_app_declines_was_not_submitted_and_an_older_one_is_asked_its_way() {
    let app = App::owning(|_| no("no-client-found"));
    let ran = app.scene.deliver(SHORT);
    ran.is(&["starting"], "not_submitted");
    ran.tells("no-client-found");
    assert_eq!(app.versions(), [2]);
    // An error that does not say that nobody had it leaves it to the rollout.
    let app = App::owning(|_| no("request-timeout"));
    let ran = app.scene.deliver_leaving_a_trace(SHORT);
    ran.is(&["starting"], "uncertain");
    assert_eq!(app.versions(), [2]);

    let app = App::owning(|ask| match ask.request["version"].as_u64() {
        Some(1) => {
            ask.takes_place(true);
            started()
        }
        _ => no("request-version-mismatch"),
    });
    app.scene
        .deliver(LONG)
        .is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert_eq!(app.versions(), [2, 1]);

    let app = App::owning(|_| no("request-version-mismatch"));
    app.scene.deliver(SHORT).is(&["starting"], "not_submitted");
    assert_eq!(app.versions(), [2, 1]);
}

#[test]
fn an_answer_that_is_lost_is_asked_of_the_rollout_and_never_repeated() {
    let lost: fn(bool) -> Ran = |arrives| {
        let does: Does = match arrives {
            true => |ask| {
                ask.takes_place(true);
                None
            },
            false => |_| None,
        };
        let app = App::owning(does);
        let ran = match arrives {
            true => app.scene.deliver(LONG),
            false => app.scene.deliver_leaving_a_trace(SHORT),
        };
        assert_eq!(app.versions(), [2], "asked once");
        if !arrives {
            // As long as the app runs, it may still come to it.
            let found = app.scene.find(SHORT);
            assert!(matches!(found, Finding::Unknown { .. }), "{found:?}");
        }
        ran
    };
    lost(true).is(&["starting", "seen", "turn_done"], "ok");
    lost(false).is(&["starting"], "uncertain");
}

#[test]
fn a_turn_that_failed_and_an_app_that_dies_are_told() {
    let app = App::owning(|ask| {
        ask.takes_place(false);
        started()
    });
    app.scene
        .deliver(LONG)
        .is(&["starting", "submitted", "seen"], "turn_failed");

    let mut app = App::owning(|_| started());
    let input = app.host.stdin.take().unwrap();
    let (_, silent) = channel();
    let asked = std::mem::replace(&mut app.asked, silent);
    let ends = thread::spawn(move || {
        // The app has the message, and its host ends.
        asked.recv().unwrap();
        drop(input);
    });
    let ran = app.scene.deliver(LONG);
    ends.join().unwrap();
    ran.is(&["starting", "submitted"], "uncertain");
    ran.tells("the rollout lacks the message");
}
