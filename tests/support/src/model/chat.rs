//! The OpenAI chat completions wire, as OpenCode and Copilot CLI speak it: request into
//! [`Turn`], [`Reply`] into chunks or JSON. Decides nothing.

use std::time::Duration;

use serde_json::{Value, json};

use super::events::Frame;
use super::turn::{Reply, Turn, pieces, text_of};

/// What OpenCode's title agent is told to be.
const TITLE_AGENT: &str = "title generator";

/// Reads a request body of `POST /v1/chat/completions`.
pub fn read(body: &Value) -> Turn {
    let messages = body["messages"].as_array().map(Vec::as_slice);
    let messages = messages.unwrap_or_default();
    let of = |role: &'static str| move |message: &&Value| message["role"] == role;
    let Some(at) = messages.iter().rposition(|message| of("user")(&message)) else {
        return Turn::default();
    };
    let after = &messages[at + 1..];
    let calls = |message: &Value| message["tool_calls"].as_array().map_or(0, Vec::len);
    let systems = messages.iter().filter(of("system"));
    Turn {
        prompt: text_of(&messages[at]["content"]),
        user_turns: messages.iter().filter(of("user")).count(),
        calls_made: after.iter().map(calls).sum(),
        last_result: after
            .iter()
            .rfind(of("tool"))
            .map(|message| text_of(&message["content"])),
        wants_title: systems
            .map(|message| text_of(&message["content"]))
            .any(|text| text.contains(TITLE_AGENT)),
    }
}

/// The call of a reply, as a message has it.
fn call(tool: &str, arguments: &Value, number: u64) -> Value {
    json!({
        "index": 0,
        "id": format!("call_{number}"),
        "type": "function",
        "function": { "name": tool, "arguments": arguments.to_string() },
    })
}

fn usage() -> Value {
    json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 })
}

fn base(body: &Value, kind: &str, number: u64) -> Value {
    json!({
        "id": format!("chatcmpl_{number}"),
        "object": kind,
        "created": 1_700_000_000,
        "model": body["model"].as_str().unwrap_or("mock-model"),
    })
}

/// The whole answer, as a call without `stream` gets it.
pub fn completion(body: &Value, reply: &Reply, number: u64) -> Value {
    let (message, reason) = match reply {
        Reply::Call(tool, arguments) => (
            json!({ "role": "assistant", "content": null, "tool_calls": [call(tool, arguments, number)] }),
            "tool_calls",
        ),
        Reply::Text(text, _) => (json!({ "role": "assistant", "content": text }), "stop"),
        Reply::Error(_) => (Value::Null, "stop"),
    };
    let mut answer = base(body, "chat.completion", number);
    answer["choices"] = json!([{ "index": 0, "message": message, "finish_reason": reason }]);
    answer["usage"] = usage();
    answer
}

/// The same in chunks.
pub fn stream(body: &Value, reply: &Reply, number: u64) -> Vec<Frame> {
    let chunk = |delta: Value, reason: Value| {
        let mut chunk = base(body, "chat.completion.chunk", number);
        chunk["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": reason }]);
        chunk
    };
    let first = json!({ "role": "assistant", "content": "" });
    let mut frames = vec![Frame::data(
        Duration::ZERO,
        &chunk(first, Value::Null).to_string(),
    )];
    let reason = match reply {
        Reply::Call(tool, arguments) => {
            let delta = json!({ "tool_calls": [call(tool, arguments, number)] });
            frames.push(Frame::data(
                Duration::ZERO,
                &chunk(delta, Value::Null).to_string(),
            ));
            "tool_calls"
        }
        Reply::Text(text, over) => {
            for (pause, piece) in pieces(text, *over) {
                let delta = chunk(json!({ "content": piece }), Value::Null);
                frames.push(Frame::data(pause, &delta.to_string()));
            }
            "stop"
        }
        Reply::Error(_) => "stop",
    };
    let mut last = chunk(json!({}), json!(reason));
    last["usage"] = usage();
    frames.push(Frame::data(Duration::ZERO, &last.to_string()));
    frames.push(Frame::data(Duration::ZERO, "[DONE]"));
    frames
}

/// The body of an error.
pub fn error(code: u16) -> Value {
    json!({ "error": { "message": format!("mock failure {code}"), "type": "mock" } })
}
