//! What the mock model was asked, and which holds a test has released.
//!
//! The meeting point of the server's tasks and the test's threads; knows no HTTP.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use thiserror::Error;
use tokio::sync::Notify;

/// Which API a request spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// `POST /v1/messages`.
    Messages,
    /// `POST /v1/messages/count_tokens`.
    CountTokens,
    /// `POST /v1/responses`.
    Responses,
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1beta/models/<model>:generateContent`, `:streamGenerateContent`.
    Gemini,
    /// Everything else: probes, model lists, unknown paths.
    Other,
}

/// One request that reached the mock model.
#[derive(Debug, Clone)]
pub struct Request {
    /// 1, 2, 3 … in the order of arrival, over all wires.
    pub number: u64,
    /// The API.
    pub wire: Wire,
    /// The HTTP method.
    pub method: String,
    /// The path without its query.
    pub path: String,
    /// Headers with lower-case names, without the ones that carry keys.
    pub headers: Vec<(String, String)>,
    /// The JSON body; `null` where there is none or it could not be read.
    pub body: Value,
    /// The plain text of the last user message; empty where there is none.
    pub prompt: String,
    /// Tool calls that the model already made for this prompt.
    pub calls_made: usize,
    /// A side call that asks for a session title.
    pub wants_title: bool,
}

impl Request {
    /// True for a model call of a real turn, whose prompt holds the text.
    pub fn asks(&self, text: &str) -> bool {
        !matches!(self.wire, Wire::CountTokens | Wire::Other)
            && !self.wants_title
            && self.prompt.contains(text)
    }
}

/// No matching request arrived in time.
#[derive(Debug, Error)]
#[error("no matching model request within {within:?}; seen: {seen:#?}")]
pub struct NoRequest {
    /// How long was waited.
    pub within: Duration,
    /// One line for each request that did arrive.
    pub seen: Vec<String>,
}

/// The shared record.
#[derive(Debug, Default)]
pub(super) struct Journal {
    requests: Mutex<Vec<Request>>,
    arrived: Condvar,
    released: Mutex<HashSet<String>>,
    freed: Notify,
}

impl Journal {
    /// Numbers a request, keeps it and wakes the waiting tests.
    pub(super) fn record(&self, mut request: Request) -> u64 {
        let mut requests = lock(&self.requests);
        let number = requests.len() as u64 + 1;
        request.number = number;
        requests.push(request);
        self.arrived.notify_all();
        number
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        lock(&self.requests).clone()
    }

    pub(super) fn wait_for(
        &self,
        wanted: impl Fn(&Request) -> bool,
        within: Duration,
    ) -> Result<Request, NoRequest> {
        let end = Instant::now() + within;
        let mut requests = lock(&self.requests);
        loop {
            if let Some(found) = requests.iter().find(|request| wanted(request)) {
                return Ok(found.clone());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let line =
                    |r: &Request| format!("{} {} {} {:?}", r.number, r.method, r.path, r.prompt);
                return Err(NoRequest {
                    within,
                    seen: requests.iter().map(line).collect(),
                });
            }
            requests = self
                .arrived
                .wait_timeout(requests, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    pub(super) fn release(&self, name: &str) {
        lock(&self.released).insert(name.to_owned());
        self.freed.notify_waiters();
    }

    /// Waits until the name is released; a release that came first counts.
    pub(super) async fn held(&self, name: &str) {
        loop {
            // Created before the look, so that a release between the two is not missed.
            let freed = self.freed.notified();
            if lock(&self.released).contains(name) {
                return;
            }
            freed.await;
        }
    }
}

/// A test that panicked in a predicate must not hide the other tests' failures.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
