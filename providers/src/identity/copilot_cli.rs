//! Copilot CLI: the hook's metadata names the session, and the in-use lock of that session names
//! the process that this server descends from (`providers/copilot-vscode.md` D1).

use axiowl_pipeline::identity::{CallContext, Caller, HostProcess, IdentityVerifier};
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

    fn verify(
        &self,
        world: &World,
        call: &CallContext,
        claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let id = claimed.ok_or("the hook names no session")?;
        let own = world.env(OWN_VARIABLE).filter(|own| *own != id);
        if let Some(own) = own.filter(|_| call.is_hosts_child()) {
            return Err(format!(
                "sender_identity_conflict: the request names session {id}, and this server was \
                 started for {own}"
            ));
        }
        let root = match world.env("COPILOT_HOME") {
            Some(folder) => folder.to_owned(),
            None => format!("{}/.copilot", world.home()),
        };
        let sessions = format!("{root}/session-state");
        if !world.dir_exists(&format!("{sessions}/{id}")) {
            return Err(format!("there is no session {id} in {sessions}"));
        }
        let host = owner(world, &sessions, &call.host).ok_or_else(|| {
            format!(
                "none of the processes this server descends from has a session in {sessions} open"
            )
        })?;
        let lock = format!("{sessions}/{id}/inuse.{}.lock", host.pid);
        if !world.exists(&lock) {
            return Err(format!(
                "session {id} is not open in process {}, which started this server",
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

/// The nearest process that has any session open: one that a session started is not the session.
fn owner<'h>(world: &World, sessions: &str, host: &'h [HostProcess]) -> Option<&'h HostProcess> {
    let folder = world.real_path(sessions)?;
    let entries = fs::read_dir(folder).ok()?;
    let open: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    host.iter().find(|process| {
        let lock = format!("inuse.{}.lock", process.pid);
        open.iter().any(|session| session.join(&lock).is_file())
    })
}
