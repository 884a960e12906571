//! Questions that native code has about one row of a database, such as a delivery edge about
//! the session it delivers to.
//!
//! Read like every other database: from a private copy, within limits, and never in a way that
//! its owner could notice. It must not know what the answer means.

use super::access::{Copies, Ways, with_database};
use super::rows::is_there;
use crate::file::Hit;
use crate::report::Report;
use crate::{Cancel, Name, Row, World};
use axiowl_lang::source::Mirror;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};
use std::io;

/// Rows of one answer.
const ROWS: usize = 1_000;

/// Asks databases. Keeps the copies it made, so that several questions about an unchanged
/// store cost one copy.
pub struct Asker {
    most: u64,
    copies: Copies,
}

impl Asker {
    /// One that copies stores of at most so many bytes.
    pub fn new(most: u64) -> Self {
        Self {
            most,
            copies: Copies::default(),
        }
    }

    /// The rows of a statement, column to value, at most a thousand; `None` where there is no
    /// such table. A blob is no value.
    ///
    /// # Errors
    /// When the database is not there, busy, too large, damaged, or the statement fails.
    pub fn ask(
        &self,
        world: &World,
        recorded: &str,
        table: &str,
        sql: &str,
        parameters: &[&str],
    ) -> io::Result<Option<Vec<Row>>> {
        let real = world.real_path(recorded).ok_or(io::ErrorKind::NotFound)?;
        let metadata = real.metadata()?;
        let hit = Hit::new(world, real, recorded.to_owned(), &metadata, 0);
        let ways = Ways {
            mirror: Mirror::Only,
            most: self.most,
            copies: &self.copies,
            cancel: &Cancel::default(),
        };
        let mut report = Report::default();
        let answer = with_database(&hit, ways, &mut report, &mut |connection| match is_there(
            connection, table,
        )? {
            true => rows(connection, sql, parameters).map(Some),
            false => Ok(None),
        });
        answer.ok_or_else(|| {
            let issues = report.into_issues("store");
            let why = issues.first().map(|issue| issue.message.clone());
            io::Error::other(why.unwrap_or_else(|| "it cannot be read".into()))
        })
    }
}

fn rows(connection: &Connection, sql: &str, parameters: &[&str]) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare(sql)?;
    let names: Vec<Name> = statement.column_names().map(Name::from).collect();
    let mut found = statement.query(rusqlite::params_from_iter(parameters))?;
    let mut out = Vec::new();
    while let Some(row) = found.next()? {
        if out.len() == ROWS {
            break;
        }
        let mut record = Row::new();
        for (at, name) in names.iter().enumerate() {
            record.insert(*name, value(row.get_ref(at)?));
        }
        out.push(record);
    }
    Ok(out)
}

fn value(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null | ValueRef::Blob(_) => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(number) => json!(number),
        ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Home;

    #[test]
    fn a_row_is_read_from_a_copy_and_a_missing_table_is_none() {
        let home = Home::new();
        let path = home.path("r/a.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode=WAL; CREATE TABLE t (id TEXT, n INTEGER, b BLOB);
                 INSERT INTO t VALUES ('x', 7, x'00'), ('y', NULL, NULL);",
            )
            .unwrap();
        let asker = Asker::new(1 << 20);
        let world = home.world();
        let recorded = path.to_str().unwrap();
        let ask = |table: &str, sql: &str| asker.ask(&world, recorded, table, sql, &["x"]);
        let rows = ask("t", "SELECT * FROM t WHERE id = ?1").unwrap().unwrap();
        assert_eq!(Value::from(rows), json!([{"id": "x", "n": 7, "b": null}]));
        assert_eq!(ask("u", "SELECT * FROM u WHERE id = ?1").unwrap(), None);
        // What was written since is seen; what would write is not run.
        connection
            .execute_batch("INSERT INTO t VALUES ('x', 8, NULL)")
            .unwrap();
        let rows = ask("t", "SELECT n FROM t WHERE id = ?1").unwrap().unwrap();
        assert_eq!(rows.len(), 2);
        assert!(ask("t", "DELETE FROM t WHERE id = ?1").is_err());
        assert!(
            Asker::new(10)
                .ask(&world, recorded, "t", "SELECT 1", &[])
                .is_err()
        );
        assert!(asker.ask(&world, "/none", "t", "SELECT 1", &[]).is_err());
    }
}
