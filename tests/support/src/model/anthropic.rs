//! The Anthropic Messages wire: request into [`Turn`], [`Reply`] into events or JSON.
//!
//! Shapes as real Claude Code reads them (`providers/claude-code.md`); decides nothing.

use serde_json::{Value, json};
use uuid::Uuid;

use super::events::Frame;
use super::turn::{Reply, Turn, pieces};

/// Reads a request body of `POST /v1/messages`.
pub fn read(body: &Value) -> Turn {
    let messages = body["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let from_user = |message: &&Value| message["role"] == "user";
    let Some(at) = messages
        .iter()
        .rposition(|m| from_user(&m) && !is_result(m) && has_text(m))
    else {
        return Turn {
            prompt: String::new(),
            ..Turn::default()
        };
    };
    let after = &messages[at + 1..];
    Turn {
        prompt: prompt(&messages[at]),
        user_turns: messages
            .iter()
            .filter(from_user)
            .filter(|m| !is_result(m))
            .count(),
        calls_made: after
            .iter()
            .filter(|message| message["role"] == "assistant")
            .filter(|message| {
                blocks(message)
                    .iter()
                    .any(|block| block["type"] == "tool_use")
            })
            .count(),
        last_result: after.iter().rev().find_map(result_text),
        wants_title: wants_title(body),
    }
}

/// A title call has a short system prompt about titles and offers no tools.
fn wants_title(body: &Value) -> bool {
    let system = match &body["system"] {
        Value::String(text) => text.clone(),
        other => texts(other).join("\n"),
    }
    .to_lowercase();
    let no_tools = body["tools"].as_array().is_none_or(Vec::is_empty);
    let about_titles =
        system.contains("title") && (system.contains("session") || system.contains("conversation"));
    no_tools && about_titles && system.len() < 6_000
}

fn blocks(message: &Value) -> &[Value] {
    message["content"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}

fn is_result(message: &Value) -> bool {
    blocks(message)
        .iter()
        .any(|block| block["type"] == "tool_result")
}

fn has_text(message: &Value) -> bool {
    !prompt(message).is_empty()
}

/// The last block that is not the host's own: after a failed turn Claude Code sends the failed
/// and the new prompt as two blocks of one message.
fn prompt(message: &Value) -> String {
    let mut own = texts(&message["content"])
        .into_iter()
        .map(|text| without_reminders(&text));
    own.rfind(|text| !text.is_empty()).unwrap_or_default()
}

/// Drops what the host adds in `<system-reminder>` elements.
fn without_reminders(text: &str) -> String {
    const OPEN: &str = "<system-reminder>";
    const CLOSE: &str = "</system-reminder>";
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(OPEN) {
        let Some(end) = rest[start..].find(CLOSE) else {
            break;
        };
        kept.push_str(&rest[..start]);
        rest = &rest[start + end + CLOSE.len()..];
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}

fn result_text(message: &Value) -> Option<String> {
    let results = blocks(message)
        .iter()
        .filter(|block| block["type"] == "tool_result");
    let parts: Vec<String> = results
        .map(|block| {
            let mark = if block["is_error"] == true {
                "ERR "
            } else {
                ""
            };
            format!("{mark}{}", texts(&block["content"]).join(" "))
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(" | "))
}

/// The content block that carries a reply.
fn block(reply: &Reply) -> Value {
    match reply {
        Reply::Text(text, _) => json!({ "type": "text", "text": text }),
        Reply::Call(name, input) => {
            let id = format!("toolu_{}", short_id());
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
        Reply::Error(_) => Value::Null,
    }
}

fn short_id() -> String {
    let mut id = Uuid::new_v4().simple().to_string();
    id.truncate(24);
    id
}

fn stop_reason(reply: &Reply) -> &'static str {
    if matches!(reply, Reply::Call(..)) {
        "tool_use"
    } else {
        "end_turn"
    }
}

/// The whole message, as a call without `stream` gets it.
pub fn message(body: &Value, reply: &Reply) -> Value {
    json!({
        "id": format!("msg_{}", short_id()),
        "type": "message",
        "role": "assistant",
        "model": body["model"].as_str().unwrap_or("mock-model"),
        "content": [block(reply)],
        "stop_reason": stop_reason(reply),
        "stop_sequence": null,
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 5,
        },
    })
}

/// The event stream of a call with `stream`.
pub fn stream(body: &Value, reply: &Reply) -> Vec<Frame> {
    let mut opening = message(body, reply);
    let content = opening["content"][0].take();
    opening["content"] = json!([]);
    opening["stop_reason"] = Value::Null;
    let mut frames = vec![Frame::now(
        &json!({ "type": "message_start", "message": opening }),
    )];
    let start = |empty: Value| {
        Frame::now(&json!({ "type": "content_block_start", "index": 0, "content_block": empty }))
    };
    let delta = |delta: Value| json!({ "type": "content_block_delta", "index": 0, "delta": delta });
    match reply {
        Reply::Text(text, over) => {
            frames.push(start(json!({ "type": "text", "text": "" })));
            for (pause, piece) in pieces(text, *over) {
                let event = delta(json!({ "type": "text_delta", "text": piece }));
                frames.push(Frame::after(pause, &event));
            }
        }
        Reply::Call(..) => {
            let arguments = content["input"].to_string();
            let mut empty = content;
            empty["input"] = json!({});
            frames.push(start(empty));
            let event = delta(json!({ "type": "input_json_delta", "partial_json": arguments }));
            frames.push(Frame::now(&event));
        }
        Reply::Error(_) => {}
    }
    frames.push(Frame::now(
        &json!({ "type": "content_block_stop", "index": 0 }),
    ));
    frames.push(Frame::now(&json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop_reason(reply), "stop_sequence": null },
        "usage": { "output_tokens": 5 },
    })));
    frames.push(Frame::now(&json!({ "type": "message_stop" })));
    frames
}

/// The error body of this API.
pub fn error(code: u16) -> Value {
    let kind = match code {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": format!("mock error {code}") } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_is_the_last_own_block_of_the_newest_user_message() {
        let turn = read(&json!({ "messages": [
            { "role": "user", "content": "one" },
            { "role": "assistant", "content": [{ "type": "text", "text": "ok" }] },
            { "role": "user", "content": [
                { "type": "text", "text": "a failed one" },
                { "type": "text", "text": "<system-reminder>\nhost\n</system-reminder>\n" },
                { "type": "text", "text": "two <system-reminder>x</system-reminder>" },
            ] },
            { "role": "system", "content": "# Environment" },
        ] }));
        assert_eq!(
            (turn.prompt.as_str(), turn.user_turns, turn.calls_made),
            ("two", 2, 0)
        );
    }

    #[test]
    fn tool_results_belong_to_the_prompt_before_them() {
        let turn = read(&json!({ "messages": [
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": [
                { "type": "tool_use", "id": "toolu_1", "name": "Read", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "toolu_1", "is_error": true,
                  "content": [{ "type": "text", "text": "no file" }] },
            ] },
        ] }));
        assert_eq!(
            (turn.prompt.as_str(), turn.user_turns, turn.calls_made),
            ("go", 1, 1)
        );
        assert_eq!(turn.last_result.as_deref(), Some("ERR no file"));
    }

    #[test]
    fn only_a_call_without_tools_can_ask_for_a_title() {
        let mut body = json!({
            "system": [{ "type": "text", "text": "Write a title for this session as JSON." }],
            "messages": [{ "role": "user", "content": "fix the login page" }],
        });
        assert!(read(&body).wants_title);
        body["tools"] = json!([{ "name": "Read" }]);
        assert!(!read(&body).wants_title);
    }

    #[test]
    fn foreign_bodies_are_read_as_an_empty_turn() {
        for body in [
            json!(null),
            json!({ "messages": 3 }),
            json!({ "messages": [1, {}] }),
        ] {
            assert_eq!(read(&body).prompt, "");
        }
    }
}
