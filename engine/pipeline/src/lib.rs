//! The message pipeline: one path for every send, from request to proof.
//!
//! [`Pipeline::send`] takes a message: it finds out who sends and who is meant, builds what
//! the target will read, and stores it in the [`Ledger`]. A [`Worker`], in a process of its
//! own, hands it to the [`edge::Edge`] of the target's provider and records how far it got and
//! what proves it. [`Pipeline::wait_for`] tells a waiting caller.
//!
//! This crate must not know any provider, any rule, or how a discovery is made: those come in
//! through the seams [`edge`], [`identity`], [`TargetedPass`] and [`Surroundings`].
#![warn(missing_docs)]

// The tests of the crate itself use the provider of paper, too.
#[cfg(all(test, unix))]
extern crate self as axiowl_pipeline;
#[cfg(all(test, unix))]
#[path = "../tests/fake/mod.rs"]
mod fake;

pub mod body;
mod clock;
mod crash;
pub mod edge;
mod edges;
mod evidence_log;
mod follow;
mod guard;
pub mod identity;
mod kept;
mod ledger;
mod limits;
mod pass;
mod pipeline;
mod process;
mod redact;
mod rejection;
mod reply;
mod request;
mod resolve;
mod send;
mod sender;
mod spawn;
mod worker;

pub use clock::Clock;
pub use edges::{EdgeTable, NoEdge, TargetEdge, TwoEdges};
pub use evidence_log::EvidenceLog;
pub use follow::{Followed, stage_exit_code};
pub use guard::Guard;
pub use ledger::{
    Decision, Inbox, Lease, LeaseAnswer, Ledger, LedgerError, Message, Opening, Step,
};
pub use limits::Limits;
pub use pass::{PassSummary, REMOTE_OUT_OF_SCOPE, TargetedPass};
pub use pipeline::Pipeline;
pub use process::Owner;
pub use redact::{REDACTED, Redactor, redact};
pub use rejection::{Candidate, Rejection, Why};
pub use request::{Accepted, SendRequest};
pub use resolve::SenderClaim;
pub use sender::{AXIOWL_PROVIDER, Hop, OPERATOR, Sender, SenderKind, operator_key};
pub use spawn::{StartWorker, WORKER_COMMAND, WorkerProcesses};
pub use worker::{Settled, Surroundings, WorkDone, Worker, WorkerError};
