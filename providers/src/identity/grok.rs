//! Grok Build: the host sets `GROK_SESSION_ID` of its servers last, so that no configuration can
//! (`providers/cursor-antigravity-grok.md` C, A10). What this process has only counts when it was
//! really Grok that started it, and for that session.

use super::{document, file_name, folder, is_program};
use axiowl_pipeline::identity::{CallContext, Caller, HostProcess, IdentityVerifier};
use axiowl_sources::World;
use serde_json::Value;

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
        let nearest = call.host.first();
        let Some(grok) = nearest.filter(|process| is_grok(process)) else {
            return Err("Grok did not start this server; the variable is a leftover".into());
        };
        for running in running(world) {
            let session = running["session_id"].as_str();
            let pid = running["pid"]
                .as_u64()
                .and_then(|pid| u32::try_from(pid).ok());
            let Some(pid) = pid else { continue };
            let here = pid == grok.pid;
            if session == Some(id) && !here && world.pid_alive(pid, None) {
                return Err(format!(
                    "session {id} runs in process {pid}, and process {} started this server",
                    grok.pid
                ));
            }
        }
        Ok(Caller::session(id))
    }
}

/// Whether a process runs `grok`, by that name or with a version or platform behind it.
fn is_grok(process: &HostProcess) -> bool {
    is_program(process, |path| {
        let rest = file_name(path).strip_prefix("grok");
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    })
}

/// Grok's own list of what runs, where it keeps one.
fn running(world: &World) -> Vec<Value> {
    let root = folder(world, "GROK_HOME", ".grok");
    let path = world.real_path(&format!("{root}/active_sessions.json"));
    let list = path.and_then(|path| document(&path));
    match list {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}
