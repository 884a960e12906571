//! A private tmux server: starts a program in a terminal, types into it, reads its screen.
//!
//! Knows no client.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::Pid;

use crate::child;
use crate::error::DriveError;
use crate::home::ClientHome;
use crate::wait::poll;

const TMUX_DEADLINE: Duration = Duration::from_secs(20);
/// How long a key is pressed again and again, and how long one press is given.
const KEY_DEADLINE: Duration = Duration::from_secs(120);
const KEY_PATIENCE: Duration = Duration::from_secs(2);

/// A tmux server of its own, so that neither the user's server nor other tests are touched.
#[derive(Debug)]
pub(crate) struct Tmux {
    program: PathBuf,
    label: String,
    env: Vec<(String, String)>,
    cwd: PathBuf,
    config: PathBuf,
}

impl Tmux {
    pub(crate) fn new(home: &ClientHome, program: &Path, cwd: &Path) -> Result<Self, DriveError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let label = format!(
            "axiowl-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        // A client that ends at once leaves its last words on the screen.
        let config = home.write(".tmux-test.conf", "set -g remain-on-exit on\n")?;
        let mut env = home.env();
        // The server's socket goes with the home.
        env.push(("TMUX_TMPDIR".to_owned(), home.path().display().to_string()));
        Ok(Self {
            program: program.to_owned(),
            label,
            env,
            cwd: cwd.to_owned(),
            config,
        })
    }

    /// Starts a program, not through a shell, and gives its process id.
    pub(crate) fn start(&self, words: &[String]) -> Result<Pid, DriveError> {
        let mut arguments = vec!["new-session", "-d", "-s", "main", "-x", "160", "-y", "50"];
        arguments.extend(["-P", "-F", "#{pane_pid}"]);
        arguments.extend(words.iter().map(String::as_str));
        let printed = self.call(&arguments)?;
        let pid = printed.trim().parse().ok().and_then(Pid::from_raw);
        pid.ok_or_else(|| DriveError::Answer {
            program: "tmux".to_owned(),
            lacking: "no process id".to_owned(),
            output: printed,
        })
    }

    /// What the terminal shows.
    pub(crate) fn screen(&self) -> String {
        self.call(&["capture-pane", "-p", "-t", "main"])
            .unwrap_or_default()
    }

    /// Types a line and presses Enter, once the line stands on the screen.
    pub(crate) fn type_line(&self, line: &str) -> Result<(), DriveError> {
        self.call(&["send-keys", "-t", "main", "-l", line])?;
        let shown: String = line.chars().take(40).collect();
        if poll(TMUX_DEADLINE, || {
            self.screen().contains(&shown).then_some(())
        })
        .is_none()
        {
            let what = format!("the typed line {line:?} on the screen");
            return Err(DriveError::Deadline {
                what,
                within: TMUX_DEADLINE,
                output: self.screen(),
            });
        }
        self.press("Enter")
    }

    /// Presses a key.
    pub(crate) fn press(&self, key: &str) -> Result<(), DriveError> {
        self.call(&["send-keys", "-t", "main", key]).map(drop)
    }

    /// Presses a key until it has done what it is to do: what is drawn does not always listen yet,
    /// and such a key is lost.
    pub(crate) fn press_until<T>(
        &self,
        key: &str,
        done: impl Fn(&str) -> Option<T>,
    ) -> Result<T, DriveError> {
        let taken = poll(KEY_DEADLINE, || {
            let pressed = self.press(key);
            let taken = || done(&self.screen());
            match pressed {
                Ok(()) => poll(KEY_PATIENCE, taken).map(Ok),
                Err(error) => Some(Err(error)),
            }
        });
        taken.unwrap_or_else(|| {
            Err(DriveError::Deadline {
                what: format!("what the key {key} does"),
                within: KEY_DEADLINE,
                output: self.screen(),
            })
        })
    }

    pub(crate) fn call(&self, arguments: &[&str]) -> Result<String, DriveError> {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(self.env.clone())
            .current_dir(&self.cwd);
        command
            .args(["-L", &self.label, "-f"])
            .arg(&self.config)
            .args(arguments);
        Ok(child::run(&mut command, "", TMUX_DEADLINE)?
            .success()?
            .stdout)
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // Refused where the server is gone already.
        let _ = self.call(&["kill-server"]);
    }
}
