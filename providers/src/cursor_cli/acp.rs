//! A chat of Cursor's ACP store: `cursor-agent acp` loads it by its id and gets one prompt
//! (`providers/cursor-antigravity-grok.md` B.2). Messages are JSON-RPC 2.0, one a line.
//!
//! ACP is not the better way, but the only one: `--resume` does not look into that store and
//! would start a new chat (X07).

use super::NAME;
use crate::child::{Ending, Next, Program, Running};
use crate::follow::stop_at;
use crate::ground::Ground;
use crate::one_turn::{Listener, Said, Turn, words};
use axiowl_model::{Evidence, display_safe};
use axiowl_pipeline::edge::{EdgeError, Progress};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub(super) const ROUTE: &str = "cursor-agent acp (session/load, session/prompt)";
/// How long one call before the prompt may take; loading repeats the whole conversation.
const ANSWER: Duration = Duration::from_secs(120);
/// How long a program that would not open the chat may take to end.
const GOODBYE: Duration = Duration::from_secs(5);
/// The call with the message.
const PROMPT: u64 = 4;

/// Delivers one message.
pub(super) fn deliver(
    turn: &Turn<'_>,
    program: &Program<'_>,
    ground: &Ground,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), EdgeError> {
    let mut running = Running::start(program).map_err(|error| EdgeError::NotSubmitted {
        reason: error.to_string(),
    })?;
    let session = ground.session.as_str();
    let stop = stop_at(turn.delivery);
    if let Err(why) = open(&mut running, session, ground, stop) {
        let ending = running.finish(GOODBYE);
        let told = match why {
            Some(why) => why,
            None => ending.told(),
        };
        return Err(EdgeError::NotSubmitted {
            reason: format!("{NAME} did not open the chat: {told}"),
        });
    }
    turn.note(&mut running)?;
    progress(Progress::Starting {
        route: ROUTE.into(),
    });
    let prompt = [json!({ "type": "text", "text": turn.delivery.visible_body })];
    let params = json!({ "sessionId": session, "prompt": prompt });
    running.send(call(PROMPT, "session/prompt", &params));
    let mut listener = Updates {
        session: session.to_owned(),
        said: Said::default(),
    };
    turn.listen(running, &mut listener, progress)
}

fn call(id: u64, method: &str, params: &Value) -> Vec<u8> {
    let call = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    format!("{call}\n").into_bytes()
}

/// Shakes hands and loads the chat. Nothing of the message is out yet. The error is what the
/// program said; nothing when it ended.
fn open(
    running: &mut Running,
    session: &str,
    ground: &Ground,
    stop: Instant,
) -> Result<(), Option<String>> {
    let capabilities = json!({ "fs": { "readTextFile": false, "writeTextFile": false } });
    let client = json!({ "name": "axiowl", "version": env!("CARGO_PKG_VERSION") });
    let cwd = ground.folder.display().to_string();
    let calls = [
        (
            "initialize",
            json!({ "protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": client }),
        ),
        ("authenticate", json!({ "methodId": "cursor_login" })),
        (
            "session/load",
            json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }),
        ),
    ];
    for (id, (method, params)) in (1..).zip(calls) {
        running.send(call(id, method, &params));
        let until = stop.min(Instant::now() + ANSWER);
        answer(running, id, until)
            .map_err(|why| why.map(|why| format!("`{method}` was answered with {why}")))?;
    }
    Ok(())
}

/// Waits for the answer to a call; what is repeated of the conversation meanwhile is let go.
fn answer(running: &mut Running, id: u64, until: Instant) -> Result<(), Option<String>> {
    loop {
        match running.next(until) {
            Next::Line(line) => {
                let Ok(message) = serde_json::from_str::<Value>(&line) else {
                    continue;
                };
                if let Some(reply) = decline(&message) {
                    running.send(reply);
                } else if message["id"] == id {
                    return match message.get("error") {
                        Some(error) => Err(Some(rpc_error(error))),
                        None => Ok(()),
                    };
                }
            }
            Next::End => return Err(None),
            Next::Flooded => return Err(Some("output without end".into())),
            Next::Quiet => return Err(Some("nothing in time".into())),
        }
    }
}

fn rpc_error(error: &Value) -> String {
    let code = error["code"].as_i64().unwrap_or_default();
    let message = words(error["message"].as_str().unwrap_or_default());
    format!("error {code}: {message}")
}

/// The answer to a request of the program: nobody is here to allow anything.
fn decline(message: &Value) -> Option<Vec<u8>> {
    let method = message["method"].as_str()?;
    let id = message.get("id")?;
    let reply = if method == "session/request_permission" {
        let options = message["params"]["options"].as_array();
        let reject = options.into_iter().flatten().find(|option| {
            option["kind"]
                .as_str()
                .is_some_and(|kind| kind.starts_with("reject"))
        });
        let outcome = match reject {
            Some(option) => json!({ "outcome": "selected", "optionId": option["optionId"] }),
            None => json!({ "outcome": "cancelled" }),
        };
        json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": outcome } })
    } else {
        let error = json!({ "code": -32601, "message": "AxiOwl offers no such method" });
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    };
    Some(format!("{reply}\n").into_bytes())
}

/// Listens to the turn.
struct Updates {
    session: String,
    said: Said,
}

impl Listener for Updates {
    fn line(&mut self, line: &str) -> Option<Vec<u8>> {
        let message: Value = serde_json::from_str(line).ok()?;
        self.said.spoke = true;
        if let Some(session) = message["params"]["sessionId"].as_str() {
            let method = message["method"].as_str().unwrap_or_default();
            self.said.names(session, &self.session, || {
                let detail = format!("{method} sessionId={session}");
                Evidence::new("rpc_notification", display_safe(&detail))
            });
        }
        if let Some(reply) = decline(&message) {
            return Some(reply);
        }
        if message["id"] == PROMPT && message.get("method").is_none() {
            self.said.over = true;
            let reason = message["result"]["stopReason"].as_str().unwrap_or_default();
            self.said.end = Some(match (message.get("error"), reason) {
                (Some(error), _) => Err(rpc_error(error)),
                (None, "end_turn") => {
                    let detail = "session/prompt stopReason=end_turn";
                    Ok(Some(Evidence::new("rpc_result", detail)))
                }
                (None, reason) => Err(format!("the turn ended with {}", words(reason))),
            });
        }
        None
    }

    fn ended(&mut self, _ending: &Ending) {}

    fn said(&self) -> &Said {
        &self.said
    }
}
