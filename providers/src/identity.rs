//! Native verification of who calls over MCP, one file a provider: each confirms, in the
//! provider's own store and process table, what the provider's rule read from a request.
//!
//! Reads only. Nothing here takes a word of the model for an identity; what the model wrote is
//! only compared with what the provider recorded.

mod claude_code_cli;
mod codex;
mod copilot_cli;
mod grok;
mod marker;
mod opencode_cli;
mod vscode;

use crate::processes;
use axiowl_pipeline::identity::marker::digest;
use axiowl_pipeline::identity::{CallContext, Door, HostProcess, IdentityVerifier};
use axiowl_sources::World;
use memchr::{memchr, memmem, memrchr};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How far up a host is looked for: behind a shell, `npx`, a version manager.
const GENERATIONS: usize = 12;
/// How long a provider may take to write a call down before it is taken for none. Claude Code
/// takes 3–790 ms (`providers/claude-code.md` D).
const LAG: Duration = Duration::from_secs(5);
/// How often its store is looked at meanwhile. No provider tells when it has written.
const GLANCE: Duration = Duration::from_millis(15);
/// Records of running processes and lists of them are small.
const LARGEST: u64 = 1 << 20;
/// What to do where a client is behind something that it started.
const DIRECTLY: &str = "let the client's configuration name axiowl itself, without a shell or \
                        another program between them";
/// The end of a transcript in which a pending call stands.
const TAIL: u64 = 1 << 20;
/// How much of it is looked at where a call is not there by [`SOON`]: another tool of the same
/// turn may have answered with whole pictures since.
const FAR: [u64; 2] = [8 << 20, 64 << 20];
const SOON: Duration = Duration::from_secs(1);

/// All verifiers of real providers.
pub(crate) fn verifiers() -> Vec<Box<dyn IdentityVerifier>> {
    let mut out: Vec<Box<dyn IdentityVerifier>> = vec![
        Box::new(claude_code_cli::ClaudeTranscript),
        Box::new(codex::CodexTurn),
        Box::new(copilot_cli::CopilotInUse),
        Box::new(grok::GrokHost),
        Box::new(opencode_cli::OpencodePendingCall),
        Box::new(opencode_cli::OpencodeStore),
        Box::new(vscode::VscodeHost),
    ];
    out.extend(marker::ALL.map(|marker| Box::new(marker) as Box<dyn IdentityVerifier>));
    out
}

/// The processes that a call comes from, the nearest first: those that this one descends from,
/// or the one that holds the other end of a connection and those that it descends from.
///
/// # Errors
/// When nobody can be told who holds the other end.
pub fn host_processes(door: Door) -> Result<Vec<HostProcess>, String> {
    let nearest = match door {
        Door::Pipes => processes::parent_of(std::process::id()),
        Door::Loopback { client, server } => Some(caller_of(client, server)?),
    };
    let mut out: Vec<HostProcess> = Vec::new();
    let mut next = nearest;
    while let Some(pid) = next.filter(|pid| *pid != 0)
        && out.len() < GENERATIONS
    {
        out.push(HostProcess {
            pid,
            start: processes::start_of(pid),
            name: processes::name_of(pid).unwrap_or_default(),
            own: processes::is_own(pid),
        });
        next = processes::parent_of(pid);
    }
    if cfg!(target_os = "linux") && out.is_empty() {
        return Err(
            "the process that calls cannot be seen from here, so nobody can tell who it is;              start `axiowl mcp` where its host runs, in no PID namespace of its own"
                .into(),
        );
    }
    Ok(out)
}

/// The one process that holds the other end of a connection.
fn caller_of(client: SocketAddr, server: SocketAddr) -> Result<u32, String> {
    match processes::holders_of(client, server).as_slice() {
        [pid] => Ok(*pid),
        [] => Err(format!(
            "no process of this user holds the other end of the connection from {client}, so \
             nobody can tell which process is calling; let the host start `axiowl mcp` itself"
        )),
        several => Err(format!(
            "{} processes hold the other end of the connection from {client}",
            several.len()
        )),
    }
}

/// The folder in which a provider keeps its files: the home that is asked about, else what a
/// variable names, else one below the user's home.
fn folder(world: &World, variable: &str, below_home: &str) -> String {
    match (world.provider_home(), world.env(variable)) {
        (Some(folder), _) | (None, Some(folder)) => folder.to_owned(),
        (None, None) => format!("{}/{below_home}", world.home()),
    }
}

/// A small document of the provider's own, where it is there and whole.
fn document(path: &Path) -> Option<Value> {
    let small = fs::metadata(path).is_ok_and(|meta| meta.len() <= LARGEST);
    let text = small.then(|| fs::read_to_string(path).ok()).flatten()?;
    serde_json::from_str(&text).ok()
}

/// Whether a call that a transcript names is the one that came: the same tool, behind whatever
/// the host puts before its name, with the same arguments.
fn is_call(call: &CallContext, named: &str, written: &Value) -> bool {
    let own = named.strip_suffix(&call.tool);
    let own = own.is_some_and(|before| before.is_empty() || before.ends_with('_'));
    own && digest(&call.tool, written) == digest(&call.tool, call.arguments())
}

/// Whether the call comes from a process or one that it started. Where the system does not tell
/// who started whom, it may.
fn comes_from(call: &CallContext, pid: u32) -> bool {
    call.host.is_empty() || call.host.iter().any(|process| process.pid == pid)
}

/// The process that the call comes from, where that is what proves it. Anything between a client
/// and this server could be anybody's, so it has to be the client itself.
fn nearest(call: &CallContext) -> Result<&HostProcess, String> {
    call.host.first().ok_or_else(|| {
        "this system does not tell which process calls, and nothing else tells this client's \
         sessions from whoever imitates one"
            .to_owned()
    })
}

/// The last part of a path.
fn file_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

/// Looks again and again until there is an answer, the time is over, or the call is given up.
fn wait_for<T>(
    call: &CallContext,
    within: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> Option<T> {
    let until = Instant::now() + within;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= until || call.given_up.is_cancelled() {
            return found;
        }
        thread::sleep(GLANCE);
    }
}

/// Looks for a call that its provider writes down about now, in so many bytes at the end of its
/// transcripts: in few again and again, and in many once.
fn wait_for_record<T>(call: &CallContext, mut look: impl FnMut(u64) -> Option<T>) -> Option<T> {
    wait_for(call, SOON, || look(TAIL))
        .or_else(|| FAR.iter().find_map(|reach| look(*reach)))
        .or_else(|| wait_for(call, LAG.saturating_sub(SOON), || look(TAIL)))
}

/// The whole lines at the end of a file, in at most so many bytes.
fn tail(path: &Path, reach: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(reach);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(reach).read_to_end(&mut bytes)?;
    if start > 0 {
        let cut = memchr(b'\n', &bytes);
        bytes.drain(..cut.map_or(bytes.len(), |at| at + 1));
    }
    Ok(bytes)
}

/// The records of some lines that hold a text.
fn records_with<'a>(lines: &'a [u8], text: &'a str) -> impl Iterator<Item = Value> + 'a {
    let mut from = 0;
    let finder = memmem::Finder::new(text.as_bytes());
    let lines = std::iter::from_fn(move || {
        let at = from + finder.find(lines.get(from..)?)?;
        let start = memrchr(b'\n', &lines[..at]).map_or(0, |end| end + 1);
        let end = memchr(b'\n', &lines[at..]).map_or(lines.len(), |end| at + end);
        from = end + 1;
        Some(&lines[start..end])
    });
    lines.filter_map(|line| serde_json::from_slice(line).ok())
}

#[cfg(test)]
mod tests;
