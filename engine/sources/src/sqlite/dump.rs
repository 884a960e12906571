//! The tables of a database as they are, for a capture: structure, and the rows that somebody
//! chooses. Opened like any provider's database: nothing is written beside it.

use super::access::{self, Copies, Ways};
use crate::Cancel;
use crate::World;
use crate::file::{DATABASE_TEXT, Hit};
use crate::read::COPY_BYTES;
use crate::report::Report;
use axiowl_lang::source::Mirror;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::path::Path;

/// Rows of one table that are looked at.
const LOOKED_AT: usize = 200_000;

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// A number.
    Real(f64),
    /// Text; it may be no UTF-8.
    Text(Vec<u8>),
    /// Bytes.
    Blob(Vec<u8>),
}

/// Says of a table's name, its columns and one of its rows whether the row is kept.
pub type Choose<'a> = dyn FnMut(&str, &[String], &[Cell]) -> bool + 'a;

/// A table or view.
#[derive(Debug, Clone, PartialEq)]
pub struct DumpedTable {
    /// Its name.
    pub name: String,
    /// The statement that makes it.
    pub sql: String,
    /// Its columns, in order; none of a view.
    pub columns: Vec<String>,
    /// The rows that were chosen.
    pub rows: Vec<Vec<Cell>>,
    /// Rows that were looked at.
    pub looked_at: usize,
}

/// Reads every table; `choose` says for each row of a table whether it is kept.
///
/// # Errors
/// Why the database cannot be read.
pub fn dump(
    world: &World,
    real: &Path,
    choose: &mut Choose<'_>,
) -> Result<Vec<DumpedTable>, String> {
    if is_text(world, real) {
        let sql = std::fs::read_to_string(real).map_err(|error| error.to_string())?;
        let built = access::build(&sql, &Cancel::default())
            .and_then(|connection| tables(&connection, choose));
        return built.map_err(|error| error.to_string());
    }
    let metadata = real.metadata().map_err(|error| error.to_string())?;
    let name = real.to_string_lossy().into_owned();
    let hit = Hit::new(world, real.to_path_buf(), name, &metadata, 0);
    let copies = Copies::default();
    let ways = Ways {
        mirror: Mirror::Auto,
        most: COPY_BYTES,
        copies: &copies,
        cancel: &Cancel::default(),
    };
    let mut report = Report::default();
    let read = access::with_database(&hit, ways, &mut report, &mut |connection| {
        tables(connection, choose)
    });
    read.ok_or_else(|| {
        let issues = report.into_issues("capture");
        let why: Vec<String> = issues.into_iter().map(|issue| issue.message).collect();
        why.join("; ")
    })
}

/// Whether a file is a database that a fixture keeps as text.
pub fn is_text(world: &World, real: &Path) -> bool {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    world.is_fixture() && name.ends_with(DATABASE_TEXT)
}

/// Whether a text of SQL builds a database.
///
/// # Errors
/// What SQLite says is wrong.
pub fn builds(sql: &str) -> Result<(), String> {
    access::build(sql, &Cancel::default())
        .map(drop)
        .map_err(|error| error.to_string())
}

fn tables(connection: &Connection, choose: &mut Choose<'_>) -> rusqlite::Result<Vec<DumpedTable>> {
    let sql = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view') AND sql IS NOT NULL ORDER BY type, name";
    let mut statement = connection.prepare(sql)?;
    let listed = statement.query_map([], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
        ))
    })?;
    let listed: Vec<(String, String, String)> = listed.collect::<rusqlite::Result<_>>()?;
    // A virtual table keeps its content in tables called after it, which it makes itself.
    let is_virtual = |sql: &str| {
        let start: String = sql.chars().take(32).collect();
        start.to_uppercase().contains("VIRTUAL")
    };
    let virtuals: Vec<String> = listed
        .iter()
        .filter(|(_, _, sql)| is_virtual(sql))
        .map(|(_, name, _)| name.clone())
        .collect();
    let inner = |name: &str| {
        let made_by = |v: &String| name == v || name.starts_with(&format!("{v}_"));
        name.starts_with("sqlite_") || virtuals.iter().any(made_by)
    };
    let mut out = Vec::new();
    for (kind, name, sql) in listed.into_iter().filter(|(_, name, _)| !inner(name)) {
        let mut table = DumpedTable {
            name,
            sql,
            columns: Vec::new(),
            rows: Vec::new(),
            looked_at: 0,
        };
        if kind == "table" {
            rows(connection, &mut table, choose)?;
        }
        out.push(table);
    }
    Ok(out)
}

fn rows(
    connection: &Connection,
    table: &mut DumpedTable,
    choose: &mut Choose<'_>,
) -> rusqlite::Result<()> {
    let quoted = table.name.replace('"', "\"\"");
    let mut statement = connection.prepare(&format!("SELECT * FROM \"{quoted}\""))?;
    table.columns = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if table.looked_at >= LOOKED_AT {
            break;
        }
        table.looked_at += 1;
        let cells = (0..table.columns.len()).map(|at| Ok(cell(row.get_ref(at)?)));
        let cells: Vec<Cell> = cells.collect::<rusqlite::Result<_>>()?;
        if choose(&table.name, &table.columns, &cells) {
            table.rows.push(cells);
        }
    }
    Ok(())
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(text) => Cell::Text(text.to_vec()),
        ValueRef::Blob(bytes) => Cell::Blob(bytes.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_with_the_chosen_rows_and_nothing_is_left_beside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sqlite");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode=WAL; CREATE TABLE t (id TEXT, n INT, b BLOB);
                 INSERT INTO t VALUES ('a', 1, x'00ff'), ('b', NULL, NULL), ('c', 3, NULL);
                 CREATE VIEW v AS SELECT id FROM t;",
            )
            .unwrap();
        let before: Vec<_> = std::fs::read_dir(&dir)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        let world = World::real(
            dir.path().into(),
            Default::default(),
            axiowl_model::Timestamp::from_millis(0),
        );
        let tables = dump(&world, &path, &mut |_, _, cells| {
            cells[0] != Cell::Text(b"b".to_vec())
        })
        .unwrap();
        let after: Vec<_> = std::fs::read_dir(&dir)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(before.len(), after.len());
        assert_eq!(tables.len(), 2);
        let t = &tables[0];
        assert_eq!(
            (t.name.as_str(), t.columns.join(","), t.looked_at),
            ("t", "id,n,b".into(), 3)
        );
        assert_eq!(t.rows.len(), 2);
        assert_eq!(t.rows[0][2], Cell::Blob(vec![0, 255]));
        assert!(tables[1].sql.starts_with("CREATE VIEW"));
        assert!(builds("CREATE TABLE x (a); INSERT INTO x VALUES (1);").is_ok());
        assert!(builds("CREATE TABLE x (a); INSERT INTO y VALUES (1);").is_err());
        assert!(dump(&world, &dir.path().join("gone"), &mut |_, _, _| true).is_err());
    }
}
