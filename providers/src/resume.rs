//! What edges have in common that give a session nobody has open one turn: it is examined
//! before anything starts, an open one gets the message through its own door or is refused, the
//! transcript is asked afterwards.
//!
//! Knows no provider.

use crate::follow::{self, PREDECESSOR, STARE};
use crate::ground::{is_real, not_now};
use crate::in_flight;
use axiowl_pipeline::edge::{
    Delivery, Edge, EdgeContext, EdgeError, Finding, Liveness, Progress, Target,
};
use std::thread;
use std::time::Instant;

/// One provider's way to resume an idle session.
pub(crate) trait Resume: Send + Sync {
    /// What has to be known for it.
    type Ready;

    /// The provider's key.
    fn provider(&self) -> &'static str;

    /// Everything that has to hold before a session is resumed; reads only.
    fn examine(&self, context: &EdgeContext<'_>, target: &Target) -> Result<Self::Ready, Liveness>;

    /// Whether somebody has it open, and the message goes through a door of theirs.
    fn is_open(&self, _ready: &Self::Ready) -> bool {
        false
    }

    /// Why a message that is not in the transcript may come to stand there yet, apart from
    /// what a delivery of ours left behind.
    fn kept(&self, _context: &EdgeContext<'_>, _delivery: &Delivery<'_>) -> Option<String> {
        None
    }

    /// The way the message goes, for people.
    fn route(&self, ready: &Self::Ready) -> &'static str;

    /// Hands the message over and follows it.
    fn hand_over(
        &self,
        context: &EdgeContext<'_>,
        delivery: &Delivery<'_>,
        ready: Self::Ready,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError>;
}

/// An edge that resumes.
pub(crate) struct Resuming<R>(pub R);

/// Examines a session before a message goes. What an earlier delivery started and left behind,
/// when its worker was killed, has the session open like anybody; it ends by itself and is waited
/// for.
///
/// # Errors
/// Why nothing can be delivered now.
pub(crate) fn examined<T>(
    context: &EdgeContext<'_>,
    delivery: &Delivery<'_>,
    examine: impl Fn(&EdgeContext<'_>, &Target) -> Result<T, Liveness>,
) -> Result<T, EdgeError> {
    let until = (Instant::now() + PREDECESSOR).min(delivery.deadline);
    loop {
        let over = Instant::now() >= until;
        // Asked before the look: what ends in between is gone at the next one.
        let ours = in_flight::outlives(&context.state_root, &delivery.target.key);
        match examine(context, delivery.target) {
            Err(Liveness::Closed { .. }) if ours && !over => thread::sleep(STARE),
            examined => return examined.map_err(not_now),
        }
    }
}

impl<R: Resume> Edge for Resuming<R> {
    fn provider(&self) -> &'static str {
        self.0.provider()
    }

    fn probe(&self, context: &EdgeContext<'_>, target: &Target) -> Liveness {
        match self.0.examine(context, target) {
            Ok(ready) => {
                let route = self.0.route(&ready).into();
                match self.0.is_open(&ready) {
                    true => Liveness::Door { route },
                    false => Liveness::Idle { route },
                }
            }
            Err(liveness) => liveness,
        }
    }

    fn submit(
        &self,
        context: &EdgeContext<'_>,
        delivery: &Delivery<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        is_real(context)?;
        let examine = |context: &EdgeContext<'_>, target: &Target| self.0.examine(context, target);
        let ready = examined(context, delivery, examine)?;
        self.0.hand_over(context, delivery, ready, progress)
    }

    fn find(&self, context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> Finding {
        // Asked before the look: what leaves there in between is found by the look.
        let kept = self.0.kept(context, delivery);
        match (follow::find(context, delivery), kept) {
            (Finding::Absent, Some(reason)) => Finding::Unknown { reason },
            (finding, _) => finding,
        }
    }

    /// Our own process, or whoever has the session open.
    fn is_under_way(&self, context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> bool {
        follow::is_under_way(context, delivery)
            || matches!(
                self.probe(context, delivery.target),
                Liveness::Closed { .. } | Liveness::Door { .. }
            )
    }
}
