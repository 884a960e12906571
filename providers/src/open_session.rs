//! Watches a message that was handed to a process which somebody has the session open in: until
//! the turn that read it ends, the process gives it back or is gone, or the time is over.
//!
//! The transcript proves; what a door says meanwhile tells where the message waits, never that
//! it was read. Nothing of the user's is stopped. Knows no provider.

use crate::follow::{Follow, LAG, stop_at};
use crate::in_flight::Trace;
use crate::processes;
use axiowl_model::Evidence;
use axiowl_pipeline::edge::{Delivery, EdgeError, Progress, TurnEnd};
use std::thread;
use std::time::{Duration, Instant};

/// How often everything is looked at.
const TICK: Duration = Duration::from_millis(50);

/// A process of the user's, by its number and the time it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Receiver {
    pub pid: u32,
    pub start: String,
}

impl Receiver {
    /// A process that runs now.
    pub fn of(pid: u32) -> Option<Self> {
        let start = processes::start_of(pid)?;
        Some(Self { pid, start })
    }

    /// Whether it still runs.
    pub fn runs(&self) -> bool {
        processes::runs(self.pid, Some(&self.start))
    }
}

/// What a door says about a message that it was given.
#[derive(Debug)]
pub(crate) enum Word {
    /// It waits for the user.
    Held(Evidence),
    /// It waits for its turn.
    Queued(Evidence),
    /// The user's side does not take it.
    Declined { reason: String, evidence: Evidence },
    /// It stands in another session.
    Elsewhere { reason: String, evidence: Evidence },
    /// Nobody can say any more where it goes.
    Unknown { reason: String },
}

/// A provider's door, once it has the message.
pub(crate) trait Door {
    /// What it said since it was asked last. `seen` tells that the message was read.
    fn words(&mut self, seen: bool) -> Vec<Word>;

    /// What becomes of a message that nobody has read, when its receiver is gone.
    fn orphaned(&mut self, receiver: &Receiver) -> EdgeError;
}

/// Watches to the end.
pub(crate) fn watch(
    delivery: &Delivery<'_>,
    receiver: &Receiver,
    trace: Trace,
    door: &mut dyn Door,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), EdgeError> {
    let mut follow = Follow::new(delivery);
    follow.want_turn(true);
    let stop = stop_at(delivery);
    let mut kept = false;
    loop {
        let over = Instant::now() >= stop;
        // Asked before the look: what it writes before its end is found by the look.
        let gone = !receiver.runs();
        follow.glance(progress);
        if gone || over {
            follow.settle(if gone { LAG } else { Duration::ZERO }, progress);
        }
        if let Some(turn) = &follow.sighting().turn {
            return ended(turn, progress);
        }
        let place = follow.sighting().message.clone();
        for word in door.words(place.is_some()) {
            match word {
                Word::Held(evidence) if place.is_none() => {
                    kept = true;
                    progress(Progress::Held(evidence));
                }
                Word::Queued(evidence) if place.is_none() => {
                    kept = true;
                    progress(Progress::Queued(evidence));
                }
                Word::Held(_) | Word::Queued(_) => {}
                Word::Declined { reason, evidence } => {
                    return declined(&mut follow, kept, reason, evidence, progress);
                }
                Word::Elsewhere { reason, evidence } => {
                    return Err(EdgeError::Misdelivered { reason, evidence });
                }
                Word::Unknown { reason } => {
                    trace.stay();
                    return Err(EdgeError::Uncertain { reason });
                }
            }
        }
        match place {
            Some(evidence) if gone => {
                let reason = format!(
                    "process {}, which had the session open, ended in the middle of the turn",
                    receiver.pid
                );
                return Err(EdgeError::TurnFailed { reason, evidence });
            }
            // The turn goes on without us.
            Some(_) if over => return Ok(()),
            None if gone => {
                return Err(match follow.trouble() {
                    Some(error) => unreadable(error),
                    None => door.orphaned(receiver),
                });
            }
            None if over => {
                trace.stay();
                return unread(&follow, kept, receiver);
            }
            _ => thread::sleep(TICK),
        }
    }
}

fn ended(turn: &TurnEnd, progress: &mut dyn FnMut(Progress)) -> Result<(), EdgeError> {
    let evidence = turn.evidence.clone();
    if turn.completed {
        progress(Progress::TurnDone(evidence));
        return Ok(());
    }
    let reason = "the transcript says that the turn failed".into();
    Err(EdgeError::TurnFailed { reason, evidence })
}

/// A word that it was not taken counts only while the transcript lacks it.
fn declined(
    follow: &mut Follow<'_>,
    kept: bool,
    reason: String,
    evidence: Evidence,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), EdgeError> {
    follow.settle(LAG, progress);
    if let Some(turn) = &follow.sighting().turn {
        return ended(turn, progress);
    }
    if follow.sighting().message.is_some() {
        return Ok(());
    }
    if let Some(error) = follow.trouble() {
        return Err(unreadable(error));
    }
    Err(match kept {
        // Given back, unread.
        true => EdgeError::Refused { reason },
        false => EdgeError::TurnFailed { reason, evidence },
    })
}

/// The time is over, and nobody has read it.
fn unread(follow: &Follow<'_>, kept: bool, receiver: &Receiver) -> Result<(), EdgeError> {
    match follow.trouble() {
        Some(error) => Err(unreadable(error)),
        // It stays held or queued, which is what is known of it.
        None if kept => Ok(()),
        None => Err(EdgeError::Uncertain {
            reason: format!(
                "process {} was given it, and the transcript lacks it until now",
                receiver.pid
            ),
        }),
    }
}

fn unreadable(error: &axiowl_pipeline::edge::LookError) -> EdgeError {
    EdgeError::Uncertain {
        reason: format!("the transcript cannot be read: {error}"),
    }
}
