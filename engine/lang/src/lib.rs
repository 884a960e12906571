//! The rule language: what a provider's files mean, as data.
//!
//! This crate knows the shape of rules, reads them from YAML, checks them and
//! says precisely what is wrong with them. It reads no provider file and
//! decides nothing about a session. It is the only crate that knows the YAML
//! library ([`yaml`] hands documents to the readers as JSON values).

pub mod at;
pub mod cond;
pub mod rule;
pub mod scalar;
pub mod source;
pub mod template;

/// The newest language version this engine reads.
pub const LANGUAGE_VERSION: u32 = 1;
