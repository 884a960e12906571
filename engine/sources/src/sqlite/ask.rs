//! One question of native code to a provider's database, by the same careful ways as a rule's
//! source: a private copy, or in place at rest. Nothing is written.

use super::Copies;
use super::access::{self, Ways};
use crate::file::Hit;
use crate::report::Report;
use crate::{Cancel, Row, World};
use axiowl_lang::source::Mirror;
use rusqlite::types::ValueRef;
use serde_json::Value;

/// Rows that an answer has at most.
const ROWS: usize = 1_000;

/// The rows of a SELECT on the database at a recorded path, as text, numbers and nulls.
///
/// # Errors
/// Says why the database could not be read.
pub fn ask(world: &World, recorded: &str, sql: &str, most: u64) -> Result<Vec<Row>, String> {
    let real = world.real_path(recorded);
    let real = real.filter(|path| path.is_file());
    let hit = Hit {
        real: real.ok_or_else(|| format!("there is no {recorded}"))?,
        recorded: recorded.to_owned(),
        size: 0,
        mtime: 0,
        pattern: 0,
    };
    let (copies, cancel) = (Copies::default(), Cancel::default());
    let ways = Ways {
        mirror: Mirror::Only,
        most,
        copies: &copies,
        cancel: &cancel,
    };
    let mut report = Report::default();
    let rows = access::with_database(&hit, ways, &mut report, &mut |connection| {
        let mut statement = connection.prepare(sql)?;
        let names = statement.column_names();
        let names: Vec<String> = names.map(str::to_owned).collect();
        let mut answer = statement.query([])?;
        let mut rows = Vec::new();
        while let Some(row) = answer.next()? {
            let mut fields = Row::new();
            for (at, name) in names.iter().enumerate() {
                fields.insert(name.clone(), cell(row.get_ref(at)?));
            }
            rows.push(fields);
            if rows.len() == ROWS {
                break;
            }
        }
        Ok(rows)
    });
    rows.ok_or_else(|| format!("{recorded} cannot be read now"))
}

fn cell(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into(),
        ValueRef::Null | ValueRef::Blob(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_model::Timestamp;
    use std::collections::BTreeMap;

    #[test]
    fn a_live_database_is_asked_through_a_copy_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let writer = rusqlite::Connection::open(&path).unwrap();
        writer
            .execute_batch(
                "PRAGMA journal_mode=WAL; CREATE TABLE t(a, b); INSERT INTO t VALUES ('x', 1), (NULL, 2.5);",
            )
            .unwrap();
        let world = World::real(
            folder.path().into(),
            BTreeMap::new(),
            Timestamp::from_millis(0),
        );
        let names = || {
            let entries = std::fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let before = names();
        let recorded = path.display().to_string();
        let rows = ask(&world, &recorded, "SELECT a, b FROM t ORDER BY b", 1 << 20).unwrap();
        assert_eq!(
            Value::from_iter(rows[0].clone()),
            serde_json::json!({ "a": "x", "b": 1 })
        );
        assert_eq!(
            (&rows[1]["a"], &rows[1]["b"]),
            (&Value::Null, &serde_json::json!(2.5))
        );
        assert_eq!(names(), before);
        assert!(ask(&world, &recorded, "DELETE FROM t", 1 << 20).is_err());
        assert!(
            ask(&world, &recorded, "SELECT 1", 10).is_err(),
            "too large to copy"
        );
        assert!(
            ask(&world, "/nowhere.db", "SELECT 1", 10)
                .unwrap_err()
                .contains("no /nowhere.db")
        );
    }
}
