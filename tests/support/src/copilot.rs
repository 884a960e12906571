//! Copilot CLI in a [`ClientHome`]: sessions made by the real program, offline, with the mock
//! model as its provider (`providers/copilot-vscode.md` section 0).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::DriveError;
use crate::home::ClientHome;

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

/// The JSON lines of a file.
pub(crate) fn records(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
