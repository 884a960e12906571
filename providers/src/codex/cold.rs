//! The road for a thread that nobody has open: a private app-server resumes it, gives it one
//! turn and stays to its end (`providers/codex.md` C3 and C7).

use super::app_server::{AppServer, CallError, Heard, TurnEnded};
use super::verdict::{self, Account};
use super::{ROUTE, Run, refusal};
use crate::child::Ending;
use crate::follow::{Follow, stop_at};
use crate::in_flight::Trace;
use axiowl_model::Evidence;
use axiowl_pipeline::edge::{EdgeError, Progress};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How long the server may take for its first answer (F: 0.6–1.8 s with large stores).
const HELLO: Duration = Duration::from_secs(60);
/// How long a thread may take to load (F: 20 s for a rollout of 415 MB).
const LOAD: Duration = Duration::from_secs(180);
/// How long any other call may take.
const ANSWER: Duration = Duration::from_secs(60);
/// How long the server may take to end after its input is closed.
const GOODBYE: Duration = Duration::from_secs(10);
/// How long the rollout may lag behind the server's words.
const LAG: Duration = Duration::from_secs(2);
/// Queued messages are looked for every ten seconds (C2); a thread that was idle for longer has
/// none to begin with.
const QUEUE_POLL: Duration = Duration::from_secs(12);
/// How often the queue is asked while it empties.
const PATIENCE: Duration = Duration::from_millis(500);

/// What came of it.
pub(super) enum Delivered {
    /// It went its way; everything is reported.
    Over,
    /// This Codex has no app-server that can do it. Nothing was handed over.
    NeedsExec(String),
}

/// Delivers one message.
pub(super) fn deliver(
    run: &Run<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Delivered, EdgeError> {
    let program = run.program(&["app-server"]);
    let message = run.delivery.message_id.to_string();
    let mut server = AppServer::start(&program, run.thread(), &message).map_err(|error| {
        EdgeError::NotSubmitted {
            reason: error.to_string(),
        }
    })?;
    let stop = stop_at(run.delivery);
    if let Err(obstacle) = open(run, &mut server, stop) {
        let ending = server.close(GOODBYE);
        return match obstacle {
            Obstacle::Old(why) => Ok(Delivered::NeedsExec(why)),
            Obstacle::No(error) => Err(error),
            Obstacle::Died => {
                let reason = format!(
                    "codex app-server did not open the thread: {}",
                    ending.told()
                );
                Err(EdgeError::NotSubmitted { reason })
            }
        };
    }
    match Trace::leave(
        &run.context.state_root,
        run.delivery.message_id,
        &run.delivery.target.key,
        server.running().id(),
    ) {
        Ok(trace) => server.running().keep(trace),
        Err(error) => {
            let reason = format!("the delivery could not be noted in the state folder: {error}");
            return Err(EdgeError::NotSubmitted { reason });
        }
    }
    progress(Progress::Starting {
        route: ROUTE.into(),
    });
    let account = turn(run, server, stop, progress);
    if let Some(evidence) = verdict::verdict(&account)? {
        progress(Progress::TurnDone(evidence));
    }
    Ok(Delivered::Over)
}

/// Why a thread could not be opened. Nothing was handed over.
enum Obstacle {
    /// An older Codex without the calls.
    Old(String),
    /// The provider says no, or time ran out.
    No(EdgeError),
    /// The server ended; how it ended says why.
    Died,
}

impl Obstacle {
    fn of(error: CallError, what: &str) -> Self {
        let not_submitted = |reason: String| Self::No(EdgeError::NotSubmitted { reason });
        match error {
            CallError::Rpc { message, .. } => Self::No(refusal(&message)),
            CallError::Ended => Self::Died,
            CallError::Flooded => not_submitted("codex app-server printed without end".into()),
            CallError::TimedOut => {
                not_submitted(format!("codex app-server did not answer {what} in time"))
            }
        }
    }
}

/// Resumes the thread and waits until no turn runs in it.
fn open(run: &Run<'_>, server: &mut AppServer, stop: Instant) -> Result<(), Obstacle> {
    let within = |time: Duration| stop.min(Instant::now() + time);
    match server.initialize(within(HELLO)) {
        Ok(()) => {}
        // A Codex without that command ends with a usage error.
        Err(CallError::Ended) => return Err(Obstacle::Old("it has no app-server".into())),
        Err(error) if error.is_unknown_method() => {
            return Err(Obstacle::Old(
                "its app-server does not know `initialize`".into(),
            ));
        }
        Err(error) => return Err(Obstacle::of(error, "initialize")),
    }
    // Asked before the thread is loaded, since loading starts what waits in its queue.
    let queued = queue_length(run, server, within(ANSWER))?;
    run.still_free().map_err(Obstacle::No)?;
    let params = json!({ "threadId": run.thread(), "excludeTurns": true });
    let resumed = match server.call("thread/resume", params, within(LOAD)) {
        Ok(resumed) => resumed,
        Err(error) if error.is_unknown_method() => {
            return Err(Obstacle::Old(
                "its app-server does not know `thread/resume`".into(),
            ));
        }
        Err(error) => return Err(Obstacle::of(error, "thread/resume")),
    };
    let thread = &resumed["thread"];
    if thread["id"] != run.thread() {
        let other = axiowl_model::display_safe(thread["id"].as_str().unwrap_or("none"));
        let reason = format!("codex app-server opened another thread than the one meant: {other}");
        return Err(Obstacle::No(EdgeError::NotSubmitted { reason }));
    }
    if thread["status"]["type"] == "active" {
        server.turns.busy = true;
    }
    wait_until_idle(run, server, queued, stop)
}

/// Waits until nothing runs in the thread and its queue is empty. A turn that is started in a
/// busy thread cuts the running one short, and its prompt never gets an answer (C3).
fn wait_until_idle(
    run: &Run<'_>,
    server: &mut AppServer,
    queued: usize,
    stop: Instant,
) -> Result<(), Obstacle> {
    let mut quiet_since = Instant::now();
    loop {
        let waiting = match queued {
            0 => 0,
            _ => queue_length(run, server, stop.min(Instant::now() + ANSWER))?,
        };
        if server.turns.busy || waiting > 0 {
            quiet_since = Instant::now();
        } else if server.turns.ended.len() >= queued || quiet_since.elapsed() >= QUEUE_POLL {
            return Ok(());
        }
        if Instant::now() >= stop {
            let reason = "the thread was busy with earlier messages until the time was over";
            return Err(Obstacle::No(EdgeError::NotSubmitted {
                reason: reason.into(),
            }));
        }
        match server.listen(stop.min(Instant::now() + PATIENCE)) {
            Heard::Ended => return Err(Obstacle::Died),
            Heard::Flooded => return Err(Obstacle::of(CallError::Flooded, "")),
            Heard::Something | Heard::Nothing => {}
        }
    }
}

/// Messages that wait in the thread's queue; none where there is no queue.
fn queue_length(run: &Run<'_>, server: &mut AppServer, until: Instant) -> Result<usize, Obstacle> {
    match server.call(
        "thread/queue/list",
        json!({ "threadId": run.thread() }),
        until,
    ) {
        Ok(list) => Ok(list["data"].as_array().map_or(0, Vec::len)),
        Err(CallError::Rpc { .. }) => Ok(0),
        Err(error) => Err(Obstacle::of(error, "thread/queue/list")),
    }
}

/// Starts the turn with the message and listens to its end.
fn turn(
    run: &Run<'_>,
    mut server: AppServer,
    stop: Instant,
    progress: &mut dyn FnMut(Progress),
) -> Account {
    let mut follow = Follow::new(run.delivery);
    let message = run.delivery.message_id.to_string();
    let params = json!({
        "threadId": run.thread(),
        "clientUserMessageId": message,
        "turnTrigger": "axiowl",
        "responsesapiClientMetadata": { "axiowl_message_id": message },
        "input": [{ "type": "text", "text": run.delivery.visible_body }],
    });
    let answer = server.call("turn/start", params, stop.min(Instant::now() + ANSWER));
    let mut end = Err(None);
    match answer {
        Ok(result) => {
            let id = result["turn"]["id"].as_str().unwrap_or_default().to_owned();
            progress(Progress::Submitted(submitted(&server, &result, &id)));
            end = listen(&mut server, &id, &mut follow, stop, progress).map_err(Some);
        }
        Err(CallError::Rpc { message, .. }) => {
            let ending = close(server, false);
            follow.look(progress);
            return Account {
                refused: Some(refusal(&message)),
                ..account(&follow, Err(""), None, ending)
            };
        }
        Err(CallError::Ended) => {}
        Err(CallError::Flooded) => end = Err(Some(FLOOD)),
        Err(CallError::TimedOut) => end = Err(Some("codex app-server did not answer turn/start")),
    }
    let stray = server.turns.stray.take();
    let cut = matches!(end, Err(Some(cut)) if !cut.is_empty());
    let ending = close(server, cut);
    follow.settle(LAG, progress);
    account(
        &follow,
        end.map_err(|cut| cut.unwrap_or_default()),
        stray,
        ending,
    )
}

const FLOOD: &str = "codex app-server printed without end";
const OVERDUE: &str = "the time for the delivery was over";

fn submitted(server: &AppServer, result: &Value, id: &str) -> Evidence {
    let status = result["turn"]["status"].as_str().unwrap_or_default();
    let joined = server.turns.started.iter().any(|started| started == id);
    let joined = if joined {
        " (joined a turn that was running)"
    } else {
        ""
    };
    let detail = format!("turn/start turn={id} status={status}{joined}");
    Evidence::new("rpc_result", axiowl_model::display_safe(&detail))
}

/// Waits for the end of a turn. The error says why it was given up; empty when the server ended.
fn listen(
    server: &mut AppServer,
    turn: &str,
    follow: &mut Follow<'_>,
    stop: Instant,
    progress: &mut dyn FnMut(Progress),
) -> Result<TurnEnded, &'static str> {
    loop {
        if let Some(ended) = server.turns.end_of(turn) {
            return Ok(ended.clone());
        }
        if Instant::now() >= stop {
            return Err(OVERDUE);
        }
        match server.listen(follow.wait_until(stop)) {
            Heard::Ended => return Err(""),
            Heard::Flooded => return Err(FLOOD),
            Heard::Something | Heard::Nothing => follow.glance(progress),
        }
    }
}

fn close(server: AppServer, cut: bool) -> Ending {
    if server.turns.declined > 0 {
        tracing::info!(
            requests = server.turns.declined,
            "declined requests of the turn"
        );
    }
    server.close(if cut { Duration::ZERO } else { GOODBYE })
}

fn account(
    follow: &Follow<'_>,
    end: Result<TurnEnded, &'static str>,
    stray: Option<String>,
    ending: Ending,
) -> Account {
    Account {
        sighting: follow.sighting().clone(),
        trouble: follow.trouble().cloned(),
        end,
        stray,
        refused: None,
        ending,
    }
}
