//! What `claude -p` says while it works: its `stream-json` events
//! (`providers/claude-code.md` C.1).
//!
//! Collects facts; what they mean for the delivery is decided elsewhere.

use axiowl_model::{Evidence, MessageId, clip, display_safe};
use serde_json::Value;

/// The end of a turn as the program tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TurnResult {
    /// The session it speaks of.
    pub session: String,
    /// `subtype: success` says nothing; this does (C.1).
    pub is_error: bool,
    /// Turns it ran.
    pub turns: u64,
    /// What the model or the provider said last.
    pub text: String,
}

impl TurnResult {
    /// A turn of that session that ended well.
    pub fn is_good(&self, session: &str) -> bool {
        !self.is_error && self.turns > 0 && self.session == session
    }

    /// What the provider said, for a reason.
    pub fn told(&self) -> String {
        let text = display_safe(&clip(self.text.trim(), 600));
        if text.is_empty() {
            "no reason given".into()
        } else {
            text
        }
    }

    fn of(event: &Value) -> Self {
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let errors = event["errors"].as_array().into_iter().flatten();
        let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
        let said = text("result");
        Self {
            session: text("session_id"),
            is_error: event["is_error"] != false,
            turns: event["num_turns"].as_u64().unwrap_or(0),
            text: if said.is_empty() {
                errors.join("; ")
            } else {
                said
            },
        }
    }
}

/// Everything heard from one program.
#[derive(Debug)]
pub(super) struct Heard {
    session: String,
    message: String,
    /// It repeated our message: it has taken it.
    pub echoed: bool,
    /// How the turn that read our message ended: the first result, since a second one speaks
    /// of a sub-agent in the background (C.1).
    pub result: Option<TurnResult>,
    /// Another session that an event speaks of, and which event. `init` does not count: there
    /// it once was a throw-away id (#58760).
    pub elsewhere: Option<(String, String)>,
    /// Events of any kind.
    pub events: usize,
}

impl Heard {
    /// Listens to a program that has one message for one session.
    pub fn new(session: &str, message: MessageId) -> Self {
        Self {
            session: session.to_owned(),
            message: message.to_string(),
            echoed: false,
            result: None,
            elsewhere: None,
            events: 0,
        }
    }

    /// Whether the message has to stand in the transcript by now, or soon.
    pub fn must_show(&self) -> bool {
        let ran = |result: &TurnResult| !result.is_error || result.turns > 0;
        self.echoed || self.result.as_ref().is_some_and(ran)
    }

    /// Takes one line; evidence when it is the echo of our message.
    pub fn take(&mut self, line: &str) -> Option<Evidence> {
        let event: Value = serde_json::from_str(line).ok()?;
        let kind = event["type"].as_str()?;
        self.events += 1;
        let session = event["session_id"].as_str().unwrap_or_default();
        let tells = matches!(kind, "user" | "assistant" | "result");
        if tells && !session.is_empty() && session != self.session {
            self.elsewhere
                .get_or_insert_with(|| (session.to_owned(), kind.to_owned()));
        }
        match kind {
            "result" if self.result.is_none() => {
                self.result = Some(TurnResult::of(&event));
                None
            }
            "user" if event["isReplay"] == true && event["uuid"] == self.message.as_str() => {
                let first = !std::mem::replace(&mut self.echoed, true);
                if first {
                    // A result before the echo ended another turn, one that was left open.
                    self.result = None;
                }
                let detail = format!("isReplay uuid={} session_id={session}", self.message);
                first.then(|| Evidence::new("stream_event", detail))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SESSION: &str = "c7c8aaaa-0000-4000-8000-000000000001";

    fn heard(events: &[Value]) -> (Heard, usize, MessageId) {
        let id = MessageId::new();
        let mut heard = Heard::new(SESSION, id);
        let mut echoes = 0;
        for event in events {
            let line = event.to_string().replace("<uuid>", &id.to_string());
            echoes += usize::from(heard.take(&line).is_some());
        }
        (heard, echoes, id)
    }

    #[test]
    fn only_the_echo_of_our_own_message_counts_and_counts_once() {
        let echo = |uuid: &str, replay: bool| json!({"type": "user", "uuid": uuid, "isReplay": replay, "session_id": SESSION});
        let (heard, echoes, _) = heard(&[
            echo("other", true),
            echo("<uuid>", false),
            echo("<uuid>", true),
            echo("<uuid>", true),
        ]);
        assert_eq!((heard.echoed, echoes, heard.events), (true, 1, 4));
    }

    #[test]
    fn the_first_result_is_the_turns_and_success_is_told_by_is_error() {
        let result = |error: Value, turns: u64| {
            json!({"type": "result", "subtype": "success", "is_error": error, "num_turns": turns,
                   "session_id": SESSION, "result": "text"})
        };
        let (first, ..) = heard(&[result(json!(false), 1), result(json!(true), 1)]);
        assert!(first.result.unwrap().is_good(SESSION));
        for event in [
            result(json!(true), 1),
            result(json!(false), 0),
            result(Value::Null, 1),
        ] {
            let (heard, ..) = heard(&[event]);
            assert!(!heard.result.unwrap().is_good(SESSION));
        }
        let failed =
            json!({"type": "result", "is_error": true, "errors": ["No conversation", "x"]});
        let (heard, ..) = heard(&[failed]);
        assert_eq!(heard.result.unwrap().told(), "No conversation; x");
    }

    #[test]
    fn a_result_before_the_echo_is_not_ours() {
        let result = |error: bool| json!({"type": "result", "is_error": error, "num_turns": 1, "session_id": SESSION});
        let echo = json!({"type": "user", "uuid": "<uuid>", "isReplay": true});
        let (heard, ..) = heard(&[result(true), echo, result(false)]);
        assert!(heard.result.unwrap().is_good(SESSION));
    }

    #[test]
    fn another_session_is_noticed_except_in_init() {
        let (quiet, ..) = heard(&[json!({"type": "system", "subtype": "init", "session_id": "x"})]);
        assert_eq!(quiet.elsewhere, None);
        let (loud, ..) = heard(&[json!({"type": "result", "session_id": "x", "is_error": false})]);
        assert_eq!(loud.elsewhere, Some(("x".into(), "result".into())));
    }

    #[test]
    fn what_is_no_event_is_passed_over() {
        let mut heard = Heard::new(SESSION, MessageId::new());
        for line in ["", "plain text", "{\"type\":", "[1]", "{\"type\":7}"] {
            assert_eq!(heard.take(line), None);
        }
        assert_eq!(heard.events, 0);
    }
}
