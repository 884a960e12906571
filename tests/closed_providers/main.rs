//! Discovery of the providers whose formats nobody documents (Cursor, Antigravity) or that are
//! an extension of ours (Grok): what the built binary says about the rules' own cases and
//! about homes made here. Test names carry the numbers of the statements they prove.

mod antigravity;
mod antigravity_cli;
mod cursor;
mod cursor_cli;
mod grok;
#[path = "../program/mod.rs"]
mod program;
mod transcripts;

pub use program::scope::{Scope, at_home, case, contents, database};
pub use program::told;
pub use program::{Axiowl, ROOT};
