//! Who works with OpenCode's store now (`providers/opencode-gemini.md` C, Live TUI): there is no
//! lock, only the processes that have the database open and the ports they listen on. A door is
//! only what runs OpenCode's own program.
//!
//! Reads only; the one question it asks a server changes nothing there.

use super::is_opencode;
use super::store::Session;
use crate::loopback::{self, NoAnswer, Server};
use crate::processes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a server may take for an answer that needs no model, on a machine with much to do.
const ANSWER: Duration = Duration::from_secs(8);
/// The variable in which a server and its clients have its password.
pub(super) const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Live {
    /// Nobody that could have the session open.
    Nobody,
    /// A server that takes messages for every session.
    Door(Server),
    /// Somebody who would not see the message.
    Closed { reason: String, remedy: String },
}

/// What listens on an address of a process that has the store open.
enum Listener {
    Server(Server),
    /// A server that wants another password, or any.
    Locked,
    /// Something that took the question and did not answer it.
    Silent,
    Other,
}

/// Looks. `folder` is the session's real one, `password` what the configuration lets us know.
pub(super) fn look(
    database: &Path,
    folder: &Path,
    id: &str,
    session: &Session,
    password: Option<&str>,
) -> Live {
    if !cfg!(target_os = "linux") {
        return Live::Closed {
            reason: "this system does not tell who has OpenCode's store open".into(),
            remedy: "delivery to OpenCode works on Linux only so far".into(),
        };
    }
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let me = std::process::id();
    let program = processes::program_of(me);
    let mut servers = Vec::new();
    let mut elsewhere = None;
    for pid in processes::with_open(database) {
        // Another AxiOwl copies the store now and then.
        if pid == me || processes::program_of(pid) == program {
            continue;
        }
        let own = is_opencode(pid);
        match listener_of(pid, password.filter(|_| own)) {
            // Whoever has the store open and answers could be anybody.
            Listener::Server(_) | Listener::Locked | Listener::Silent if !own => {
                return stranger(pid);
            }
            Listener::Server(server) => {
                servers.push(server);
                continue;
            }
            // It serves every folder, so it may show any session.
            Listener::Locked => return locked(pid, password.is_some()),
            // It may serve every folder as well.
            Listener::Silent => return silent(pid),
            Listener::Other => {}
        }
        let words = processes::command_line(pid);
        if runs_another(&words, id) {
            continue;
        }
        let names_it = words.iter().any(|word| word == id);
        if names_it || processes::folder_of(pid).is_none_or(|at| shows(&at, &folder)) {
            let who = match own {
                true => "OpenCode",
                false => "something that has OpenCode's store open",
            };
            return Live::Closed {
                reason: format!(
                    "{who} runs in the session's folder or project as process {pid}, without a \
                     port to reach it by, and would not show the message"
                ),
                remedy: "leave it and send again, or start it with `opencode --port 0`".into(),
            };
        }
        elsewhere.get_or_insert(pid);
    }
    // The one that works on it queues the message; another one would answer beside it.
    let mut at_work = servers.iter().filter(|_| session.busy);
    if let Some(server) = at_work.find(|server| works_on(server, id)) {
        return Live::Door(server.clone());
    }
    match (servers.into_iter().next(), elsewhere) {
        (_, Some(pid)) if session.busy => Live::Closed {
            reason: format!("a turn of it has no end yet, and process {pid} may work on it"),
            remedy: "send again when it has ended".into(),
        },
        (Some(server), _) => Live::Door(server),
        // A turn that nobody works on was broken off; the next one goes on after it.
        (None, _) => Live::Nobody,
    }
}

fn locked(pid: u32, tried: bool) -> Live {
    let (what, remedy) = match tried {
        true => ("another password than the configured one", "give"),
        false => ("a password", "name"),
    };
    Live::Closed {
        reason: format!(
            "an OpenCode server that wants {what} runs as process {pid}, and may show the session"
        ),
        remedy: format!(
            "{remedy} its {PASSWORD} under `providers.opencode_cli.env` in config.yaml, or end it"
        ),
    }
}

fn stranger(pid: u32) -> Live {
    Live::Closed {
        reason: format!(
            "process {pid} has OpenCode's store open and listens, and does not run OpenCode's \
             program: it may be a server of it that shows the session, or anybody"
        ),
        remedy: "end it and send again".into(),
    }
}

/// Whether a program in one folder lists the sessions of another one: those of the whole
/// repository, and outside of any, of what lies above and below.
fn shows(at: &Path, folder: &Path) -> bool {
    match (repository(at), repository(folder)) {
        (None, None) => at.starts_with(folder) || folder.starts_with(at),
        (one, other) => one == other,
    }
}

/// What the folders of one repository have in common: the `.git` of its main work tree.
fn repository(folder: &Path) -> Option<PathBuf> {
    let git = folder.ancestors().map(|at| at.join(".git"));
    let git = git.into_iter().find(|git| git.exists())?;
    if git.is_dir() {
        return Some(git);
    }
    // Another work tree names its part of the main one's, which names the whole.
    let named = |file: &Path, mark: &str| {
        let text = fs::read_to_string(file).ok()?;
        let path = text.trim().strip_prefix(mark)?.trim().to_owned();
        file.parent()?.join(path).canonicalize().ok()
    };
    let own = named(&git, "gitdir:");
    let common = own
        .as_ref()
        .and_then(|own| named(&own.join("commondir"), ""));
    Some(common.or(own).unwrap_or(git))
}

fn silent(pid: u32) -> Live {
    Live::Closed {
        reason: format!(
            "OpenCode listens as process {pid}, may show the session, and gives no answer"
        ),
        remedy: "send again; if it stays silent, end it".into(),
    }
}

/// `opencode run --session <other>` works on one session and has no screen.
fn runs_another(words: &[String], id: &str) -> bool {
    let mut named = words
        .windows(2)
        .filter(|pair| pair[0] == "--session" || pair[0] == "-s")
        .map(|pair| pair[1].as_str());
    words.get(1).is_some_and(|word| word == "run") && named.next().is_some_and(|other| other != id)
}

fn listener_of(pid: u32, password: Option<&str>) -> Listener {
    let mut found = Listener::Other;
    for address in processes::listening(pid) {
        match ask(address, password) {
            Listener::Server(server) => return Listener::Server(server),
            Listener::Locked => found = Listener::Locked,
            Listener::Silent if matches!(found, Listener::Other) => found = Listener::Silent,
            Listener::Silent | Listener::Other => {}
        }
    }
    found
}

/// Whether an OpenCode server listens there, and lets us in. The password goes to nobody who
/// does not ask for one.
fn ask(address: SocketAddr, password: Option<&str>) -> Listener {
    let login = |password: &str| {
        let pair = STANDARD.encode(format!("opencode:{password}"));
        format!("Basic {pair}")
    };
    let mut server = Server {
        address,
        login: None,
    };
    for login in [None, password.map(login)] {
        server.login = login;
        let answer = loopback::request(&server, "GET", "/global/health", None, ANSWER);
        match answer {
            Ok(answer) if answer.status == 200 && answer.body["healthy"] == true => {
                return Listener::Server(server);
            }
            Ok(answer) if answer.status == 401 => {}
            Err(NoAnswer::Lost(_)) => return Listener::Silent,
            Ok(_) | Err(NoAnswer::Unsent(_)) => return Listener::Other,
        }
    }
    Listener::Locked
}

/// Whether a turn of the session runs in that very server, which knows of no other's.
fn works_on(server: &Server, id: &str) -> bool {
    let answer = loopback::request(server, "GET", "/session/status", None, ANSWER);
    answer.is_ok_and(|answer| answer.status == 200 && answer.body[id]["type"] == "busy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_another_session_is_told_from_what_may_show_this_one() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for line in [
            "opencode run --format json --session ses_b",
            "/x/opencode run -s ses_b",
        ] {
            assert!(runs_another(&words(line), "ses_a"), "{line}");
        }
        for line in [
            "opencode run --session ses_a",
            "opencode run hello",
            "opencode --session ses_b",
            "opencode",
            "opencode serve --session ses_b run",
        ] {
            assert!(!runs_another(&words(line), "ses_a"), "{line}");
        }
    }
}
