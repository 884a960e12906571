//! What OpenCode's database says about a session before a message goes in
//! (`providers/opencode-gemini.md` A and C). Read from a private copy.

use axiowl_model::display_safe;
use axiowl_sources::{Asker, Row, World};
use serde_json::Value;

/// Bytes of a store that are copied. Users have larger ones; those are refused.
const MOST: u64 = 4 << 30;

/// A session that may get a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Session {
    /// The folder it works in.
    pub directory: String,
    /// Its newest answer has no end: a turn runs, or was broken off.
    pub busy: bool,
}

/// Looks a session up in the table of the installed version.
///
/// # Errors
/// Why it gets no message.
pub(super) fn session(
    world: &World,
    database: &str,
    id: &str,
    generation: u32,
) -> Result<Session, String> {
    let asker = Asker::new(MOST);
    let (table, other) = match generation {
        1 => ("session", "session_v2"),
        _ => ("session_v2", "session"),
    };
    let find = |table: &str| -> Result<Option<Row>, String> {
        let sql = format!("SELECT * FROM {table} WHERE id = ?1");
        let rows = asker.ask(world, database, table, &sql, &[id]);
        let rows = rows.map_err(|error| format!("{database} cannot be read: {error}"))?;
        Ok(rows.and_then(|rows| rows.into_iter().next()))
    };
    let other_row = find(other)?;
    let Some(row) = find(table)? else {
        return Err(match other_row {
            Some(_) => format!(
                "it stands in the table of another version than the installed OpenCode \
                 {generation}, which does not know it"
            ),
            None => "it is not in OpenCode's store any more".into(),
        });
    };
    if generation == 1 && other_row.is_some() {
        return Err(
            "OpenCode 2 took it over, and the installed OpenCode 1 has an old copy of it".into(),
        );
    }
    let is_set = |name: &str| {
        let value = row.get(name).unwrap_or(&Value::Null);
        !value.is_null() && *value != ""
    };
    for (name, why) in [
        (
            "parent_id",
            "it is a sub-agent's session; address its parent",
        ),
        ("time_archived", "it is archived"),
        (
            "revert",
            "an undo is pending in it, and the next message would drop for good what was undone; \
             take the undo back, or go on in it by hand",
        ),
    ] {
        if !row.contains_key(name) {
            return Err(format!("its row does not say whether it has a `{name}`"));
        }
        if is_set(name) {
            return Err(why.into());
        }
    }
    let directory = row
        .get("directory")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !world.is_absolute(directory) {
        return Err(format!("it names no folder: `{}`", display_safe(directory)));
    }
    Ok(Session {
        directory: directory.to_owned(),
        busy: is_busy(&asker, world, database, id, generation)?,
    })
}

fn is_busy(
    asker: &Asker,
    world: &World,
    database: &str,
    id: &str,
    generation: u32,
) -> Result<bool, String> {
    let (table, sql) = match generation {
        1 => (
            "message",
            "SELECT data FROM message WHERE session_id = ?1 ORDER BY time_created DESC, id DESC LIMIT 1",
        ),
        _ => (
            "session_message",
            "SELECT data, type FROM session_message WHERE session_id = ?1 ORDER BY seq DESC LIMIT 1",
        ),
    };
    let rows = asker.ask(world, database, table, sql, &[id]);
    let rows = rows.map_err(|error| format!("{database} cannot be read: {error}"))?;
    let Some(row) = rows.and_then(|rows| rows.into_iter().next()) else {
        return Ok(false);
    };
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    let data: Value = serde_json::from_str(text("data")).unwrap_or_default();
    let role = data["role"].as_str().unwrap_or(text("type"));
    Ok(role == "assistant" && data["time"]["completed"].is_null())
}
