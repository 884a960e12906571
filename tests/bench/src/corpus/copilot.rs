//! Copilot CLI: a folder a session, with a description and the conversation.

use super::{Lines, Plan, length, moment, project, rfc3339, text, uuid, words};
use crate::Failure;
use serde_json::json;
use std::path::Path;

pub fn write(at: &Path, home: &Path, plan: &Plan) -> Result<(), Failure> {
    let mut rng = plan.rng(4);
    let root = at.join(".copilot/session-state");
    for _ in 0..plan.copilot {
        let id = uuid(&mut rng);
        let stamp = rfc3339(moment(&mut rng))?;
        let cwd = project(home, &mut rng);
        let name = words(&mut rng, 3);
        let chosen = rng.u8(..3) == 0;
        let folder = root.join(&id);
        let mut out = Lines::create(&folder.join("events.jsonl"))?;
        out.push(
            &json!({"type": "session.start", "data": {"sessionId": id, "version": 1,
            "producer": "copilot-agent", "copilotVersion": "1.0.102", "startTime": stamp,
            "context": {"cwd": cwd}}, "id": uuid(&mut rng), "timestamp": stamp}),
        )?;
        let prompt = words(&mut rng, 8);
        out.push(&json!({"type": "user.message", "data": {"content": prompt,
            "messageId": uuid(&mut rng)}, "id": uuid(&mut rng), "timestamp": stamp}))?;
        out.push(&json!({"type": "system.message", "data": {"role": "system",
            "content": text(&mut rng, 20_000)}, "id": uuid(&mut rng), "timestamp": stamp}))?;
        let bytes = length(&mut rng, plan.bytes / 4);
        while out.written < bytes {
            let size = rng.usize(200..3_000);
            out.push(
                &json!({"type": "assistant.message", "data": {"messageId": uuid(&mut rng),
                "content": text(&mut rng, size), "toolRequests": []}, "id": uuid(&mut rng),
                "timestamp": stamp}),
            )?;
        }
        out.finish()?;
        std::fs::write(
            folder.join("workspace.yaml"),
            format!(
                "id: {id}\ncwd: {cwd}\nclient_name: github/cli\nname: {name}\n\
                 user_named: {chosen}\nsummary_count: 0\ncreated_at: {stamp}\nupdated_at: {stamp}\n"
            ),
        )?;
    }
    Ok(())
}
