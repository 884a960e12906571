//! Watches the ledger until a message is where its sender wants it, or will not get there.

use crate::ledger::{Ledger, LedgerError};
use axiowl_model::{MessageId, Move, Stage, StageLine};
use std::time::{Duration, Instant};

/// How waiting for a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// It got at least as far as wanted.
    Reached(Stage),
    /// It ended, or hangs, elsewhere.
    Ended(Stage),
    /// The time is up; the message goes on.
    TimedOut(Stage),
}

impl Followed {
    /// The stage the message had then.
    pub fn stage(self) -> Stage {
        match self {
            Self::Reached(stage) | Self::Ended(stage) | Self::TimedOut(stage) => stage,
        }
    }

    /// The command's exit code (product.md section 5).
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Reached(_) => 0,
            Self::TimedOut(_) => 9,
            Self::Ended(stage) => stage_exit_code(stage),
        }
    }
}

/// The exit code of a message that ended at a stage, 0 for the stages of the good path.
pub fn stage_exit_code(stage: Stage) -> u8 {
    match stage {
        Stage::Refused => 5,
        Stage::Failed | Stage::Misdelivered => 7,
        Stage::Uncertain => 8,
        Stage::Expired => 9,
        _ => 0,
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Waits until a message reaches `wanted` (a stage of the good path) and `busy` says that
/// nothing more is coming, gives each of its stage lines to `line` as it appears, and calls
/// `meanwhile` about every two seconds.
///
/// # Errors
/// An unknown message, or the database.
pub(crate) fn wait_for(
    ledger: &Ledger,
    id: MessageId,
    wanted: Stage,
    timeout: Duration,
    line: &mut dyn FnMut(StageLine),
    busy: &mut dyn FnMut() -> Result<bool, LedgerError>,
    meanwhile: &mut dyn FnMut(),
) -> Result<Followed, LedgerError> {
    let begin = Instant::now();
    let (mut seq, mut pause) = (0, FIRST_PAUSE);
    let mut cared_for = begin;
    let mut stage = ledger.message(id)?.stage;
    loop {
        for (number, new) in ledger.lines_since(id, seq)? {
            seq = number;
            // Late proof is a line, and changes nothing.
            stage = stage.move_to(new.stage).map_or(new.stage, Move::ends_at);
            pause = FIRST_PAUSE;
            line(new);
        }
        let reached = stage.rank() >= wanted.rank() && stage.rank().is_some();
        // An uncertain message moves on only when somebody settles it.
        let ended = stage.is_terminal() || stage == Stage::Uncertain;
        if (reached || ended) && !busy()? {
            // What was written between the last look and the delivery's end.
            for (_, new) in ledger.lines_since(id, seq)? {
                line(new);
            }
            let followed = if reached {
                Followed::Reached
            } else {
                Followed::Ended
            };
            return Ok(followed(stage));
        }
        let left = timeout.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return Ok(Followed::TimedOut(stage));
        }
        if cared_for.elapsed() >= Duration::from_secs(2) {
            meanwhile();
            cared_for = Instant::now();
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
