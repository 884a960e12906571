//! Claude Code in a [`ClientHome`]: sessions made by the real program.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::DriveError;
use crate::home::ClientHome;
use crate::records::records;
use crate::skip;
use crate::tui::ClaudeTui;

impl ClientHome {
    /// Makes a named session by one headless turn and returns its id.
    ///
    /// # Errors
    /// Where the client fails, the model call fails or no transcript is written.
    pub fn claude_session(
        &self,
        name: &str,
        prompt: &str,
        cwd: &Path,
    ) -> Result<String, DriveError> {
        let arguments = ["-p", "--name", name, "--output-format", "json"];
        let finished = self
            .run(self.clients().claude(), &arguments, cwd, prompt)?
            .success()?;
        let result: Value = match serde_json::from_str(&finished.stdout) {
            Ok(result) => result,
            Err(error) => return Err(finished.lacks(format!("no JSON result: {error}"))),
        };
        match result["session_id"].as_str() {
            _ if result["is_error"] != false => Err(finished.lacks("the turn failed")),
            Some(id) if self.claude_transcript(id).is_some() => Ok(id.to_owned()),
            Some(_) => Err(finished.lacks("no transcript was written")),
            None => Err(finished.lacks("no session_id")),
        }
    }

    /// The transcript of a session: the file below `projects/*/` that bears its id.
    pub fn claude_transcript(&self, session: &str) -> Option<PathBuf> {
        let projects = fs::read_dir(self.path().join(".claude/projects")).ok()?;
        let name = format!("{session}.jsonl");
        let files = projects.flatten().map(|project| project.path().join(&name));
        files.into_iter().find(|file| file.is_file())
    }

    /// The records of a session's transcript; half-written lines are left out.
    pub fn claude_records(&self, session: &str) -> Vec<Value> {
        let file = self.claude_transcript(session);
        file.map(|file| records(&file)).unwrap_or_default()
    }

    /// Opens a named session in a terminal and returns when its first turn is over.
    ///
    /// # Errors
    /// [`DriveError::Missing`] without tmux; [`DriveError::Deadline`] with the screen's text.
    pub fn claude_tui(&self, name: &str, cwd: &Path) -> Result<ClaudeTui, DriveError> {
        self.claude_tui_with(name, cwd, &[])
    }

    /// The same with further arguments, such as `--resume <id>` or `--allowedTools …`.
    ///
    /// # Errors
    /// As [`Self::claude_tui`].
    pub fn claude_tui_with(
        &self,
        name: &str,
        cwd: &Path,
        arguments: &[&str],
    ) -> Result<ClaudeTui, DriveError> {
        self.trust(cwd)?;
        let tmux = skip::program("tmux")?;
        ClaudeTui::open(self, &tmux, name, cwd, arguments)
    }

    /// Opens Claude Code's own list of sessions in a terminal and picks the one on top, by its
    /// title and id.
    ///
    /// # Errors
    /// As [`Self::claude_tui`].
    pub fn claude_tui_picked(
        &self,
        picked: (&str, &str),
        cwd: &Path,
        arguments: &[&str],
    ) -> Result<ClaudeTui, DriveError> {
        self.trust(cwd)?;
        let tmux = skip::program("tmux")?;
        ClaudeTui::pick(self, &tmux, picked, cwd, arguments)
    }
}
