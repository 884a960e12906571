//! The demo's home: a handful of sessions in the formats real clients write.

use crate::exit::{Exit, Failure};
use axiowl_model::Timestamp;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// The echo agent's session.
const ECHO: &str = "0190aaaa-0000-7000-8000-00000000ec40";
/// Codex threads: id, name, originator, archived, prompt.
const THREADS: [(&str, Option<&str>, &str, bool, &str); 3] = [
    (
        "0190aaaa-0000-7000-8000-000000000c01",
        Some("Checkout Bot"),
        "codex-tui",
        false,
        "Build the checkout page",
    ),
    (
        "0190aaaa-0000-7000-8000-000000000c02",
        None,
        "codex_exec",
        false,
        "Fix the login bug",
    ),
    (
        "0190aaaa-0000-7000-8000-000000000c03",
        Some("Old plan"),
        "codex_exec",
        true,
        "Plan the first release",
    ),
];
/// Claude Code sessions: id, title, prompt.
const CHATS: [(&str, Option<&str>, &str); 2] = [
    (
        "0190aaaa-0000-4000-8000-000000000a01",
        Some("Design Review"),
        "Review the checkout design",
    ),
    (
        "0190aaaa-0000-4000-8000-000000000a02",
        None,
        "Which tests are slow?",
    ),
];

/// Writes the home.
pub fn build(home: &Path) -> Result<(), Failure> {
    let project = home.join("projects").join("webshop");
    fs::create_dir_all(&project)?;
    let cwd = project.display().to_string();
    codex(&home.join(".codex"), &cwd)?;
    claude(&home.join(".claude"), &cwd)?;
    echo(&home.join(".axiowl-echo"), &cwd)
}

/// The columns of Codex's thread table that say something about a thread.
const THREAD_TABLE: &str = "CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL,
    cwd TEXT NOT NULL, source TEXT NOT NULL, title TEXT NOT NULL, archived INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, updated_at_ms INTEGER, originator TEXT, cli_version TEXT,
    model_provider TEXT, name TEXT, preview TEXT, thread_source TEXT, recency_at_ms INTEGER,
    agent_nickname TEXT, attached_thread_parent_id TEXT)";
/// Transcripts, the thread table and the name index.
fn codex(folder: &Path, cwd: &str) -> Result<(), Failure> {
    let now = Timestamp::from(SystemTime::now()).as_millis() / 1_000;
    let archive = folder.join("archived_sessions");
    fs::create_dir_all(&archive)?;
    let database = rusqlite::Connection::open(folder.join("state_5.sqlite")).map_err(no_table)?;
    database.execute_batch(THREAD_TABLE).map_err(no_table)?;
    let mut index = String::new();
    for (number, (id, name, originator, archived, prompt)) in THREADS.iter().enumerate() {
        // The last some hours ago, each one before it an hour more.
        let seconds = now - 3_600 * (4 - i64::try_from(number).unwrap_or_default());
        let at = Timestamp::from_millis(seconds * 1_000).to_string();
        let (date, time) = (at[..10].to_owned(), at[11..19].replace(':', "-"));
        let head = json!({ "timestamp": at, "type": "session_meta", "payload": {
            "id": id, "cwd": cwd, "originator": originator, "cli_version": "0.171.0", "source": "exec",
            "model_provider": "demo" } });
        let said = json!({ "timestamp": at, "type": "event_msg", "payload": {
            "type": "item_completed", "thread_id": id, "turn_id": id, "item": {
                "type": "UserMessage", "id": id, "content": [ { "type": "text", "text": prompt } ] } } });
        let of_day = folder.join("sessions").join(date.replace('-', "/"));
        fs::create_dir_all(&of_day)?;
        let folder = if *archived { &archive } else { &of_day };
        let path = folder.join(format!("rollout-{date}T{time}-{id}.jsonl"));
        fs::write(&path, format!("{head}\n{said}\n"))?;
        database
            .execute(
                "INSERT INTO threads (id, rollout_path, cwd, source, title, archived, updated_at,
                     updated_at_ms, originator, cli_version, model_provider, preview)
                 VALUES (?1, ?2, ?3, 'exec', ?4, ?5, ?6, ?7, ?8, '0.171.0', 'demo', ?4)",
                (
                    id,
                    path.display().to_string(),
                    cwd,
                    prompt,
                    archived,
                    seconds,
                    seconds * 1_000,
                    originator,
                ),
            )
            .map_err(no_table)?;
        if let Some(name) = name {
            index.push_str(&format!(
                "{}\n",
                json!({ "id": id, "thread_name": name, "updated_at": at })
            ));
        }
    }
    fs::write(folder.join("session_index.jsonl"), index)?;
    Ok(())
}

fn no_table(error: rusqlite::Error) -> Failure {
    Failure::new(Exit::Failed, format!("the demo's thread table: {error}"))
}

fn claude(folder: &Path, cwd: &str) -> Result<(), Failure> {
    let slug: String = cwd
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let project = folder.join("projects").join(slug);
    fs::create_dir_all(&project)?;
    for (id, title, prompt) in CHATS {
        let record = |kind: &str, uuid: &str, message: serde_json::Value| {
            json!({ "type": kind, "uuid": uuid, "parentUuid": null, "isSidechain": false, "sessionId": id, "cwd": cwd,
                    "version": "2.1.332", "entrypoint": "cli", "message": message })
        };
        let mut lines = Vec::new();
        if let Some(title) = title {
            lines.push(json!({ "type": "custom-title", "customTitle": title, "sessionId": id }));
        }
        lines.push(record(
            "user",
            "0190aaaa-0000-4000-8000-00000000b001",
            json!({ "role": "user", "content": prompt }),
        ));
        lines.push(record("assistant", "0190aaaa-0000-4000-8000-00000000b002", json!({
            "role": "assistant", "content": [ { "type": "text", "text": "On it." } ], "stop_reason": "end_turn" })));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(project.join(format!("{id}.jsonl")), text)?;
    }
    Ok(())
}

fn echo(folder: &Path, cwd: &str) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    let head = json!({ "type": "session", "id": ECHO, "name": "Echo", "cwd": cwd });
    fs::write(folder.join(format!("{ECHO}.jsonl")), format!("{head}\n"))?;
    Ok(())
}
