//! The trace of a running delivery: which process of ours has a message in its hands.
//!
//! Written before the first byte of a message goes out and removed when the process is dead, so
//! that a worker that follows a killed one knows whether somebody still works on the message.
//! Lies below AxiOwl's own state folder. Knows no provider.

use crate::processes;
use axiowl_model::MessageId;
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
}

impl Trace {
    /// Notes that a process is about to be handed a message. The process leads its group.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    pub fn leave(state_root: &Path, message: MessageId, pid: u32) -> io::Result<Self> {
        let path = place(state_root, message);
        if let Some(folder) = path.parent() {
            private_folder(folder)?;
        }
        let line = json!({ "pid": pid, "start": processes::start_of(pid) });
        write_private(&path, &format!("{line}\n"))?;
        Ok(Self { path })
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The process group of an earlier delivery of this message, while it is alive.
pub(crate) fn standing(state_root: &Path, message: MessageId) -> Option<u32> {
    let path = place(state_root, message);
    let text = match fs::metadata(&path) {
        Ok(meta) if meta.len() <= LARGEST => fs::read_to_string(&path).ok()?,
        _ => return None,
    };
    let trace: Value = serde_json::from_str(&text).ok()?;
    let pid = u32::try_from(trace["pid"].as_u64()?).ok()?;
    let alive = processes::group_alive(pid, trace["start"].as_str());
    if !alive {
        let _ = fs::remove_file(&path);
    }
    alive.then_some(pid)
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

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    io::Write::write_all(&mut options.open(path)?, text.as_bytes())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    #[test]
    fn a_trace_stands_as_long_as_its_group_lives_and_goes_with_it() {
        let state = tempfile::tempdir().unwrap();
        let message = MessageId::new();
        assert_eq!(standing(state.path(), message), None);
        let mut child = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let trace = Trace::leave(state.path(), message, child.id()).unwrap();
        assert_eq!(standing(state.path(), message), Some(child.id()));
        assert_eq!(standing(state.path(), MessageId::new()), None);
        child.kill().unwrap();
        // A dead process that nobody has reaped yet works on nothing.
        let path = place(state.path(), message);
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while standing(state.path(), message).is_some() {
            assert!(std::time::Instant::now() < until, "a killed process ends");
            std::thread::yield_now();
        }
        assert!(!path.exists());
        child.wait().unwrap();
        drop(trace);
    }

    #[test]
    fn a_number_used_again_is_not_ours() {
        let state = tempfile::tempdir().unwrap();
        let message = MessageId::new();
        let trace = Trace::leave(state.path(), message, std::process::id()).unwrap();
        let foreign = json!({ "pid": std::process::id(), "start": "1" }).to_string();
        fs::write(&trace.path, foreign).unwrap();
        assert_eq!(standing(state.path(), message), None);
        fs::create_dir_all(state.path().join(FOLDER)).unwrap();
        fs::write(&trace.path, "{\"pid\":").unwrap();
        assert_eq!(standing(state.path(), message), None);
    }
}
