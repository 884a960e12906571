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
use serde_json::json;
use std::time::Instant;

/// Bytes of a queue that are copied.
const MOST: u64 = 1 << 30;
const DATABASE: &str = "queue_1.sqlite";
/// What waits for a thread and has a message's id in it. The database looks itself: the answer
/// is short however long the queue is, and a payload that was stored as bytes counts too.
const WAITING: &str = "SELECT id FROM queued_items \
    WHERE thread_id = ?1 AND instr(CAST(payload_json AS TEXT), ?2) > 0";

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
    let unclear = |why: String| Some(format!("where Codex keeps its queue is not known: {why}"));
    let mut folders = match store.sqlite_home(world) {
        Ok(folder) => vec![folder],
        Err(why) => return unclear(why),
    };
    if context.provider_home.is_none() {
        let named = world.env("CODEX_SQLITE_HOME").map(str::to_owned);
        if let Some(folder) = named.as_ref().filter(|folder| !world.is_absolute(folder)) {
            // From the folder that each Codex was started in.
            return unclear(format!("CODEX_SQLITE_HOME is `{folder}`"));
        }
        folders.push(named);
    }
    folders.push(Some(store.below("").trim_end_matches('/').to_owned()));
    let files = folders
        .into_iter()
        .flatten()
        .map(|folder| format!("{}/{DATABASE}", folder.trim_end_matches('/')));
    let asker = Asker::new(MOST);
    let id = message.to_string();
    for file in files.filter(|file| world.exists(file)) {
        match asker.ask(world, &file, "queued_items", WAITING, &[thread, &id]) {
            Ok(Some(rows)) if rows.is_empty() => {}
            Ok(Some(_)) => return Some(format!("it waits in Codex's queue ({file}), unread")),
            Ok(None) => {
                return Some(format!(
                    "Codex's queue {file} is not one that AxiOwl knows: it has no table \
                     `queued_items`"
                ));
            }
            Err(error) => return Some(format!("Codex's queue {file} cannot be read: {error}")),
        }
    }
    None
}
