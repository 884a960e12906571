//! Delivers accepted messages: one at a time per session, in the order of acceptance, each
//! under a lease. Runs in a process of its own that may be killed at any point; whatever it
//! leaves behind, the next worker goes on from.
//!
//! It resolves nothing: the ledger says for whom a message is, and the provider key of that
//! target alone picks the edge. Nothing that may have been handed over is handed over again
//! unless the edge is certain that it is not there.

mod attempt;
mod line;
mod recorder;
mod settle;

pub(crate) use line::{Attendance, attendance};
pub use settle::Settled;

use crate::edge::{EdgeContext, Liveness, Target, TranscriptLook};
use crate::edges::{EdgeTable, NoEdge};
use crate::evidence_log::EvidenceLog;
use crate::ledger::{Lease, LeaseAnswer, Ledger, LedgerError};
use crate::limits::Limits;
use crate::process::Owner;
use axiowl_model::MessageId;
use axiowl_sources::World;
use line::{Entry, SessionLine};
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// What a delivery finds around it. The command line knows the configuration; this crate
/// does not.
pub trait Surroundings {
    /// The machine.
    fn world(&self) -> &World;

    /// The running AxiOwl executable, for children that call back.
    fn axiowl(&self) -> &Path;

    /// The whole environment of a child that serves a provider.
    fn child_env(&self, provider: &str) -> Vec<(String, String)>;

    /// The folder of the provider home a target lives in, where the configuration names one.
    fn provider_home(&self, target: &Target) -> Option<PathBuf>;

    /// Whether the configuration lets a provider's messages take untried doors.
    fn experimental(&self, _provider: &str) -> bool {
        false
    }

    /// Looks into a target's transcript.
    fn transcript(&self, target: &Target) -> Box<dyn TranscriptLook + '_>;
}

/// Everything a worker works with.
#[derive(Clone, Copy)]
pub struct Worker<'a> {
    /// The state folder.
    pub state_root: &'a Path,
    /// The messages.
    pub ledger: &'a Ledger,
    /// Where decisions are recorded.
    pub log: &'a EvidenceLog,
    /// The edges.
    pub edges: &'a EdgeTable,
    /// The machine and the configuration.
    pub surroundings: &'a dyn Surroundings,
    /// Bounds.
    pub limits: &'a Limits,
}

/// What a worker did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkDone {
    /// It served the session until nothing was left, and dealt with these messages.
    Served(Vec<MessageId>),
    /// Another worker of that session waits already and will deal with the message.
    LeftToAnother,
}

/// A worker that could not go on. What it had begun is left to the next one.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The session's lock could not be used.
    #[error("cannot lock {}: {source}", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody outside the session's lock keeps the lease.
    #[error("message {message} is held by {owner}, which does not let go")]
    Held {
        /// The message.
        message: MessageId,
        /// Its holder.
        owner: Owner,
    },
    /// A delivery ended and the message waits as before.
    #[error("message {message} could not be moved on")]
    Stuck {
        /// The message.
        message: MessageId,
    },
    /// The message is being delivered right now.
    #[error("message {message} is being delivered")]
    UnderWay {
        /// The message.
        message: MessageId,
    },
    /// No edge serves its target.
    #[error(transparent)]
    NoEdge(#[from] NoEdge),
}

impl Worker<'_> {
    /// Delivers a message, and every other one that waits for the same session.
    ///
    /// # Errors
    /// When the ledger or the session's lock fails; the message stays as it is.
    pub fn run(&self, id: MessageId) -> Result<WorkDone, WorkerError> {
        let key = self.ledger.message(id)?.target.key;
        self.log.record(
            "worker_started",
            json!({"message_id": id, "agent_id": key.to_string()}),
        );
        let entry = SessionLine::enter(self.state_root, &key, || {
            self.ledger.expire_overdue().map(drop)
        })?;
        let Entry::First(_held) = entry else {
            self.log
                .record("worker_not_needed", json!({"message_id": id}));
            return Ok(WorkDone::LeftToAnother);
        };
        let mut served = Vec::new();
        while let Some(next) = self.ledger.next_pending(&key)? {
            // An attempt that ends without a stage must not be repeated for ever.
            if served.last() == Some(&next) {
                return Err(WorkerError::Stuck { message: next });
            }
            self.deliver(next)?;
            served.push(next);
        }
        self.forget();
        Ok(WorkDone::Served(served))
    }

    /// Forgets what was settled long ago. Nothing waits for that, and a delivery that went
    /// well is not spoilt by it.
    fn forget(&self) {
        match self.ledger.forget_settled(self.limits.retention) {
            Ok(0) => {}
            Ok(messages) => self.log.record("forgotten", json!({"messages": messages})),
            Err(error) => tracing::warn!(%error, "old messages not forgotten"),
        }
    }

    /// Whether a target could be delivered to now, and by which way. Reads only.
    ///
    /// # Errors
    /// When no edge serves it.
    pub fn probe(&self, target: &Target) -> Result<Liveness, NoEdge> {
        Ok(self.edges.pick(target)?.probe(&self.context(target)))
    }

    fn context(&self, target: &Target) -> EdgeContext<'_> {
        EdgeContext {
            world: self.surroundings.world(),
            state_root: self.state_root.to_owned(),
            axiowl: self.surroundings.axiowl().to_owned(),
            child_env: self.surroundings.child_env(&target.key.provider),
            provider_home: self.surroundings.provider_home(target),
            experimental: self.surroundings.experimental(&target.key.provider),
        }
    }

    fn deliver(&self, id: MessageId) -> Result<(), WorkerError> {
        let Some(lease) = self.take_lease(id)? else {
            return Ok(());
        };
        let message = self.ledger.message(id)?;
        self.log.record(
            "lease_taken",
            json!({
                "message_id": id,
                "run_id": lease.run_id,
                "attempt": lease.attempt,
                "started_before": lease.started_before,
            }),
        );
        // On an error, and on a panic, the lease stays as it is: the next worker must see
        // that this delivery broke off.
        let outcome = self.kept_alive(&lease, || self.attempt(&lease, &message))?;
        self.ledger.end(&lease, &outcome)?;
        self.log.record(
            "delivery_ended",
            json!({"message_id": id, "run_id": lease.run_id, "outcome": outcome}),
        );
        Ok(())
    }

    /// Waits for a lease that another process holds. Under the session's lock that can only
    /// be one that died, or that runs out soon.
    fn take_lease(&self, id: MessageId) -> Result<Option<Lease>, WorkerError> {
        let until = Instant::now() + self.limits.lease * 3;
        let mut pause = Duration::from_millis(10);
        loop {
            match self.ledger.lease(id, self.limits)? {
                LeaseAnswer::Taken(lease) => return Ok(Some(lease)),
                LeaseAnswer::Nothing => return Ok(None),
                LeaseAnswer::Held { owner, .. } if Instant::now() >= until => {
                    return Err(WorkerError::Held { message: id, owner });
                }
                LeaseAnswer::Held { .. } => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(500));
                }
            }
        }
    }

    /// Renews the lease while `work` runs.
    fn kept_alive<T>(&self, lease: &Lease, work: impl FnOnce() -> T) -> T {
        let (ledger, time) = (self.ledger, self.limits.lease);
        std::thread::scope(|scope| {
            // Dropped when `work` returns or panics, which ends the thread.
            let (_working, over) = mpsc::channel::<()>();
            scope.spawn(move || {
                while over.recv_timeout(time / 3) == Err(RecvTimeoutError::Timeout) {
                    match ledger.renew(lease, time) {
                        Ok(()) => {}
                        Err(LedgerError::LeaseLost { .. }) => break,
                        Err(error) => tracing::warn!(%error, "lease not renewed"),
                    }
                }
            });
            work()
        })
    }
}
