//! The door into a Copilot session that somebody has open: AxiOwl's extension, which Copilot
//! CLI runs beside it, listens on a socket in the state folder
//! (`providers/copilot-vscode.md` C1c).
//!
//! The answer on the socket is the provider's word that it took the message; the proof is the
//! session's own record.

use crate::follow::{Follow, LAG, Taker};
#[cfg(target_os = "linux")]
use crate::local_socket;
use crate::processes;
use axiowl_model::{Evidence, clip, display_safe};
use axiowl_pipeline::edge::{Delivery, EdgeError, Progress};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a message goes, for people.
pub(super) const ROUTE: &str = "the open session, through AxiOwl's extension in Copilot CLI";
/// The extension itself; it is put to `extensions/axiowl/` in Copilot's folder.
pub(crate) const EXTENSION: &str = include_str!("extension.mjs");
/// Where the extension names another state folder than the usual one.
const NAMED: &str = "const named = null;";

/// The extension as it is installed; it listens in the state folder that is named to it.
pub(crate) fn extension(state: Option<&str>) -> String {
    match state {
        None => EXTENSION.to_owned(),
        Some(folder) => EXTENSION.replace(NAMED, &format!("const named = {};", json!(folder))),
    }
}

/// How long the extension may take for an answer.
const ANSWER: Duration = Duration::from_secs(20);
const TAKER: Taker = Taker {
    name: "Copilot",
    program: "Copilot",
    store: "its record",
};

/// A door that answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Door {
    socket: PathBuf,
    /// The Copilot that has the session open.
    pid: u32,
}

/// What came of a request.
enum Asked {
    Answer(Value),
    /// Nothing was sent.
    Unsent(String),
    /// It may have been taken.
    Lost(String),
}

impl Door {
    /// The door of a session that a process has open.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of(state_root: &Path, session: &str, pid: u32) -> Result<Self, String> {
        if !processes::has_terminal(pid) {
            // The extension runs beside a headless turn too, and ends with it.
            return Err("it is no window, but a turn that ends by itself".into());
        }
        let door = Self {
            socket: state_root
                .join("copilot-cli")
                .join(format!("{session}.sock")),
            pid,
        };
        match door.ask(&json!({ "session": session })) {
            Asked::Answer(answer) if answer["session"] == session => Ok(door),
            Asked::Answer(answer) => Err(told(&answer)),
            Asked::Unsent(why) | Asked::Lost(why) => Err(why),
        }
    }

    /// Hands a message in and follows it to the end of its turn, which nobody here may cut short.
    pub fn deliver(
        &self,
        delivery: &Delivery<'_>,
        session: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        progress(Progress::Starting {
            route: ROUTE.into(),
        });
        let mut follow = Follow::new(delivery);
        match self.ask(&json!({ "session": session, "text": delivery.visible_body })) {
            Asked::Answer(answer) if answer["messageId"].is_string() => {
                let id = answer["messageId"].as_str().unwrap_or_default();
                let detail = display_safe(&format!("messageId={}", clip(id, 100)));
                progress(Progress::Submitted(Evidence::new("socket_answer", detail)));
            }
            Asked::Answer(answer) => {
                let reason = format!("Copilot's extension said: {}", told(&answer));
                return Err(EdgeError::NotSubmitted { reason });
            }
            Asked::Unsent(why) => {
                let reason = format!("Copilot's extension cannot be reached: {why}");
                return Err(EdgeError::NotSubmitted { reason });
            }
            // Only the record can tell.
            Asked::Lost(why) => {
                follow.settle(LAG, progress);
                if follow.sighting().message.is_none() {
                    let reason = format!("Copilot's extension may have taken it: {why}");
                    return Err(EdgeError::Uncertain { reason });
                }
            }
        }
        let start = processes::start_of(self.pid);
        let mut gone = || start.is_none() || processes::start_of(self.pid) != start;
        follow.see_through(&TAKER, &mut gone, progress)
    }

    #[cfg(target_os = "linux")]
    fn ask(&self, request: &Value) -> Asked {
        use std::io::{BufRead as _, BufReader, Read as _, Write as _};
        let found = match local_socket::connect(&self.socket) {
            Ok(found) => found,
            Err(error) => return Asked::Unsent(error),
        };
        // The extension is a child of the very process that has the session open.
        if processes::parent_of(found.pid) != Some(self.pid) {
            return Asked::Unsent("another program listens on its socket".into());
        }
        let mut stream = found.stream;
        let limits = stream
            .set_read_timeout(Some(ANSWER))
            .and_then(|()| stream.set_write_timeout(Some(ANSWER)));
        if let Err(error) = limits {
            return Asked::Unsent(error.to_string());
        }
        if let Err(error) = stream.write_all(format!("{request}\n").as_bytes()) {
            return Asked::Lost(error.to_string());
        }
        let mut line = String::new();
        match BufReader::new(stream.take(64 * 1024)).read_line(&mut line) {
            Ok(_) => match serde_json::from_str(&line) {
                Ok(answer) => Asked::Answer(answer),
                Err(_) => Asked::Lost("its answer is not understood".into()),
            },
            Err(error) => Asked::Lost(error.to_string()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn ask(&self, _request: &Value) -> Asked {
        Asked::Unsent("this system does not tell who listens on a socket".into())
    }
}

fn told(answer: &Value) -> String {
    let said = answer["error"]
        .as_str()
        .unwrap_or("nothing that is understood");
    display_safe(&clip(said, 300))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_state_folder_is_named_to_the_extension() {
        assert_eq!(extension(None), EXTENSION);
        let named = extension(Some("/a \"b\"/state"));
        assert!(
            named.contains("const named = \"/a \\\"b\\\"/state\";"),
            "{named}"
        );
        assert!(!named.contains(NAMED));
    }
}
