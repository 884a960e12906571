//! Discovery of OpenCode and of Gemini CLI (an extension of ours): what the built binary says
//! about the rules' own cases and about homes made here, and what was said in the sessions.
//! Test names carry the numbers of the statements they prove.

mod gemini;
mod listing;
mod messages;
mod opencode;
#[path = "../program/mod.rs"]
mod program;
mod provenance;
mod store;

pub use program::scope::{Scope, at_home, case, contents, database};
pub use program::told;
pub use program::{Axiowl, ROOT};

use std::path::{Path, PathBuf};

/// Where OpenCode keeps its sessions, below a home.
pub const STORE: &str = ".local/share/opencode/opencode.db";

/// The SQL text of the store of a case.
pub fn sql(case: &str) -> PathBuf {
    let path = format!("rules/opencode_cli/fixtures/{case}/home/{STORE}.sql");
    Path::new(ROOT).join(path)
}

/// The folder of a case.
pub fn folder(provider: &str, case: &str) -> PathBuf {
    Path::new(ROOT).join(format!("rules/{provider}/fixtures/{case}"))
}
