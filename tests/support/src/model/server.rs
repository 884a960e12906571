//! HTTP in front of the wires: routes, records each request, waits for holds, answers.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, http};
use serde_json::{Value, json};
use uuid::Uuid;

use super::journal::{Journal, Request, Wire};
use super::script::Script;
use super::turn::{Reply, Turn};
use super::{anthropic, chat, events, gemini, responses};

/// Headers that carry keys are not kept, not even a dummy's.
const SECRET_HEADERS: [&str; 2] = ["authorization", "x-api-key"];

/// The whole HTTP surface of the mock model.
pub(super) fn router(journal: Arc<Journal>) -> Router {
    Router::new()
        .fallback(answer)
        // Long conversations with tool definitions exceed axum's default of 2 MB.
        .layer(DefaultBodyLimit::disable())
        .with_state(journal)
}

async fn answer(
    State(journal): State<Arc<Journal>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().to_owned();
    let wire = match (&method, path.as_str()) {
        (&Method::POST, "/v1/messages") => Wire::Messages,
        (&Method::POST, "/v1/messages/count_tokens") => Wire::CountTokens,
        (&Method::POST, "/v1/responses") => Wire::Responses,
        (&Method::POST, "/v1/chat/completions") => Wire::Chat,
        (&Method::POST, path) if path.ends_with("enerateContent") => Wire::Gemini,
        (&Method::POST, path) if path.ends_with(":countTokens") => Wire::CountTokens,
        _ => Wire::Other,
    };
    let parsed: Option<Value> = serde_json::from_slice(&body).ok();
    let json = parsed.clone().unwrap_or(Value::Null);
    let turn = match wire {
        Wire::Messages | Wire::CountTokens => anthropic::read(&json),
        Wire::Responses => responses::read(&json),
        Wire::Chat => chat::read(&json),
        Wire::Gemini => gemini::read(&json),
        Wire::Other => Turn::default(),
    };
    let number = journal.record(Request {
        number: 0,
        wire,
        method: method.to_string(),
        path: path.clone(),
        headers: kept_headers(&headers),
        body: json.clone(),
        prompt: turn.prompt.clone(),
        calls_made: turn.calls_made,
        wants_title: turn.wants_title,
    });
    match wire {
        Wire::CountTokens => {
            let tokens = body.len() / 4;
            Json(json!({ "input_tokens": tokens, "totalTokens": tokens })).into_response()
        }
        Wire::Other => probe(&method, &path),
        // For example a compressed body: said aloud instead of answered with nonsense.
        _ if parsed.is_none() => fail(wire, 415),
        _ => speak(&journal, wire, &path, number, &json, &turn).await,
    }
}

/// Answers a real model call.
async fn speak(
    journal: &Journal,
    wire: Wire,
    path: &str,
    number: u64,
    body: &Value,
    turn: &Turn,
) -> Response {
    let script = Script::parse(&turn.prompt);
    if let Some(name) = script.hold.as_deref().filter(|_| !turn.wants_title) {
        journal.held(name).await;
    }
    let reply = turn.reply(&script);
    let streamed = body["stream"] == true;
    match (wire, &reply) {
        (_, Reply::Error(code)) => fail(wire, *code),
        (Wire::Responses, _) if streamed => {
            events::respond(responses::stream(body, &reply, number))
        }
        (Wire::Responses, _) => Json(responses::response(body, &reply, number)).into_response(),
        (Wire::Chat, _) if streamed => events::respond(chat::stream(body, &reply, number)),
        (Wire::Chat, _) => Json(chat::completion(body, &reply, number)).into_response(),
        // This wire says it in the path.
        (Wire::Gemini, _) if path.contains("streamGenerateContent") => {
            events::respond(gemini::stream(body, &reply, turn, number))
        }
        (Wire::Gemini, _) => Json(gemini::response(body, &reply, turn, number)).into_response(),
        _ if streamed => events::respond(anthropic::stream(body, &reply)),
        _ => Json(anthropic::message(body, &reply)).into_response(),
    }
}

/// Reachability probes and the model lists of both APIs, which share one path.
fn probe(method: &Method, path: &str) -> Response {
    match (method, path) {
        (&Method::HEAD, _) => StatusCode::OK.into_response(),
        (&Method::GET, "/v1/models") => {
            let list = json!({ "object": "list", "data": [], "models": [], "has_more": false });
            Json(list).into_response()
        }
        _ => fail(Wire::Other, 404),
    }
}

fn fail(wire: Wire, code: u16) -> Response {
    let body = match wire {
        Wire::Responses => responses::error(code),
        Wire::Chat => chat::error(code),
        Wire::Gemini => gemini::error(code),
        _ => anthropic::error(code),
    };
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let id = format!("req_{}", Uuid::new_v4().simple());
    (status, [("request-id", id)], Json(body)).into_response()
}

fn kept_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let secret = |name: &http::HeaderName| SECRET_HEADERS.contains(&name.as_str());
    let kept = headers.iter().filter(|(name, _)| !secret(name));
    kept.map(|(name, value)| {
        (
            name.to_string(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        )
    })
    .collect()
}
