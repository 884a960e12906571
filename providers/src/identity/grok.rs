//! Grok Build: the host sets `GROK_SESSION_ID` of its servers last, so that no configuration can
//! (`providers/cursor-antigravity-grok.md` C, A10). What this process has only counts when it was
//! really Grok that started it, and for that session.

use axiowl_pipeline::identity::{CallContext, Caller, IdentityVerifier};
use axiowl_sources::World;
use serde_json::Value;
use std::fs;

/// A list of running sessions is small.
const LARGEST: u64 = 1 << 20;

/// Confirms the variable.
pub(crate) struct GrokHost;

impl IdentityVerifier for GrokHost {
    fn name(&self) -> &'static str {
        "grok_host"
    }

    fn verify(
        &self,
        world: &World,
        call: &CallContext,
        claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let id = claimed.ok_or("the host sets no session")?;
        let grok = call
            .host
            .iter()
            .find(|process| process.name.starts_with("grok"));
        let Some(grok) = grok else {
            return Err(
                "this server does not descend from Grok; the variable is a leftover".into(),
            );
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

/// Grok's own list of what runs, where it keeps one.
fn running(world: &World) -> Vec<Value> {
    let root = match world.env("GROK_HOME") {
        Some(folder) => folder.to_owned(),
        None => format!("{}/.grok", world.home()),
    };
    let path = world.real_path(&format!("{root}/active_sessions.json"));
    let path = path.filter(|path| fs::metadata(path).is_ok_and(|meta| meta.len() <= LARGEST));
    let text = path.and_then(|path| fs::read_to_string(path).ok());
    let list = text.and_then(|text| serde_json::from_str(&text).ok());
    match list {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}
