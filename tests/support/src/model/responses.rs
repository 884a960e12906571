//! The OpenAI Responses wire: request into [`Turn`], [`Reply`] into events or JSON.
//!
//! Shapes as real Codex reads them (`providers/codex.md`); decides nothing.

use serde_json::{Value, json};

use super::events::Frame;
use super::turn::{Reply, Turn, pieces};

/// Texts that Codex itself puts into the conversation in the user's role start like this.
const HOST_TEXTS: [&str; 2] = ["<", "# AGENTS.md instructions"];

/// Reads a request body of `POST /v1/responses`.
pub fn read(body: &Value) -> Turn {
    let whole;
    let items = match &body["input"] {
        Value::Array(items) => items.as_slice(),
        Value::String(text) => {
            whole = [json!({ "type": "message", "role": "user", "content": text })];
            &whole
        }
        _ => &[],
    };
    let Some(at) = items.iter().rposition(is_prompt) else {
        return Turn::default();
    };
    let after = &items[at + 1..];
    let of_kind = |item: &&Value, end: &str| {
        item["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with(end))
    };
    Turn {
        prompt: text_of(&items[at]["content"]),
        user_turns: items.iter().filter(|item| is_prompt(item)).count(),
        calls_made: after.iter().filter(|item| of_kind(item, "_call")).count(),
        last_result: after
            .iter()
            .rev()
            .find(|item| of_kind(item, "_call_output"))
            .map(|item| text_of(&item["output"])),
        wants_title: false,
    }
}

fn is_prompt(item: &Value) -> bool {
    let typed = item["type"] == "message" || item["type"].is_null();
    let text = text_of(&item["content"]);
    let start = text.trim_start();
    typed
        && item["role"] == "user"
        && !start.is_empty()
        && !HOST_TEXTS.iter().any(|host| start.starts_with(host))
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect();
            texts.join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Finds a tool as the client advertised it: flat, or inside a namespace.
///
/// Returns the name and the namespace to call it by. A tool that was not advertised is called by
/// the name as written, so that the client's own refusal can be tested.
fn resolve(tools: &Value, wanted: &str) -> (String, Option<String>) {
    let tools = tools.as_array().map(Vec::as_slice).unwrap_or_default();
    if tools
        .iter()
        .any(|tool| tool["type"] != "namespace" && tool["name"] == wanted)
    {
        return (wanted.to_owned(), None);
    }
    for space in tools.iter().filter(|tool| tool["type"] == "namespace") {
        let prefix = space["name"].as_str().unwrap_or_default();
        let inner = space["tools"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        for name in inner.iter().filter_map(|tool| tool["name"].as_str()) {
            let whole = [
                name.to_owned(),
                format!("{prefix}{name}"),
                format!("{prefix}__{name}"),
            ];
            if whole.iter().any(|full| same_name(full, wanted)) {
                return (name.to_owned(), Some(prefix.to_owned()));
            }
        }
    }
    (wanted.to_owned(), None)
}

/// Codex writes `-` of a server's name as `_` in tool names.
fn same_name(one: &str, other: &str) -> bool {
    one.replace('-', "_") == other.replace('-', "_")
}

/// The output item that carries a reply; `number` makes its ids unique.
fn item(body: &Value, reply: &Reply, number: u64) -> Value {
    match reply {
        Reply::Text(text, _) => json!({
            "type": "message",
            "id": format!("msg_{number}"),
            "role": "assistant",
            "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        Reply::Call(tool, arguments) => {
            let (name, namespace) = resolve(&body["tools"], tool);
            let mut call = json!({
                "type": "function_call",
                "id": format!("fc_{number}"),
                "call_id": format!("call_{number}"),
                "name": name,
                "arguments": arguments.to_string(),
            });
            if let Some(namespace) = namespace {
                call["namespace"] = json!(namespace);
            }
            call
        }
        Reply::Error(_) => Value::Null,
    }
}

/// The whole response, as a call without `stream` gets it.
pub fn response(body: &Value, reply: &Reply, number: u64) -> Value {
    json!({
        "id": format!("resp_{number}"),
        "object": "response",
        "status": "completed",
        "model": body["model"].as_str().unwrap_or("mock-model"),
        "output": [item(body, reply, number)],
        "usage": {
            "input_tokens": 10,
            "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": 5,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": 15,
        },
    })
}

/// The event stream of a call with `stream`.
pub fn stream(body: &Value, reply: &Reply, number: u64) -> Vec<Frame> {
    let done = response(body, reply, number);
    let item = done["output"][0].clone();
    let opened = json!({ "id": done["id"], "status": "in_progress" });
    let mut frames = vec![Frame::now(
        &json!({ "type": "response.created", "response": opened }),
    )];
    if let Reply::Text(text, over) = reply {
        let mut opening = item.clone();
        opening["content"] = json!([]);
        opening["status"] = json!("in_progress");
        frames.push(Frame::now(&json!({
            "type": "response.output_item.added", "output_index": 0, "item": opening,
        })));
        for (pause, piece) in pieces(text, *over) {
            let event = json!({
                "type": "response.output_text.delta",
                "output_index": 0,
                "content_index": 0,
                "item_id": item["id"],
                "delta": piece,
            });
            frames.push(Frame::after(pause, &event));
        }
    }
    frames.push(Frame::now(&json!({
        "type": "response.output_item.done", "output_index": 0, "item": item,
    })));
    frames.push(Frame::now(
        &json!({ "type": "response.completed", "response": done }),
    ));
    frames
}

/// The error body of this API.
pub fn error(code: u16) -> Value {
    let kind = match code {
        400 => "invalid_request_error",
        401 => "authentication_error",
        429 => "rate_limit_error",
        _ => "server_error",
    };
    let message = format!("mock error {code}");
    json!({ "error": { "message": message, "type": kind, "code": kind, "param": null } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_own_user_messages_are_no_prompts() {
        let said = |text: &str| {
            json!({ "type": "message", "role": "user",
                    "content": [{ "type": "input_text", "text": text }] })
        };
        let turn = read(&json!({ "input": [
            said("# AGENTS.md instructions for /x"),
            said("<environment_context>…"),
            said("first"),
            said("second"),
            { "type": "function_call", "name": "a", "call_id": "call_1", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "call_1",
              "output": [{ "type": "input_text", "text": "fine" }] },
            said("<turn_aborted>…"),
        ] }));
        assert_eq!(
            (turn.prompt.as_str(), turn.user_turns, turn.calls_made),
            ("second", 2, 1)
        );
        assert_eq!(turn.last_result.as_deref(), Some("fine"));
    }

    #[test]
    fn a_tool_is_called_as_it_was_advertised() {
        let spaces = json!([
            { "type": "function", "name": "exec_command" },
            { "type": "namespace", "name": "mcp__my_owl", "tools": [{ "name": "send" }] },
            { "type": "namespace", "name": "mcp__old__", "tools": [{ "name": "send_old" }] },
        ]);
        let flat = json!([{ "type": "function", "name": "mcp__owl__send" }]);
        let name = str::to_owned;
        for (tools, wanted, found) in [
            (&spaces, "exec_command", (name("exec_command"), None)),
            (
                &spaces,
                "mcp__my-owl__send",
                (name("send"), Some(name("mcp__my_owl"))),
            ),
            (
                &spaces,
                "mcp__old__send_old",
                (name("send_old"), Some(name("mcp__old__"))),
            ),
            (&spaces, "send", (name("send"), Some(name("mcp__my_owl")))),
            (&flat, "mcp__owl__send", (name("mcp__owl__send"), None)),
            (
                &json!(null),
                "mcp__owl__send",
                (name("mcp__owl__send"), None),
            ),
        ] {
            assert_eq!(resolve(tools, wanted), found, "{wanted}");
        }
    }

    #[test]
    fn foreign_bodies_are_read_as_an_empty_turn() {
        for body in [
            json!(null),
            json!({ "input": 3 }),
            json!({ "input": [1, {}] }),
        ] {
            assert_eq!(read(&body), Turn::default());
        }
        assert_eq!(read(&json!({ "input": "hi" })).prompt, "hi");
    }
}
