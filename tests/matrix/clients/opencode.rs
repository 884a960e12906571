//! OpenCode in the matrix (`providers/opencode-gemini.md`), whose plain terminal program opens
//! no port.

use super::terminal;
use crate::client::{Client, DEADLINE, Said};
use axiowl_test_support::{ClientHome, Running, Terminal};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

/// OpenCode as it is started by default, or with a port, by which it takes messages.
pub struct OpenCode {
    pub with_port: bool,
}

/// What a private copy of the store holds: session, record of the message, text of the part.
fn parts(home: &ClientHome) -> Vec<(String, Value, String)> {
    let store = home.path().join(".local/share/opencode");
    let copy = tempfile::tempdir().expect("a folder");
    for name in ["opencode.db", "opencode.db-wal"] {
        if store.join(name).exists() {
            std::fs::copy(store.join(name), copy.path().join(name)).expect("a copy");
        }
    }
    let Ok(connection) = Connection::open(copy.path().join("opencode.db")) else {
        return Vec::new();
    };
    let sql = "SELECT m.session_id, m.data, json_extract(p.data, '$.text') FROM part p
        JOIN message m ON m.id = p.message_id WHERE json_extract(p.data, '$.type') = 'text'";
    // A copy that was taken in the middle of a write is no database; the next one is.
    let Ok(mut statement) = connection.prepare(sql) else {
        return Vec::new();
    };
    let rows = statement.query_map([], |row| {
        let (data, text): (String, String) = (row.get(1)?, row.get(2)?);
        let data = serde_json::from_str(&data).unwrap_or_default();
        Ok((row.get(0)?, data, text))
    });
    rows.map_or_else(|_| Vec::new(), |rows| rows.flatten().collect())
}

/// A request to a server, as a user interface makes it; the answer's first line.
fn request(address: &str, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
    let request = format!(
        "PATCH {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("sent");
    // Its first line tells; an older server keeps the connection open behind it.
    let mut line = String::new();
    let read = BufReader::new(stream).read_line(&mut line);
    read.expect("an answer");
    line.trim_end().to_owned()
}

impl Client for OpenCode {
    fn name(&self) -> &'static str {
        "OpenCode"
    }

    fn variant(&self) -> &'static str {
        match self.with_port {
            true => " with a port",
            false => "",
        }
    }

    fn package(&self) -> &'static str {
        "opencode-linux-x64"
    }

    fn login(&self) -> &'static str {
        "opencode_cli:\n    env: [OPENCODE_DISABLE_AUTOUPDATE, OPENCODE_DISABLE_MODELS_FETCH]"
    }

    fn target(&self, session: &str) -> String {
        format!("opencode_cli:session:{session}")
    }

    fn unknown(&self) -> String {
        self.target("ses_dd33ec978ffePQ9AJ2MPBJ0WtF")
    }

    fn make(&self, home: &ClientHome, name: &str, prompt: &str, cwd: &Path) -> String {
        home.opencode_session(name, prompt, cwd).expect("a session")
    }

    fn open(&self, home: &ClientHome, session: &str, cwd: &Path) -> Terminal {
        let mut arguments = vec!["--session", session];
        if self.with_port {
            arguments.extend(["--port", "0"]);
        }
        terminal(home, cwd, home.clients().opencode(), &arguments)
    }

    fn said(&self, home: &ClientHome) -> Vec<Said> {
        let parts = parts(home).into_iter();
        parts
            .map(|(session, message, text)| Said {
                session,
                by_user: message["role"] == "user",
                text,
            })
            .collect()
    }

    fn is_over(&self, home: &ClientHome, session: &str, answer: &str) -> bool {
        parts(home).iter().any(|(at, message, text)| {
            let done = message["role"] == "assistant" && !message["time"]["completed"].is_null();
            at == session && done && text.contains(answer)
        })
    }

    fn rename(&self, home: &ClientHome, session: &str, cwd: &Path, name: &str) {
        let mut command = home.command(home.clients().opencode(), cwd);
        command.args(["serve", "--port", "0", "--hostname", "127.0.0.1"]);
        let running = Running::start(&mut command).expect("a server");
        let (mut cursor, end) = (0, Instant::now() + DEADLINE);
        let address = loop {
            let line = running
                .next_line(&mut cursor, end)
                .unwrap_or_else(|| panic!("it does not listen: {}", running.output()));
            if let Some((_, address)) = line.split_once("listening on http://") {
                break address.trim().to_owned();
            }
        };
        let answer = request(
            &address,
            &format!("/session/{session}"),
            &json!({ "title": name }),
        );
        assert!(answer.contains(" 200 "), "{answer}");
    }

    fn clear(&self) -> &'static str {
        "/new"
    }

    fn open_holding(
        &self,
        _home: &ClientHome,
        _session: &str,
        _cwd: &Path,
    ) -> Result<Terminal, &'static str> {
        Err("no mode keeps a message back")
    }

    fn without_login(&self, _home: &ClientHome) -> Option<(&'static str, String)> {
        let config = json!({ "autoupdate": false, "share": "disabled" });
        Some((".config/opencode/opencode.json", config.to_string()))
    }
}
