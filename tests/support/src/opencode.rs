//! OpenCode in a [`ClientHome`]: sessions made by the real program
//! (`providers/opencode-gemini.md` B and C).

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::child::Running;
use crate::error::DriveError;
use crate::home::ClientHome;

/// A server loads its plugins before it listens.
const LISTENS: Duration = Duration::from_secs(300);

/// A text in OpenCode's store.
#[derive(Debug, Clone)]
pub struct OpenCodeText {
    /// The session it stands in.
    pub session: String,
    /// The record of its message.
    pub message: Value,
    /// The text itself.
    pub text: String,
}

impl ClientHome {
    /// Makes a session with a title by one headless turn and returns its id.
    ///
    /// # Errors
    /// Where the client fails or the model call fails.
    pub fn opencode_session(
        &self,
        title: &str,
        prompt: &str,
        cwd: &Path,
    ) -> Result<String, DriveError> {
        let folder = cwd.display().to_string();
        let arguments = [
            "run", "--format", "json", "--title", title, "--dir", &folder,
        ];
        let finished = self
            .run(self.clients().opencode(), &arguments, cwd, prompt)?
            .success()?;
        let events = finished.json_lines();
        let done = |event: &&serde_json::Value| event["part"]["reason"] == "stop";
        match events
            .iter()
            .find(done)
            .and_then(|e| e["sessionID"].as_str())
        {
            Some(id) => Ok(id.to_owned()),
            None => Err(finished.lacks("no finished turn")),
        }
    }
}

impl ClientHome {
    /// Every text that was said, from a private copy of the store.
    pub fn opencode_texts(&self) -> Vec<OpenCodeText> {
        let read = || -> Option<Vec<OpenCodeText>> {
            let store = self.path().join(".local/share/opencode");
            let copy = tempfile::tempdir().ok()?;
            for name in ["opencode.db", "opencode.db-wal"] {
                if store.join(name).exists() {
                    fs::copy(store.join(name), copy.path().join(name)).ok()?;
                }
            }
            let connection = Connection::open(copy.path().join("opencode.db")).ok()?;
            let sql = "SELECT m.session_id, m.data, json_extract(p.data, '$.text') FROM part p
                JOIN message m ON m.id = p.message_id
                WHERE json_extract(p.data, '$.type') = 'text'";
            let mut statement = connection.prepare(sql).ok()?;
            let rows = statement.query_map([], |row| {
                let data: String = row.get(1)?;
                Ok(OpenCodeText {
                    session: row.get(0)?,
                    message: serde_json::from_str(&data).unwrap_or_default(),
                    text: row.get(2)?,
                })
            });
            Some(rows.ok()?.flatten().collect())
        };
        // A copy that was taken in the middle of a write is no database; the next one is.
        read().unwrap_or_default()
    }

    /// Starts a server on a port of its own choice; the server and its address.
    ///
    /// # Errors
    /// [`DriveError::Deadline`] where it does not listen.
    pub fn opencode_server(
        &self,
        cwd: &Path,
        password: Option<&str>,
    ) -> Result<(Running, String), DriveError> {
        let mut command = self.command(self.clients().opencode(), cwd);
        command.args(["serve", "--port", "0", "--hostname", "127.0.0.1"]);
        if let Some(password) = password {
            command.env("OPENCODE_SERVER_PASSWORD", password);
        }
        let server = Running::start(&mut command)?;
        let (mut cursor, end) = (0, Instant::now() + LISTENS);
        while let Some(line) = server.next_line(&mut cursor, end) {
            if let Some((_, address)) = line.split_once("listening on http://") {
                return Ok((server, address.trim().to_owned()));
            }
        }
        Err(DriveError::Deadline {
            what: "opencode serve listens".into(),
            within: LISTENS,
            output: server.output(),
        })
    }
}

/// The mock model as a provider of the user's own.
pub(crate) fn config(base: &str) -> String {
    let model = json!({ "name": "Mock", "tool_call": true });
    json!({
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": false,
        "share": "disabled",
        "model": "mock/mock-model",
        "small_model": "mock/mock-model",
        "provider": {
            "mock": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Mock",
                "options": { "baseURL": base, "apiKey": "mock" },
                "models": { "mock-model": model },
            }
        },
    })
    .to_string()
}
