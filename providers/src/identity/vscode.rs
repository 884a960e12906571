//! VS Code names the conversation in each call (`providers/copilot-vscode.md` D2). One server
//! serves all the chats of a window, and the running call stands in no file yet, so what can be
//! confirmed is the host: it has to be VS Code itself, not something that calls itself so, and not
//! something that runs in one of its terminals.

use super::{DIRECTLY, file_name, nearest};
use crate::processes;
use axiowl_model::display_safe;
use axiowl_pipeline::identity::{CallContext, Caller, HostProcess, IdentityVerifier};
use axiowl_sources::World;

/// The programs, by the names of their files.
const PROGRAMS: [&str; 4] = ["code", "codium", "vscodium", "code-server"];
/// Beginnings of the folders in which a server of VS Code has its own Node.
const SERVERS: [&str; 4] = [".vscode", ".vscodium", "code-server", "openvscode-server"];
/// The process in which extensions and their servers run, of a program that is Node's.
const EXTENSIONS: &str = "--type=extensionHost";

/// Variables in which VS Code tells a part of itself which one it is (since 1.95, and before).
const ENTRIES: [&str; 2] = ["VSCODE_ESM_ENTRYPOINT", "VSCODE_AMD_ENTRYPOINT"];
/// Beginnings of the parts that run servers: extensions', and those of its own agents.
const RUN_SERVERS: [&str; 2] = ["extensionHost", "agentHost"];

/// Confirms a conversation.
pub(crate) struct VscodeHost;

impl IdentityVerifier for VscodeHost {
    fn name(&self) -> &'static str {
        "vscode_host"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["vscode_native", "vscode_copilot_backed"]
    }

    fn verify(
        &self,
        _world: &World,
        call: &CallContext,
        claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let id = claimed.ok_or("the host names no conversation")?;
        let host = nearest(call)?;
        if !is_vscode(host) {
            return Err(format!("the process that calls is not VS Code; {DIRECTLY}"));
        }
        if let Some(part) = other_part(host) {
            return Err(format!(
                "the process that calls, {}, is the part of VS Code that runs its terminals or \
                 other things ({}), and not the one that runs its servers",
                host.pid,
                display_safe(&part)
            ));
        }
        Ok(Caller::session(id))
    }
}

/// What a part of VS Code says it is that does not run servers: a shell of a terminal can turn
/// into this server, and stays the child of the process that runs terminals. One that says
/// nothing cannot be told from the right one.
fn other_part(process: &HostProcess) -> Option<String> {
    let part = ENTRIES
        .iter()
        .find_map(|name| processes::variable_of(process.pid, name))?;
    let last = part.rsplit('/').next().unwrap_or_default();
    let runs_servers = RUN_SERVERS.iter().any(|name| last.starts_with(name));
    (!runs_servers).then_some(part)
}

/// By the executable: what a process calls itself is its own choice.
fn is_vscode(process: &HostProcess) -> bool {
    let Some(executable) = processes::program_of(process.pid) else {
        return false;
    };
    let named = PROGRAMS.iter().any(|program| {
        let rest = file_name(&executable).strip_prefix(program);
        // `code-insiders`, `codium-insiders`.
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    });
    named || {
        let arguments = processes::command_line(process.pid);
        let below = executable.components().any(|part| {
            let part = part.as_os_str().to_str().unwrap_or_default();
            SERVERS.iter().any(|server| part.starts_with(server))
        });
        below && arguments.iter().any(|argument| argument == EXTENSIONS)
    }
}
