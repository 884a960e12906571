//! What `copilot --output-format json` says while it works (`providers/copilot-vscode.md` C1a).
//!
//! The proof is the session's own record: `user.message` with our header, and an
//! `assistant.message` whose `originatingMessageId` is its `messageId`. What is heard here only
//! says how far the program got.

use crate::child::Ending;
use crate::one_turn::{Listener, Said, words};
use axiowl_model::{Evidence, MessageId, VISIBLE_MARK, display_safe};
use serde_json::Value;

/// Listens to a program that has one message for one session.
pub(super) struct Events {
    session: String,
    mark: String,
    said: Said,
}

impl Events {
    pub(super) fn new(session: &str, message: MessageId) -> Self {
        Self {
            session: session.to_owned(),
            mark: format!("{VISIBLE_MARK}{message}]"),
            said: Said::default(),
        }
    }
}

impl Listener for Events {
    fn line(&mut self, line: &str) -> Option<Vec<u8>> {
        let event: Value = serde_json::from_str(line).ok()?;
        let kind = event["type"].as_str()?;
        let data = &event["data"];
        match kind {
            "user.message" => {
                self.said.spoke = true;
                let text = data["content"].as_str().unwrap_or_default();
                if text.starts_with(&self.mark) {
                    let id = data["messageId"].as_str().unwrap_or_default();
                    let detail = display_safe(&format!("user.message messageId={id}"));
                    self.said.confirmed = Some(Evidence::new("stream_event", detail));
                }
            }
            "session.error" if self.said.end.is_none() => {
                let message = data["message"].as_str().unwrap_or_default();
                self.said.end = Some(Err(words(message)));
            }
            "result" => {
                let session = event["sessionId"].as_str().unwrap_or_default();
                let code = &event["exitCode"];
                if session != self.session && !session.is_empty() {
                    let detail = display_safe(&format!("result sessionId={session}"));
                    self.said.names(session, &self.session, || {
                        Evidence::new("stream_event", detail)
                    });
                }
                if self.said.end.is_none() {
                    self.said.end = Some(match code.as_i64() {
                        // The record of the turn's end is in the session itself.
                        Some(0) => Ok(None),
                        _ => Err(format!("exit code {code}")),
                    });
                }
            }
            _ => {}
        }
        None
    }

    fn ended(&mut self, ending: &Ending) {
        let unknown = ending
            .stderr
            .lines()
            .find(|line| line.contains("No session, task, or name matched"));
        self.said.unknown = unknown.map(words);
    }

    fn said(&self) -> &Said {
        &self.said
    }
}
