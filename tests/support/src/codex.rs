//! Codex in a [`ClientHome`]: threads made by the real program.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::app_server::AppServer;
use crate::error::DriveError;
use crate::home::ClientHome;

impl ClientHome {
    /// Makes a thread by one headless turn and returns its id.
    ///
    /// # Errors
    /// Where the client fails, the turn fails or no rollout is written.
    pub fn codex_exec_session(&self, prompt: &str, cwd: &Path) -> Result<String, DriveError> {
        let arguments = ["exec", "--json", "--skip-git-repo-check", "-"];
        let finished = self
            .run(self.clients().codex(), &arguments, cwd, prompt)?
            .success()?;
        let events = finished.json_lines();
        let of_kind = |kind: &str| events.iter().find(|event| event["type"] == kind);
        let thread = of_kind("thread.started").and_then(|event| event["thread_id"].as_str());
        match thread {
            _ if of_kind("turn.completed").is_none() => Err(finished.lacks("the turn failed")),
            Some(id) if self.codex_rollout(id).is_some() => Ok(id.to_owned()),
            Some(_) => Err(finished.lacks("no rollout was written")),
            None => Err(finished.lacks("no thread_id")),
        }
    }

    /// Names a thread the way a user interface does, which exec threads never get.
    ///
    /// # Errors
    /// [`DriveError::Rpc`] where Codex refuses.
    pub fn codex_name_thread(&self, thread: &str, name: &str) -> Result<(), DriveError> {
        let mut server = self.codex_app_server()?;
        let params = json!({ "threadId": thread, "name": name });
        server.call("thread/name/set", params).map(drop)
    }

    /// A private app-server that has done nothing yet but the handshake.
    ///
    /// # Errors
    /// [`DriveError::Spawn`], [`DriveError::Deadline`].
    pub fn codex_app_server(&self) -> Result<AppServer, DriveError> {
        AppServer::start(self, self.path())
    }

    /// A private app-server that has the thread open, and so holds its writer lock until dropped.
    ///
    /// # Errors
    /// [`DriveError::Rpc`] where another process holds the lock already.
    pub fn codex_app_server_holding(&self, thread: &str) -> Result<AppServer, DriveError> {
        let mut server = self.codex_app_server()?;
        server.call(
            "thread/resume",
            json!({ "threadId": thread, "excludeTurns": true }),
        )?;
        Ok(server)
    }

    /// The file whose `flock` says that a process has the thread open.
    pub fn codex_writer_lock(&self, thread: &str) -> PathBuf {
        self.path()
            .join(".codex/thread-writer-locks")
            .join(format!("{thread}.lock"))
    }

    /// The rollout of a thread: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`.
    pub fn codex_rollout(&self, thread: &str) -> Option<PathBuf> {
        let mut folders = vec![self.path().join(".codex/sessions")];
        for _ in ["year", "month", "day"] {
            folders = folders.iter().flat_map(|folder| entries(folder)).collect();
        }
        let ending = format!("-{thread}.jsonl");
        let files = folders.iter().flat_map(|folder| entries(folder));
        files
            .into_iter()
            .find(|file| file.to_string_lossy().ends_with(&ending))
    }

    /// The records of a thread's rollout; half-written lines are left out.
    pub fn codex_records(&self, thread: &str) -> Vec<Value> {
        let text = self
            .codex_rollout(thread)
            .and_then(|file| fs::read_to_string(file).ok());
        let text = text.unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}
