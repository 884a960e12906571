//! What edges have in common that give a session nobody has open one turn: it is examined
//! before anything starts, an open one gets the message through its own door or is refused, the
//! transcript is asked afterwards.
//!
//! Knows no provider.

use crate::follow;
use crate::ground::{is_real, not_now};
use axiowl_pipeline::edge::{
    Delivery, Edge, EdgeContext, EdgeError, Finding, Liveness, Progress, Target,
};

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
        let ready = self.0.examine(context, delivery.target).map_err(not_now)?;
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
