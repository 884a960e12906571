//! OpenCode: one database with sessions, messages and parts.

use super::{Plan, moment, project, sqlite, text, words};
use crate::Failure;
use serde_json::json;
use std::path::Path;

const SCHEMA: &str = "CREATE TABLE session(id text PRIMARY KEY, project_id text NOT NULL,
  parent_id text, slug text NOT NULL, directory text NOT NULL, title text NOT NULL,
  version text NOT NULL, revert text, agent text, time_created integer NOT NULL,
  time_updated integer NOT NULL, time_archived integer);
CREATE TABLE message(id text PRIMARY KEY, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part(id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message(session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part(message_id, id);
CREATE INDEX part_session_idx ON part(session_id);";

pub fn write(at: &Path, home: &Path, plan: &Plan) -> Result<(), Failure> {
    let mut rng = plan.rng(3);
    let db = sqlite(&at.join(".local/share/opencode/opencode.db"), SCHEMA)?;
    let mut session = db.prepare(
        "INSERT INTO session VALUES(?1, 'p', ?2, 'slug', ?3, ?4, '1.18.34', NULL, 'build',
           ?5, ?5, ?6)",
    )?;
    let mut message = db.prepare("INSERT INTO message VALUES(?1, ?2, ?3, ?3, ?4)")?;
    let mut part = db.prepare("INSERT INTO part VALUES(?1, ?2, ?3, ?4, ?4, ?5)")?;
    let mut last: Option<String> = None;
    for _ in 0..plan.opencode {
        let id = format!("ses_{:026x}", rng.u128(..) >> 24);
        let made = moment(&mut rng);
        let title = words(&mut rng, 4);
        let parent = last.take().filter(|_| rng.u8(..10) == 0);
        let archived = (rng.u8(..20) == 0).then_some(made);
        let cwd = project(home, &mut rng);
        session.execute(rusqlite::params![id, parent, cwd, title, made, archived])?;
        for turn in 0..rng.usize(1..6) {
            for role in ["user", "assistant"] {
                let said = format!("msg_{:026x}", rng.u128(..) >> 24);
                let when = made + turn as i64 * 1_000;
                message.execute(rusqlite::params![
                    said,
                    id,
                    when,
                    json!({"role": role}).to_string()
                ])?;
                let size = rng.usize(100..3_000);
                let data = json!({"type": "text", "text": text(&mut rng, size)}).to_string();
                let piece = format!("prt_{:026x}", rng.u128(..) >> 24);
                part.execute(rusqlite::params![piece, said, id, when, data])?;
            }
        }
        last = Some(id);
    }
    drop((session, message, part));
    Ok(db.execute_batch("COMMIT")?)
}
