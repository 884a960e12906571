//! Codex: the host itself puts the thread into every call (`providers/codex.md` D1). A client of
//! Codex can forge all of it but the thread's own rollout, so the call has to stand there,
//! pending, and the process that writes the rollout has to be the one the call comes from.

use super::{DIRECTLY, LAG, folder, is_call, records_with, tail, wait_for, wait_for_record};
use crate::codex_store::{Rollout, Store};
use crate::processes;
use axiowl_pipeline::identity::{CallContext, Caller, IdentityVerifier};
use axiowl_sources::World;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The first line of a rollout is about 22 KB (`providers/codex.md` A2).
const HEAD: u64 = 256 * 1024;
/// Sub-agents of sub-agents; deeper is a loop.
const DEEPEST: usize = 8;

/// Confirms a thread by its pending call.
pub(crate) struct CodexTurn;

impl IdentityVerifier for CodexTurn {
    fn name(&self) -> &'static str {
        "codex_turn"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["codex", "codex_cli"]
    }

    fn verify(
        &self,
        world: &World,
        call: &CallContext,
        claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let thread = claimed.ok_or("the host names no thread")?;
        let meta = &call.params["_meta"];
        let id = meta["callId"].as_str().ok_or("the host names no call")?;
        let turn = meta["x-codex-turn-metadata"]["turn_id"].as_str();
        let turn = turn.ok_or("the host names no turn")?;
        let store = Store::at(folder(world, "CODEX_HOME", ".codex"));
        let rollout = wait_for(call, LAG, || match store.rollout(world, thread) {
            Rollout::Present(path) => Some(Ok(path)),
            Rollout::Archived => Some(Err(format!("thread {thread} is archived"))),
            Rollout::Missing => None,
        });
        let rollout = rollout.ok_or_else(|| format!("thread {thread} has no rollout"))??;
        let found = wait_for_record(call, |reach| pending(&rollout, id, turn, call, reach));
        found.ok_or_else(|| {
            format!(
                "the call {id} does not stand in {} as a pending one with these arguments",
                rollout.display()
            )
        })?;
        is_ours(&rollout, call)?;
        let (session, is_child) = root_of(world, &store, thread, &rollout)?;
        Ok(Caller {
            session,
            subagent: is_child,
            call: Some(format!("codex {thread} {id}")),
        })
    }
}

/// Whether the call was made in that turn and has no result yet.
fn pending(rollout: &Path, id: &str, turn: &str, call: &CallContext, reach: u64) -> Option<()> {
    let lines = tail(rollout, reach).ok()?;
    let mut found = None;
    for record in records_with(&lines, id) {
        let item = &record["payload"];
        if record["type"] != "response_item" || item["call_id"] != id {
            continue;
        }
        match item["type"].as_str() {
            Some("function_call") => {
                let name = item["name"].as_str().unwrap_or_default();
                let written = item["arguments"].as_str().unwrap_or_default();
                let written: Value = serde_json::from_str(written).unwrap_or_default();
                let at = &item["internal_chat_message_metadata_passthrough"]["turn_id"];
                let in_turn = at.as_str().is_none_or(|at| at == turn);
                found = (in_turn && is_call(call, name, &written)).then_some(());
            }
            Some("function_call_output") => return None,
            _ => {}
        }
    }
    found
}

/// The process that has the rollout open for writing is the very one that calls: one process may
/// have several threads, and what a shell of one of them runs is none of them. Where the system
/// does not tell who descends from whom, the pending call has to do.
fn is_ours(rollout: &Path, call: &CallContext) -> Result<(), String> {
    let Some(host) = call.host.first() else {
        return Ok(());
    };
    let writers = processes::writers_of(rollout);
    if writers.is_empty() {
        return Err(format!("no process has {} open", rollout.display()));
    }
    // Whoever opens it beside its owner may be pretending to be the owner.
    match writers.iter().find(|writer| **writer != host.pid) {
        None => Ok(()),
        Some(other) => Err(format!(
            "process {other} writes {}, and the call does not come from there; {DIRECTLY}",
            rollout.display()
        )),
    }
}

/// The thread that a sub-agent's thread belongs to, and the sub-agent's name for itself.
fn root_of(
    world: &World,
    store: &Store,
    thread: &str,
    rollout: &Path,
) -> Result<(String, Option<String>), String> {
    let (mut at, mut path) = (thread.to_owned(), rollout.to_path_buf());
    let mut subagent = None;
    for _ in 0..DEEPEST {
        let head = head(&path).ok_or_else(|| format!("{} has no head", path.display()))?;
        let spawn = &head["payload"]["source"]["subagent"]["thread_spawn"];
        let Some(parent) = spawn["parent_thread_id"].as_str() else {
            return Ok((at, subagent));
        };
        let nickname = spawn["agent_nickname"].as_str().unwrap_or(thread);
        subagent.get_or_insert_with(|| nickname.to_owned());
        parent.clone_into(&mut at);
        path = match store.rollout(world, parent) {
            Rollout::Present(path) => path,
            _ => return Err(format!("its main thread {parent} has no rollout")),
        };
    }
    Err(format!("thread {thread} is a sub-agent of too many"))
}

fn head(path: &Path) -> Option<Value> {
    let mut line = String::new();
    let file = File::open(path).ok()?;
    BufReader::new(file.take(HEAD)).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}
