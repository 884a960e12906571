//! Whether SQLite understands a statement, without the provider's database.
//!
//! The tables and columns it names are made up as SQLite asks for them, so that what is left
//! is wrong with the statement itself: syntax, functions, aggregates. It is never run.

use super::guard;
use crate::Cancel;
use rusqlite::{Connection, Error};

/// A table or column is made up at most so many times.
const ROUNDS: usize = 200;
/// The column of a made-up table that nobody named; it shows through `*`.
const UNNAMED: &str = "axiowl_unnamed";

/// What SQLite says about a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlProblem {
    /// In SQLite's words.
    pub message: String,
    /// The byte of the statement it is about, where SQLite knows.
    pub offset: Option<usize>,
}

/// Compiles a statement. The answer is the columns it gives, as far as they are known: nothing
/// when `*` gives those of the table.
///
/// # Errors
/// What SQLite says is wrong.
pub fn check_sql(sql: &str) -> Result<Option<Vec<String>>, SqlProblem> {
    let mut made = Made::default();
    for _ in 0..ROUNDS {
        match compile(sql, &made) {
            Ok(columns) => {
                let all_named = !columns.iter().any(|name| name.starts_with(UNNAMED));
                return Ok(all_named.then_some(columns));
            }
            Err(problem) if made.up(&problem.message) => {}
            Err(problem) => return Err(problem),
        }
    }
    // A statement that asks for more than that is not one to judge.
    Ok(None)
}

fn compile(sql: &str, made: &Made) -> Result<Vec<String>, SqlProblem> {
    let answer = || {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(&made.ddl())?;
        guard::restrict(&mut connection, guard::TIME, &Cancel::default())?;
        let statement = connection.prepare(sql)?;
        Ok(statement.column_names().map(str::to_owned).collect())
    };
    answer().map_err(|error: Error| match error {
        Error::SqlInputError { msg, offset, .. } => SqlProblem {
            message: msg,
            offset: usize::try_from(offset).ok(),
        },
        other => SqlProblem {
            message: other.to_string(),
            offset: None,
        },
    })
}

/// Tables made up so far, with their columns.
#[derive(Default)]
struct Made {
    tables: Vec<(String, Vec<String>)>,
}

impl Made {
    /// Makes up what a message misses; false when it misses nothing that could be made up, or
    /// has it already.
    fn up(&mut self, message: &str) -> bool {
        if let Some(table) = message.strip_prefix("no such table: ") {
            let table = table.rsplit('.').next().unwrap_or(table).to_owned();
            let new = !self.tables.iter().any(|(name, _)| *name == table);
            if new {
                self.tables.push((table, Vec::new()));
            }
            return new;
        }
        let joined = message
            .strip_prefix("cannot join using column ")
            .and_then(|rest| rest.split(" - ").next());
        let Some(column) = message.strip_prefix("no such column: ").or(joined) else {
            return false;
        };
        let (qualified, column) = match column.rsplit_once('.') {
            Some((_, column)) => (true, column),
            None => (joined.is_some(), column),
        };
        // One table gets a column that is named alone, or it would be ambiguous.
        let wanting = if qualified { self.tables.len() } else { 1 };
        let mut new = false;
        for (_, columns) in self.tables.iter_mut().take(wanting) {
            if !columns.iter().any(|known| known == column) {
                columns.push(column.to_owned());
                new = true;
            }
        }
        new
    }

    fn ddl(&self) -> String {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let tables = self.tables.iter().enumerate();
        tables
            .map(|(number, (name, columns))| {
                let columns: String = columns.iter().map(|c| format!(", {}", quoted(c))).collect();
                format!(
                    "CREATE TABLE {} ({UNNAMED}{number}{columns});",
                    quoted(name)
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_compile_without_a_database() {
        for sql in [
            "SELECT * FROM threads",
            "SELECT id, t.title FROM threads t WHERE archived = 0 ORDER BY updated DESC",
            "SELECT a.id, b.name FROM a JOIN b ON b.id = a.id AND b.x > 1",
            "SELECT id FROM a JOIN b USING (id)",
            "WITH last AS (SELECT max(at) AS at FROM turns) SELECT at FROM last",
            "SELECT key, json_extract(value, '$.x') AS x FROM ItemTable WHERE key LIKE 'a%'",
            "SELECT count(*) AS n FROM (SELECT DISTINCT id FROM t)",
        ] {
            assert!(check_sql(sql).is_ok(), "{sql}: {:?}", check_sql(sql));
        }
        assert_eq!(
            check_sql("SELECT id, title AS name FROM t"),
            Ok(Some(vec!["id".into(), "name".into()]))
        );
        assert_eq!(check_sql("SELECT *, 1 AS x FROM t"), Ok(None));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let problem = check_sql("SELECT id FORM threads").unwrap_err();
        assert_eq!(problem.message, "near \"threads\": syntax error");
        assert_eq!(problem.offset, Some(15));
        let problem = check_sql("SELECT lenght(id) FROM t").unwrap_err();
        assert_eq!(problem.message, "no such function: lenght");
        let problem = check_sql("SELECT readfile('/etc/passwd') FROM t").unwrap_err();
        assert!(problem.message.contains("readfile"), "{problem:?}");
        assert!(check_sql("SELECT id FROM t WHERE count(*) > 1").is_err());
        assert!(check_sql("DELETE FROM t").is_err());
    }
}
