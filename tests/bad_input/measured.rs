//! Runs the binary to its end, within a deadline, and says what it took.
//!
//! The system counts the memory of whoever started a process as the process's own, so each run
//! has a small parent of its own: this very binary, in [`the_measurer`].

use crate::program::Run;
use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Nothing here takes a second on a quiet machine. What is not done by then, on however busy a
/// one, hangs.
const DEADLINE: Duration = Duration::from_secs(600);
/// What a run may have in memory at its peak. The figure of a good day is in the benchmarks;
/// this one says that memory does not follow the size of what was read.
const MEMORY: u64 = 64 << 20;
/// The environment variable that makes this very binary the parent of a run: a folder.
const MEASURER: &str = "AXIOWL_TEST_MEASURER";

/// A run and its CPU time.
pub struct Measured {
    pub run: Run,
    pub cpu: Duration,
}

/// What the parent is to run.
#[derive(Serialize, Deserialize)]
struct Order {
    program: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
    user: Option<u32>,
}

/// What it saw.
#[derive(Serialize, Deserialize)]
struct Answer {
    code: Option<i32>,
    peak: u64,
    cpu: Duration,
}

impl Measured {
    /// Runs a command.
    ///
    /// # Panics
    /// When it is not done at the deadline, took more than 64 MB of memory, or was killed.
    pub fn of(command: &Command) -> Self {
        Self::of_user(command, None)
    }

    /// Runs a command that may take so much memory.
    ///
    /// # Panics
    /// As [`Measured::of`], with another bound.
    pub fn within(command: &Command, memory: u64) -> Self {
        Self::run(command, None, memory)
    }

    /// Runs a command as another user.
    ///
    /// # Panics
    /// As [`Measured::of`].
    pub fn of_user(command: &Command, user: Option<u32>) -> Self {
        Self::run(command, user, MEMORY)
    }

    fn run(command: &Command, user: Option<u32>, memory: u64) -> Self {
        let own = tempfile::tempdir().expect("a folder");
        let order = Order {
            program: command.get_program().to_owned(),
            arguments: command.get_args().map(ToOwned::to_owned).collect(),
            variables: command
                .get_envs()
                .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
                .collect(),
            folder: command.get_current_dir().map(Path::to_owned),
            user,
        };
        write(&own.path().join("order"), &order);
        let parent = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "measured::the_measurer", "--nocapture"])
            .env(MEASURER, own.path())
            .stdin(Stdio::null())
            .output()
            .expect("this program runs");
        let said = String::from_utf8_lossy(&parent.stderr);
        assert!(parent.status.success(), "{command:?}: {said}");
        let answer: Answer = read(&own.path().join("answer"));
        let text = |name: &str| {
            let bytes = std::fs::read(own.path().join(name)).expect("what it said");
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let run = Run {
            code: answer.code.expect("it ended by itself"),
            stdout: text("stdout"),
            stderr: text("stderr"),
        };
        let peak = answer.peak;
        assert!(peak < memory, "{peak} bytes of memory: {command:?}");
        let cpu = answer.cpu;
        Self { run, cpu }
    }
}

fn write(path: &Path, value: &impl Serialize) {
    let bytes = serde_json::to_vec(value).expect("JSON");
    std::fs::write(path, bytes).expect("file");
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> T {
    let bytes = std::fs::read(path).expect("file");
    serde_json::from_slice(&bytes).expect("JSON")
}

/// Does nothing, unless it is started as the parent of a run.
#[test]
fn the_measurer() {
    let Some(own) = std::env::var_os(MEASURER).map(PathBuf::from) else {
        return;
    };
    let order: Order = read(&own.join("order"));
    let mut command = Command::new(order.program);
    command
        .args(order.arguments)
        .env_clear()
        .envs(order.variables)
        .stdin(Stdio::null())
        .stdout(File::create(own.join("stdout")).expect("file"))
        .stderr(File::create(own.join("stderr")).expect("file"));
    if let Some(folder) = order.folder {
        command.current_dir(folder);
    }
    if let Some(user) = order.user {
        command.uid(user).gid(user);
    }
    let mut child = command.spawn().expect("axiowl runs");
    let pid = rustix::process::Pid::from_child(&child);
    let (tell, told) = mpsc::channel();
    let waiting = std::thread::spawn(move || tell.send(child.wait()));
    let status = told.recv_timeout(DEADLINE).unwrap_or_else(|_| {
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("kill");
        panic!("not done after {DEADLINE:?}");
    });
    waiting.join().expect("a thread").expect("told");
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).expect("usage");
    let time = |t: nix::sys::time::TimeVal| {
        Duration::from_secs(t.tv_sec() as u64) + Duration::from_micros(t.tv_usec() as u64)
    };
    let answer = Answer {
        code: status.expect("wait").code(),
        // Linux counts KiB.
        peak: used.max_rss() as u64 * 1_024,
        cpu: time(used.user_time()) + time(used.system_time()),
    };
    write(&own.join("answer"), &answer);
}
