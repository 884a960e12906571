//! Ledgers that an earlier AxiOwl wrote.

use super::*;
use crate::ledger::schema::STEPS;

#[test]
fn a_ledger_of_every_earlier_format_is_brought_up_with_what_it_holds() {
    for known in 1..STEPS.len() {
        let dir = tempfile::tempdir().unwrap();
        let id = {
            let ledger = Ledger::open(dir.path()).unwrap();
            accepted(&ledger)
        };
        // Back to the earlier format: what came later is undone.
        let db = rusqlite::Connection::open(dir.path().join("messages.db")).unwrap();
        for name in [
            "messages_to_target_by_time",
            "messages_by_time",
            "deliveries_open",
        ] {
            db.execute_batch(&format!("DROP INDEX {name}")).unwrap();
        }
        db.pragma_update(None, "user_version", known as i64)
            .unwrap();
        drop(db);
        let ledger = Ledger::open(dir.path()).unwrap();
        assert_eq!(ledger.message(id).unwrap().stage, Stage::Accepted);
        let version: i64 = ledger
            .connection()
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap();
        assert_eq!(version, STEPS.len() as i64);
        accepted(&ledger);
    }
}
