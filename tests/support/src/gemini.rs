//! Gemini CLI in a [`ClientHome`]: sessions made by the real program
//! (`providers/opencode-gemini.md` B).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::DriveError;
use crate::home::ClientHome;
use crate::records::records;

impl ClientHome {
    /// Writes the user's settings: an API key, no questions about folders, and whether old
    /// sessions are cleaned up; nothing is said about that with `None`.
    ///
    /// # Errors
    /// [`DriveError::File`].
    pub fn gemini_settings(&self, retention: Option<bool>) -> Result<PathBuf, DriveError> {
        let mut settings = json!({
            "security": {
                "auth": { "selectedType": "gemini-api-key" },
                "folderTrust": { "enabled": false },
            },
            "general": { "enableAutoUpdate": false },
            "privacy": { "usageStatisticsEnabled": false },
        });
        if let Some(enabled) = retention {
            settings["general"]["sessionRetention"] = json!({ "enabled": enabled });
        }
        self.write(".gemini/settings.json", &settings.to_string())
    }

    /// Makes a session by one headless turn and returns its id.
    ///
    /// # Errors
    /// Where the client fails, the model call fails or no conversation is written.
    pub fn gemini_session(&self, prompt: &str, cwd: &Path) -> Result<String, DriveError> {
        let finished = self
            .run(
                self.clients().gemini(),
                &["--output-format", "stream-json"],
                cwd,
                prompt,
            )?
            .success()?;
        let events = finished.json_lines();
        let init = events.iter().find(|event| event["type"] == "init");
        match init.and_then(|init| init["session_id"].as_str()) {
            Some(id) if !self.gemini_files(id).is_empty() => Ok(id.to_owned()),
            Some(_) => Err(finished.lacks("no conversation was written")),
            None => Err(finished.lacks("no session_id")),
        }
    }

    /// The files that bear a session's short id, the oldest first.
    pub fn gemini_files(&self, session: &str) -> Vec<PathBuf> {
        let short = session.get(..8).unwrap_or(session);
        let ending = format!("-{short}.jsonl");
        let entries = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        let projects = entries(&self.path().join(".gemini/tmp"));
        let mut files: Vec<PathBuf> = projects
            .iter()
            .flat_map(|project| entries(&project.join("chats")))
            .filter(|file| file.to_string_lossy().ends_with(&ending))
            .collect();
        files.sort();
        files
    }

    /// The records of all of a session's files.
    pub fn gemini_records(&self, session: &str) -> Vec<Value> {
        self.gemini_files(session)
            .iter()
            .flat_map(|file| records(file))
            .collect()
    }
}
