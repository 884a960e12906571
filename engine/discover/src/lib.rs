//! Discovery: from a rule and a world to explained rows.
//!
//! One function decides and records ([`judge`]), so `explain`, snapshots and
//! production cannot disagree. This crate reads provider files only through
//! `axiowl-sources`, keeps nothing, and knows no provider by name.

mod aliases;
mod assemble;
mod condition;
mod copies;
pub mod coverage;
mod drift;
pub mod explain;
mod folders;
pub mod gaps;
pub mod identity;
mod judge;
mod naming;
mod one;
mod policy;
mod readings;
mod records;
mod run;
mod said;
mod several;
mod transcript;

pub use drift::within as version_within;
pub use readings::Readings;
pub use run::{Found, Options, Report, SourceCount, discover, row_of, rows_of};
pub use said::{Conversation, Said};
pub use transcript::{Look, NoTranscript, Place, TranscriptReader, TurnEnded};
