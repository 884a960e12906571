//! What `cursor-agent -p` says while it works: its `stream-json` events
//! (`providers/cursor-antigravity-grok.md` B.2).

use crate::child::Ending;
use crate::one_turn::{Listener, Said, words};
use axiowl_model::{Evidence, display_safe};
use serde_json::Value;

/// Listens to a program that has one message for one chat.
pub(super) struct Stream {
    session: String,
    said: Said,
}

impl Stream {
    pub(super) fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            said: Said::default(),
        }
    }
}

impl Listener for Stream {
    fn line(&mut self, line: &str) -> Option<Vec<u8>> {
        let event: Value = serde_json::from_str(line).ok()?;
        let kind = event["type"].as_str()?;
        self.said.spoke = true;
        let session = event["session_id"].as_str()?;
        // Its first event comes before it has taken the message, and is enough to notice
        // another chat, before that one's turn has begun (X08).
        if kind != "system" || session != self.session {
            self.said.names(session, &self.session, || {
                Evidence::new(
                    "stream_event",
                    display_safe(&format!("{kind} session_id={session}")),
                )
            });
        }
        if kind == "result" && self.said.end.is_none() {
            let good = event["is_error"] == false && event["subtype"] == "success";
            self.said.end = Some(if good {
                let detail = format!("result is_error=false session_id={}", self.session);
                Ok(Some(Evidence::new("stream_event", detail)))
            } else {
                Err(words(event["result"].as_str().unwrap_or_default()))
            });
        }
        None
    }

    fn ended(&mut self, ending: &Ending) {
        // A good result and then an exit code of failure: something went wrong after it.
        if !ending.is_success() && matches!(self.said.end, Some(Ok(_))) {
            self.said.end = Some(Err(ending.told()));
        }
    }

    fn said(&self) -> &Said {
        &self.said
    }
}
