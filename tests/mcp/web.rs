//! A host of the server over HTTP: requests written by hand, each over a connection of its own.

use crate::host::{Who, greeting};
use crate::program::Axiowl;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A token as a person would make one.
pub const TOKEN: &str = "6f1c2d3e4b5a69788796a5b4c3d2e1f0";
/// For an answer that never comes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
pub struct Web {
    child: Child,
    /// `127.0.0.1:<port>`.
    pub address: String,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: String,
    pub body: String,
}

impl Web {
    /// Serves on a free port with a token out of a file.
    pub fn of(axiowl: &Axiowl) -> Self {
        Self::serving(axiowl.command(&serving(axiowl)))
    }

    /// Waits until a command says where it serves.
    pub fn serving(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("axiowl runs");
        let mut output = BufReader::new(child.stdout.take().expect("stdout"));
        let mut url = String::new();
        output.read_line(&mut url).expect("a line");
        let url = url.trim_end().to_owned();
        let rest = url
            .strip_prefix("http://")
            .and_then(|rest| rest.strip_suffix("/mcp"));
        let address = rest
            .unwrap_or_else(|| panic!("no address: {url:?}"))
            .to_owned();
        Self { child, address }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end; whether it was a good one.
    pub fn ended(mut self) -> bool {
        self.child.wait().expect("wait").success()
    }

    /// Sends one request as it stands and reads the answer to its end.
    pub fn raw(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).expect("connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
        stream.write_all(request.as_bytes()).expect("request");
        let mut all = String::new();
        // A server that refuses may close before it has read everything.
        let _ = stream.read_to_string(&mut all);
        let (head, body) = all.split_once("\r\n\r\n").unwrap_or((&all, ""));
        let status = head.split_ascii_whitespace().nth(1);
        Answer {
            status: status.and_then(|code| code.parse().ok()).unwrap_or(0),
            headers: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    /// Posts a message with the token and further headers.
    pub fn post(&self, message: &Value, more: &str) -> Answer {
        let bearer = format!("Authorization: Bearer {TOKEN}\r\n{more}");
        self.raw(&request(&self.address, &message.to_string(), &bearer))
    }

    /// Greets as a client of that name.
    pub fn session(&self, client: &str) -> Session<'_> {
        let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting(client) });
        let answer = self.post(&message, "");
        assert_eq!(answer.status, 200, "{answer:?}");
        let id = answer
            .headers
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "));
        let session = Session {
            web: self,
            headers: format!("Mcp-Session-Id: {}\r\n", id.expect("a session").trim()),
        };
        let greeted = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(&greeted, &session.headers).status, 202);
        session
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The arguments that serve on a free port, with the token written where they say.
pub fn serving(axiowl: &Axiowl) -> [&'static str; 5] {
    use std::os::unix::fs::PermissionsExt as _;
    let path = axiowl.path("token");
    axiowl.write("token", format!("{TOKEN}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("mode");
    let path: &'static str = path.display().to_string().leak();
    ["mcp", "--http", "127.0.0.1:0", "--token-file", path]
}

/// A request for the one path there is.
pub fn request(address: &str, body: &str, more: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{more}\r\n{body}",
        body.len()
    )
}

/// A greeted client.
pub struct Session<'w> {
    web: &'w Web,
    pub headers: String,
}

impl Session<'_> {
    pub fn request(&self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        self.web.post(&message, &self.headers).message()
    }

    pub fn whoami(&self, meta: Value) -> Who {
        let params = json!({ "name": "axiowl_whoami", "arguments": {}, "_meta": meta });
        Who::of(&self.request("tools/call", params))
    }
}

impl Answer {
    /// The one JSON-RPC answer in it, as a document or as an event.
    pub fn message(&self) -> Value {
        let lines = self.body.lines();
        let mut documents = lines.filter_map(|line| {
            let line = line.strip_prefix("data:").unwrap_or(line).trim();
            serde_json::from_str::<Value>(line).ok()
        });
        let found = documents.find(|document| document.get("jsonrpc").is_some());
        found.unwrap_or_else(|| panic!("no message: {self:?}"))
    }
}
