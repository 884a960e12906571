//! Grok Build: the host sets `GROK_SESSION_ID` of its servers last, so that no configuration can
//! (`providers/cursor-antigravity-grok.md` C, A10). What this process has only counts when it was
//! really Grok that started it, and for that session.

use super::{DIRECTLY, document, file_name, folder, nearest};
use crate::processes;
use axiowl_pipeline::identity::{CallContext, Caller, HostProcess, IdentityVerifier};
use axiowl_sources::World;
use serde_json::Value;
use std::fs;

/// Confirms the variable.
pub(crate) struct GrokHost;

impl IdentityVerifier for GrokHost {
    fn name(&self) -> &'static str {
        "grok_host"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["grok"]
    }

    fn verify(
        &self,
        world: &World,
        call: &CallContext,
        claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let id = claimed.ok_or("the host sets no session")?;
        // What a shell of Grok's runs inherits the variable, or sets another.
        let grok = nearest(call)?;
        if !is_grok(grok) {
            return Err(format!(
                "Grok did not start this server; the variable is a leftover; {DIRECTLY}"
            ));
        }
        let running = running(world);
        // Its shell can turn into this server under another variable, but not under another
        // number than the one that Grok has noted its sessions for.
        let own: Vec<&str> = running
            .iter()
            .filter(|one| one.pid == grok.pid)
            .map(|one| &*one.session)
            .collect();
        if !own.is_empty() && !own.contains(&id) {
            let parent = parent_of(world, id);
            if parent.is_none_or(|parent| !own.contains(&&*parent)) {
                return Err(format!(
                    "process {}, which started this server, has {} open and not session {id}",
                    grok.pid,
                    own.join(", ")
                ));
            }
        }
        let elsewhere = running
            .iter()
            .find(|one| one.session == id && one.pid != grok.pid && world.pid_alive(one.pid, None));
        if let Some(other) = elsewhere {
            return Err(format!(
                "session {id} runs in process {}, and process {} started this server",
                other.pid, grok.pid
            ));
        }
        Ok(Caller::session(id))
    }
}

/// Whether a process runs `grok`, by that name or with a version or platform behind it.
fn is_grok(process: &HostProcess) -> bool {
    processes::runs_program(process.pid, |path| {
        let rest = file_name(path).strip_prefix("grok");
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    })
}

/// A session that runs, and the process it runs in.
struct Running {
    session: String,
    pid: u32,
}

/// Grok's own list of what runs, where it keeps one.
fn running(world: &World) -> Vec<Running> {
    let path = world.real_path(&format!("{}/active_sessions.json", root(world)));
    let list = path.and_then(|path| document(&path));
    let list = list.as_ref().and_then(Value::as_array);
    let entries = list.into_iter().flatten().filter_map(|entry| {
        Some(Running {
            session: entry["session_id"].as_str()?.to_owned(),
            pid: u32::try_from(entry["pid"].as_u64()?).ok()?,
        })
    });
    entries.collect()
}

/// The session that a sub-agent's session works for: it runs in that one's process.
fn parent_of(world: &World, id: &str) -> Option<String> {
    let sessions = world.real_path(&format!("{}/sessions", root(world)))?;
    let mut groups = fs::read_dir(sessions).ok()?.flatten();
    let summary = groups.find_map(|group| document(&group.path().join(id).join("summary.json")))?;
    Some(summary["parent_session_id"].as_str()?.to_owned())
}

fn root(world: &World) -> String {
    folder(world, "GROK_HOME", ".grok")
}
