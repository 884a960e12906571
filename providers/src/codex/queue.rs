//! Codex's own queue of messages for a thread: `thread/queue/*` (`providers/codex.md` C2 and C3)
//! and the database they stand in, which is only read, from a private copy.
//!
//! What stands there has been read by nobody. Codex itself does not notice a message that is
//! put in twice.

use super::app_server::{CallError, Calls};
use crate::codex_store::Store;
use axiowl_model::MessageId;
use axiowl_pipeline::edge::EdgeContext;
use axiowl_sources::Asker;
use serde_json::{Value, json};
use std::time::Instant;

/// Bytes of a queue that are copied.
const MOST: u64 = 1 << 30;
const DATABASE: &str = "queue_1.sqlite";

/// Puts a message into the queue of a thread; the queue's own id of it.
pub(super) fn add(
    server: &mut dyn Calls,
    thread: &str,
    message: MessageId,
    body: &str,
    until: Instant,
) -> Result<String, CallError> {
    let id = message.to_string();
    let params = json!({
        "threadId": thread,
        "clientUserMessageId": id,
        "responsesapiClientMetadata": { "axiowl_message_id": id },
        "input": [{ "type": "text", "text": body }],
    });
    let answer = server.call("thread/queue/add", params, until)?;
    let entry = answer["queuedSubmission"]["id"].as_str();
    Ok(entry.unwrap_or_default().to_owned())
}

/// The queue's id of a message that waits in it, and how many wait before it.
pub(super) fn place(
    server: &mut dyn Calls,
    thread: &str,
    message: MessageId,
    until: Instant,
) -> Result<Option<(String, usize)>, CallError> {
    let list = server.call("thread/queue/list", json!({ "threadId": thread }), until)?;
    let id = message.to_string();
    let mut entries = list["data"].as_array().into_iter().flatten().enumerate();
    Ok(entries.find_map(|(before, entry)| {
        let ours = entry["clientUserMessageId"] == id.as_str();
        let entry = entry["id"].as_str()?;
        ours.then(|| (entry.to_owned(), before))
    }))
}

/// Takes a message out again. True when it was there: then nobody gets it.
pub(super) fn take_back(
    server: &mut dyn Calls,
    thread: &str,
    message: MessageId,
    until: Instant,
) -> Result<bool, CallError> {
    let Some((entry, _)) = place(server, thread, message, until)? else {
        return Ok(false);
    };
    let params = json!({ "threadId": thread, "queuedSubmissionId": entry });
    let answer = server.call("thread/queue/delete", params, until)?;
    Ok(answer["deleted"] == true)
}

/// Why a message may still come out of the queue: it stands there, or nobody can tell.
pub(super) fn keeps(context: &EdgeContext<'_>, thread: &str, message: MessageId) -> Option<String> {
    let world = context.world;
    let store = Store::of(context);
    let mut folders = match store.sqlite_home(world) {
        Ok(folder) => vec![folder],
        Err(why) => return Some(format!("where Codex keeps its queue is not known: {why}")),
    };
    if context.provider_home.is_none() {
        folders.push(world.env("CODEX_SQLITE_HOME").map(str::to_owned));
    }
    folders.push(Some(store.below("").trim_end_matches('/').to_owned()));
    let files = folders
        .into_iter()
        .flatten()
        .map(|folder| format!("{folder}/{DATABASE}"));
    let asker = Asker::new(MOST);
    let sql = "SELECT payload_json FROM queued_items WHERE thread_id = ?1";
    let id = message.to_string();
    for file in files.filter(|file| world.exists(file)) {
        let rows = match asker.ask(world, &file, "queued_items", sql, &[thread]) {
            Ok(rows) => rows.unwrap_or_default(),
            Err(error) => return Some(format!("Codex's queue {file} cannot be read: {error}")),
        };
        let holds = |payload: Option<&Value>| {
            let text = payload.and_then(Value::as_str);
            text.is_some_and(|text| text.contains(&id))
        };
        if rows.iter().any(|row| holds(row.get("payload_json"))) {
            return Some(format!("it waits in Codex's queue ({file}), unread"));
        }
    }
    None
}
