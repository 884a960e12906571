//! OpenCode in the matrix (`providers/opencode-gemini.md`), whose plain terminal program opens
//! no port.

use super::terminal;
use crate::client::{Client, DEADLINE, Said};
use axiowl_test_support::{ClientHome, Terminal};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;

/// OpenCode as it is started by default, or with a port, by which it takes messages.
pub struct OpenCode {
    pub with_port: bool,
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
        let texts = home.opencode_texts().into_iter();
        texts
            .map(|said| Said {
                session: said.session,
                by_user: said.message["role"] == "user",
                text: said.text,
            })
            .collect()
    }

    fn is_over(&self, home: &ClientHome, session: &str, answer: &str) -> bool {
        home.opencode_texts().iter().any(|said| {
            let message = &said.message;
            let done = message["role"] == "assistant" && !message["time"]["completed"].is_null();
            said.session == session && done && said.text.contains(answer)
        })
    }

    fn rename(&self, home: &ClientHome, session: &str, cwd: &Path, name: &str) {
        let (_server, address) = home.opencode_server(cwd, None).expect("a server");
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

    fn broke_off(&self, _home: &ClientHome, _session: &str, window: &Terminal) -> bool {
        // What it asks for before it does so is "to interrupt".
        window.screen().contains("interrupted")
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
