//! Who works with OpenCode's store now (`providers/opencode-gemini.md` C, Live TUI): there is no
//! lock, only the processes that have the database open and the ports they listen on.
//!
//! Reads only; the one question it asks a server changes nothing there.

use crate::loopback;
use crate::processes;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// How long a server may take to say that it is one.
const HEALTH: Duration = Duration::from_secs(3);

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Live {
    /// Nobody that could have the session open.
    Nobody,
    /// A server that takes messages for every session.
    Door(SocketAddr),
    /// Somebody who would not see the message.
    Closed { reason: String, remedy: String },
}

/// Looks. `busy` says that the session's newest answer has no end.
pub(super) fn look(database: &Path, folder: &Path, session: &str, busy: bool) -> Live {
    if !cfg!(target_os = "linux") {
        return Live::Closed {
            reason: "this system does not tell who has OpenCode's store open".into(),
            remedy: "delivery to OpenCode works on Linux only so far".into(),
        };
    }
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let me = std::process::id();
    let mut door = None;
    let mut elsewhere = None;
    for pid in processes::with_open(database) {
        if pid == me {
            continue;
        }
        if let Some(address) = processes::listening(pid)
            .into_iter()
            .find(|at| is_server(*at))
        {
            door.get_or_insert(address);
            continue;
        }
        let names_it = processes::command_line(pid)
            .iter()
            .any(|word| word == session);
        if names_it || processes::folder_of(pid).is_none_or(|at| at == folder) {
            return Live::Closed {
                reason: format!(
                    "OpenCode runs in the session's folder as process {pid}, without a port to \
                     reach it by, and would not show the message"
                ),
                remedy: "leave it and send again, or start it with `opencode --port 0`".into(),
            };
        }
        elsewhere.get_or_insert(pid);
    }
    match (door, elsewhere) {
        (Some(address), _) => Live::Door(address),
        (None, Some(pid)) if busy => Live::Closed {
            reason: format!("a turn of it has no end yet, and process {pid} may work on it"),
            remedy: "send again when it has ended".into(),
        },
        // A turn that nobody works on was broken off; the next one goes on after it.
        (None, _) => Live::Nobody,
    }
}

/// Whether an OpenCode server without a password listens there.
fn is_server(address: SocketAddr) -> bool {
    let answer = loopback::request(address, "GET", "/global/health", None, HEALTH);
    answer.is_ok_and(|answer| answer.status == 200 && answer.body["healthy"] == true)
}
