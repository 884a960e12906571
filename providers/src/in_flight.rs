//! The trace of a running delivery: which process has a message in its hands, one of ours or
//! one of the user's that has the session open.
//!
//! Written before the first byte of a message goes out and removed when the process is dead, so
//! that a worker that follows a killed one knows whether somebody still works on the message.
//! A program that has the message from its start on is announced before it is started: a worker
//! that dies in between leaves one that nobody can name. What a process of the user's keeps
//! unread when a delivery ends stays noted. Lies below AxiOwl's own state folder. Knows no
//! provider.

use crate::processes;
use axiowl_model::{MessageId, SessionKey};
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Below the state folder.
const FOLDER: &str = "in-flight";
/// A trace is a short line.
const LARGEST: u64 = 4 * 1024;

/// The trace on disk; removed when dropped.
#[derive(Debug)]
pub(crate) struct Trace {
    path: PathBuf,
    session: String,
    stays: bool,
}

impl Trace {
    /// Notes that a process is about to be handed a message. The process leads its group.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    pub fn leave(
        state_root: &Path,
        message: MessageId,
        session: &SessionKey,
        pid: u32,
    ) -> io::Result<Self> {
        let trace = Self::at(state_root, message, session)?;
        trace.name(pid)?;
        Ok(trace)
    }

    fn at(state_root: &Path, message: MessageId, session: &SessionKey) -> io::Result<Self> {
        let path = place(state_root, message);
        if let Some(folder) = path.parent() {
            private_folder(folder)?;
        }
        Ok(Self {
            path,
            session: session.to_string(),
            stays: false,
        })
    }

    /// Notes that a process which has a message in its hands is about to be started.
    ///
    /// # Errors
    /// When the state folder cannot be written. Nothing may be started then.
    pub fn announce(
        state_root: &Path,
        message: MessageId,
        session: &SessionKey,
    ) -> io::Result<Self> {
        let trace = Self::at(state_root, message, session)?;
        write_private(&trace.path, "{}\n")?;
        Ok(trace)
    }

    /// Notes that a process which somebody has a session open in is about to be handed a
    /// message. It is not ours, and its group is its own business.
    ///
    /// # Errors
    /// When the state folder cannot be written. Nothing may be handed over then.
    #[cfg(target_os = "linux")]
    pub fn hand_to(
        state_root: &Path,
        message: MessageId,
        session: &SessionKey,
        pid: u32,
        start: &str,
    ) -> io::Result<Self> {
        let trace = Self::at(state_root, message, session)?;
        let line = json!({ "receiver": pid, "start": start });
        write_private(&trace.path, &format!("{line}\n"))?;
        Ok(trace)
    }

    /// Leaves the trace where it is: the receiver still has the message, unread.
    #[cfg(target_os = "linux")]
    pub fn stay(mut self) {
        self.stays = true;
    }

    /// Says which process it became.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    pub fn name(&self, pid: u32) -> io::Result<()> {
        let start = processes::start_of(pid);
        let line = json!({ "pid": pid, "start": start, "session": self.session });
        write_private(&self.path, &format!("{line}\n"))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if !self.stays {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Who still has a message in its hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody that we started.
    Nobody,
    /// The process group of an earlier delivery, which is alive.
    Process(u32),
    /// The user's process that a message was handed to, which is alive.
    Receiver(u32),
    /// An earlier delivery was about to start a program, and may have.
    Unnamed,
}

/// Who of an earlier delivery still works on a message.
pub(crate) fn standing(state_root: &Path, message: MessageId) -> Standing {
    let path = place(state_root, message);
    let text = match fs::metadata(&path) {
        Ok(meta) if meta.len() <= LARGEST => fs::read_to_string(&path),
        // A trace is never that large, and one that is not there says that nobody is.
        _ => return Standing::Nobody,
    };
    // It went between the two looks.
    if matches!(&text, Err(error) if error.kind() == io::ErrorKind::NotFound) {
        return Standing::Nobody;
    }
    let trace = text
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let number = |name: &str| trace.as_ref().and_then(|trace| trace[name].as_u64());
    let start = trace.as_ref().and_then(|trace| trace["start"].as_str());
    if let Some(receiver) = number("receiver").and_then(|pid| u32::try_from(pid).ok()) {
        if processes::runs(receiver, start) {
            return Standing::Receiver(receiver);
        }
        let _ = fs::remove_file(&path);
        return Standing::Nobody;
    }
    let pid = number("pid");
    // Announced, and its worker died before or right behind the start.
    let Some(pid) = pid.and_then(|pid| u32::try_from(pid).ok()) else {
        return Standing::Unnamed;
    };
    if processes::group_alive(pid, start) {
        return Standing::Process(pid);
    }
    let _ = fs::remove_file(&path);
    Standing::Nobody
}

/// Whether a program that some delivery started for a session lives on. The session's traces of
/// dead programs are swept on the way; only whoever delivers to it may ask, since nobody else knows
/// that no trace is just being written anew.
pub(crate) fn outlives(state_root: &Path, session: &SessionKey) -> bool {
    let entries = fs::read_dir(state_root.join(FOLDER));
    let paths = entries.into_iter().flatten().flatten();
    let session = session.to_string();
    let mut lives = false;
    for path in paths.map(|entry| entry.path()) {
        let small = fs::metadata(&path).is_ok_and(|meta| meta.len() <= LARGEST);
        let text = small.then(|| fs::read_to_string(&path).ok()).flatten();
        let trace = text.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let trace = trace.filter(|trace| trace["session"] == session.as_str());
        let Some(trace) = trace else { continue };
        let pid = trace["pid"]
            .as_u64()
            .and_then(|pid| u32::try_from(pid).ok());
        let Some(pid) = pid else { continue };
        match processes::group_alive(pid, trace["start"].as_str()) {
            true => lives = true,
            false => drop(fs::remove_file(&path)),
        }
    }
    lives
}

fn place(state_root: &Path, message: MessageId) -> PathBuf {
    state_root.join(FOLDER).join(format!("{message}.json"))
}

fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Whole or not at all, whenever a worker is killed.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    io::Write::write_all(&mut options.open(&new)?, text.as_bytes())?;
    fs::rename(new, path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    fn session() -> SessionKey {
        SessionKey::local("codex_cli", "codex_cli:session:1")
    }

    #[test]
    fn a_trace_stands_as_long_as_its_group_lives_and_goes_with_it() {
        let state = tempfile::tempdir().unwrap();
        let message = MessageId::new();
        assert_eq!(standing(state.path(), message), Standing::Nobody);
        let mut child = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let trace = Trace::announce(state.path(), message, &session()).unwrap();
        assert_eq!(standing(state.path(), message), Standing::Unnamed);
        trace.name(child.id()).unwrap();
        let of_child = Standing::Process(child.id());
        assert_eq!(standing(state.path(), message), of_child);
        assert_eq!(standing(state.path(), MessageId::new()), Standing::Nobody);
        let other = SessionKey::local("codex_cli", "codex_cli:session:2");
        assert!(outlives(state.path(), &session()) && !outlives(state.path(), &other));
        child.kill().unwrap();
        // A dead process that nobody has reaped yet works on nothing.
        let path = place(state.path(), message);
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while standing(state.path(), message) != Standing::Nobody {
            assert!(std::time::Instant::now() < until, "a killed process ends");
            std::thread::yield_now();
        }
        assert!(!path.exists());
        child.wait().unwrap();
        // Only whoever delivers to the session sweeps it.
        trace.name(child.id()).unwrap();
        assert!(!outlives(state.path(), &other) && path.exists());
        assert!(!outlives(state.path(), &session()) && !path.exists());
        drop(trace);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_receiver_counts_while_it_lives_and_may_outlast_the_delivery() {
        let state = tempfile::tempdir().unwrap();
        let message = MessageId::new();
        let me = std::process::id();
        let start = processes::start_of(me).unwrap();
        let note =
            |start: &str| Trace::hand_to(state.path(), message, &session(), me, start).unwrap();
        drop(note(&start));
        assert_eq!(standing(state.path(), message), Standing::Nobody);
        note(&start).stay();
        assert_eq!(standing(state.path(), message), Standing::Receiver(me));
        note("1").stay();
        assert_eq!(standing(state.path(), message), Standing::Nobody);
        assert!(!place(state.path(), message).exists());
    }

    /// A worker may be killed at any moment, and what it leaves is read then.
    #[test]
    fn a_program_that_is_noted_before_it_has_the_message_is_never_unnamed() {
        let state = tempfile::tempdir().unwrap();
        let (message, me) = (MessageId::new(), std::process::id());
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..500 {
                    drop(Trace::leave(state.path(), message, &session(), me).unwrap());
                }
                done.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                assert_ne!(standing(state.path(), message), Standing::Unnamed);
            }
        });
    }

    #[test]
    fn a_number_used_again_is_not_ours() {
        let state = tempfile::tempdir().unwrap();
        let message = MessageId::new();
        let me = std::process::id();
        let trace = Trace::leave(state.path(), message, &session(), me).unwrap();
        let foreign = json!({ "pid": std::process::id(), "start": "1" }).to_string();
        fs::write(&trace.path, foreign).unwrap();
        assert_eq!(standing(state.path(), message), Standing::Nobody);
        // Half a trace was cut off at a moment when a program may have been started.
        fs::write(&trace.path, "{\"pid\":").unwrap();
        assert_eq!(standing(state.path(), message), Standing::Unnamed);
    }
}
