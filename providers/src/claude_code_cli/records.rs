//! Claude Code's records of its running processes: `<root>/sessions/<pid>.json`
//! (`providers/claude-code.md` A.4 and C.5). They say whether somebody has a session open.
//!
//! Reads only. A record is a claim; a process with that id and start time makes it true.

use crate::open_session::Receiver;
use crate::processes;
use crate::version::Version;
use axiowl_model::display_safe;
use axiowl_sources::World;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A record is a few hundred bytes.
const LARGEST: u64 = 256 * 1024;
/// Below this version a record may name another session than the one that is open
/// (`providers/claude-code.md` E: #37739, #53037).
const RELIABLE: Version = Version::new(2, 1, 197);

/// Somebody has the session open, or may have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Open {
    /// What was seen.
    pub reason: String,
    /// What would help.
    pub remedy: String,
    /// Where it takes messages, when it says so and is known for certain.
    pub inlet: Option<Inlet>,
}

/// A process that has a session open, and the socket it takes messages at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inlet {
    /// The process.
    pub receiver: Receiver,
    /// Its inbox.
    pub socket: PathBuf,
    /// Its record.
    pub record: PathBuf,
}

/// Whether a session is open in a process, as far as its records and the process table tell.
/// `cwd` is the session's folder.
pub(super) fn open(world: &World, root: &Path, session: &str, cwd: &Path) -> Option<Open> {
    let folder = root.join("sessions");
    let Ok(entries) = fs::read_dir(&folder) else {
        return unrecorded(&folder, cwd);
    };
    let files = entries.flatten().map(|entry| entry.path());
    let mut records: Vec<_> = files
        .filter(|path| path.extension() == Some("json".as_ref()))
        .collect();
    records.sort();
    let found = records
        .iter()
        .filter_map(|path| judge(world, path, session, cwd));
    // Two processes with one session write two branches of it; neither is the right one.
    found.reduce(|one, other| Open {
        reason: format!("{}; {}", one.reason, other.reason),
        remedy: one.remedy,
        inlet: None,
    })
}

/// The session that a record names now.
#[cfg(target_os = "linux")]
pub(super) fn session_of(record: &Path) -> Option<String> {
    Some(read(record)?["sessionId"].as_str()?.to_owned())
}

/// Versions before about 2.1.100 keep no records; only a look at the processes is left.
fn unrecorded(folder: &Path, cwd: &Path) -> Option<Open> {
    let pid = processes::running_in(cwd, is_claude)?;
    Some(Open {
        reason: format!(
            "Claude Code runs in the session's folder as process {pid} and keeps no record in {} \
             of the session it has open",
            folder.display()
        ),
        remedy: close(pid),
        inlet: None,
    })
}

fn is_claude(arguments: &[String]) -> bool {
    let program = |text: &str| {
        Path::new(text)
            .file_name()
            .is_some_and(|name| name == "claude")
    };
    let script = |text: &String| text.contains("claude-code") && text.ends_with(".js");
    arguments.iter().take(2).any(|text| program(text)) || arguments.iter().take(3).any(script)
}

fn judge(world: &World, path: &Path, session: &str, cwd: &Path) -> Option<Open> {
    let pid = path.file_stem()?.to_str()?.parse::<u32>().ok()?;
    let Some(record) = read(path) else {
        return world.pid_alive(pid, None).then(|| Open {
            reason: format!(
                "process {pid} runs, and its record {} cannot be read: it may have the session open",
                path.display()
            ),
            remedy: "send again in a moment".into(),
            inlet: None,
        });
    };
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    let version = Version::parse(text("version"));
    let names_it = text("sessionId").eq_ignore_ascii_case(session);
    let unreliable = version.is_some_and(|version| version < RELIABLE);
    let may_have_it = unreliable && text("cwd") == cwd.to_string_lossy();
    if !names_it && !may_have_it {
        return None;
    }
    let pid = record["pid"]
        .as_u64()
        .and_then(|pid| u32::try_from(pid).ok())
        .unwrap_or(pid);
    let shown = display_safe(text("version"));
    let domain = text("pidDomain");
    if names_it && !is_our_domain(domain) {
        return Some(Open {
            reason: format!(
                "it is recorded as open in process {pid} of another container or machine \
                 ({}), whose end cannot be seen from here",
                display_safe(domain)
            ),
            remedy: format!(
                "close it there; if that place is gone, remove {}",
                path.display()
            ),
            inlet: None,
        });
    }
    let start = Some(text("procStart")).filter(|start| !start.is_empty());
    if !world.pid_alive(pid, start) {
        return None;
    }
    if !names_it {
        return Some(Open {
            reason: format!(
                "Claude Code {shown} runs in the session's folder as process {pid}, and that \
                 version's record may name another session than the one it has open"
            ),
            remedy: close(pid),
            inlet: None,
        });
    }
    let inlet = match (start, text("messagingSocketPath")) {
        // Without a start time the number may be another process's by now.
        (Some(start), socket) if !unreliable && !socket.is_empty() => Some(Inlet {
            receiver: Receiver {
                pid,
                start: start.to_owned(),
            },
            socket: PathBuf::from(socket),
            record: path.to_owned(),
        }),
        _ => None,
    };
    Some(Open {
        reason: opened(&record, pid, &shown),
        remedy: close(pid),
        inlet,
    })
}

fn opened(record: &Value, pid: u32, version: &str) -> String {
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    let surface = match (text("kind"), text("entrypoint")) {
        ("bg", _) => "a background session",
        (_, "cli") => "a terminal",
        (_, "sdk-cli") => "`claude -p`",
        _ => "another program",
    };
    let status = match (text("status"), text("waitingFor")) {
        ("", _) => String::new(),
        (status, "") => format!(", {}", display_safe(status)),
        (status, what) => format!(", {} for {}", display_safe(status), display_safe(what)),
    };
    format!("it is open in {surface}: process {pid}, Claude Code {version}{status}")
}

fn close(pid: u32) -> String {
    format!(
        "leave that session (process {pid}) with /exit and send again; Claude Code 2.1.280 and \
         later have an inbox that takes messages while a session is open"
    )
}

fn read(path: &Path) -> Option<Value> {
    let meta = fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return None;
    }
    let record: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    record.is_object().then_some(record)
}

/// A record without a domain is one of ours. `linux:<machine id>:pid:[<namespace>]`, as
/// `/etc/machine-id` and the kernel write them.
pub(crate) fn is_our_domain(domain: &str) -> bool {
    let Some(rest) = domain.strip_prefix("linux:") else {
        return true;
    };
    let Some((machine, namespace)) = rest.split_once(':') else {
        return true;
    };
    let own = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let own = own.trim();
    let same_machine = own.is_empty() || machine.is_empty() || own == machine;
    same_machine && processes::pid_domain().is_none_or(|own| own == namespace)
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
