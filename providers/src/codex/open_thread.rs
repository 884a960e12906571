//! The road for a thread that somebody has open: the message goes into Codex's queue, and the
//! process that has the thread open takes it from there, at once or after its running turn
//! (`providers/codex.md` C3, C4 and C7). A turn started from outside would cut the running one
//! short, and a second writer is refused by Codex itself.

use super::Run;
use super::app_server::{AppServer, CallError, Calls};
use super::queue;
use crate::codex_store::Owner;
use crate::follow::stop_at;
use crate::in_flight::Trace;
use crate::open_session::{Door, Receiver, Word, watch};
use axiowl_model::Evidence;
use axiowl_pipeline::edge::{EdgeError, Progress};
use std::time::{Duration, Instant};

const DAEMON: &str = "queue of the open thread (thread/queue/add at the shared codex daemon)";
const QUEUE: &str = "queue of the open thread (thread/queue/add from a private codex app-server)";

/// How long the server may take for its first answer.
const HELLO: Duration = Duration::from_secs(60);
/// How long any other call may take.
const ANSWER: Duration = Duration::from_secs(60);
/// How long the server may take to end after its input is closed.
const GOODBYE: Duration = Duration::from_secs(10);
/// How often it is looked whether the thread is still open.
const OPEN: Duration = Duration::from_secs(1);
/// How long nobody may have it open before the message is taken back. Who has it open next takes
/// what is queued too.
const LEFT: Duration = Duration::from_secs(3);

/// A message that was handed in.
struct Given {
    trace: Trace,
    /// That it stands in the queue, when it was seen there.
    waits: Option<Evidence>,
}

/// The way for people.
pub(super) fn route(owner: &Owner) -> &'static str {
    if owner.is_daemon { DAEMON } else { QUEUE }
}

/// Delivers one message.
pub(super) fn deliver(
    run: &Run<'_>,
    owner: &Owner,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), EdgeError> {
    let given = if owner.is_daemon {
        daemon(run, owner, progress)?
    } else {
        let mut server = private(run)?;
        let given = hand_in(run, owner, &mut server, progress);
        server.close(GOODBYE);
        given?
    };
    let mut door = QueueDoor {
        run,
        waits: given.waits,
        looked: Instant::now(),
        left: None,
    };
    watch(
        run.delivery,
        &owner.receiver,
        given.trace,
        &mut door,
        progress,
    )
}

/// Hands the message to the daemon that has the thread open.
#[cfg(target_os = "linux")]
fn daemon(
    run: &Run<'_>,
    owner: &Owner,
    progress: &mut dyn FnMut(Progress),
) -> Result<Given, EdgeError> {
    use super::daemon::Daemon;
    let refused = |why: String| EdgeError::Refused {
        reason: format!(
            "it is open in the shared Codex daemon (process {}), whose control socket cannot be \
             used: {why}",
            owner.receiver.pid
        ),
    };
    let socket = run.control_socket();
    let mut daemon = Daemon::connect(&socket, &owner.receiver).map_err(refused)?;
    let until = stop_at(run.delivery).min(Instant::now() + HELLO);
    daemon
        .initialize(until)
        .map_err(|error| refused(told(&error)))?;
    let given = hand_in(run, owner, &mut daemon, progress);
    daemon.close();
    given
}

/// There is no daemon that could be talked to.
#[cfg(not(target_os = "linux"))]
fn daemon(
    run: &Run<'_>,
    owner: &Owner,
    _progress: &mut dyn FnMut(Progress),
) -> Result<Given, EdgeError> {
    let (thread, pid) = (run.thread(), owner.receiver.pid);
    Err(EdgeError::Refused {
        reason: format!("{thread} is open in process {pid}, which is not talked to here"),
    })
}

/// A private app-server, which has said hello.
fn private(run: &Run<'_>) -> Result<AppServer, EdgeError> {
    let not_submitted = |reason: String| EdgeError::NotSubmitted { reason };
    let program = run.program(&["app-server"]);
    let message = run.delivery.message_id.to_string();
    let mut server = AppServer::start(&program, run.thread(), &message)
        .map_err(|error| not_submitted(error.to_string()))?;
    let until = stop_at(run.delivery).min(Instant::now() + HELLO);
    match server.initialize(until) {
        Ok(()) => Ok(server),
        Err(error) => {
            let ending = server.close(Duration::ZERO);
            let why = told(&error);
            Err(not_submitted(format!(
                "codex app-server did not begin: {why} ({})",
                ending.told()
            )))
        }
    }
}

/// Puts the message into the queue. From the trace on, who has the thread open has it.
fn hand_in(
    run: &Run<'_>,
    owner: &Owner,
    server: &mut dyn Calls,
    progress: &mut dyn FnMut(Progress),
) -> Result<Given, EdgeError> {
    let (delivery, thread) = (run.delivery, run.thread());
    let until = || stop_at(delivery).min(Instant::now() + ANSWER);
    run.is_still_open_in(owner)?;
    let Receiver { pid, start } = &owner.receiver;
    let state = &run.context.state_root;
    let trace = Trace::hand_to(
        state,
        delivery.message_id,
        &delivery.target.key,
        *pid,
        start,
    );
    let trace = trace.map_err(|error| EdgeError::NotSubmitted {
        reason: format!("the delivery could not be noted in the state folder: {error}"),
    })?;
    progress(Progress::Starting {
        route: route(owner).into(),
    });
    let body = delivery.visible_body;
    match queue::add(server, thread, delivery.message_id, body, until()) {
        Ok(entry) => {
            let detail = format!("thread/queue/add entry={entry}");
            progress(Progress::Submitted(proof(&detail)));
        }
        Err(error) if error.is_unknown_method() => {
            return Err(EdgeError::NotSubmitted {
                reason: "this Codex has no queue for open threads; update it".into(),
            });
        }
        Err(CallError::Rpc { message, .. }) => return Err(super::refusal(&message)),
        // It may be in the queue; the rollout tells.
        Err(error) => {
            tracing::warn!(why = told(&error), "thread/queue/add brought no answer");
            return Ok(Given { trace, waits: None });
        }
    }
    // An idle owner may have taken it already.
    let waits = match queue::place(server, thread, delivery.message_id, until()) {
        Ok(Some((entry, before))) => {
            let detail = format!("thread/queue/list entry={entry} before_it={before}");
            Some(proof(&detail))
        }
        _ => None,
    };
    Ok(Given { trace, waits })
}

fn proof(detail: &str) -> Evidence {
    Evidence::new("rpc_result", axiowl_model::display_safe(detail))
}

fn told(error: &CallError) -> String {
    match error {
        CallError::Rpc { message, .. } => crate::one_turn::words(message),
        CallError::Ended => "it ended".into(),
        CallError::Flooded => "it printed without end".into(),
        CallError::TimedOut => "it did not answer in time".into(),
    }
}

/// The queue once it has the message.
struct QueueDoor<'a> {
    run: &'a Run<'a>,
    /// That it stands in the queue; not told yet.
    waits: Option<Evidence>,
    /// When it was looked last whether the thread is open.
    looked: Instant,
    /// Since when nobody has it open.
    left: Option<Instant>,
}

impl Door for QueueDoor<'_> {
    fn words(&mut self, seen: bool) -> Vec<Word> {
        if seen {
            return Vec::new();
        }
        if let Some(evidence) = self.waits.take() {
            return vec![Word::Queued(evidence)];
        }
        if self.looked.elapsed() < OPEN {
            return Vec::new();
        }
        self.looked = Instant::now();
        if self.run.holder().is_some() {
            self.left = None;
            return Vec::new();
        }
        let since = *self.left.get_or_insert_with(Instant::now);
        if since.elapsed() < LEFT {
            return Vec::new();
        }
        let word = match self.taken_back() {
            // What was taken out had waited there.
            Ok(true) => {
                let evidence = proof("thread/queue/delete deleted=true");
                let reason = CLOSED.into();
                return vec![
                    Word::Queued(evidence.clone()),
                    Word::Declined { reason, evidence },
                ];
            }
            // Somebody took it out just now; the rollout tells soon.
            Ok(false) if since.elapsed() < LEFT * 4 => return Vec::new(),
            Ok(false) => Word::Unknown {
                reason: GONE.into(),
            },
            Err(why) => Word::Unknown {
                reason: format!(
                    "the thread was closed, and what became of its queue is not known: {why}"
                ),
            },
        };
        vec![word]
    }

    fn orphaned(&mut self, receiver: &Receiver) -> EdgeError {
        let pid = receiver.pid;
        match self.taken_back() {
            Ok(true) => EdgeError::Refused {
                reason: format!("process {pid} ended: {CLOSED}"),
            },
            Ok(false) => EdgeError::Uncertain {
                reason: format!("process {pid} ended: {GONE}"),
            },
            Err(why) => EdgeError::Uncertain {
                reason: format!(
                    "process {pid} ended, and the message may still wait in the queue of the \
                     thread: {why}"
                ),
            },
        }
    }
}

const CLOSED: &str = "the thread was closed before the message was read; it was taken back from \
                      the thread's queue, send again";
const GONE: &str = "the message is not in the thread's queue any more, and the rollout lacks it";

impl QueueDoor<'_> {
    /// Takes the message out of the queue again.
    fn taken_back(&self) -> Result<bool, String> {
        let mut server = private(self.run).map_err(|error| error.to_string())?;
        let (thread, message) = (self.run.thread(), self.run.delivery.message_id);
        let until = Instant::now() + ANSWER;
        let back = queue::take_back(&mut server, thread, message, until);
        server.close(GOODBYE);
        back.map_err(|error| told(&error))
    }
}
