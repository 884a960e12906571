//! The seams a provider's delivery code fills in.
//!
//! An edge serves exactly one provider key. It never decides who a message is
//! for, never builds the visible body, and never says more than it has proof of.

use axiowl_model::{Evidence, MessageId, RunId, SessionKey};
use axiowl_sources::World;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The session a message is for, as the registry row says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Provider, node, session id.
    pub key: SessionKey,
    /// Canonical name at the time of acceptance.
    pub display_name: String,
    /// Recorded folder of the session.
    pub cwd: String,
    /// Id of the provider home it lives in; empty for the default one.
    pub home: String,
}

/// What an edge may use: the machine, and the settings that are AxiOwl's own.
pub struct EdgeContext<'a> {
    /// File system, executables, environment.
    pub world: &'a World,
    /// AxiOwl's state folder, for locks and for children that call back.
    pub state_root: PathBuf,
    /// The running AxiOwl executable.
    pub axiowl: PathBuf,
    /// Environment for children: HOME, PATH, locale, XDG, proxies, certificates, and what the
    /// configuration names for this provider. Nothing else may be passed on.
    pub child_env: Vec<(String, String)>,
    /// The folder of the provider home the target lives in, when the configuration names one.
    pub provider_home: Option<PathBuf>,
    /// The user lets this provider's messages take doors that were never tried with the real
    /// client.
    pub experimental: bool,
}

/// Whether a session is open somewhere, and whether there is a way in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Liveness {
    /// Nobody has it open: it can be resumed.
    Idle {
        /// The way a delivery would take.
        route: String,
    },
    /// Open, and it takes messages from outside.
    Door {
        /// The way a delivery would take.
        route: String,
    },
    /// Open, and nothing can be handed in without forking or losing it.
    Closed {
        /// What was seen.
        reason: String,
        /// What would open a door.
        remedy: String,
    },
    /// It cannot be delivered to now (program missing, folder gone …).
    Unavailable {
        /// What is missing.
        reason: String,
    },
}

/// One delivery of one message.
pub struct Delivery<'a> {
    /// The message's own id; edges hand it to the provider where the provider takes one.
    pub message_id: MessageId,
    /// This attempt.
    pub run_id: RunId,
    /// Whom it is for.
    pub target: &'a Target,
    /// What the target will read. It starts with the header line.
    pub visible_body: &'a str,
    /// When the edge has to be done.
    pub deadline: Instant,
    /// Bytes of a child's output that are kept; more is read and thrown away.
    pub output_cap: usize,
    /// The target's own transcript.
    pub transcript: &'a dyn TranscriptLook,
}

impl Delivery<'_> {
    /// Time left.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// What stands in the target's transcript about one message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sighting {
    /// The record that holds the message.
    pub message: Option<Evidence>,
    /// The end of the turn that read it.
    pub turn: Option<TurnEnd>,
}

/// How the turn that read a message ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    /// It ended well.
    pub completed: bool,
    /// The record that says so.
    pub evidence: Evidence,
}

/// Looks for one message in its target's transcript.
pub trait TranscriptLook {
    /// One look at the transcript as it is now.
    fn look(&self, message: MessageId) -> Result<Sighting, LookError>;
}

/// The transcript could not be read, so nothing is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct LookError {
    /// The file.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A step of a delivery, reported the moment it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The last moment at which it is certain that nothing was handed over. Reported before
    /// the first byte goes out: after it, a crash leaves the outcome to evidence.
    Starting {
        /// The way taken.
        route: String,
    },
    /// The provider's door took it.
    Submitted(Evidence),
    /// The provider has it and waits for its user.
    Held(Evidence),
    /// The provider has it in a queue.
    Queued(Evidence),
    /// It stands in the transcript.
    Seen(Evidence),
    /// The turn that read it finished.
    TurnDone(Evidence),
}

/// How a delivery ended, when not simply well.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EdgeError {
    /// Nothing was handed over, and nothing should be: the target is live without a door, or a
    /// guard of the provider says no.
    #[error("refused: {reason}")]
    Refused {
        /// Why, and what would help.
        reason: String,
    },
    /// Nothing was handed over; the provider could not be started or said no.
    #[error("failed before anything was handed over: {reason}")]
    NotSubmitted {
        /// Why.
        reason: String,
    },
    /// It was handed over, and the turn is known to have failed.
    #[error("the turn failed: {reason}")]
    TurnFailed {
        /// What the provider said.
        reason: String,
        /// Where it said so.
        evidence: Evidence,
    },
    /// It may or may not have arrived.
    #[error("outcome unknown: {reason}")]
    Uncertain {
        /// What is known.
        reason: String,
    },
    /// It arrived in another session.
    #[error("delivered to another session: {reason}")]
    Misdelivered {
        /// Which, and how that is known.
        reason: String,
        /// Where.
        evidence: Evidence,
    },
}

/// What the target's store says about a message that was handed over earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It is certainly not there and nothing is under way: it may be handed over again.
    Absent,
    /// It stands there.
    Seen(Sighting),
    /// Nobody can know yet.
    Unknown {
        /// Why not.
        reason: String,
    },
}

/// Native delivery code for one provider.
pub trait Edge: Send + Sync {
    /// The one provider key it serves.
    fn provider(&self) -> &'static str;

    /// Whether the target is idle, open with a door, or open without one. Reads only.
    fn probe(&self, context: &EdgeContext, target: &Target) -> Liveness;

    /// Hands the message over once and stays until its turn is over or the deadline is near.
    /// Reports each step as it is known. Called under the session's lock, after `probe`; it
    /// probes again itself right before the handover.
    #[expect(
        clippy::result_large_err,
        reason = "one a delivery, and edges fill it in by name"
    )]
    fn submit(
        &self,
        context: &EdgeContext,
        delivery: &Delivery,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError>;

    /// Looks for a message handed over earlier, before anybody hands it over again.
    fn find(&self, context: &EdgeContext, delivery: &Delivery) -> Finding;

    /// Whether somebody may still work on a message that was handed over earlier and stands in
    /// the target's store, so that the end of its turn is worth waiting for. While that is
    /// waited for, nothing else is delivered to the session.
    fn is_under_way(&self, context: &EdgeContext, delivery: &Delivery) -> bool {
        let _ = (context, delivery);
        true
    }

    /// Settles a message by what the target's store says now; `None` when it says nothing of it.
    fn settle(&self, context: &EdgeContext, delivery: &Delivery) -> Option<Finding> {
        Some(self.find(context, delivery))
    }
}
