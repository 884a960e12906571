//! Rows of one database by a rule's SELECT.
//!
//! Columns are looked up by name, so a provider may add some. What is missing, too big,
//! too much or damaged is said and costs only itself.

use super::guard::TIME;
use crate::column::{self, Loss};
use crate::file::Hit;
use crate::report::Report;
use crate::{Row, document};
use axiowl_lang::scalar::ColumnKind;
use axiowl_lang::source::Sqlite;
use axiowl_model::{Issue, codes};
use rusqlite::{Connection, Error, ErrorCode};
use serde_json::Value;
use std::collections::BTreeSet;

/// Rows that exploded columns of one database give at most.
const ELEMENTS: usize = 500_000;

/// What one database gave.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub rows: Vec<Row>,
    pub missing: BTreeSet<String>,
    pub report: Report,
}

/// Runs the rule's SELECT. Problems are in the answer's report.
pub(super) fn select(connection: &Connection, rule: &Sqlite, hit: &Hit) -> Found {
    let mut found = Found::default();
    if let Err(error) = run(connection, rule, hit, &mut found) {
        found.failed(&error, rule, hit);
    }
    found
}

/// A declared column, and where it stands in the answer.
struct Column<'r> {
    name: &'r str,
    kind: ColumnKind,
    at: Option<usize>,
}

fn run(connection: &Connection, rule: &Sqlite, hit: &Hit, found: &mut Found) -> Result<(), Error> {
    let Some(sql) = &rule.sql else {
        return Ok(());
    };
    let mut statement = connection.prepare(sql)?;
    let columns = columns(&statement, rule, hit, found);
    let mut rows = statement.query([])?;
    let mut number: u64 = 0;
    while let Some(row) = rows.next()? {
        number += 1;
        if number > rule.max_rows as u64 {
            found.gap(
                hit,
                codes::CAP,
                format!("more than {} rows; the rest was not read", rule.max_rows),
            );
            break;
        }
        let mut out = Row::new();
        for column in &columns {
            let value = match column.at {
                None => Value::Null,
                Some(at) => {
                    let read = column::read(row.get_ref(at)?, column.kind);
                    if let Some(loss) = read.loss {
                        found.lost(hit, number, column.name, loss, rule);
                    }
                    read.value
                }
            };
            out.insert(column.name.to_owned(), value);
        }
        found.add(out, rule, hit);
    }
    Ok(())
}

fn columns<'r>(
    statement: &rusqlite::Statement<'_>,
    rule: &'r Sqlite,
    hit: &Hit,
    found: &mut Found,
) -> Vec<Column<'r>> {
    let there: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut out = Vec::new();
    for (name, wanted) in &rule.columns {
        let at = there
            .iter()
            .position(|column| column.eq_ignore_ascii_case(name));
        if at.is_none() {
            found.missing.insert(name.clone());
            if !wanted.optional {
                let message = format!("the database has no column `{name}`");
                found
                    .report
                    .issue(Issue::new(codes::COLUMN_MISSING, message).at(&hit.recorded));
            }
        }
        out.push(Column {
            name,
            kind: wanted.kind,
            at,
        });
    }
    out
}

impl Found {
    /// Adds a row, or the elements of its exploded column.
    fn add(&mut self, mut row: Row, rule: &Sqlite, hit: &Hit) {
        let Some(each) = &rule.each else {
            self.rows.push(row);
            return;
        };
        let column = each.column.as_deref().unwrap_or_default();
        let Some(value) = row.get_mut(column).map(Value::take) else {
            return;
        };
        for other in row.values_mut().filter(|v| v.is_array() || v.is_object()) {
            // A list in every row would cost the square of the cell.
            *other = Value::Null;
        }
        match document::elements(each, &value, &row) {
            Some(rows) if self.rows.len() + rows.len() > ELEMENTS => {
                self.gap(
                    hit,
                    codes::CAP,
                    format!("`{column}` holds more than {ELEMENTS} elements"),
                );
            }
            Some(rows) => self.rows.extend(rows),
            None if value.is_null() => {}
            None => self
                .report
                .strange(&hit.recorded, 0, &format!("no list stands in `{column}`")),
        }
    }

    fn lost(&mut self, hit: &Hit, number: u64, column: &str, loss: Loss, rule: &Sqlite) {
        let (code, what) = match loss {
            Loss::Cut => (codes::CAP, format!("was cut after {} bytes", column::TEXT)),
            Loss::TooBig => (
                codes::CAP,
                format!("has more than {} bytes and was not read", column::JSON),
            ),
            Loss::NotJson => (codes::DAMAGED, "is no JSON".to_owned()),
        };
        let issue = Issue::new(code, format!("column `{column}` {what}"))
            .at(&hit.recorded)
            .line(number);
        let explodes = rule
            .each
            .as_ref()
            .is_some_and(|each| each.column.as_deref() == Some(column));
        if explodes && loss != Loss::Cut {
            self.report.gap(issue);
        } else {
            self.report.issue(issue);
        }
    }

    fn gap(&mut self, hit: &Hit, code: &str, message: String) {
        self.report.gap(Issue::new(code, message).at(&hit.recorded));
    }

    /// Rows that were read before a failure stay.
    fn failed(&mut self, error: &Error, rule: &Sqlite, hit: &Hit) {
        let text = match error {
            Error::SqlInputError { msg, .. } => msg.clone(),
            other => other.to_string(),
        };
        if let Some(column) = text.strip_prefix("no such column: ") {
            let bare = column.rsplit('.').next().unwrap_or(column);
            if rule.columns.contains_key(bare) {
                self.missing.insert(bare.to_owned());
            }
            return self.gap(
                hit,
                codes::COLUMN_MISSING,
                format!("the database has no column `{column}`"),
            );
        }
        if let Some(table) = text.strip_prefix("no such table: ") {
            self.missing.extend(rule.columns.keys().cloned());
            self.report
                .strange(&hit.recorded, 0, &format!("it has no table `{table}`"));
            return self.gap(
                hit,
                codes::DRIFT,
                format!("the database has no table `{table}`"),
            );
        }
        let read = self.rows.len();
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => {
                let message = format!("the query took longer than {TIME:?}; {read} rows were read");
                self.gap(hit, codes::CAP, message);
            }
            Some(ErrorCode::TooBig) => {
                let message =
                    format!("a row is too big to be read; the {read} rows before it were read");
                self.gap(hit, codes::CAP, message);
            }
            Some(ErrorCode::AuthorizationForStatementDenied) => {
                self.gap(
                    hit,
                    codes::RULE_BROKEN,
                    format!("a rule may only SELECT: {text}"),
                );
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                self.gap(
                    hit,
                    codes::BUSY,
                    format!("{text}; the last known rows stay"),
                );
            }
            _ => self.gap(
                hit,
                codes::DAMAGED,
                format!("{text}; {read} rows were read"),
            ),
        }
    }
}
