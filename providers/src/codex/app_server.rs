//! A private `codex app-server` on standard input and output: JSON-RPC without a `jsonrpc` field
//! (`providers/codex.md` C3). It dies with us, which is why a delivery stays to the turn's end.
//!
//! Keeps what the server says about one thread's turns; decides nothing about a message.

use super::approvals;
use crate::child::{Ending, Next, Program, Running, StartError};
use axiowl_model::{clip, display_safe};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// JSON-RPC's code for a method that the server does not know.
const METHOD_NOT_FOUND: i64 = -32601;

/// Who we are, for `initialize`. The queue needs the experimental calls.
pub(super) fn hello() -> Value {
    let client = json!({
        "name": "axiowl", "title": "AxiOwl", "version": env!("CARGO_PKG_VERSION")
    });
    json!({ "clientInfo": client, "capabilities": { "experimentalApi": true } })
}

/// What an answer brought.
pub(super) fn result_of(answer: &Value) -> Result<Value, CallError> {
    match answer.get("error") {
        Some(error) => Err(CallError::Rpc {
            code: error["code"].as_i64().unwrap_or(0),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
        }),
        None => Ok(answer["result"].clone()),
    }
}

/// Something that answers Codex's calls.
pub(super) trait Calls {
    /// Calls a method and waits for its answer.
    fn call(&mut self, method: &str, params: Value, until: Instant) -> Result<Value, CallError>;
}

impl Calls for AppServer {
    fn call(&mut self, method: &str, params: Value, until: Instant) -> Result<Value, CallError> {
        AppServer::call(self, method, params, until)
    }
}

/// A call that brought no result.
#[derive(Debug)]
pub(super) enum CallError {
    /// The server answered with an error.
    Rpc {
        /// Its code.
        code: i64,
        /// Its words.
        message: String,
    },
    /// It ended, or closed its output.
    Ended,
    /// It printed without end.
    Flooded,
    /// No answer in time.
    TimedOut,
}

impl CallError {
    /// The server does not know the method, which an older one may not (version table of
    /// `providers/codex.md`). A thread it cannot open is another matter.
    pub fn is_unknown_method(&self) -> bool {
        match self {
            Self::Rpc { code, message } => {
                let unknown =
                    message.contains("unknown variant") || message.contains("unknown method");
                unknown || (*code == METHOD_NOT_FOUND && !message.contains("not supported yet"))
            }
            _ => false,
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TurnEnded {
    /// Its id.
    pub turn: String,
    /// `completed`, `failed` or `interrupted`.
    pub status: String,
    /// What went wrong.
    pub error: String,
}

/// What the server said about turns.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// A turn of the thread runs.
    pub busy: bool,
    /// Turns of the thread that were started, by id.
    pub started: Vec<String>,
    /// Turns of the thread that ended.
    pub ended: Vec<TurnEnded>,
    /// Our message or turn showed up under another thread.
    pub stray: Option<String>,
    /// Requests of the server that were declined.
    pub declined: usize,
}

/// A running server and its only thread of interest.
pub(super) struct AppServer {
    running: Running,
    calls: u64,
    thread: String,
    /// The id our message bears.
    message: String,
    /// What was heard so far.
    pub turns: Turns,
}

/// What waiting for the server brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// Something; it was taken in.
    Something,
    /// Nothing in that time.
    Nothing,
    /// It ended.
    Ended,
    /// It printed without end.
    Flooded,
}

impl AppServer {
    /// Starts a server; nothing is said yet.
    pub fn start(program: &Program<'_>, thread: &str, message: &str) -> Result<Self, StartError> {
        Ok(Self {
            running: Running::start(program)?,
            calls: 0,
            thread: thread.to_owned(),
            message: message.to_owned(),
            turns: Turns::default(),
        })
    }

    /// The process, for its trace.
    pub fn running(&mut self) -> &mut Running {
        &mut self.running
    }

    /// Shakes hands.
    pub fn initialize(&mut self, until: Instant) -> Result<(), CallError> {
        self.call("initialize", hello(), until)?;
        self.send(&json!({ "method": "initialized" }));
        Ok(())
    }

    /// Calls a method and waits for its answer; what else comes is taken in.
    pub fn call(
        &mut self,
        method: &str,
        params: Value,
        until: Instant,
    ) -> Result<Value, CallError> {
        let id = self.post(method, params);
        loop {
            match self.hear(until, Some(id)) {
                (_, Some(answer)) => {
                    return result_of(&answer);
                }
                (Heard::Ended, _) => return Err(CallError::Ended),
                (Heard::Flooded, _) => return Err(CallError::Flooded),
                _ if Instant::now() >= until => return Err(CallError::TimedOut),
                _ => {}
            }
        }
    }

    /// Waits for anything.
    pub fn listen(&mut self, until: Instant) -> Heard {
        self.hear(until, None).0
    }

    /// Lets the server end, which frees the thread (C3), and stops it when it does not.
    pub fn close(self, patience: Duration) -> Ending {
        self.running.finish(patience)
    }

    fn post(&mut self, method: &str, params: Value) -> u64 {
        self.calls += 1;
        self.send(&json!({ "id": self.calls, "method": method, "params": params }));
        self.calls
    }

    fn send(&mut self, message: &Value) {
        self.running.send(format!("{message}\n").into_bytes());
    }

    /// Takes in one line. The answer to call `id` is given out.
    fn hear(&mut self, until: Instant, id: Option<u64>) -> (Heard, Option<Value>) {
        let line = match self.running.next(until) {
            Next::Line(line) => line,
            Next::Quiet => return (Heard::Nothing, None),
            Next::End => return (Heard::Ended, None),
            Next::Flooded => return (Heard::Flooded, None),
        };
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            return (Heard::Something, None);
        };
        match (
            message.get("method").and_then(Value::as_str),
            message.get("id"),
        ) {
            (Some(_), Some(_)) => {
                self.turns.declined += 1;
                self.send(&approvals::answer(&message));
            }
            (Some(method), None) => {
                self.turns
                    .note(method, &message["params"], &self.thread, &self.message);
            }
            (None, Some(answered)) if id.is_some_and(|id| *answered == id) => {
                return (Heard::Something, Some(message));
            }
            (None, _) => {}
        }
        (Heard::Something, None)
    }
}

impl Turns {
    /// How a turn ended, when it has.
    pub fn end_of(&self, turn: &str) -> Option<&TurnEnded> {
        self.ended.iter().find(|ended| ended.turn == turn)
    }

    fn note(&mut self, method: &str, params: &Value, thread: &str, message: &str) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let ours = params["threadId"] == thread;
        match method {
            "item/started" | "item/completed" if !ours && params["item"]["clientId"] == message => {
                self.stray
                    .get_or_insert_with(|| display_safe(&text(&params["threadId"])));
            }
            "thread/status/changed" if ours => {
                self.busy = params["status"]["type"] == "active";
            }
            "turn/started" if ours => {
                self.busy = true;
                self.started.push(text(&params["turn"]["id"]));
            }
            "turn/completed" if ours => {
                self.busy = false;
                let turn = &params["turn"];
                self.ended.push(TurnEnded {
                    turn: text(&turn["id"]),
                    status: text(&turn["status"]),
                    error: display_safe(&clip(text(&turn["error"]["message"]).trim(), 600)),
                });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_of_other_threads_are_not_taken_for_ours() {
        let mut turns = Turns::default();
        let started = |thread: &str| json!({ "threadId": thread, "turn": { "id": "t1" } });
        turns.note("turn/started", &started("other"), "mine", "m");
        assert!(!turns.busy && turns.started.is_empty());
        turns.note("turn/started", &started("mine"), "mine", "m");
        assert!(turns.busy);
        let error = json!({ "message": "mock\u{1b}[2J" });
        let turn = json!({ "id": "t1", "status": "failed", "error": error });
        let completed = |thread: &str| json!({ "threadId": thread, "turn": turn });
        turns.note("turn/completed", &completed("other"), "mine", "m");
        assert_eq!(turns.end_of("t1"), None);
        turns.note("turn/completed", &completed("mine"), "mine", "m");
        let ended = turns.end_of("t1").unwrap();
        assert_eq!((ended.status.as_str(), turns.busy), ("failed", false));
        assert!(!ended.error.contains('\u{1b}'));
        let item = json!({ "threadId": "other", "item": { "clientId": "m" } });
        turns.note("item/started", &item, "mine", "x");
        assert_eq!(turns.stray, None);
        turns.note("item/started", &item, "mine", "m");
        assert_eq!(turns.stray.as_deref(), Some("other"));
    }

    #[test]
    fn a_thread_that_cannot_be_opened_is_no_unknown_method() {
        let rpc = |code: i64, message: &str| CallError::Rpc {
            code,
            message: message.into(),
        };
        assert!(rpc(-32601, "method not found").is_unknown_method());
        assert!(
            rpc(-32600, "Invalid request: unknown variant `thread/resume`").is_unknown_method()
        );
        assert!(!rpc(-32601, "paginated_threads is not supported yet").is_unknown_method());
        assert!(!rpc(-32600, "no rollout found").is_unknown_method());
        assert!(!CallError::Ended.is_unknown_method());
    }
}
