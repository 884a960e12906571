//! Follows one message through its target's transcript while a delivery is under way, and looks
//! for it afterwards.
//!
//! Says what stands there and nothing else; what a program printed is the edges' business.

use crate::in_flight::{self, Standing};
use axiowl_pipeline::edge::{
    Delivery, EdgeContext, EdgeError, Finding, LookError, Progress, Sighting,
};
use std::thread;
use std::time::{Duration, Instant};

/// How often a transcript is looked at while its program works.
const GLANCE: Duration = Duration::from_millis(150);
/// How often it is looked at when nothing but the transcript can tell any more.
pub(crate) const STARE: Duration = Duration::from_millis(25);
/// How long an earlier process of ours is waited for.
pub(crate) const PREDECESSOR: Duration = Duration::from_secs(60);
/// How long a transcript may lag behind a program that has just ended.
pub(crate) const LAG: Duration = Duration::from_secs(2);
/// Time kept at the end of a delivery for stopping the program and a last look.
const RESERVE: Duration = Duration::from_secs(10);

/// The moment at which a delivery has to stop its program.
pub(crate) fn stop_at(delivery: &Delivery<'_>) -> Instant {
    delivery.deadline - RESERVE.min(delivery.remaining() / 4)
}

/// Who took a message, in words: the client, its program, and where it keeps what was said.
pub(crate) struct Taker {
    pub name: &'static str,
    pub program: &'static str,
    pub store: &'static str,
}

/// One message in one transcript.
pub(crate) struct Follow<'a> {
    delivery: &'a Delivery<'a>,
    sighting: Sighting,
    trouble: Option<LookError>,
    looked: Option<Instant>,
    wants_turn: bool,
}

impl<'a> Follow<'a> {
    /// Follows the message of a delivery.
    pub fn new(delivery: &'a Delivery<'a>) -> Self {
        Self {
            delivery,
            sighting: Sighting::default(),
            trouble: None,
            looked: None,
            wants_turn: false,
        }
    }

    /// Looks now, and reports the message the first time it is there.
    pub fn look(&mut self, progress: &mut dyn FnMut(Progress)) {
        self.looked = Some(Instant::now());
        match self.delivery.transcript.look(self.delivery.message_id) {
            Ok(found) => {
                self.trouble = None;
                let had = self.sighting.message.is_some();
                self.sighting.message = self.sighting.message.take().or(found.message);
                self.sighting.turn = self.sighting.turn.take().or(found.turn);
                if let (false, Some(evidence)) = (had, &self.sighting.message) {
                    progress(Progress::Seen(evidence.clone()));
                }
            }
            Err(error) => self.trouble = Some(error),
        }
    }

    /// Whether the end of the turn is waited for too, since it must be there soon.
    pub fn want_turn(&mut self, wanted: bool) {
        self.wants_turn = wanted;
    }

    /// Looks when it is time again and something is still missing.
    pub fn glance(&mut self, progress: &mut dyn FnMut(Progress)) {
        let due = self.looked.is_none_or(|at| at.elapsed() >= GLANCE);
        if due && self.is_lacking() {
            self.look(progress);
        }
    }

    fn is_lacking(&self) -> bool {
        self.sighting.message.is_none() || (self.wants_turn && self.sighting.turn.is_none())
    }

    /// Until when the program's output may be waited for before the next glance.
    pub fn wait_until(&self, stop: Instant) -> Instant {
        if self.is_lacking() {
            stop.min(Instant::now() + GLANCE)
        } else {
            stop
        }
    }

    /// Looks until the end of the turn stands there, or the time is over.
    pub fn settle(&mut self, within: Duration, progress: &mut dyn FnMut(Progress)) -> &Sighting {
        let until = (Instant::now() + within).min(self.delivery.deadline);
        loop {
            let over = Instant::now() >= until;
            self.look(progress);
            if self.sighting.turn.is_some() || over {
                return &self.sighting;
            }
            thread::sleep(STARE);
        }
    }

    /// Follows a message that a program of the user's has taken to the end of its turn, which
    /// nobody here may cut short. `gone` says that the program has ended.
    pub fn see_through(
        &mut self,
        taker: &Taker,
        gone: &mut dyn FnMut() -> bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        let stop = stop_at(self.delivery);
        let Taker {
            name,
            program,
            store,
        } = taker;
        let mut ended = false;
        self.want_turn(true);
        while self.sighting.turn.is_none() && !ended && Instant::now() < stop {
            thread::sleep(GLANCE);
            self.glance(progress);
            ended = gone();
        }
        if self.sighting.turn.is_none() {
            self.settle(if ended { LAG } else { Duration::ZERO }, progress);
        }
        match (&self.sighting.message, &self.sighting.turn) {
            (_, Some(turn)) if turn.completed => {
                progress(Progress::TurnDone(turn.evidence.clone()));
                Ok(())
            }
            (_, Some(turn)) => Err(EdgeError::TurnFailed {
                reason: format!("{name} says that the turn failed"),
                evidence: turn.evidence.clone(),
            }),
            (Some(place), None) if ended => Err(EdgeError::TurnFailed {
                reason: format!("{program} ended in the middle of the turn"),
                evidence: place.clone(),
            }),
            // It goes on without us.
            (Some(_), None) => Ok(()),
            (None, None) => {
                let reason = match &self.trouble {
                    Some(error) => format!("{store} cannot be read: {error}"),
                    None if ended => format!("{program} ended, and {store} lacks the message"),
                    None => format!("{program} took it, and {store} lacks it still"),
                };
                Err(EdgeError::Uncertain { reason })
            }
        }
    }

    /// What was seen so far.
    pub fn sighting(&self) -> &Sighting {
        &self.sighting
    }

    /// Why the last look told nothing.
    pub fn trouble(&self) -> Option<&LookError> {
        self.trouble.as_ref()
    }
}

/// Whether a process of ours still has a message in its hands.
pub(crate) fn is_under_way(context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> bool {
    in_flight::standing(&context.state_root, delivery.message_id) != Standing::Nobody
}

/// Looks for a message that an earlier attempt handed over. A process of ours that still has it
/// in its hands is waited for, since only its end makes "not there" certain.
pub(crate) fn find(context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> Finding {
    let until = (Instant::now() + PREDECESSOR).min(delivery.deadline);
    loop {
        let over = Instant::now() >= until;
        // Asked before the look: what it writes after that is found by the next one.
        let process = in_flight::standing(&context.state_root, delivery.message_id);
        match delivery.transcript.look(delivery.message_id) {
            Err(error) => {
                let reason = format!("the transcript cannot be read: {error}");
                return Finding::Unknown { reason };
            }
            Ok(sighting) if sighting != Sighting::default() => return Finding::Seen(sighting),
            Ok(_) => match process {
                Standing::Nobody => return Finding::Absent,
                Standing::Process(pid) if over => {
                    let reason = format!("process {pid} still works on an earlier attempt");
                    return Finding::Unknown { reason };
                }
                Standing::Receiver(pid) if over => {
                    let reason = format!(
                        "process {pid}, which has the session open, was given it and may still \
                         come to it"
                    );
                    return Finding::Unknown { reason };
                }
                Standing::Unnamed if over => {
                    let reason = "an earlier attempt broke off while it started the program \
                                  that has the message, which may still work on it";
                    return Finding::Unknown {
                        reason: reason.into(),
                    };
                }
                Standing::Process(_) | Standing::Receiver(_) | Standing::Unnamed => {
                    thread::sleep(STARE);
                }
            },
        }
    }
}
