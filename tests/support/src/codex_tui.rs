//! A live Codex thread in a terminal of a private tmux server: in a process of its own, or in
//! the daemon that terminals share.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::child;
use crate::error::DriveError;
use crate::home::{ClientHome, RUN_DEADLINE};
use crate::skip;
use crate::tmux::Tmux;
use crate::wait::poll;

/// A hung-up terminal lets the client tidy up; after this time it is killed.
const GOODBYE: Duration = Duration::from_secs(10);

/// An open thread; the terminal, and the daemon where there is one, end when this is dropped.
#[derive(Debug)]
pub struct CodexTui<'a> {
    home: &'a ClientHome,
    tmux: Tmux,
    pid: Pid,
    thread: String,
    daemon: bool,
}

impl ClientHome {
    /// Opens a new thread in a terminal and returns when its first turn is over. No other
    /// thread of the home may begin with the same prompt.
    ///
    /// # Errors
    /// [`DriveError::Missing`] without tmux; [`DriveError::Deadline`] with the screen's text.
    pub fn codex_tui(
        &self,
        prompt: &str,
        cwd: &std::path::Path,
        daemon: bool,
    ) -> Result<CodexTui<'_>, DriveError> {
        let program = skip::program("tmux")?;
        self.trust_in_codex(cwd)?;
        let tmux = Tmux::new(self, &program, cwd)?;
        let mut words = vec![self.clients().codex().to_string_lossy().into_owned()];
        if !daemon {
            words.push("--no-daemon".to_owned());
        }
        words.push(prompt.to_owned());
        let pid = tmux.start(&words)?;
        let mut open = CodexTui {
            home: self,
            tmux,
            pid,
            thread: String::new(),
            daemon,
        };
        match poll(RUN_DEADLINE, || self.codex_thread_that_answered(prompt)) {
            Some(thread) => {
                open.thread = thread;
                Ok(open)
            }
            None => Err(DriveError::Deadline {
                what: "the first turn of the open thread".to_owned(),
                within: RUN_DEADLINE,
                output: open.screen(),
            }),
        }
    }

    fn codex_thread_that_answered(&self, prompt: &str) -> Option<String> {
        let locks = fs::read_dir(self.path().join(".codex/thread-writer-locks")).ok()?;
        let threads = locks.flatten().filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.strip_suffix(".lock").map(str::to_owned)
        });
        threads.into_iter().find(|thread| {
            let records = self.codex_records(thread);
            let asked = |record: &Value| record["payload"]["item"]["content"][0]["text"] == prompt;
            let over = |record: &Value| record["payload"]["type"] == "task_complete";
            records.iter().any(asked) && records.iter().any(over)
        })
    }

    /// Notes in the configuration that the user trusts a folder.
    fn trust_in_codex(&self, folder: &std::path::Path) -> Result<(), DriveError> {
        let file = self.path().join(".codex/config.toml");
        let mut text = fs::read_to_string(&file).map_err(DriveError::file(&file))?;
        let table = format!("[projects.\"{}\"]\n", folder.display());
        if !text.contains(&table) {
            text.push_str(&format!("\n{table}trust_level = \"trusted\"\n"));
            self.write(".codex/config.toml", &text)?;
        }
        Ok(())
    }
}

impl CodexTui<'_> {
    /// The thread's id.
    pub fn thread(&self) -> &str {
        &self.thread
    }

    /// What the terminal shows.
    pub fn screen(&self) -> String {
        self.tmux.screen()
    }

    /// Types a line and presses Enter, once the line stands on the screen.
    ///
    /// # Errors
    /// [`DriveError::Deadline`] with the screen's text.
    pub fn type_line(&self, line: &str) -> Result<(), DriveError> {
        self.tmux.type_line(line)
    }

    /// Kills the terminal's client without a chance to tidy up, as a crash does.
    pub fn crash(&self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
        poll(GOODBYE, || child::has_died(self.pid).then_some(()));
    }

    /// Ends the daemon and what keeps it up to date, which outlive every terminal.
    fn stop_daemon(&self) {
        let stop = ["app-server", "daemon", "stop"];
        let _ = self
            .home
            .run(self.home.clients().codex(), &stop, self.home.path(), "");
        for file in ["daemon.pid", "daemon-updater.pid"] {
            let file = self.daemon_file(file);
            let text = fs::read_to_string(file).unwrap_or_default();
            let record: Value = serde_json::from_str(&text).unwrap_or_default();
            let pid = record["pid"].as_i64().and_then(|pid| pid.try_into().ok());
            if let Some(pid) = pid.and_then(Pid::from_raw)
                && self.runs_from_here(pid)
            {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    /// The daemon runs from a copy of the program below the home.
    fn runs_from_here(&self, pid: Pid) -> bool {
        let program = fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero()));
        program.is_ok_and(|program| program.starts_with(self.home.path()))
    }

    fn daemon_file(&self, name: &str) -> PathBuf {
        self.home.path().join(".codex/app-server-daemon").join(name)
    }
}

impl Drop for CodexTui<'_> {
    fn drop(&mut self) {
        if !child::has_died(self.pid) {
            let _ = kill_process_group(self.pid, Signal::HUP);
        }
        if poll(GOODBYE, || child::has_died(self.pid).then_some(())).is_none() {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
        if self.daemon {
            self.stop_daemon();
        }
    }
}
