//! Watches the ledger until a message is where its sender wants it, or will not get there.

use crate::ledger::{Ledger, LedgerError};
use axiowl_model::{MessageId, Move, Stage, StageLine};
use std::time::{Duration, Instant};

/// How waiting for a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// It got at least as far as wanted.
    Reached(Stage),
    /// It ended, or rests, there.
    Ended(Stage),
    /// The time is up; the message goes on.
    TimedOut(Stage),
    /// It was answered, and nobody works on it any more, but the end of its turn stands nowhere.
    TurnUnproven,
}

impl Followed {
    /// The stage the message had then.
    pub fn stage(self) -> Stage {
        match self {
            Self::Reached(stage) | Self::Ended(stage) | Self::TimedOut(stage) => stage,
            Self::TurnUnproven => Stage::Replied,
        }
    }

    /// The command's exit code (product.md section 5).
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Reached(_) => 0,
            Self::TimedOut(_) => 9,
            Self::Ended(stage) => stage_exit_code(stage),
            Self::TurnUnproven => stage_exit_code(Stage::Uncertain),
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

/// What is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// A stage of the good path, or one that no good stage follows.
    Stage(Stage),
    /// Nobody delivers it, and it does not wait for delivery.
    Rest,
}

/// Waits for a message, gives each of its stage lines to `line` as it appears, and calls
/// `meanwhile` about every two seconds.
///
/// # Errors
/// An unknown message, or the database.
pub(crate) fn wait(
    ledger: &Ledger,
    id: MessageId,
    until: Until,
    timeout: Duration,
    line: &mut dyn FnMut(StageLine),
    meanwhile: &mut dyn FnMut(),
) -> Result<Followed, LedgerError> {
    let begin = Instant::now();
    let (mut seq, mut pause) = (0, FIRST_PAUSE);
    let mut cared_for = begin;
    let mut stage = ledger.message(id)?.stage;
    let mut turn_done = false;
    loop {
        // Asked before the lines are read: what is written before its end is among them.
        let rests = match until {
            Until::Rest | Until::Stage(Stage::TurnDone) => ledger.rests(id)?,
            Until::Stage(_) => false,
        };
        for (number, new) in ledger.lines_since(id, seq)? {
            seq = number;
            turn_done |= new.stage == Stage::TurnDone;
            // Late proof is a line, and changes nothing.
            stage = stage.move_to(new.stage).map_or(new.stage, Move::ends_at);
            pause = FIRST_PAUSE;
            line(new);
        }
        match until {
            // An agent answers within its turn: a reply is no proof that the turn ended.
            Until::Stage(Stage::TurnDone) if turn_done => return Ok(Followed::Reached(stage)),
            Until::Stage(Stage::TurnDone) if stage == Stage::Replied && rests => {
                return Ok(Followed::TurnUnproven);
            }
            Until::Stage(Stage::TurnDone) if stage == Stage::Replied => {}
            Until::Rest if rests => return Ok(Followed::Ended(stage)),
            Until::Stage(wanted) if stage.rank() >= wanted.rank() && stage.rank().is_some() => {
                return Ok(Followed::Reached(stage));
            }
            // An uncertain message moves on only when somebody settles it.
            Until::Stage(_) if stage.is_terminal() || stage == Stage::Uncertain => {
                return Ok(Followed::Ended(stage));
            }
            _ => {}
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
