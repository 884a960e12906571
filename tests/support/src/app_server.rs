//! A private `codex app-server` over stdio: JSON-RPC as `providers/codex.md` C3 describes it.

use std::io::Write;
use std::path::Path;
use std::process::ChildStdin;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::child::Running;
use crate::error::DriveError;
use crate::home::{ClientHome, RUN_DEADLINE};

/// A server whose input was closed frees its threads and ends within this time.
const GOODBYE: Duration = Duration::from_secs(10);

/// A running server. Dropping it closes its input, lets it end and kills what is left.
#[derive(Debug)]
pub struct AppServer {
    running: Option<Running>,
    stdin: Option<ChildStdin>,
    cursor: usize,
    calls: u64,
    unread: Vec<Value>,
}

impl AppServer {
    /// Starts a server in a folder and shakes hands.
    pub(crate) fn start(home: &ClientHome, cwd: &Path) -> Result<Self, DriveError> {
        let mut command = home.command(home.clients().codex(), cwd);
        let mut running = Running::start(command.arg("app-server"))?;
        let stdin = running.take_stdin();
        let mut server = Self {
            running: Some(running),
            stdin,
            cursor: 0,
            calls: 0,
            unread: Vec::new(),
        };
        let client = json!({ "name": "axiowl_test", "title": "AxiOwl tests", "version": "0.1.0" });
        let capabilities = json!({ "experimentalApi": true });
        server.call(
            "initialize",
            json!({ "clientInfo": client, "capabilities": capabilities }),
        )?;
        server.send(&json!({ "method": "initialized" }));
        Ok(server)
    }

    /// Calls a method and waits for its result; other messages are kept for [`Self::wait_for`].
    ///
    /// # Errors
    /// [`DriveError::Rpc`] for an error answer, [`DriveError::Deadline`] without any (120 s, or
    /// at once when the server ended).
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, DriveError> {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({ "id": id, "method": method, "params": params }));
        let is_answer = |message: &Value| message["id"] == id && message.get("method").is_none();
        let answer = self.wait_for(method, is_answer)?;
        match answer.get("error") {
            Some(error) => Err(DriveError::Rpc {
                method: method.to_owned(),
                error: error.clone(),
            }),
            None => Ok(answer["result"].clone()),
        }
    }

    /// The next message that fits, kept or coming. `what` names it in the error.
    ///
    /// # Errors
    /// [`DriveError::Deadline`] (120 s, or at once when the server ended).
    pub fn wait_for(
        &mut self,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value, DriveError> {
        if let Some(at) = self.unread.iter().position(&wanted) {
            return Ok(self.unread.remove(at));
        }
        let end = Instant::now() + RUN_DEADLINE;
        while let Some(line) = self
            .running
            .as_ref()
            .and_then(|running| running.next_line(&mut self.cursor, end))
        {
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if wanted(&message) {
                return Ok(message);
            }
            self.unread.push(message);
        }
        let output = self
            .running
            .as_ref()
            .map(Running::output)
            .unwrap_or_default();
        let what = format!("codex app-server: {what}");
        Err(DriveError::Deadline {
            what,
            within: RUN_DEADLINE,
            output,
        })
    }

    /// Writes one message, for example the answer to a request of the server. A server that has
    /// ended is noticed by the next wait.
    pub fn send(&mut self, message: &Value) {
        if let Some(stdin) = &mut self.stdin {
            let _ = writeln!(stdin, "{message}").and_then(|()| stdin.flush());
        }
    }

    /// Kills the server without a chance to tidy up, as a crash does.
    pub fn crash(mut self) {
        drop(self.running.take());
    }
}

impl Drop for AppServer {
    fn drop(&mut self) {
        drop(self.stdin.take());
        if let Some(running) = self.running.take() {
            let _ = running.finish(GOODBYE);
        }
    }
}
