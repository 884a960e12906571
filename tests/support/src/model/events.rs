//! Server-sent events with pauses between them. Knows nothing of what they say.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;

/// One event and the pause before it.
#[derive(Debug, Clone)]
pub struct Frame {
    pause: Duration,
    text: String,
}

impl Frame {
    /// An event that follows at once; its `type` field is its name.
    pub fn now(event: &Value) -> Self {
        Self::after(Duration::ZERO, event)
    }

    /// An event that follows after a pause.
    pub fn after(pause: Duration, event: &Value) -> Self {
        let name = event["type"].as_str().unwrap_or("message");
        Self {
            pause,
            text: format!("event: {name}\ndata: {event}\n\n"),
        }
    }
}

impl Frame {
    /// A line of data without a name, as wires without named events have it.
    pub fn data(pause: Duration, data: &str) -> Self {
        Self {
            pause,
            text: format!("data: {data}\n\n"),
        }
    }
}

/// The response that streams the frames.
pub fn respond(frames: Vec<Frame>) -> Response {
    let body = stream::unfold(frames.into_iter(), |mut frames| async move {
        let frame = frames.next()?;
        if !frame.pause.is_zero() {
            tokio::time::sleep(frame.pause).await;
        }
        Some((Ok::<_, Infallible>(frame.text), frames))
    });
    let headers = [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache"),
    ];
    (headers, Body::from_stream(body)).into_response()
}
