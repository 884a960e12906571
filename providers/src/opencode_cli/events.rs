//! What `opencode run --format json` says while it works (`providers/opencode-gemini.md` C).
//!
//! The proof is in the store; what is heard here only says how far the program got.

use crate::child::Ending;
use crate::one_turn::{Listener, Said, words};
use axiowl_model::{Evidence, display_safe};
use serde_json::Value;

/// Listens to a program that has one message for one session.
pub(super) struct Events {
    session: String,
    said: Said,
}

impl Events {
    pub(super) fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            said: Said::default(),
        }
    }
}

impl Listener for Events {
    fn line(&mut self, line: &str) -> Option<Vec<u8>> {
        let event: Value = serde_json::from_str(line).ok()?;
        let kind = event["type"].as_str()?;
        self.said.spoke = true;
        if let Some(session) = event["sessionID"].as_str() {
            self.said.names(session, &self.session, || {
                let detail = format!("{kind} sessionID={session}");
                Evidence::new("stream_event", display_safe(&detail))
            });
        }
        match kind {
            "error" => {
                let error = &event["error"];
                let message = error["data"]["message"].as_str();
                let message = message.or(error["name"].as_str()).unwrap_or_default();
                self.said.end = Some(Err(words(message)));
            }
            // A turn that goes on after a tool has more of them.
            "step_finish" if event["part"]["reason"] == "stop" => {
                self.said.end.get_or_insert(Ok(None));
            }
            _ => {}
        }
        None
    }

    fn ended(&mut self, ending: &Ending) {
        let unknown = ending
            .stderr
            .lines()
            .find(|line| line.contains("Session not found"));
        self.said.unknown = unknown.map(words);
        if !ending.is_success() && matches!(self.said.end, Some(Ok(_))) {
            self.said.end = Some(Err(ending.told()));
        }
    }

    fn said(&self) -> &Said {
        &self.said
    }
}
