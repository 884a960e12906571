//! The road over a running server: it takes the message at once, shows it where the session is
//! open, and comes to it when the turn before it has ended
//! (`providers/opencode-gemini.md` C, HTTP).

use crate::follow::{Follow, LAG, Taker};
use crate::ground::Ground;
use crate::loopback::{self, Answer, NoAnswer, Server};
use axiowl_model::{Evidence, clip, display_safe};
use axiowl_pipeline::edge::{Delivery, EdgeError, Progress};
use serde_json::json;
use std::time::{Duration, Instant};

/// How long the server may take for an answer that needs no model.
const ANSWER: Duration = Duration::from_secs(30);
/// How often it is looked whether the server is still there.
const PULSE: Duration = Duration::from_secs(2);
const TAKER: Taker = Taker {
    name: "OpenCode",
    program: "OpenCode's server",
    store: "the store",
};

/// Delivers one message.
pub(super) fn deliver(
    delivery: &Delivery<'_>,
    server: &Server,
    ground: &Ground,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), EdgeError> {
    let session = ground.session.as_str();
    check(server, ground)?;
    progress(Progress::Starting {
        route: super::SERVER.into(),
    });
    let path = format!("/session/{session}/prompt_async");
    let part = json!({ "type": "text", "text": delivery.visible_body });
    let body = json!({ "parts": [part] });
    let mut follow = Follow::new(delivery);
    match loopback::request(server, "POST", &path, Some(&body), ANSWER) {
        Ok(Answer { status, .. }) if (200..300).contains(&status) => {
            let detail = format!("{status} POST {path}");
            progress(Progress::Submitted(Evidence::new("http_status", detail)));
        }
        Ok(answer) if (400..500).contains(&answer.status) => {
            return Err(EdgeError::NotSubmitted {
                reason: format!("OpenCode's server said: {}", told(&answer)),
            });
        }
        Err(NoAnswer::Unsent(why)) => {
            let reason = format!("OpenCode's server cannot be reached: {why}");
            return Err(EdgeError::NotSubmitted { reason });
        }
        // Only the store can tell.
        other => {
            follow.settle(LAG, progress);
            if follow.sighting().message.is_none() {
                let why = match other {
                    Ok(answer) => told(&answer),
                    Err(NoAnswer::Lost(why) | NoAnswer::Unsent(why)) => why,
                };
                let reason = format!("OpenCode's server may have taken it: {why}");
                return Err(EdgeError::Uncertain { reason });
            }
        }
    }
    let mut pulse = Instant::now();
    let mut gone = || {
        let due = pulse.elapsed() >= PULSE;
        if due {
            pulse = Instant::now();
        }
        due && !is_there(server)
    };
    follow.see_through(&TAKER, &mut gone, progress)
}

/// Makes sure that this server knows the session as the store does.
fn check(server: &Server, ground: &Ground) -> Result<(), EdgeError> {
    let not_submitted = |reason: String| Err(EdgeError::NotSubmitted { reason });
    let path = format!("/session/{}", ground.session);
    let answer = match loopback::request(server, "GET", &path, None, ANSWER) {
        Ok(answer) if answer.status == 200 => answer.body,
        Ok(answer) => {
            let told = told(&answer);
            return not_submitted(format!("OpenCode's server does not know it: {told}"));
        }
        Err(NoAnswer::Unsent(why) | NoAnswer::Lost(why)) => {
            return not_submitted(format!("OpenCode's server did not answer: {why}"));
        }
    };
    if answer["id"] != ground.session.as_str() {
        return not_submitted("OpenCode's server has another session of that id".into());
    }
    if !answer["revert"].is_null() {
        let reason =
            "an undo is pending in it, and the next message would drop for good what was undone";
        return Err(EdgeError::Refused {
            reason: reason.into(),
        });
    }
    Ok(())
}

fn told(answer: &Answer) -> String {
    let message = answer.body["data"]["message"].as_str().unwrap_or_default();
    let name = answer.body["name"].as_str().unwrap_or_default();
    let shown = display_safe(&clip(message, 300));
    format!(
        "{} {} {shown}",
        answer.status,
        display_safe(&clip(name, 80))
    )
    .trim_end()
    .to_owned()
}

fn is_there(server: &Server) -> bool {
    let answer = loopback::request(server, "GET", "/global/health", None, ANSWER);
    !matches!(answer, Err(NoAnswer::Unsent(_)))
}
