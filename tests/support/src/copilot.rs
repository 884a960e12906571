//! Copilot CLI in a [`ClientHome`]: sessions made by the real program, offline, with the mock
//! model as its provider (`providers/copilot-vscode.md` section 0).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::DriveError;
use crate::home::ClientHome;
use crate::records::records;
use crate::terminal::Terminal;

impl ClientHome {
    /// Makes a named session by one headless turn and returns its id.
    ///
    /// # Errors
    /// Where the client fails, the model call fails or no conversation is written.
    pub fn copilot_session(
        &self,
        name: &str,
        prompt: &str,
        cwd: &Path,
    ) -> Result<String, DriveError> {
        let arguments = [
            "--name",
            name,
            "--output-format",
            "json",
            "--no-auto-update",
        ];
        let finished = self
            .run(self.clients().copilot(), &arguments, cwd, prompt)?
            .success()?;
        let events = finished.json_lines();
        let result = events.iter().rfind(|event| event["type"] == "result");
        let session = result.and_then(|result| result["sessionId"].as_str());
        match session {
            Some(id) if self.copilot_events(id).is_file() => Ok(id.to_owned()),
            Some(_) => Err(finished.lacks("no conversation was written")),
            None => Err(finished.lacks("no sessionId")),
        }
    }

    /// Opens a session in a terminal, in a folder that its user trusts.
    ///
    /// # Errors
    /// [`DriveError::Missing`] without tmux.
    pub fn copilot_tui(&self, session: &str, cwd: &Path) -> Result<Terminal, DriveError> {
        let file = ".copilot/config.json";
        let text = fs::read_to_string(self.path().join(file)).unwrap_or_default();
        // Copilot puts comments before it.
        let lines = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let text: String = lines.collect();
        let mut config: Value = serde_json::from_str(&text).unwrap_or(json!({}));
        config["trustedFolders"] = json!([self.path(), cwd]);
        self.write(file, &config.to_string())?;
        let program = self.clients().copilot().display().to_string();
        let words = [
            program,
            format!("--resume={session}"),
            "--no-auto-update".into(),
        ];
        Terminal::open(self, cwd, &words)
    }

    /// The file in which a session's conversation stands.
    pub fn copilot_events(&self, session: &str) -> PathBuf {
        let folder = self.path().join(".copilot/session-state").join(session);
        folder.join("events.jsonl")
    }

    /// The records of a session's conversation; half-written lines are left out.
    pub fn copilot_records(&self, session: &str) -> Vec<Value> {
        records(&self.copilot_events(session))
    }
}
