//! What `gemini --output-format stream-json` says while it works
//! (`providers/opencode-gemini.md` C, Gemini).

use crate::child::Ending;
use crate::one_turn::{Listener, Said, words};
use axiowl_model::{Evidence, display_safe};
use serde_json::Value;

/// Listens to a program that has one message for one session.
pub(super) struct Events {
    session: String,
    /// It named the session that was meant.
    named: bool,
    said: Said,
}

impl Events {
    pub(super) fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            named: false,
            said: Said::default(),
        }
    }
}

impl Listener for Events {
    fn line(&mut self, line: &str) -> Option<Vec<u8>> {
        let event: Value = serde_json::from_str(line).ok()?;
        let kind = event["type"].as_str()?;
        match kind {
            "init" => {
                let session = event["session_id"].as_str().unwrap_or_default();
                self.named = session == self.session;
                if !self.named {
                    let detail = display_safe(&format!("init session_id={session}"));
                    self.said.names(session, &self.session, || {
                        Evidence::new("stream_event", detail)
                    });
                }
            }
            "message" if event["role"] == "user" => {
                self.said.spoke = true;
                if self.named && self.said.confirmed.is_none() {
                    let detail = format!("message role=user session_id={}", self.session);
                    self.said.confirmed = Some(Evidence::new("stream_event", detail));
                }
            }
            "result" if self.said.end.is_none() => {
                let good = event["status"] == "success" && self.named;
                self.said.end = Some(if good {
                    let detail = format!("result status=success session_id={}", self.session);
                    Ok(Some(Evidence::new("stream_event", detail)))
                } else {
                    let message = event["error"]["message"].as_str().unwrap_or_default();
                    Err(words(message))
                });
            }
            _ => {}
        }
        None
    }

    fn ended(&mut self, ending: &Ending) {
        let unknown = ending.stderr.lines().find(|line| {
            line.contains("Invalid session identifier")
                || line.contains("No previous sessions found for this project")
        });
        self.said.unknown = unknown.map(words);
        if !ending.is_success() && matches!(self.said.end, Some(Ok(_))) {
            self.said.end = Some(Err(ending.told()));
        }
    }

    fn said(&self) -> &Said {
        &self.said
    }
}
