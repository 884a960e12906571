//! Runs one program of a provider: exact arguments, folder and environment, a process group of
//! its own, bounded output, and an end within a bounded time whatever the program does.
//!
//! Must not know any provider, message or stage. Nothing here goes through a shell, and what a
//! message says travels on standard input only.

mod output;

#[cfg(all(test, unix))]
mod tests;

use output::{Event, Stream, Tally};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// A pipe that a grandchild keeps open after the program's end is given up after this time.
const DRAIN: Duration = Duration::from_secs(2);
/// How long a program may take to end after it was asked to.
const TERM_PATIENCE: Duration = Duration::from_secs(2);
/// How long the system may take to end a killed program.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// Where nothing tells that a program ended, it is looked at this often.
const SLICE: Duration = Duration::from_millis(50);

/// What to run.
pub(crate) struct Program<'a> {
    /// The executable's path.
    pub file: &'a Path,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder it starts in.
    pub folder: &'a Path,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Bytes of its output that are kept; more is read and thrown away.
    pub output_cap: usize,
}

/// A program could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {} in {}: {source}", file.display(), folder.display())]
pub(crate) struct StartError {
    /// The executable.
    pub file: PathBuf,
    /// The folder.
    pub folder: PathBuf,
    /// What the system said.
    pub source: std::io::Error,
}

/// What a wait for output brought.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A whole line of standard output, without its end.
    Line(String),
    /// Nothing until the given time.
    Quiet,
    /// Standard output is at its end.
    End,
    /// It printed more than any delivery can explain; it is to be stopped.
    Flooded,
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ending {
    /// Its exit status; `None` when even killing it did not end it.
    pub status: Option<ExitStatus>,
    /// It did not end by itself.
    pub stopped: bool,
    /// The end of its standard error, lossy UTF-8.
    pub stderr: String,
    /// Lines of standard output that were thrown away, because they were too long.
    pub lost_lines: usize,
}

impl Ending {
    /// Exit code 0, by itself.
    pub fn is_success(&self) -> bool {
        !self.stopped && self.status.is_some_and(|status| status.success())
    }

    /// How it ended and the last lines it complained with, for a reason.
    pub fn told(&self) -> String {
        let mut out = match (self.status, self.stopped) {
            (None, _) => "it could not be ended".to_owned(),
            (Some(_), true) => "it had to be stopped".to_owned(),
            (Some(status), false) => status.to_string(),
        };
        let said = axiowl_model::clip(self.stderr.trim(), 600);
        if !said.is_empty() {
            out.push_str(": ");
            out.push_str(&axiowl_model::display_safe(&said));
        }
        if self.lost_lines > 0 {
            out.push_str(&format!(
                " ({} lines of output were too long to keep)",
                self.lost_lines
            ));
        }
        out
    }
}

/// A running program. Dropping it kills its whole process group and reaps it.
pub(crate) struct Running {
    child: Child,
    input: Option<Sender<Vec<u8>>>,
    events: Receiver<Event>,
    /// Keeps the channel open, so that waiting on it always takes its time.
    _open_end: Sender<Event>,
    tally: Arc<Tally>,
    /// Streams that are not at their end: standard output, standard error.
    open: [bool; 2],
    exited: Option<Instant>,
    flooded: bool,
    reaped: Option<ExitStatus>,
    /// Let go after the program is dead.
    trace: Option<crate::in_flight::Trace>,
}

impl Running {
    /// Starts a program.
    ///
    /// # Errors
    /// When the system does not start it.
    pub fn start(program: &Program<'_>) -> Result<Self, StartError> {
        let mut command = Command::new(program.file);
        command
            .args(&program.arguments)
            .current_dir(program.folder)
            .env_clear()
            .envs(
                program
                    .environment
                    .iter()
                    .map(|(name, value)| (name, value)),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|source| StartError {
            file: program.file.to_owned(),
            folder: program.folder.to_owned(),
            source,
        })?;
        let (to_events, events) = mpsc::channel();
        let tally = Arc::new(Tally::new(program.output_cap));
        output::read_lines(child.stdout.take(), Arc::clone(&tally), to_events.clone());
        output::read_tail(child.stderr.take(), Arc::clone(&tally), to_events.clone());
        let (to_input, input) = mpsc::channel::<Vec<u8>>();
        if let Some(mut stdin) = child.stdin.take() {
            // On a thread of its own: a program that does not read must not hold us up.
            thread::spawn(move || {
                while let Ok(bytes) = input.recv() {
                    if stdin
                        .write_all(&bytes)
                        .and_then(|()| stdin.flush())
                        .is_err()
                    {
                        break;
                    }
                }
            });
        }
        #[cfg(unix)]
        tell_the_end(&child, to_events.clone());
        Ok(Self {
            child,
            input: Some(to_input),
            events,
            _open_end: to_events,
            tally,
            open: [true; 2],
            exited: None,
            flooded: false,
            reaped: None,
            trace: None,
        })
    }

    /// Its process id, which is its group's id too.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Keeps the trace of this program until it is dead.
    pub fn keep(&mut self, trace: crate::in_flight::Trace) {
        self.trace = Some(trace);
    }

    /// Sends bytes to its standard input. Returns at once; a program that has ended is noticed
    /// by the next wait for output.
    pub fn send(&mut self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            let _ = input.send(bytes);
        }
    }

    /// Closes its standard input once everything was written.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// The next line of standard output. At the program's end whatever its group left behind is
    /// killed, and what it printed before is still given out.
    pub fn next(&mut self, until: Instant) -> Next {
        loop {
            if self.flooded {
                return Next::Flooded;
            }
            if !self.open[Stream::Out as usize] {
                return Next::End;
            }
            let until = self.exited.map_or(until, |at| until.min(at + DRAIN));
            match self.event(until) {
                Some(Event::Line(line)) => return Next::Line(line),
                Some(_) => {}
                None if self.exited.is_some_and(|at| at + DRAIN <= Instant::now()) => {
                    return Next::End;
                }
                None => return Next::Quiet,
            }
        }
    }

    /// Closes its input, waits for its end, and stops it when it does not come.
    pub fn finish(mut self, patience: Duration) -> Ending {
        self.close_input();
        let stopped = !self.has_ended_within(patience);
        if stopped {
            self.signal(Stop::Ask);
            if !self.has_ended_within(TERM_PATIENCE) {
                self.signal(Stop::Kill);
                self.has_ended_within(KILL_PATIENCE);
            }
        }
        self.reap();
        let drained = Instant::now() + DRAIN;
        while self.open.contains(&true) && self.event(drained).is_some() {}
        Ending {
            status: self.reaped,
            stopped,
            stderr: self.tally.stderr_tail(),
            lost_lines: self.tally.lost.load(Ordering::Relaxed),
        }
    }

    /// The next event, with what it means for the state taken in; `None` at the end of the time.
    fn event(&mut self, until: Instant) -> Option<Event> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let wait = if cfg!(unix) { left } else { left.min(SLICE) };
            match self.events.recv_timeout(wait) {
                Ok(event) => {
                    match &event {
                        Event::Closed(stream) => self.open[*stream as usize] = false,
                        Event::Exited => self.note_exit(),
                        Event::Flooded => self.flooded = true,
                        Event::Line(line) => self.tally.take_off(line.len()),
                    }
                    return Some(event);
                }
                Err(_) if !cfg!(unix) && self.has_left() => {
                    self.note_exit();
                    return Some(Event::Exited);
                }
                Err(_) if left > wait => {}
                Err(_) => return None,
            }
        }
    }

    fn note_exit(&mut self) {
        if self.exited.is_none() {
            self.exited = Some(Instant::now());
            // Not reaped yet, so the group's id still is its own.
            self.signal(Stop::Kill);
        }
    }

    fn has_left(&mut self) -> bool {
        self.exited.is_none() && matches!(self.child.try_wait(), Ok(Some(_)))
    }

    fn has_ended_within(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while self.exited.is_none() {
            if self.event(until).is_none() && Instant::now() >= until {
                break;
            }
        }
        self.exited.is_some()
    }

    fn reap(&mut self) {
        if self.reaped.is_none() && self.exited.is_some() {
            self.reaped = self.child.wait().ok();
        }
    }

    #[cfg(unix)]
    fn signal(&mut self, stop: Stop) {
        use rustix::process::{Pid, Signal, kill_process_group};
        if self.reaped.is_some() {
            return;
        }
        let signal = match stop {
            Stop::Ask => Signal::TERM,
            Stop::Kill => Signal::KILL,
        };
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }

    #[cfg(not(unix))]
    fn signal(&mut self, stop: Stop) {
        if matches!(stop, Stop::Kill) && self.reaped.is_none() {
            let _ = self.child.kill();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tally.give_up();
        if self.reaped.is_none() {
            self.signal(Stop::Kill);
            self.has_ended_within(KILL_PATIENCE);
            self.reap();
        }
    }
}

enum Stop {
    Ask,
    Kill,
}

/// Tells when the program has ended, without reaping it: until then its group's id cannot be
/// given to others.
#[cfg(unix)]
fn tell_the_end(child: &Child, events: Sender<Event>) {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let pid = Pid::from_child(child);
    thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(
            waitid(WaitId::Pid(pid), options),
            Err(rustix::io::Errno::INTR)
        ) {}
        let _ = events.send(Event::Exited);
    });
}
