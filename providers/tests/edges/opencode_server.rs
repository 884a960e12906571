//! `providers/opencode-gemini.md` C, OpenCode: a server that runs, and what only looks like one.

use crate::opencode_cli::{DATABASE, ELSE, GOOD, ID, end, holder, scene, sql};
use crate::scene::{LONG, Scene};
use crate::stand_in::runs;
use axiowl_pipeline::edge::{Finding, Liveness};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server in a process of its own, since this one is not looked at: the test binary, started
/// again.
struct Server {
    child: Child,
    scene: Scene,
}

/// The server itself, with the scene's folder in the environment.
#[test]
#[ignore = "no test: `Server::start` runs it"]
fn serves_when_it_is_told_to() {
    let home = std::env::var("AXIOWL_TEST_SERVER_HOME").expect("`Server::start` sets it");
    let file = |name: &str| std::path::Path::new(&home).join(name);
    let _store = fs::File::open(file(DATABASE)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    fs::write(file("up"), "").unwrap();
    let mut unanswered = Vec::new();
    loop {
        let (mut stream, _) = listener.accept().unwrap();
        let mut got = vec![0; 64 * 1024];
        let mut text = String::new();
        while !text.contains("\r\n\r\n") || !is_complete(&text) {
            let read = stream.read(&mut got).unwrap();
            if read == 0 {
                break;
            }
            text.push_str(&String::from_utf8_lossy(&got[..read]));
        }
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let mut asked = fs::OpenOptions::new();
        let asked = asked.append(true).create(true).open(file("asked"));
        asked.unwrap().write_all(head.as_bytes()).unwrap();
        let plan: Value = serde_json::from_slice(&fs::read(file("plan.json")).unwrap()).unwrap();
        if plan["silent"] == true {
            unanswered.push(stream);
            continue;
        }
        let locked = plan["login"].as_str().is_some_and(|login| {
            let header = format!("\r\nauthorization: {login}\r\n");
            !format!("{head}\r\n").contains(&header)
        });
        let (status, answer) = if locked {
            ("401 Unauthorized", Value::Null)
        } else if head.starts_with("GET /global/health") {
            ("200 OK", json!({ "healthy": true }))
        } else if head.starts_with("GET /session/status") {
            ("200 OK", plan["works"].clone())
        } else if head.starts_with("POST") {
            fs::write(
                file("posted"),
                format!("{}\n{body}", head.lines().next().unwrap()),
            )
            .unwrap();
            let record = plan["record"].as_str().unwrap();
            let mut log = fs::OpenOptions::new()
                .append(true)
                .open(file("record.jsonl"))
                .unwrap();
            log.write_all(record.as_bytes()).unwrap();
            (
                plan["status"].as_str().unwrap(),
                json!({ "name": "X", "data": { "message": "said so" } }),
            )
        } else {
            ("200 OK", plan["session"].clone())
        };
        let answer = answer.to_string();
        let length = answer.len();
        let whole = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{answer}");
        stream.write_all(whole.as_bytes()).unwrap();
        if plan["dies"] == true && head.starts_with("POST") {
            std::process::exit(0);
        }
    }
}

fn is_complete(text: &str) -> bool {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    length.is_none_or(|length| body.len() >= length.parse().unwrap_or(0))
}

impl Server {
    /// A server that does as planned with a message. `<id>` in the record is the message's.
    fn start(plan: Value) -> Self {
        Self::of("opencode", plan)
    }

    /// The same by a program of some name.
    fn of(program: &str, mut plan: Value) -> Self {
        let scene = scene(GOOD);
        let record = plan["record"].as_str().unwrap_or_default();
        plan["record"] = record.replace("<id>", &scene.message.to_string()).into();
        if plan["session"].is_null() {
            plan["session"] = json!({ "id": ID, "directory": scene.cwd });
        }
        fs::write(scene.file("plan.json"), plan.to_string()).unwrap();
        let folder = scene.file("programs");
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join(program);
        // By a process of its own: what this one has open for writing cannot be run.
        let copied = Command::new("cp")
            .arg(std::env::current_exe().unwrap())
            .arg(&program)
            .status();
        assert!(copied.unwrap().success());
        let child = Command::new(program)
            .args([
                "--ignored",
                "--exact",
                "opencode_server::serves_when_it_is_told_to",
            ])
            .env("AXIOWL_TEST_SERVER_HOME", &scene.home)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !scene.file("up").exists() {
            std::thread::yield_now();
        }
        Self { child, scene }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_running_server_is_found_by_its_socket_and_takes_the_message() {
    let record = "{\"content\":\"[AxiOwl <id>]\"}\n{\"end\":true}\n";
    let server = Server::start(json!({ "status": "204 No Content", "record": record }));
    let scene = &server.scene;
    assert!(matches!(scene.probe(), Liveness::Door { .. }));
    let ran = scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert_eq!(runs(scene), 0, "no second program works on the session");
    let posted = scene.read("posted");
    let (line, body) = posted.split_once('\n').unwrap();
    assert_eq!(line, format!("POST /session/{ID}/prompt_async HTTP/1.1"));
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        body["parts"],
        json!([{ "type": "text", "text": scene.body() }])
    );
}

/// One that has too much to do is no program without a port, and may show the session.
#[test]
fn a_server_that_does_not_answer_is_named_and_nothing_is_done_beside_it() {
    let server = Server::start(json!({ "silent": true }));
    let reason = server.scene.closed();
    let pid = server.child.id().to_string();
    assert!(
        reason.contains(&pid) && reason.contains("no answer") && reason.contains("send again"),
        "{reason}"
    );
    server.scene.deliver(LONG).is(&[], "refused");
    assert_eq!(runs(&server.scene), 0);
}

#[test]
fn a_server_s_word_is_no_proof_and_its_no_is_one() {
    let said = Server::start(json!({ "status": "404 Not Found", "record": "" }));
    let ran = said.scene.deliver(LONG);
    ran.is(&["starting"], "not_submitted");
    ran.tells("said so");
    let unproven = Server::start(json!({ "status": "204 No Content", "record": "" }));
    let ran = unproven.scene.deliver(Duration::from_secs(3));
    ran.is(&["starting", "submitted"], "uncertain");
    // Nothing is handed over again while it may still hold it.
    assert!(matches!(unproven.scene.find(LONG), Finding::Unknown { .. }));
    let record = "{\"content\":\"[AxiOwl <id>]\"}\n";
    let dies = Server::start(json!({ "status": "204 No Content", "record": record, "dies": true }));
    let ran = dies.scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    ran.tells("in the middle of the turn");
    let failed = "{\"content\":\"[AxiOwl <id>]\"}\n{\"end\":false}\n";
    let fails = Server::start(json!({ "status": "204 No Content", "record": failed }));
    let ran = fails.scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    // The store is copied; the server knows of an undo first.
    let session = json!({ "id": ID, "revert": { "messageID": "msg_1" } });
    let undone =
        Server::start(json!({ "status": "204 No Content", "record": "", "session": session }));
    undone.scene.deliver(LONG).is(&[], "refused");
    let other = json!({ "id": ELSE });
    let strange =
        Server::start(json!({ "status": "204 No Content", "record": "", "session": other }));
    strange.scene.deliver(LONG).is(&[], "not_submitted");
}

/// Basic authentication of `opencode:hush`.
const LOGIN: &str = "Basic b3BlbmNvZGU6aHVzaA==";

#[test]
fn a_server_with_a_password_takes_it_only_with_the_configured_one() {
    let record = "{\"content\":\"[AxiOwl <id>]\"}\n{\"end\":true}\n";
    let plan = json!({ "status": "204 No Content", "record": record, "login": LOGIN });
    let mut server = Server::start(plan);
    let reason = server.scene.closed();
    assert!(reason.contains("wants a password"), "{reason}");
    server.scene.deliver(LONG).is(&[], "refused");
    let named = |password: &str| ("OPENCODE_SERVER_PASSWORD".to_owned(), password.to_owned());
    server.scene.child_env.push(named("wrong"));
    let reason = server.scene.closed();
    assert!(reason.contains("wants another password"), "{reason}");
    assert!(!reason.contains("wrong"), "the password is told: {reason}");
    server.scene.child_env.pop();
    server.scene.child_env.push(named("hush"));
    let ran = server.scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert_eq!(
        runs(&server.scene),
        0,
        "no second program works on the session"
    );
}

#[test]
fn a_turn_that_is_not_the_server_s_is_not_answered_beside_it() {
    let record = "{\"content\":\"[AxiOwl <id>]\"}\n{\"end\":true}\n";
    let busy = |works: Value| {
        let plan = json!({ "status": "204 No Content", "record": record, "works": works });
        let server = Server::start(plan);
        let answer = json!({ "role": "assistant", "time": { "created": 1 } });
        sql(
            &server.scene,
            &format!("INSERT INTO message VALUES ('msg_2', '{ID}', 2, '{answer}')"),
        );
        server
    };
    let other = busy(json!({}));
    let child = holder(&other.scene, "/proc");
    let reason = other.scene.closed();
    end(child);
    assert!(reason.contains("has no end yet"), "{reason}");
    // Nobody but the server is left: it was broken off.
    assert!(matches!(other.scene.probe(), Liveness::Door { .. }));
    let own = busy(json!({ ID: { "type": "busy" } }));
    let child = holder(&own.scene, "/proc");
    let live = own.scene.probe();
    end(child);
    assert!(matches!(live, Liveness::Door { .. }), "it queues: {live:?}");
}

#[test]
fn whoever_has_the_store_open_and_listens_is_no_door_and_gets_no_password() {
    for (login, silent) in [(None, false), (Some(LOGIN), false), (None, true)] {
        let record = "{\"content\":\"[AxiOwl <id>]\"}\n{\"end\":true}\n";
        let plan = json!({ "status": "204 No Content", "record": record, "login": login, "silent": silent });
        let mut server = Server::of("reader", plan);
        let password = ("OPENCODE_SERVER_PASSWORD".to_owned(), "hush".to_owned());
        server.scene.child_env.push(password);
        let reason = server.scene.closed();
        let pid = server.child.id().to_string();
        assert!(
            reason.contains(&pid) && reason.contains("does not run OpenCode's program"),
            "{reason}"
        );
        server.scene.deliver(LONG).is(&[], "refused");
        assert!(!server.scene.file("posted").exists(), "it got the message");
        assert_eq!(runs(&server.scene), 0);
        let asked = server.scene.read("asked");
        assert!(!asked.to_lowercase().contains("authorization"), "{asked}");
    }
}
