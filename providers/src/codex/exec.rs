//! `codex exec resume`, for a Codex whose app-server cannot resume threads
//! (`providers/codex.md` C1). It changes settings of the thread and starts a new one for a name
//! it does not know, so it is the last resort, gets a UUID only, and is stopped at the first
//! sign of another thread.

use super::app_server::TurnEnded;
use super::verdict::{self, Account};
use super::{Run, refusal};
use crate::child::{Next, Running};
use crate::follow::{Follow, stop_at};
use crate::in_flight::Trace;
use axiowl_model::{Evidence, clip, display_safe};
use axiowl_pipeline::edge::{EdgeError, Progress};
use serde_json::Value;
use std::time::{Duration, Instant};

/// How long the program may take to end after its last word.
const GOODBYE: Duration = Duration::from_secs(10);
/// How long the rollout may lag behind the program's words.
const LAG: Duration = Duration::from_secs(2);

/// Delivers one message. `why` the better road is closed.
pub(super) fn deliver(
    run: &Run<'_>,
    why: &str,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), EdgeError> {
    run.still_free()?;
    progress(Progress::Starting {
        route: format!("codex exec resume ({why})"),
    });
    let arguments = [
        "exec",
        "resume",
        "--json",
        "--skip-git-repo-check",
        run.thread(),
        "-",
    ];
    let mut running =
        Running::start(&run.program(&arguments)).map_err(|error| EdgeError::NotSubmitted {
            reason: error.to_string(),
        })?;
    match Trace::leave(
        &run.context.state_root,
        run.delivery.message_id,
        &run.delivery.target.key,
        running.id(),
    ) {
        Ok(trace) => running.keep(trace),
        Err(error) => {
            let reason = format!("the delivery could not be noted in the state folder: {error}");
            return Err(EdgeError::NotSubmitted { reason });
        }
    }
    running.send(run.delivery.visible_body.as_bytes().to_vec());
    running.close_input();

    let mut follow = Follow::new(run.delivery);
    let mut heard = Heard::default();
    let stop = stop_at(run.delivery);
    let cut = loop {
        if Instant::now() >= stop {
            break Some("the time for the delivery was over");
        }
        match running.next(follow.wait_until(stop)) {
            Next::Line(line) => {
                if let Some(evidence) = heard.take(&line, run.thread()) {
                    progress(Progress::Submitted(evidence));
                }
            }
            Next::Quiet => {}
            Next::End => break None,
            Next::Flooded => break Some("codex exec printed without end"),
        }
        if heard.stray.is_some() {
            break Some("codex exec started another thread");
        }
        follow.glance(progress);
    };
    let ending = running.finish(if cut.is_some() {
        Duration::ZERO
    } else {
        GOODBYE
    });
    let lag = if heard.taken { LAG } else { Duration::ZERO };
    follow.settle(lag, progress);
    let own_error = ending
        .status
        .is_some_and(|status| status.code().is_some_and(|code| code != 0));
    let silent = !heard.taken && heard.end.is_none() && cut.is_none();
    let refused = (silent && own_error && !ending.stopped).then(|| refusal(&ending.told()));
    let account = Account {
        sighting: follow.sighting().clone(),
        trouble: follow.trouble().cloned(),
        end: heard.end.ok_or(cut.unwrap_or_default()),
        stray: heard.stray,
        refused,
        ending,
    };
    if let Some(evidence) = verdict::verdict(&account)? {
        progress(Progress::TurnDone(evidence));
    }
    Ok(())
}

/// What the program said (C1).
#[derive(Debug, Default)]
struct Heard {
    /// Another thread than the one meant.
    stray: Option<String>,
    /// It named our thread.
    confirmed: bool,
    /// Our thread's turn was started.
    taken: bool,
    /// How it ended.
    end: Option<TurnEnded>,
}

impl Heard {
    /// Takes one line; evidence when our thread's turn has started.
    fn take(&mut self, line: &str, thread: &str) -> Option<Evidence> {
        let event: Value = serde_json::from_str(line).ok()?;
        match event["type"].as_str()? {
            "thread.started" if event["thread_id"] != thread => {
                let other = event["thread_id"].as_str().unwrap_or("without an id");
                self.stray = Some(display_safe(other));
                None
            }
            "thread.started" => {
                self.confirmed = true;
                None
            }
            "turn.started" if self.confirmed && !self.taken => {
                self.taken = true;
                Some(Evidence::new(
                    "stream_event",
                    format!("turn.started thread_id={thread}"),
                ))
            }
            "turn.completed" => {
                self.ended("completed", "");
                None
            }
            "turn.failed" => {
                self.ended(
                    "failed",
                    event["error"]["message"].as_str().unwrap_or_default(),
                );
                None
            }
            _ => None,
        }
    }

    fn ended(&mut self, status: &str, error: &str) {
        let error = display_safe(&clip(error.trim(), 600));
        self.end = Some(TurnEnded {
            turn: String::new(),
            status: status.into(),
            error,
        });
    }
}
