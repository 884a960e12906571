//! Claude Code: the call's `toolUseId` stands in exactly one live transcript
//! (`providers/claude-code.md` D.1, D.2). The environment is stale after `/clear`, `/branch` and
//! the resume picker, so it names nobody here.

use super::{
    comes_from, document, file_name, folder, is_call, records_with, tail, wait_for_record,
};
use crate::claude_code_cli::records::is_our_domain;
use crate::processes;
use axiowl_pipeline::identity::{CallContext, Caller, HostProcess, IdentityVerifier};
use axiowl_sources::World;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A transcript that nobody wrote to for this long holds no pending call (D.2).
const RECENT: Duration = Duration::from_secs(120);

/// Confirms a `toolUseId`.
pub(crate) struct ClaudeTranscript;

impl IdentityVerifier for ClaudeTranscript {
    fn name(&self) -> &'static str {
        "claude_transcript"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["claude_code_cli"]
    }

    fn verify(
        &self,
        world: &World,
        call: &CallContext,
        claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let id = claimed.ok_or("the host names no call")?;
        let root = world.real_path(&folder(world, "CLAUDE_CONFIG_DIR", ".claude"));
        let root = root.ok_or("there is no home folder")?;
        let running = running(&root);
        let open = call.host.iter().find_map(|process| {
            let own = running.iter().find(|one| one.pid == process.pid)?;
            Some(own.session.clone())
        });
        // Each process of Claude Code says which session it has open; those that say nothing are
        // of versions that did not yet.
        if open.is_none() && !call.host.is_empty() && !call.host.iter().any(is_claude) {
            return Err("no process of Claude Code is above this server".into());
        }
        let calls = wait_for_record(call, |reach| {
            let calls = pending(&root, open.as_deref(), id, call, reach);
            (!calls.is_empty()).then_some(calls)
        });
        let calls = calls.ok_or_else(|| {
            format!(
                "no transcript below {} holds the pending call {id} with these arguments; a \
                 session that keeps no transcript cannot be told",
                root.join("projects").display()
            )
        })?;
        let mut calls = calls.into_iter();
        let (Some(caller), None) = (calls.next(), calls.next()) else {
            return Err(format!("several transcripts hold the pending call {id}"));
        };
        if let Some(open) = open.as_ref().filter(|open| **open != caller.session) {
            return Err(format!(
                "sender_identity_conflict: the call stands in session {}, and its process has {open} open",
                caller.session
            ));
        }
        // A process that only knows the call, while the session's own process made it.
        let elsewhere = running
            .iter()
            .find(|one| one.session == caller.session && !comes_from(call, one.pid));
        if let (None, Some(one)) = (&open, elsewhere) {
            return Err(format!(
                "session {} is open in process {}, and the call does not come from there",
                caller.session, one.pid
            ));
        }
        Ok(Caller {
            session: caller.session,
            subagent: caller.subagent,
            call: Some(format!("claude_code {id}")),
        })
    }
}

/// Whether a process is Claude Code: `claude`, `…/claude/versions/<version>`, or its package run
/// by another program.
fn is_claude(process: &HostProcess) -> bool {
    processes::runs_program(process.pid, |path| {
        let versions = path.parent().is_some_and(|folder| {
            folder.ends_with("claude/versions") || folder.ends_with("@anthropic-ai/claude-code")
        });
        versions || matches!(file_name(path), "claude" | "claude.exe")
    })
}

/// A caller as a transcript names it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    session: String,
    subagent: Option<String>,
}

/// A process of Claude Code and the session it says it has open.
struct Running {
    pid: u32,
    session: String,
}

/// What `sessions/<pid>.json` says of processes that really are those.
fn running(root: &Path) -> Vec<Running> {
    let records = entries(&root.join("sessions"));
    let records = records.iter().filter_map(|path| {
        let pid: u32 = path.file_stem()?.to_str()?.parse().ok()?;
        let record = document(path)?;
        // Of another container, the number means another process.
        let ours = is_our_domain(record["pidDomain"].as_str().unwrap_or_default());
        let real = processes::start_of(pid).filter(|_| ours)?;
        let same = match &record["procStart"] {
            Value::String(start) => *start == real,
            Value::Number(start) => start.to_string() == real,
            _ => true,
        };
        let session = record["sessionId"].as_str().filter(|_| same)?.to_owned();
        Some(Running { pid, session })
    });
    records.collect()
}

/// Every session or sub-agent in whose transcript the call stands without a result.
fn pending(
    root: &Path,
    open: Option<&str>,
    id: &str,
    call: &CallContext,
    reach: u64,
) -> BTreeSet<Pending> {
    let transcripts = transcripts(root, open);
    transcripts
        .iter()
        .filter_map(|transcript| transcript.pending(id, call, reach))
        .collect()
}

/// One file that may hold the call.
struct Transcript {
    path: PathBuf,
    session: String,
    /// The file is a sub-agent's own.
    agent: Option<String>,
}

/// The open session's files, and all that were written to lately.
fn transcripts(root: &Path, open: Option<&str>) -> Vec<Transcript> {
    let now = SystemTime::now();
    let mut out = Vec::new();
    for project in entries(&root.join("projects")) {
        for path in entries(&project) {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            match name.strip_suffix(".jsonl") {
                Some(session) if open == Some(session) || is_recent(&path, now) => {
                    out.push(Transcript {
                        session: session.to_owned(),
                        agent: None,
                        path,
                    });
                }
                Some(_) => {}
                None => sub_agents(&path, name, now, &mut out),
            }
        }
    }
    out
}

/// The files below `<session>/subagents`.
fn sub_agents(folder: &Path, session: &str, now: SystemTime, out: &mut Vec<Transcript>) {
    for path in entries(&folder.join("subagents")) {
        let name = path.file_name().and_then(|name| name.to_str());
        let agent = name.and_then(|name| name.strip_suffix(".jsonl"));
        if let Some(agent) = agent.filter(|_| is_recent(&path, now)) {
            out.push(Transcript {
                session: session.to_owned(),
                agent: Some(agent.trim_start_matches("agent-").to_owned()),
                path,
            });
        }
    }
}

fn is_recent(path: &Path, now: SystemTime) -> bool {
    let changed = fs::metadata(path).and_then(|meta| meta.modified());
    changed.is_ok_and(|then| now.duration_since(then).is_ok_and(|age| age < RECENT) || then > now)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

impl Transcript {
    fn pending(&self, id: &str, call: &CallContext, reach: u64) -> Option<Pending> {
        let lines = tail(&self.path, reach).ok()?;
        let mut found = None;
        for record in records_with(&lines, id) {
            let parts = record["message"]["content"].as_array();
            for part in parts.into_iter().flatten() {
                let called = record["type"] == "assistant"
                    && part["type"] == "tool_use"
                    && part["id"] == id
                    && is_call(
                        call,
                        part["name"].as_str().unwrap_or_default(),
                        &part["input"],
                    );
                // A record of another session is a copy of its past.
                if called && record["sessionId"] == self.session.as_str() {
                    found = Some(self.caller(&record));
                }
                if record["type"] == "user"
                    && part["type"] == "tool_result"
                    && part["tool_use_id"] == id
                {
                    return None;
                }
            }
        }
        found
    }

    fn caller(&self, record: &Value) -> Pending {
        // Older versions keep a sub-agent's records in its session's own file.
        let beside = record["isSidechain"] == true && self.agent.is_none();
        let inside = beside.then(|| record["agentId"].as_str().unwrap_or("unnamed").to_owned());
        Pending {
            session: self.session.clone(),
            subagent: self.agent.clone().or(inside),
        }
    }
}
