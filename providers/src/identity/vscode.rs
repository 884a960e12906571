//! VS Code names the conversation in each call (`providers/copilot-vscode.md` D2). One server
//! serves all the chats of a window, and the running call stands in no file yet, so what can be
//! confirmed is the host: it has to be VS Code itself, not something that calls itself so, and not
//! something that runs in one of its terminals.

use crate::processes;
use axiowl_pipeline::identity::{CallContext, Caller, HostProcess, IdentityVerifier};
use axiowl_sources::World;

/// The programs, by the short names the system knows them by.
const PROGRAMS: [&str; 4] = ["code", "codium", "vscodium", "code-server"];
/// The process in which extensions and their servers run, of a program that is Node's.
const EXTENSIONS: &str = "--type=extensionHost";

/// Confirms a conversation.
pub(crate) struct VscodeHost;

impl IdentityVerifier for VscodeHost {
    fn name(&self) -> &'static str {
        "vscode_host"
    }

    fn verify(
        &self,
        _world: &World,
        call: &CallContext,
        claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let id = claimed.ok_or("the host names no conversation")?;
        if call.host.first().is_none_or(is_vscode) {
            return Ok(Caller::session(id));
        }
        Err("the process that calls is not VS Code".into())
    }
}

fn is_vscode(process: &HostProcess) -> bool {
    let named = PROGRAMS.iter().any(|program| {
        let rest = process.name.strip_prefix(program);
        // `code-insiders`, `codium-insiders`.
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    });
    named || {
        let arguments = processes::command_line(process.pid);
        arguments.iter().any(|argument| argument == EXTENSIONS)
    }
}
