//! Starts delivery workers as processes of their own, so that a send returns at once and a
//! delivery outlives the command that asked for it. The worker gets a state folder and a
//! message id, never a body.

use axiowl_model::MessageId;
use axiowl_registry::private_file_options;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The hidden subcommand a worker is started with.
pub const WORKER_COMMAND: &str = "worker";
/// What workers say on stderr is kept up to about this many bytes, twice.
const LOG_BYTES: u64 = 4 * 1024 * 1024;

/// Starts a worker for a message.
pub trait StartWorker: Send + Sync {
    /// Returns as soon as the worker runs.
    ///
    /// # Errors
    /// When it could not be started. The message stays accepted, and the next send or status
    /// starts another one.
    fn start(&self, message: MessageId) -> io::Result<()>;
}

/// Starts the same binary again: `<axiowl> worker --state <dir> --message <id>`.
#[derive(Debug)]
pub struct WorkerProcesses {
    axiowl: PathBuf,
    state_root: PathBuf,
    more_args: Vec<OsString>,
    without: Vec<OsString>,
}

impl WorkerProcesses {
    /// For an executable and a state folder; a relative folder is taken from here.
    ///
    /// # Errors
    /// When the current folder cannot be told.
    pub fn new(axiowl: impl Into<PathBuf>, state_root: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self {
            axiowl: axiowl.into(),
            state_root: std::path::absolute(state_root)?,
            more_args: Vec::new(),
            without: Vec::new(),
        })
    }

    /// Further arguments for the worker, such as another home or configuration.
    pub fn with_args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.more_args.extend(args.into_iter().map(Into::into));
        self
    }

    /// A variable that no worker inherits.
    pub fn without_env(mut self, name: impl Into<OsString>) -> Self {
        self.without.push(name.into());
        self
    }

    fn log(&self) -> io::Result<File> {
        let path = self.state_root.join("worker.log");
        match std::fs::metadata(&path) {
            Ok(known) if known.len() >= LOG_BYTES => {
                std::fs::rename(&path, self.state_root.join("worker.log.1"))?;
            }
            _ => {}
        }
        private_file_options().create(true).append(true).open(path)
    }
}

impl StartWorker for WorkerProcesses {
    fn start(&self, message: MessageId) -> io::Result<()> {
        let mut command = Command::new(&self.axiowl);
        command
            .arg(WORKER_COMMAND)
            .arg("--state")
            .arg(&self.state_root)
            .arg("--message")
            .arg(message.to_string())
            .args(&self.more_args)
            // The caller's folder may go away, or keep a disk from being unmounted.
            .current_dir(&self.state_root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(self.log()?);
        for name in &self.without {
            command.env_remove(name);
        }
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            // An interrupt at the terminal is for the command, not for the delivery.
            command.process_group(0);
        }
        #[cfg(windows)]
        {
            use std::os::windows::process::CommandExt;
            const DETACHED_PROCESS: u32 = 0x8;
            const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
            command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
        }
        let mut child = command.spawn()?;
        // A server lives on for days, and no worker of its may stay behind as a zombie. A
        // command that ends before its worker leaves it to the system, which reaps it.
        let reaper = std::thread::Builder::new().name("worker-reaper".into());
        if let Err(error) = reaper.spawn(move || child.wait()) {
            tracing::warn!(%error, "nobody waits for the worker's end");
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::{Duration, Instant};

    #[test]
    fn a_worker_inherits_everything_but_what_it_must_not() {
        let state = tempfile::tempdir().expect("a folder");
        let program = state.path().join("axiowl");
        let script = "#!/bin/sh\nenv > \"$3/seen.part\"\nmv \"$3/seen.part\" \"$3/seen\"\n";
        std::fs::write(&program, script).expect("a program");
        let mode = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&program, mode).expect("its mode");
        let workers = WorkerProcesses::new(&program, state.path()).expect("workers");
        let workers = workers.without_env("HOME");
        workers.start(MessageId::new()).expect("a worker");
        let seen = state.path().join("seen");
        let until = Instant::now() + Duration::from_secs(60);
        while !seen.exists() {
            assert!(Instant::now() < until, "it never ran");
            std::thread::yield_now();
        }
        let seen = std::fs::read_to_string(seen).expect("what it saw");
        let has = |name: &str| seen.lines().any(|line| line.starts_with(name));
        assert!(has("PATH=") && !has("HOME="), "{seen}");
    }
}
