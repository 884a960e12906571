//! Who works with OpenCode's store now (`providers/opencode-gemini.md` C, Live TUI): there is no
//! lock, only the processes that have the database open and the ports they listen on.
//!
//! Reads only; the one question it asks a server changes nothing there.

use super::store::Session;
use crate::loopback::{self, NoAnswer, Server};
use crate::processes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::net::SocketAddr;
use std::path::Path;
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
    let mut servers = Vec::new();
    let mut elsewhere = None;
    for pid in processes::with_open(database) {
        if pid == me {
            continue;
        }
        match listener_of(pid, password) {
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
