//! OpenCode 1.x: nothing in a request names the session, but the store holds the running call
//! with exactly the arguments that arrive. 2.x names it (`providers/opencode-gemini.md` D). Either
//! way the process that calls has to be OpenCode and to have the store open.

use super::{DIRECTLY, folder, is_call, nearest, wait_for};
use crate::opencode_cli::is_opencode;
use crate::processes;
use axiowl_pipeline::identity::{CallContext, Caller, HostProcess, IdentityVerifier};
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
    SELECT p.id AS part, p.session_id AS session, s.parent_id AS parent, s.title AS title, p.data AS data \
    FROM part p JOIN session s ON s.id = p.session_id \
    WHERE p.session_id IN (SELECT id FROM session ORDER BY time_updated DESC LIMIT 50) \
      AND json_valid(p.data) AND p.data ->> '$.type' = 'tool' \
      AND p.data ->> '$.state.status' = 'running'";

/// A session of version 2.
const VERSION_2: &str = "SELECT id FROM session_v2 WHERE id = ?1";

/// Finds the pending call.
pub(crate) struct OpencodePendingCall;

impl IdentityVerifier for OpencodePendingCall {
    fn name(&self) -> &'static str {
        "opencode_pending_call"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["opencode_cli"]
    }

    fn verify(
        &self,
        world: &World,
        call: &CallContext,
        _claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let database = database(world);
        // Where the system does not tell which process calls, the running call has to do.
        if let Some(process) = call.host.first() {
            is_at_work(world, &database, process)?;
        }
        let asker = Asker::new(MOST);
        let mut trouble = None;
        let callers = wait_for(call, PATIENCE, || {
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
        let (_, (caller, _)) = callers.into_iter().next().ok_or("nobody is calling")?;
        Ok(caller)
    }
}

/// Confirms a session that version 2 names.
pub(crate) struct OpencodeStore;

impl IdentityVerifier for OpencodeStore {
    fn name(&self) -> &'static str {
        "opencode_store"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["opencode_cli"]
    }

    fn verify(
        &self,
        world: &World,
        call: &CallContext,
        claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let id = claimed.ok_or("the host names no session")?;
        let database = database(world);
        is_at_work(world, &database, nearest(call)?)?;
        // Version 1 names none, and its calls stand in the store while they run.
        let found = Asker::new(MOST).ask(world, &database, "session_v2", VERSION_2, &[id]);
        let found = found.map_err(|error| format!("{database}: {error}"))?;
        if found.unwrap_or_default().is_empty() {
            return Err(format!(
                "{database} holds no session {id} of OpenCode 2, and OpenCode 1 proves a call by \
                 the part that runs, not by a name"
            ));
        }
        Ok(Caller::session(id))
    }
}

fn database(world: &World) -> String {
    match world.provider_home() {
        Some(folder) => format!("{folder}/opencode.db"),
        None => {
            let data = folder(world, "XDG_DATA_HOME", ".local/share");
            format!("{data}/opencode/opencode.db")
        }
    }
}

/// Whether a process is OpenCode at work, which keeps its store open from start to end. What its
/// shell runs is not, and neither is anything else that reads the store.
fn is_at_work(world: &World, database: &str, process: &HostProcess) -> Result<(), String> {
    let path = world.real_path(database);
    let path = path.ok_or("there is no home folder")?;
    let pid = process.pid;
    if !is_opencode(pid) {
        return Err(format!(
            "the process that calls, {pid}, does not run OpenCode's program; {DIRECTLY}"
        ));
    }
    match processes::has_open(pid, &path) {
        true => Ok(()),
        false => Err(format!(
            "the process that calls, {pid}, does not have {database} open"
        )),
    }
}

/// The sessions with such a call, how many of them each has, and of a sub-agent whom it works
/// for.
fn callers(rows: &[Row], call: &CallContext) -> BTreeMap<String, (Caller, usize)> {
    let mut out: BTreeMap<String, (Caller, usize)> = BTreeMap::new();
    for row in rows {
        let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
        let part: Value = serde_json::from_str(text("data")).unwrap_or_default();
        let tool = part["tool"].as_str().unwrap_or_default();
        if !is_call(call, tool, &part["state"]["input"]) {
            continue;
        }
        let (session, parent) = (text("session"), text("parent"));
        let title = Some(text("title")).filter(|title| !title.trim().is_empty());
        let child = !parent.is_empty();
        let caller = Caller {
            session: if child { parent } else { session }.to_owned(),
            subagent: child.then(|| title.unwrap_or(session).to_owned()),
            call: Some(format!("opencode {session} {}", text("part"))),
        };
        let entry = out.entry(session.to_owned()).or_insert((caller, 0));
        entry.1 += 1;
    }
    out
}
