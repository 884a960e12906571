//! The Gemini wire (`generateContent`), as Gemini CLI speaks it: request into [`Turn`],
//! [`Reply`] into events or JSON. Decides nothing.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::events::Frame;
use super::turn::{Reply, Turn, pieces};

/// Reads a request body.
pub fn read(body: &Value) -> Turn {
    let contents = body["contents"].as_array().map(Vec::as_slice);
    let contents = contents.unwrap_or_default();
    let parts = |content: &Value| content["parts"].as_array().cloned().unwrap_or_default();
    let holds = |content: &Value, what: &str| parts(content).iter().any(|p| p[what].is_object());
    let speaks = |content: &Value| content["role"] == "user" && !holds(content, "functionResponse");
    let Some(at) = contents.iter().rposition(speaks) else {
        return Turn::default();
    };
    let after = &contents[at + 1..];
    let texts: Vec<String> = parts(&contents[at])
        .iter()
        .filter_map(|part| part["text"].as_str().map(str::to_owned))
        .collect();
    let result = after
        .iter()
        .flat_map(parts)
        .rfind(|part| part["functionResponse"].is_object());
    Turn {
        prompt: texts.join("\n"),
        user_turns: contents.iter().filter(|content| speaks(content)).count(),
        calls_made: after
            .iter()
            .filter(|content| holds(content, "functionCall"))
            .count(),
        last_result: result.map(|part| part["functionResponse"]["response"].to_string()),
        // Side calls (which model to take, whether to go on) want JSON of a given shape.
        wants_title: body["generationConfig"]["responseMimeType"] == "application/json",
    }
}

/// What a side call gets: its schema filled with nothing in particular.
fn filled(body: &Value) -> Value {
    let config = &body["generationConfig"];
    let schema = [&config["responseJsonSchema"], &config["responseSchema"]];
    let properties = schema
        .iter()
        .find_map(|schema| schema["properties"].as_object());
    let fill = |(name, property): (&String, &Value)| {
        let kind = property["type"].as_str().unwrap_or("string").to_lowercase();
        let value = match (name.as_str(), kind.as_str()) {
            ("model_choice", _) => json!("flash"),
            (_, "string") => json!("mock"),
            (_, "number" | "integer") => json!(1),
            (_, "boolean") => json!(false),
            _ => json!([]),
        };
        (name.clone(), value)
    };
    let filled: Map<String, Value> = properties.into_iter().flatten().map(fill).collect();
    Value::Object(filled)
}

fn answer(part: &Value, end: bool, number: u64) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": [part] }, "index": 0 });
    if end {
        candidate["finishReason"] = json!("STOP");
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 },
        "modelVersion": "mock-model",
        "responseId": format!("resp_{number}"),
    })
}

/// The whole answer, as `generateContent` gives it.
pub fn response(body: &Value, reply: &Reply, turn: &Turn, number: u64) -> Value {
    let part = match reply {
        _ if turn.wants_title => json!({ "text": filled(body).to_string() }),
        Reply::Text(text, _) => json!({ "text": text }),
        Reply::Call(tool, arguments) => {
            json!({ "functionCall": { "name": tool, "args": arguments } })
        }
        Reply::Error(_) => Value::Null,
    };
    answer(&part, true, number)
}

/// The same as events, as `streamGenerateContent` gives it.
pub fn stream(body: &Value, reply: &Reply, turn: &Turn, number: u64) -> Vec<Frame> {
    let Reply::Text(text, over) = reply else {
        let whole = response(body, reply, turn, number).to_string();
        return vec![Frame::data(Duration::ZERO, &whole)];
    };
    if turn.wants_title {
        let whole = response(body, reply, turn, number).to_string();
        return vec![Frame::data(Duration::ZERO, &whole)];
    }
    let pieces = pieces(text, *over);
    let last = pieces.len().saturating_sub(1);
    let frame = |(at, (pause, piece)): (usize, (Duration, String))| {
        let event = answer(&json!({ "text": piece }), at == last, number);
        Frame::data(pause, &event.to_string())
    };
    pieces.into_iter().enumerate().map(frame).collect()
}

/// The body of an error.
pub fn error(code: u16) -> Value {
    json!({ "error": { "code": code, "message": format!("mock failure {code}"), "status": "MOCK" } })
}
