//! The rule language: what a provider's files mean, as data.
//!
//! This crate knows the shape of rules, reads them from YAML, checks them and
//! says precisely what is wrong with them. It reads no provider file and
//! decides nothing about a session. It is the only crate that knows the YAML
//! library ([`yaml`] hands documents to the readers as JSON values).

pub mod at;
pub mod codes;
mod compiled_in;
pub mod cond;
pub mod config;
pub mod diag;
mod diag_json;
pub mod effective;
mod field_path;
pub mod fields;
mod folder;
pub mod guard;
mod identity;
pub mod layers;
mod lint;
pub mod load;
pub mod nearest;
pub mod origins;
mod parse;
pub mod patch;
mod place;
pub mod policy;
pub mod prepared;
mod render;
mod root;
pub mod rule;
pub mod scalar;
pub mod schema;
pub mod secrets;
mod shares;
pub mod source;
pub mod stack;
pub mod support;
pub mod template;
mod tested;
mod transcript;
mod tree;
pub mod trust;
pub mod widen;
pub mod world_spec;
pub mod yaml;

/// The newest language version this engine reads.
pub const LANGUAGE_VERSION: u32 = 1;
