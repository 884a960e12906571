//! A live Claude Code session in a terminal of a private tmux server.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::child;
use crate::error::DriveError;
use crate::home::{ClientHome, RUN_DEADLINE};
use crate::tmux::Tmux;
use crate::wait::poll;

/// A hung-up terminal lets the client tidy up; after this time it is killed.
const GOODBYE: Duration = Duration::from_secs(10);
const FIRST_PROMPT: &str = "hello from the terminal";

/// An open session; the terminal and the client in it end when this is dropped.
#[derive(Debug)]
pub struct ClaudeTui {
    tmux: Tmux,
    pid: Pid,
    record: PathBuf,
    session: String,
}

impl ClaudeTui {
    pub(crate) fn open(
        home: &ClientHome,
        tmux: &Path,
        name: &str,
        cwd: &Path,
        arguments: &[&str],
    ) -> Result<Self, DriveError> {
        let tmux = Tmux::new(home, tmux, cwd)?;
        let claude = home.clients().claude();
        // The prompt first: several options take every argument that follows.
        let mut words = vec![
            claude.to_string_lossy().into_owned(),
            FIRST_PROMPT.to_owned(),
        ];
        words.extend(["--name", name, "--permission-mode", "default"].map(str::to_owned));
        words.extend(arguments.iter().map(|word| (*word).to_owned()));
        let pid = tmux.start(&words)?;
        let record = home
            .path()
            .join(format!(".claude/sessions/{}.json", pid.as_raw_nonzero()));
        let mut open = Self {
            tmux,
            pid,
            record,
            session: String::new(),
        };
        let ready = poll(RUN_DEADLINE, || {
            let record = open.record();
            let session = record["sessionId"].as_str()?.to_owned();
            let idle = record["status"] == "idle";
            let records = home.claude_records(&session);
            let turn_over = records
                .iter()
                .any(|record| record["subtype"] == "turn_duration");
            (idle && turn_over).then_some(session)
        });
        match ready {
            Some(session) => {
                open.session = session;
                Ok(open)
            }
            None => Err(DriveError::Deadline {
                what: format!("the first turn of the open session {name}"),
                within: RUN_DEADLINE,
                output: open.screen(),
            }),
        }
    }

    /// Opens the list of sessions and picks the one on top, which is to be `session`.
    pub(crate) fn pick(
        home: &ClientHome,
        tmux: &Path,
        (title, session): (&str, &str),
        cwd: &Path,
        arguments: &[&str],
    ) -> Result<Self, DriveError> {
        let tmux = Tmux::new(home, tmux, cwd)?;
        let claude = home.clients().claude();
        let mut words = vec![claude.to_string_lossy().into_owned()];
        words.extend(arguments.iter().map(|word| (*word).to_owned()));
        words.push("--resume".to_owned());
        let pid = tmux.start(&words)?;
        let record = home
            .path()
            .join(format!(".claude/sessions/{}.json", pid.as_raw_nonzero()));
        let open = Self {
            tmux,
            pid,
            record,
            session: session.to_owned(),
        };
        let late = |what: String| DriveError::Deadline {
            what,
            within: RUN_DEADLINE,
            output: open.screen(),
        };
        poll(RUN_DEADLINE, || open.screen().contains(title).then_some(()))
            .ok_or_else(|| late(format!("{title} in the list of sessions")))?;
        open.press_until("Enter", |_| open.is_in(session).then_some(()))?;
        Ok(open)
    }

    /// Waits until the client says that it has turned to a session and is idle.
    ///
    /// # Errors
    /// [`DriveError::Deadline`] with the screen's text.
    pub fn turned_to(&self, session: &str) -> Result<(), DriveError> {
        let turned = poll(RUN_DEADLINE, || self.is_in(session).then_some(()));
        turned.ok_or_else(|| DriveError::Deadline {
            what: format!("the session {session} in {}", self.record()),
            within: RUN_DEADLINE,
            output: self.screen(),
        })
    }

    /// Whether the client says that it is idle in a session.
    pub fn is_in(&self, session: &str) -> bool {
        let record = self.record();
        record["sessionId"] == session && record["status"] == "idle"
    }

    /// The session's id when it was opened; `/clear` changes what [`Self::record`] says.
    pub fn session_id(&self) -> &str {
        &self.session
    }

    /// The client's process id.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// The file `sessions/<pid>.json` by which Claude Code says that it runs.
    pub fn record_file(&self) -> &Path {
        &self.record
    }

    /// What that file says now; `null` where it is gone.
    pub fn record(&self) -> Value {
        let text = fs::read_to_string(&self.record).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
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

    /// Presses a key, named as tmux names it (`Enter`, `Down`, `Escape`), and again until it has
    /// done what it is to do. `done` looks at the screen.
    ///
    /// # Errors
    /// [`DriveError::Deadline`] with the screen's text.
    pub fn press_until<T>(
        &self,
        key: &str,
        done: impl Fn(&str) -> Option<T>,
    ) -> Result<T, DriveError> {
        self.tmux.press_until(key, done)
    }

    /// Kills the client without a chance to tidy up, as a crash does: its record and its socket
    /// stay until this is dropped, the record even longer.
    pub fn crash(&self) {
        let _ = kill_process(self.pid, Signal::KILL);
        poll(GOODBYE, || child::has_died(self.pid).then_some(()));
    }
}

impl Drop for ClaudeTui {
    fn drop(&mut self) {
        let socket = self.record()["messagingSocketPath"]
            .as_str()
            .map(PathBuf::from);
        // What closing the terminal does, but with the server still there to reap the client.
        if !child::has_died(self.pid) {
            let _ = kill_process(self.pid, Signal::HUP);
        }
        if poll(GOODBYE, || child::has_died(self.pid).then_some(())).is_none() {
            let _ = kill_process(self.pid, Signal::KILL);
        }
        // Outside the home, so nothing else removes what a killed client left.
        let _ = socket.map(fs::remove_file);
    }
}
