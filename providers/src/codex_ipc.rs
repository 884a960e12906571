//! Asks the Codex desktop app over its IPC router whether it owns a thread
//! (`providers/codex.md` C6, `thread-owner-discovery`), which changes nothing there, and has the
//! owner start a turn (`thread-follower-start-turn`). The shapes are known from public code only.
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

/// Why no turn was started, or that nobody knows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoTurn {
    /// Nothing was asked for.
    Unasked(String),
    /// The owner said no.
    Declined(String),
    /// It was asked for, and no answer came.
    Unknown(String),
}

/// A message for the owner of a thread.
#[cfg(target_os = "linux")]
pub(crate) struct Said<'a> {
    /// The thread.
    pub thread: &'a str,
    /// Our id of the message, which the owner writes down with it.
    pub message: &'a str,
    /// What the thread will read.
    pub body: &'a str,
}

/// The desktop app that owns a thread, ready to be asked for a turn.
#[cfg(target_os = "linux")]
pub(crate) use linux::Desk;

/// The desktop app that owns a thread; `None` when it owns it not.
///
/// # Errors
/// Why it cannot be known.
#[cfg(target_os = "linux")]
pub(crate) fn desk(root: &Path, thread: &str) -> Result<Option<Desk>, String> {
    linux::desk(&linux::own_place(root), thread)
}

#[cfg(target_os = "linux")]
mod linux;
