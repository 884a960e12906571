//! Runs something each time a rule is saved.

use crate::exit::{Exit, Failure};
use notify::{RecursiveMode, Watcher};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Editors write a file in several steps; what comes this soon after belongs to one save.
const QUIET: Duration = Duration::from_millis(120);

/// Runs `act` once, and again after each save of the rule's file or of a script beside it,
/// until the folder is gone.
///
/// # Errors
/// When the folder cannot be watched.
pub fn each_save(file: &Path, act: &mut dyn FnMut()) -> Result<(), Failure> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let cannot = |error: notify::Error| {
        Failure::new(
            Exit::Failed,
            format!("{} cannot be watched: {error}", folder.display()),
        )
    };
    let (send, events) = channel();
    let mut watcher = notify::recommended_watcher(send).map_err(cannot)?;
    watcher
        .watch(folder, RecursiveMode::NonRecursive)
        .map_err(cannot)?;
    let mut content = contents(folder, file);
    act();
    while folder.is_dir() {
        // Events wake the loop; that one gets lost is no reason to wait for ever.
        match events.recv_timeout(Duration::from_secs(5)) {
            Ok(_) => while events.recv_timeout(QUIET).is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let now = contents(folder, file);
        if now != content && now.is_some() {
            content = now;
            act();
        }
    }
    Ok(())
}

/// The rule and its scripts, as one hash; nothing while a save has taken the file away.
fn contents(folder: &Path, file: &Path) -> Option<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&std::fs::read(file).ok()?);
    let mut scripts: Vec<_> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "rhai"))
        .collect();
    scripts.sort();
    for script in scripts {
        hasher.update(script.as_os_str().as_encoded_bytes());
        hasher.update(&std::fs::read(&script).unwrap_or_default());
    }
    Some(hasher.finalize())
}
