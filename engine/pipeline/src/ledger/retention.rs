//! Forgetting: what was settled long ago goes, what is under way never does.

use super::{Ledger, LedgerError, Trouble};
use crate::clock::before;
use axiowl_model::Stage;
use rusqlite::Connection;
use std::time::Duration;

/// Messages that are forgotten in one transaction. Others may write between two.
const BATCH: i64 = 200;

/// Nobody waits for anything more: it ended, or its turn is over, or it lies in the operator's
/// inbox, which is its end. The age is that of the last stage, so that an old message which was
/// settled yesterday is a young one.
const FORGOTTEN: &str = "SELECT id FROM messages
     WHERE created_at < ?1
     AND (stage IN (SELECT value FROM json_each(?2)) OR provider = 'axiowl')
     AND NOT EXISTS (SELECT 1 FROM stages WHERE message_id = id AND at >= ?1)
     AND NOT EXISTS (SELECT 1 FROM deliveries WHERE message_id = id AND ended_at IS NULL)
     LIMIT ?3";

impl Ledger {
    /// Removes messages that were settled longer ago than `kept`, with their stages and
    /// deliveries, and returns how many. Messages that are on their way, or that nobody can be
    /// sure about, stay whatever their age.
    ///
    /// # Errors
    /// The database.
    pub fn forget_settled(&self, kept: Duration) -> Result<usize, LedgerError> {
        let since = before(self.now(), kept).as_millis();
        let mut forgotten = 0;
        loop {
            let found = self.read("look for old messages", |db| old(db, since))?;
            if found.is_empty() {
                return Ok(forgotten);
            }
            forgotten += self.write("forget old messages", |tx| {
                // One of them may have got an answer meanwhile.
                let found = old(tx, since)?;
                for id in &found {
                    for table in ["stages", "deliveries"] {
                        tx.prepare_cached(&format!("DELETE FROM {table} WHERE message_id = ?1"))?
                            .execute([id])?;
                    }
                    tx.prepare_cached("DELETE FROM messages WHERE id = ?1")?
                        .execute([id])?;
                }
                Ok(found.len())
            })?;
        }
    }
}

fn old(db: &Connection, since: i64) -> Result<Vec<String>, Trouble> {
    let settled: Vec<&str> = Stage::ALL
        .iter()
        .filter(|stage| stage.is_terminal() || **stage == Stage::TurnDone)
        .map(|stage| stage.as_str())
        .collect();
    let settled = super::accept::to_json(&settled)?;
    let mut query = db.prepare_cached(FORGOTTEN)?;
    let ids = query.query_map((since, settled, BATCH), |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}
