//! The registry: which sessions AxiOwl knows, how discovery changes that, and which one a
//! name or id means.
//!
//! It is one table in one file, shared by every command and process. This crate must not
//! know any provider, any rule syntax, or how a message is delivered: it sees discovered
//! rows, decides what they change, and answers lookups.
//!
//! - [`Registry`] is the file: [`Registry::load`] reads without a lock, everything that
//!   writes does so under one lock, by replacing the file as a whole.
//! - [`Snapshot`] is what was read: rows to list, [`Snapshot::resolve`] and
//!   [`Snapshot::resolve_sender`].
//! - [`Registry::merge`] takes the report of one discovery.
//! - [`state_root`] is the only place that decides where state lives.
#![warn(missing_docs)]

mod alias;
mod block;
mod change;
mod check;
mod column;
mod digest;
mod edit;
mod error;
mod field;
mod lock;
mod lookup;
mod marks;
mod merge;
mod name;
mod near;
mod private;
#[cfg(test)]
mod samples;
mod sender;
mod snapshot;
mod stamp;
mod state;
mod store;
mod table;

pub use check::{CheckReport, SharedName};
pub use edit::{Edited, NewAgent, SenderRegistration};
pub use error::RegistryError;
pub use lookup::{Lookup, MatchedBy, Resolution};
pub use merge::{MergeOptions, MergeReport, RowDecision, is_proven};
pub use name::{is_clean_name, looks_like_session};
pub use private::{create_private_dir, private_file_options};
pub use sender::{SENDER_UNMATCHED, SenderReason, SenderResolution};
pub use snapshot::Snapshot;
pub use state::{Platform, state_root};
pub use store::{Changes, Registry};
