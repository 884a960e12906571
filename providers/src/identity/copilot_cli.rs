//! Copilot CLI: the hook's metadata names the session, and the in-use lock of that session names
//! the process that calls (`providers/copilot-vscode.md` D1).

use super::{DIRECTLY, folder, nearest};
use axiowl_pipeline::identity::{CallContext, Caller, IdentityVerifier};
use axiowl_sources::World;
use std::fs;

/// What the runtime tells its servers; right, but anybody can set it.
const OWN_VARIABLE: &str = "COPILOT_AGENT_SESSION_ID";

/// Confirms a session that the hook named.
pub(crate) struct CopilotInUse;

impl IdentityVerifier for CopilotInUse {
    fn name(&self) -> &'static str {
        "copilot_in_use"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["copilot_cli", "vscode_copilot_backed"]
    }

    fn verify(
        &self,
        world: &World,
        call: &CallContext,
        claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let id = claimed.ok_or("the hook names no session")?;
        let host = nearest(call)?;
        let own = world.env(OWN_VARIABLE).filter(|own| *own != id);
        if let Some(own) = own.filter(|_| call.is_hosts_child()) {
            return Err(format!(
                "sender_identity_conflict: the request names session {id}, and this server was \
                 started for {own}"
            ));
        }
        let root = folder(world, "COPILOT_HOME", ".copilot");
        let sessions = format!("{root}/session-state");
        if !world.dir_exists(&format!("{sessions}/{id}")) {
            return Err(format!("there is no session {id} in {sessions}"));
        }
        // What a session's shell runs is not the session, and one process may have several.
        if !has_any(world, &sessions, host.pid) {
            return Err(format!(
                "the process that calls, {}, has none of the sessions in {sessions} open; {DIRECTLY}",
                host.pid
            ));
        }
        let lock = format!("{sessions}/{id}/inuse.{}.lock", host.pid);
        if !world.exists(&lock) {
            return Err(format!(
                "session {id} is not open in process {}, which calls",
                host.pid
            ));
        }
        let hold = format!("{sessions}/{id}/inuse.{}.hold", host.pid);
        if world.exists(&hold) && world.lock_held(&hold) != Some(true) {
            return Err(format!("nobody holds {hold}"));
        }
        Ok(Caller::session(id))
    }
}

/// Whether a process has any session open.
fn has_any(world: &World, sessions: &str, pid: u32) -> bool {
    let folder = world.real_path(sessions);
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok());
    let lock = format!("inuse.{pid}.lock");
    let mut open = entries.into_iter().flatten().flatten();
    open.any(|session| session.path().join(&lock).is_file())
}
