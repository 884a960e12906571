//! Child processes of a test: an own process group, a deadline, no survivor, output kept.
//!
//! Knows no client.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process, waitid,
};
use serde_json::Value;

use crate::error::DriveError;
use crate::wait::poll;

/// Bytes of each stream that an error message repeats, from its end.
const SHOWN: usize = 4_000;
/// A pipe that a grandchild keeps open is given up after this time.
const DRAIN: Duration = Duration::from_secs(2);

/// What a program left behind.
#[derive(Debug)]
pub struct Finished {
    /// The program's name.
    pub program: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output, lossy UTF-8.
    pub stdout: String,
    /// Standard error, lossy UTF-8.
    pub stderr: String,
}

impl Finished {
    /// The same, or an error that shows the output.
    ///
    /// # Errors
    /// [`DriveError::Exit`] unless the exit code is 0.
    pub fn success(self) -> Result<Self, DriveError> {
        if self.status.success() {
            return Ok(self);
        }
        let output = self.output();
        Err(DriveError::Exit {
            program: self.program,
            status: self.status,
            output,
        })
    }

    /// Every line of standard output that is JSON.
    pub fn json_lines(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Both streams for an error message, cut to their ends.
    pub fn output(&self) -> String {
        shown(&self.stdout, &self.stderr)
    }

    /// An error that says what the answer lacks.
    pub fn lacks(self, lacking: impl Into<String>) -> DriveError {
        let output = self.output();
        DriveError::Answer {
            program: self.program,
            lacking: lacking.into(),
            output,
        }
    }
}

/// A running child. Dropping it kills its whole process group.
#[derive(Debug)]
pub struct Running {
    program: String,
    child: Child,
    stdout: Arc<Capture>,
    stderr: Arc<Capture>,
    reaped: bool,
}

impl Running {
    /// Starts a command in a process group of its own, with all three streams piped.
    ///
    /// # Errors
    /// [`DriveError::Spawn`].
    pub fn start(command: &mut Command) -> Result<Self, DriveError> {
        use std::os::unix::process::CommandExt as _;
        let program = command.get_program().to_string_lossy().into_owned();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = match command.process_group(0).spawn() {
            Ok(child) => child,
            Err(source) => return Err(DriveError::Spawn { program, source }),
        };
        let stdout = Capture::of(child.stdout.take());
        let stderr = Capture::of(child.stderr.take());
        Ok(Self {
            program,
            child,
            stdout,
            stderr,
            reaped: false,
        })
    }

    /// The child's process id, which is its group's id too.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child's standard input; it stays open until the returned handle is dropped.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Writes all of `input` and closes standard input. A child that does not read it is no
    /// error here: what it prints tells more.
    pub fn feed(&mut self, input: &str) {
        let Some(mut stdin) = self.take_stdin() else {
            return;
        };
        let input = input.to_owned();
        // On a thread, because a child that waits for us to read would block the write.
        thread::spawn(move || stdin.write_all(input.as_bytes()));
    }

    /// The next whole line of standard output after `cursor`, which moves on; `None` at the end
    /// of the output or of the time.
    pub fn next_line(&self, cursor: &mut usize, end: Instant) -> Option<String> {
        self.stdout.next_line(cursor, end)
    }

    /// Both streams so far, for an error message.
    pub fn output(&self) -> String {
        shown(&self.stdout.text(), &self.stderr.text())
    }

    /// True once the child has ended, even if nobody has reaped it.
    pub fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.reaped
            || !matches!(
                waitid(WaitId::Pid(Pid::from_child(&self.child)), options),
                Ok(None)
            )
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// [`DriveError::Deadline`] when the child is still running; it is killed then.
    pub fn finish(mut self, within: Duration) -> Result<Finished, DriveError> {
        drop(self.take_stdin());
        if poll(within, || self.has_ended().then_some(())).is_none() {
            let what = format!("the end of {}", self.program);
            return Err(DriveError::Deadline {
                what,
                within,
                output: self.output(),
            });
        }
        let status = self.reap();
        self.stdout.drained();
        self.stderr.drained();
        let program = self.program.clone();
        let status = status.map_err(|source| DriveError::Spawn { program, source })?;
        Ok(Finished {
            program: self.program.clone(),
            status,
            stdout: self.stdout.text(),
            stderr: self.stderr.text(),
        })
    }

    /// Kills what is left of the group, then reaps the child. In this order, since the group's
    /// id may be given to others once the child is reaped.
    fn reap(&mut self) -> std::io::Result<ExitStatus> {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        self.reaped = true;
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.reap();
        }
    }
}

/// Runs a command to its end with the given standard input.
///
/// # Errors
/// [`DriveError::Spawn`] and [`DriveError::Deadline`]; a failing exit code is no error.
pub fn run(command: &mut Command, input: &str, within: Duration) -> Result<Finished, DriveError> {
    let mut running = Running::start(command)?;
    running.feed(input);
    running.finish(within)
}

/// True once a process of any parent has ended, even if nobody has reaped it.
///
/// A killed process shows as a zombie while its other threads still hold its files open, so the
/// last thread counts, not the first.
pub fn has_died(pid: Pid) -> bool {
    let folder = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    let is_zombie =
        || fs::read_to_string(folder.join("stat")).is_ok_and(|line| line.contains(") Z "));
    let threads = || fs::read_dir(folder.join("task")).map_or(0, Iterator::count);
    test_kill_process(pid).is_err() || (is_zombie() && threads() <= 1)
}

fn shown(stdout: &str, stderr: &str) -> String {
    let tail = |text: &str| {
        let start = text.len().saturating_sub(SHOWN);
        let start = (start..=text.len())
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        text[start..].trim_end().to_owned()
    };
    format!("--- stdout\n{}\n--- stderr\n{}", tail(stdout), tail(stderr))
}

/// One stream of a child, read by a thread as it comes.
#[derive(Debug, Default)]
struct Capture {
    state: Mutex<(Vec<u8>, bool)>,
    changed: Condvar,
}

impl Capture {
    fn of(stream: Option<impl Read + Send + 'static>) -> Arc<Self> {
        let capture = Arc::new(Self::default());
        let writer = Arc::clone(&capture);
        thread::spawn(move || {
            let mut buffer = [0; 16 * 1024];
            let mut stream = stream;
            while let Some(count) = stream
                .as_mut()
                .and_then(|stream| stream.read(&mut buffer).ok())
            {
                if count == 0 {
                    break;
                }
                writer.lock().0.extend_from_slice(&buffer[..count]);
                writer.changed.notify_all();
            }
            writer.lock().1 = true;
            writer.changed.notify_all();
        });
        capture
    }

    fn lock(&self) -> MutexGuard<'_, (Vec<u8>, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.lock().0).into_owned()
    }

    fn drained(&self) {
        let state = self.lock();
        let _ = self
            .changed
            .wait_timeout_while(state, DRAIN, |(_, closed)| !*closed);
    }

    fn next_line(&self, cursor: &mut usize, end: Instant) -> Option<String> {
        let mut state = self.lock();
        loop {
            let unread = state.0.get(*cursor..).unwrap_or_default();
            if let Some(length) = unread.iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&unread[..length]).into_owned();
                *cursor += length + 1;
                return Some(line);
            }
            let left = end.saturating_duration_since(Instant::now());
            if state.1 || left.is_zero() {
                return None;
            }
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn input_reaches_the_child_and_its_output_is_kept() {
        let script = "cat; echo oops >&2; exit 3";
        let finished = run(&mut shell(script), "hello", Duration::from_secs(20)).expect("it ends");
        assert_eq!(
            (finished.stdout.as_str(), finished.stderr.as_str()),
            ("hello", "oops\n")
        );
        let error = finished.success().expect_err("exit code 3").to_string();
        assert!(
            error.contains("exit status: 3") && error.contains("oops"),
            "{error}"
        );
    }

    #[test]
    fn more_output_and_input_than_a_pipe_holds_is_no_deadlock() {
        let big = "x".repeat(300_000);
        let finished = run(&mut shell("cat"), &big, Duration::from_secs(20)).expect("it ends");
        assert_eq!(finished.stdout.len(), big.len());
    }

    #[test]
    fn a_child_past_its_deadline_is_killed_with_its_own_children() {
        let folder = tempfile::tempdir().expect("a folder");
        let pids = folder.path().join("pids");
        let script = format!(
            "sleep 600 & echo $! $$ > {}; echo started; wait",
            pids.display()
        );
        let mut running = Running::start(&mut shell(&script)).expect("it starts");
        running.feed("");
        let end = Instant::now() + Duration::from_secs(20);
        assert_eq!(running.next_line(&mut 0, end).as_deref(), Some("started"));
        let error = running
            .finish(Duration::from_millis(1))
            .expect_err("it sleeps")
            .to_string();
        assert!(error.contains("started"), "{error}");
        let pids = fs::read_to_string(pids).expect("the ids");
        for pid in pids.split_whitespace() {
            let pid = pid
                .parse()
                .ok()
                .and_then(Pid::from_raw)
                .expect("a process id");
            let dead = poll(Duration::from_secs(20), || has_died(pid).then_some(()));
            assert!(dead.is_some(), "{pid:?} survived");
        }
    }
}
