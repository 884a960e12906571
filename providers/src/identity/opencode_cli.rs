//! OpenCode 1.x: nothing in a request names the session, but the store holds the running call
//! with exactly the arguments that arrive (`providers/opencode-gemini.md` D).

use super::wait_for;
use axiowl_pipeline::identity::marker::digest;
use axiowl_pipeline::identity::{CallContext, Caller, IdentityVerifier};
use axiowl_sources::{Asker, Row, World};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The call stands there when it arrives; a store that is being written may need another look.
const PATIENCE: Duration = Duration::from_secs(1);
/// Database and log that are copied at most.
const MOST: u64 = 1 << 30;
/// Running calls of the sessions that were written to last.
const RUNNING: &str = "\
    SELECT p.session_id AS session, s.parent_id AS parent, s.title AS title, p.data AS data \
    FROM part p JOIN session s ON s.id = p.session_id \
    WHERE p.session_id IN (SELECT id FROM session ORDER BY time_updated DESC LIMIT 50) \
      AND json_valid(p.data) AND p.data ->> '$.type' = 'tool' \
      AND p.data ->> '$.state.status' = 'running'";

/// Finds the pending call.
pub(crate) struct OpencodePendingCall;

impl IdentityVerifier for OpencodePendingCall {
    fn name(&self) -> &'static str {
        "opencode_pending_call"
    }

    fn verify(
        &self,
        world: &World,
        call: &CallContext,
        _claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let root = match world.env("XDG_DATA_HOME") {
            Some(folder) => format!("{folder}/opencode"),
            None => format!("{}/.local/share/opencode", world.home()),
        };
        let database = format!("{root}/opencode.db");
        let asker = Asker::new(MOST);
        let mut trouble = None;
        let callers = wait_for(PATIENCE, || {
            let rows = asker.ask(world, &database, "session", RUNNING, &[]);
            let rows = rows.map_err(|why| trouble = Some(why.to_string())).ok()?;
            let rows = rows.unwrap_or_default();
            let callers = callers(&rows, call);
            (!callers.is_empty()).then_some(callers)
        });
        let callers = callers.ok_or_else(|| {
            let none = format!("no running call in {database} has these arguments");
            trouble.map_or(none.clone(), |why| format!("{none}: {why}"))
        })?;
        if callers.len() > 1 || callers.values().any(|(_, calls)| *calls > 1) {
            return Err("several running calls have these very arguments".into());
        }
        let (session, (caller, _)) = callers.into_iter().next().ok_or("nobody is calling")?;
        Ok(caller.unwrap_or_else(|| Caller::session(session)))
    }
}

/// The sessions with such a call, how many of them each has, and of a sub-agent whom it works
/// for.
fn callers(rows: &[Row], call: &CallContext) -> BTreeMap<String, (Option<Caller>, usize)> {
    let wanted = digest(&call.tool, call.arguments());
    let suffix = format!("_{}", call.tool);
    let mut out: BTreeMap<String, (Option<Caller>, usize)> = BTreeMap::new();
    for row in rows {
        let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
        let part: Value = serde_json::from_str(text("data")).unwrap_or_default();
        let tool = part["tool"].as_str().unwrap_or_default();
        let named = tool == call.tool || tool.ends_with(&suffix);
        if !named || digest(&call.tool, &part["state"]["input"]) != wanted {
            continue;
        }
        let (session, parent) = (text("session"), text("parent"));
        let title = Some(text("title")).filter(|title| !title.trim().is_empty());
        let caller = (!parent.is_empty()).then(|| Caller {
            session: parent.to_owned(),
            subagent: Some(title.unwrap_or(session).to_owned()),
        });
        let entry = out.entry(session.to_owned()).or_insert((caller, 0));
        entry.1 += 1;
    }
    out
}
