//! A stand-in for the Codex that somebody has a thread open in: this test program, started once
//! more under Codex's name and with its words, which holds the thread's writer lock and, as the
//! daemon that terminals share, answers at the control socket.
//!
//! It never touches a transcript: what is recorded is the business of each test.

use crate::scene::{SESSION, Scene};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use tungstenite::Message;
use tungstenite::protocol::WebSocket;

/// The home of the scene, and what the daemon does with a message.
const HOME: &str = "AXIOWL_STAND_IN_HOME";
const DOES: &str = "AXIOWL_STAND_IN_DOES";
const READY: &str = "the stand-in has the thread open";
/// What the daemon was asked, below the home.
pub const CALLS: &str = "calls";

/// A terminal; what its command line says further.
pub const TERMINAL: &[&str] = &[];
/// An editor's app-server.
pub const HOST: &[&str] = &["app-server"];
/// A headless run.
pub const EXEC: &[&str] = &["exec"];
/// The daemon.
pub const DAEMON: &[&str] = &["app-server", "unix://"];

/// A running stand-in; gone when dropped.
pub struct Owner(Child);

impl Owner {
    /// Starts it and waits until it has the thread open. The daemon `does` one of `takes`,
    /// `dies` and `hangs` with what is put into the queue.
    pub fn start(scene: &Scene, words: &[&str], does: &str) -> Self {
        let folder = scene.file(".codex/thread-writer-locks");
        fs::create_dir_all(folder).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg0("codex")
            .args(["--exact", "codex_owner::a_codex_that_has_a_thread_open"])
            .args(["--ignored", "--nocapture"])
            .args(words)
            .env(HOME, &scene.home)
            .env(DOES, does)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let ready = lines.map_while(Result::ok).any(|line| line.contains(READY));
        assert!(ready, "the stand-in did not start");
        Self(child)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The methods that the daemon was called with.
pub fn called(scene: &Scene) -> Vec<String> {
    let calls = scene.read(CALLS);
    let calls = calls.lines().map(|line| {
        let call: Value = serde_json::from_str(line).unwrap();
        call["method"].as_str().unwrap_or_default().to_owned()
    });
    calls.collect()
}

#[test]
#[ignore = "other tests start it"]
fn a_codex_that_has_a_thread_open() {
    let home = std::env::var(HOME).expect("started by a test");
    let home = Path::new(&home);
    let lock = home.join(format!(".codex/thread-writer-locks/{SESSION}.lock"));
    let lock = File::create(lock).unwrap();
    lock.lock().unwrap();
    let is_daemon = std::env::args().any(|word| word == "unix://");
    let listener = is_daemon.then(|| {
        let folder = home.join(".codex/app-server-control");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let socket = folder.join("app-server-control.sock");
        let _ = fs::remove_file(&socket);
        UnixListener::bind(socket).unwrap()
    });
    println!("\n{READY}");
    if let Some(listener) = listener {
        let calls = home.join(CALLS);
        let does = std::env::var(DOES).unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                serve(stream.unwrap(), &calls, &does);
            }
        });
    }
    // The one that started it closes this when it ends, however it ends.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// One connection.
fn serve(stream: UnixStream, calls: &Path, does: &str) {
    let Ok(mut socket) = tungstenite::accept(stream) else {
        return;
    };
    let mut queue: Vec<Value> = Vec::new();
    while let Ok(message) = socket.read() {
        let Message::Text(text) = message else {
            continue;
        };
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(calls)
            .unwrap();
        writeln!(file, "{text}").unwrap();
        let call: Value = serde_json::from_str(&text).unwrap();
        let result = match call["method"].as_str() {
            Some("thread/queue/add") if does == "dies" => return,
            Some("thread/queue/add") if does == "hangs" => continue,
            Some("thread/queue/add") => {
                let message = &call["params"]["clientUserMessageId"];
                queue.push(json!({ "id": "q1", "clientUserMessageId": message }));
                json!({ "queuedSubmission": { "id": "q1" } })
            }
            Some("thread/queue/list") => json!({ "data": queue }),
            Some("initialize") => json!({ "userAgent": "codex/0.171.0" }),
            _ => continue,
        };
        answer(&mut socket, &json!({ "id": call["id"], "result": result }));
    }
}

fn answer(socket: &mut WebSocket<UnixStream>, answer: &Value) {
    let _ = socket.send(Message::text(answer.to_string()));
}
