//! Any client in a terminal of a private tmux server, as its user has it on the screen.
//!
//! Knows how to start, use and end a program there, and no client in particular.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

use crate::child;
use crate::error::DriveError;
use crate::home::ClientHome;
use crate::skip;
use crate::tmux::Tmux;
use crate::wait::poll;

/// A hung-up terminal lets a client tidy up; after this time it is killed.
const GOODBYE: Duration = Duration::from_secs(20);

/// A program in a terminal; both end when this is dropped.
#[derive(Debug)]
pub struct Terminal {
    tmux: Tmux,
    pid: Pid,
}

impl Terminal {
    /// Starts a program with its arguments in a folder, not through a shell.
    ///
    /// # Errors
    /// [`DriveError::Missing`] without tmux.
    pub fn open(home: &ClientHome, cwd: &Path, words: &[String]) -> Result<Self, DriveError> {
        let tmux = Tmux::new(home, &skip::program("tmux")?, cwd)?;
        let pid = tmux.start(words)?;
        Ok(Self { tmux, pid })
    }

    /// The process in the terminal, which leads its process group.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// What the terminal shows.
    pub fn screen(&self) -> String {
        self.tmux.screen()
    }

    /// Waits until the terminal shows one of the texts.
    ///
    /// # Errors
    /// [`DriveError::Deadline`] with the screen's text.
    pub fn shows(&self, texts: &[&str], within: Duration) -> Result<(), DriveError> {
        let there = || {
            let screen = self.screen();
            texts.iter().any(|text| screen.contains(text)).then_some(())
        };
        poll(within, there).ok_or_else(|| DriveError::Deadline {
            what: format!("one of {texts:?} on the screen"),
            within,
            output: self.screen(),
        })
    }

    /// Types a line and presses Enter, once the line stands on the screen.
    ///
    /// # Errors
    /// [`DriveError::Deadline`] with the screen's text.
    pub fn type_line(&self, line: &str) -> Result<(), DriveError> {
        self.tmux.type_line(line)
    }

    /// Presses Enter.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn press_enter(&self) -> Result<(), DriveError> {
        self.press("Enter")
    }

    /// Presses a key, named as tmux names it.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn press(&self, key: &str) -> Result<(), DriveError> {
        self.tmux.press(key)
    }

    /// Closes the window: the program is told so and may tidy up.
    pub fn close(&self) {
        self.end(Signal::HUP);
    }

    /// Kills the program, as a crash does.
    pub fn crash(&self) {
        self.end(Signal::KILL);
    }

    fn end(&self, signal: Signal) {
        // The group: some clients are scripts that start the real program, which ends after them.
        let _ = kill_process_group(self.pid, signal);
        if poll(GOODBYE, || self.has_ended().then_some(())).is_none() {
            let _ = kill_process_group(self.pid, Signal::KILL);
            poll(GOODBYE, || self.has_ended().then_some(()));
        }
    }

    fn has_ended(&self) -> bool {
        child::has_died(self.pid) && test_kill_process_group(self.pid).is_err()
    }
}

/// Kills a process that a client left running behind its windows, such as a daemon, if its
/// program lies in this home; no other process can be meant then.
pub fn kill_of_home(home: &ClientHome, pid: i32) {
    let program = std::fs::read_link(format!("/proc/{pid}/exe"));
    if let Some(pid) = Pid::from_raw(pid)
        && program.is_ok_and(|program| program.starts_with(home.path()))
    {
        let _ = kill_process(pid, Signal::KILL);
        poll(GOODBYE, || child::has_died(pid).then_some(()));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.close();
        }
    }
}
