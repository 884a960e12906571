//! `axiowl mcp --http`: where the token comes from. Never from the command line, which every
//! process of the machine can read, and never into a log.

use crate::exit::{Exit, Failure, Outcome};
use crate::output::say;
use axiowl_mcp::{Desk, Token};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Where the token stands when no file is named. It opens the door of one server, and nothing
/// that a server starts needs it.
pub const VARIABLE: &str = "AXIOWL_MCP_TOKEN";
/// A token is a short line.
const LARGEST: u64 = 4 * 1024;
/// How to get one.
const MAKE_ONE: &str = "make one with `(umask 077; openssl rand -hex 32 > FILE)` and give \
     `--token-file FILE`, or set AXIOWL_MCP_TOKEN";

/// Serves until a signal ends it, and says where.
pub fn run(desk: Arc<dyn Desk>, address: SocketAddr, file: Option<&Path>) -> Outcome {
    let token = match file {
        Some(path) => from_file(path)?,
        None => from_variable()?,
    };
    let ready = |url: &str| say!("{url}");
    axiowl_mcp::serve_http(desk, address, token, ready).map_err(|error| Failure::caused(&error))?;
    Ok(Exit::Done)
}

fn from_variable() -> Result<Token, Failure> {
    let text = std::env::var(VARIABLE).unwrap_or_default();
    if text.trim().is_empty() {
        return Err(Failure::new(
            Exit::Usage,
            "MCP over HTTP needs a token, and there is none",
        )
        .hint(MAKE_ONE));
    }
    Token::new(&text)
        .map_err(|why| Failure::new(Exit::Usage, format!("{VARIABLE}: {why}")).hint(MAKE_ONE))
}

fn from_file(path: &Path) -> Result<Token, Failure> {
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(Exit::Usage, format!("{}: {why}", path.display()))
    };
    let meta = std::fs::metadata(path).map_err(|error| failed(&error).hint(MAKE_ONE))?;
    if !meta.is_file() || meta.len() > LARGEST {
        return Err(failed(&"this is no token file").hint(MAKE_ONE));
    }
    if !is_private(&meta) {
        let hint = format!("close it: `chmod 600 {}`", path.display());
        return Err(failed(&"other users can read this token").hint(hint));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    Token::new(&text).map_err(|why| failed(&why).hint(MAKE_ONE))
}

#[cfg(unix)]
fn is_private(meta: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    meta.mode() & 0o077 == 0
}

/// Windows gives a user's files to that user alone unless told otherwise.
#[cfg(not(unix))]
fn is_private(_meta: &std::fs::Metadata) -> bool {
    true
}
