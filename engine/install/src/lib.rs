//! Puts a few entries into configuration files that belong to somebody else, and takes exactly
//! these out again.
//!
//! Besides hooks that providers call, this is the one place where AxiOwl writes into files of a
//! provider, and it does so only for a provider the user named. What is written where is given
//! as a [`Recipe`]; which provider reads it is not known here.
//!
//! A change is made as a whole or not at all: [`plan`] reads and refuses what is damaged or not
//! ours, [`Plan::apply`] looks again, replaces each file by a rename, reads it back, and puts
//! everything back as it was when one step fails. Every byte that was there stays there.
#![warn(missing_docs)]

mod apply;
mod error;
mod file;
mod json;
mod plan;
mod recipe;
mod record;
mod splice;
mod text;
mod toml;
mod whole;

pub use apply::ApplyError;
pub use error::{Refusal, Why};
pub use plan::{Plan, Step, What, plan, plan_removal};
pub use recipe::{ConfigFile, Entry, Format, Part, Place, Recipe};
pub use record::{Record, Records};
