//! The road through the Codex desktop app, for a thread that it has open in a version without the
//! queue (`providers/codex.md` C6). Known from public code only, so it is taken when the user says
//! so, and never while a turn runs: one that is started from outside would cut it short.
//!
//! The rollout proves; what the app answers tells that it took the message, no more.

use super::Run;
use crate::codex_ipc::{self, Desk, NoTurn, Said};
use crate::codex_store::Store;
use crate::follow::stop_at;
use crate::in_flight::Trace;
use crate::open_session::{Door, Receiver, Word, watch};
use axiowl_model::Evidence;
use axiowl_pipeline::edge::{EdgeContext, EdgeError, Progress};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) const ROUTE: &str = "a turn of the Codex desktop app (its IPC router, experimental)";

/// How long the app may take for its answer.
const ANSWER: Duration = Duration::from_secs(60);
/// The end of a rollout in which the last turn begins or ends.
const TAIL: u64 = 4 << 20;

/// The window that owns a thread, where there is one and it can be given a message now.
///
/// # Errors
/// Why it cannot.
pub(super) fn desk(
    context: &EdgeContext<'_>,
    thread: &str,
    rollout: &Path,
) -> Result<Desk, String> {
    let root = Store::of(context).real(context.world);
    let desk = codex_ipc::desk(&root, thread)?;
    let desk = desk.ok_or("the Codex desktop app does not own it")?;
    match turn_runs(rollout) {
        Ok(Some(false)) => Ok(desk),
        Ok(Some(true)) => Err("a turn of it runs, which a message would cut short".into()),
        Ok(None) => Err("its rollout does not tell whether a turn runs".into()),
        Err(error) => Err(format!("{}: {error}", rollout.display())),
    }
}

/// Delivers one message.
pub(super) fn deliver(
    run: &Run<'_>,
    receiver: &Receiver,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), EdgeError> {
    // Asked again right before, since the window may have closed or a turn begun.
    let desk = run.desk_of(receiver)?;
    let (delivery, state) = (run.delivery, &run.context.state_root);
    let Receiver { pid, start } = receiver;
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
        route: ROUTE.into(),
    });
    let said = Said {
        thread: run.thread(),
        message: &delivery.message_id.to_string(),
        body: delivery.visible_body,
    };
    let within = stop_at(delivery).saturating_duration_since(Instant::now());
    match desk.start_turn(&said, within.min(ANSWER)) {
        Ok(turn) => {
            let detail = format!("thread-follower-start-turn turn={turn}");
            let detail = axiowl_model::display_safe(&detail);
            progress(Progress::Submitted(Evidence::new("rpc_result", detail)));
        }
        Err(NoTurn::Unasked(why) | NoTurn::Declined(why)) => {
            return Err(EdgeError::NotSubmitted {
                reason: format!("the Codex desktop app said: {why}"),
            });
        }
        // It may have the message; the rollout tells.
        Err(NoTurn::Unknown(why)) => tracing::warn!(why, "the Codex desktop app did not answer"),
    }
    watch(delivery, receiver, trace, &mut Window, progress)
}

/// The app says nothing more of a message than its answer.
struct Window;

impl Door for Window {
    fn words(&mut self, _seen: bool) -> Vec<Word> {
        Vec::new()
    }

    fn orphaned(&mut self, receiver: &Receiver) -> EdgeError {
        EdgeError::Uncertain {
            reason: format!(
                "process {} ended, and the rollout lacks the message",
                receiver.pid
            ),
        }
    }
}

/// Whether a turn runs, by the last record of one; nothing where none is near the end.
fn turn_runs(rollout: &Path) -> io::Result<Option<bool>> {
    let mut file = File::open(rollout)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let runs = |line: &[u8]| {
        let record: Value = serde_json::from_slice(line).ok()?;
        match record["payload"]["type"].as_str()? {
            "task_started" | "turn_started" => Some(true),
            "task_complete" | "turn_complete" | "turn_aborted" => Some(false),
            _ => None,
        }
    };
    Ok(bytes.rsplit(|byte| *byte == b'\n').find_map(runs))
}
