//! Codex: `state_5.sqlite`, the name index, and a rollout file a thread.

use super::{Lines, Plan, length, moment, project, rfc3339, sqlite, text, uuid, words};
use crate::Failure;
use serde_json::{Value, json};
use std::path::Path;

const SCHEMA: &str = "CREATE TABLE threads(id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, source TEXT NOT NULL,
  model_provider TEXT NOT NULL, cwd TEXT NOT NULL, title TEXT NOT NULL,
  sandbox_policy TEXT NOT NULL, approval_mode TEXT NOT NULL,
  tokens_used INTEGER NOT NULL DEFAULT 0, has_user_event INTEGER NOT NULL DEFAULT 0,
  archived INTEGER NOT NULL DEFAULT 0, archived_at INTEGER, cli_version TEXT NOT NULL DEFAULT '',
  first_user_message TEXT NOT NULL DEFAULT '', agent_nickname TEXT, created_at_ms INTEGER,
  updated_at_ms INTEGER, thread_source TEXT, preview TEXT NOT NULL DEFAULT '',
  recency_at INTEGER NOT NULL DEFAULT 0, recency_at_ms INTEGER NOT NULL DEFAULT 0, name TEXT,
  originator TEXT, attached_thread_parent_id TEXT);";

pub fn write(at: &Path, home: &Path, plan: &Plan) -> Result<(), Failure> {
    let mut rng = plan.rng(1);
    let root = at.join(".codex");
    let db = sqlite(&root.join("state_5.sqlite"), SCHEMA)?;
    let mut insert = db.prepare(
        "INSERT INTO threads(id, rollout_path, created_at, updated_at, source, model_provider, cwd,
           title, sandbox_policy, approval_mode, archived, cli_version, first_user_message,
           created_at_ms, updated_at_ms, thread_source, preview, recency_at, recency_at_ms, name,
           originator)
         VALUES(?1, ?2, ?3, ?3, ?4, 'openai', ?5, ?6, '{}', 'never', ?7, '0.171.0', ?6, ?8, ?8,
           ?9, ?6, ?3, ?8, ?10, ?11)",
    )?;
    let mut index = Lines::create(&root.join("session_index.jsonl"))?;
    let mut pinned = Vec::new();
    for number in 0..plan.codex {
        let id = uuid(&mut rng);
        let when = moment(&mut rng);
        let stamp = rfc3339(when)?;
        let cwd = project(home, &mut rng);
        let count = rng.usize(3..12);
        let title = words(&mut rng, count);
        let archived = rng.u8(..20) == 0;
        let subagent = rng.u8(..15) == 0;
        let (source, originator) = match rng.u8(..3) {
            0 => ("vscode", "Codex Desktop"),
            1 => ("exec", "codex_exec"),
            _ => ("cli", "codex-tui"),
        };
        let name = (rng.u8(..3) == 0).then(|| words(&mut rng, 3));
        let day = &stamp[..10];
        let file = format!("rollout-{}-{id}.jsonl", stamp[..19].replace(':', "-"));
        let path = match archived {
            true => format!(".codex/archived_sessions/{file}"),
            false => format!(".codex/sessions/{}/{file}", day.replace('-', "/")),
        };
        insert.execute(rusqlite::params![
            id,
            home.join(&path).display().to_string(),
            when / 1_000,
            source,
            cwd,
            title,
            archived,
            when,
            if subagent { "subagent" } else { "user" },
            name,
            originator
        ])?;
        if let Some(name) = &name {
            index.push(&json!({"id": id, "thread_name": name, "updated_at": stamp}))?;
        }
        if originator == "Codex Desktop" && rng.bool() {
            pinned.push(Value::from(id.clone()));
        }
        let mut out = Lines::create(&at.join(&path))?;
        let bytes = match number < plan.large {
            true => plan.large_bytes,
            false => length(&mut rng, plan.bytes),
        };
        let meta = json!({"timestamp": stamp, "ordinal": 0, "type": "session_meta", "payload": {
            "id": id, "timestamp": stamp, "cwd": cwd, "originator": originator,
            "cli_version": "0.171.0", "source": source,
            "thread_source": if subagent { "subagent" } else { "user" },
            "model_provider": "openai", "base_instructions": {"text": text(&mut rng, 21_000)}}});
        out.push(&meta)?;
        out.push(
            &json!({"timestamp": stamp, "ordinal": 1, "type": "event_msg",
            "payload": {"type": "user_message", "message": title}}),
        )?;
        while out.written < bytes {
            let size = rng.usize(200..6_000);
            out.push(
                &json!({"timestamp": stamp, "type": "response_item", "payload":
                {"type": "message", "role": "assistant",
                 "content": [{"type": "output_text", "text": text(&mut rng, size)}]}}),
            )?;
            for _ in 0..rng.usize(..4) {
                out.again()?;
            }
        }
        out.push(&json!({"timestamp": stamp, "type": "event_msg",
            "payload": {"type": "task_complete", "turn_id": id}}))?;
        out.finish()?;
    }
    index.finish()?;
    drop(insert);
    db.execute_batch("COMMIT")?;
    let global = json!({"pinned-thread-ids": pinned, "projectless-thread-ids": []});
    Ok(std::fs::write(
        root.join(".codex-global-state.json"),
        global.to_string(),
    )?)
}
