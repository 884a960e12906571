//! Claude Code: a transcript a session, below a folder a project; sub-agents one level deeper.

use super::{Lines, Plan, length, moment, project, rfc3339, text, uuid, words};
use crate::Failure;
use fastrand::Rng;
use serde_json::json;
use std::path::Path;

pub fn write(at: &Path, home: &Path, plan: &Plan) -> Result<(), Failure> {
    let mut rng = plan.rng(2);
    let root = at.join(".claude/projects");
    let mut sessions = Vec::new();
    for _ in 0..plan.claude {
        let id = uuid(&mut rng);
        let cwd = project(home, &mut rng);
        let folder = root.join(slug(&cwd));
        let bytes = length(&mut rng, plan.bytes);
        transcript(
            &folder.join(format!("{id}.jsonl")),
            &Said {
                id: &id,
                cwd: &cwd,
                side: false,
                bytes,
            },
            &mut rng,
        )?;
        sessions.push((id, cwd, folder));
    }
    for _ in 0..plan.subagents {
        let (id, cwd, folder) = &sessions[rng.usize(..sessions.len())];
        let agent = format!("agent-a{:016x}.jsonl", rng.u64(..));
        let bytes = length(&mut rng, plan.bytes / 2);
        transcript(
            &folder.join(id).join("subagents").join(agent),
            &Said {
                id,
                cwd,
                side: true,
                bytes,
            },
            &mut rng,
        )?;
    }
    Ok(())
}

struct Said<'a> {
    id: &'a str,
    cwd: &'a str,
    side: bool,
    bytes: u64,
}

fn transcript(path: &Path, said: &Said<'_>, rng: &mut Rng) -> Result<(), Failure> {
    let stamp = rfc3339(moment(rng))?;
    let mut out = Lines::create(path)?;
    let count = rng.usize(4..20);
    let prompt = words(rng, count);
    let about = |kind: &str, message: serde_json::Value, id: String| {
        json!({"parentUuid": null, "isSidechain": said.side, "type": kind, "message": message,
            "uuid": id, "timestamp": stamp, "userType": "external", "entrypoint": "cli",
            "cwd": said.cwd, "sessionId": said.id, "version": "2.1.332", "gitBranch": "main"})
    };
    out.push(&about(
        "user",
        json!({"role": "user", "content": prompt}),
        uuid(rng),
    ))?;
    let title = (!said.side && rng.u8(..4) == 0).then(|| words(rng, 3));
    while out.written < said.bytes {
        // Most records are short; a tool's answer can be 64 KB.
        let size = match rng.u8(..40) {
            0 => rng.usize(20_000..64_000),
            _ => rng.usize(100..3_000),
        };
        let content = json!([{"type": "text", "text": text(rng, size)}]);
        let message = json!({"role": "assistant", "model": "claude-opus-4-8",
            "stop_reason": "end_turn", "content": content});
        out.push(&about("assistant", message, uuid(rng)))?;
        for _ in 0..rng.usize(..4) {
            out.again()?;
        }
    }
    if !said.side {
        let last = words(rng, 6);
        out.push(&json!({"type": "last-prompt", "lastPrompt": last, "sessionId": said.id}))?;
        let generated = words(rng, 4);
        out.push(&json!({"type": "ai-title", "aiTitle": generated, "sessionId": said.id}))?;
    }
    if let Some(title) = title {
        out.push(&json!({"type": "custom-title", "customTitle": title, "sessionId": said.id}))?;
    }
    out.finish()
}

/// The name of a project's folder: everything but letters and digits is a dash.
pub fn slug(path: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    path.chars().map(keep).collect()
}
