//! Asks the Codex desktop app over its IPC router whether it owns a thread
//! (`providers/codex.md` C6, `thread-owner-discovery`). Asking changes nothing there.
//!
//! The socket is only talked to when it and its folder belong to this user and nobody else can
//! write there, and when the process behind it is this user's.

use axiowl_sources::World;
use std::path::Path;

/// Whether the desktop app owns a thread.
///
/// # Errors
/// Why it cannot be known.
#[cfg(not(target_os = "linux"))]
pub(crate) fn owns(_world: &World, _root: &Path, _thread: &str) -> Result<bool, String> {
    Err("asking the Codex desktop app is not supported here".into())
}

/// Whether the desktop app owns a thread.
///
/// # Errors
/// Why it cannot be known.
#[cfg(target_os = "linux")]
pub(crate) fn owns(world: &World, root: &Path, thread: &str) -> Result<bool, String> {
    linux::owns(&linux::places(world, root), thread)
}

#[cfg(target_os = "linux")]
mod linux;
