//! Rows of one database by a rule's SELECT.
//!
//! Columns are looked up by name, so a provider may add some. What is missing, too big,
//! too much or damaged is said and costs only itself.

use super::guard::TIME;
use super::keys;
use crate::column::{self, Loss};
use crate::file::Hit;
use crate::report::Report;
use crate::{Name, Row, document, wire};
use axiowl_lang::scalar::ColumnKind;
use axiowl_lang::source::{ProtoColumn, Sqlite};
use axiowl_model::{Issue, codes};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode};
use serde_json::Value;
use std::collections::BTreeSet;

/// Rows that exploded columns of one database give at most.
pub(super) const ELEMENTS: usize = 500_000;

/// What one database gave.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub rows: Vec<Row>,
    /// The fields of a named key's value.
    pub doc: Option<Row>,
    pub missing: BTreeSet<String>,
    pub report: Report,
    /// Its tables are there, and hold no row.
    pub vacant: bool,
    /// It has none of the tables that the rule asks for first.
    pub not_meant: bool,
}

/// Reads a database by its rule. Problems are in the answer's report.
pub(super) fn select(connection: &Connection, rule: &Sqlite, hit: &Hit) -> Found {
    let mut found = Found::default();
    let read = match &rule.key_value {
        Some(keys) => keys::run(connection, keys, rule, hit, &mut found),
        None => run(connection, rule, hit, &mut found),
    };
    if let Err(error) = read {
        found.failed(&error, rule, hit);
    }
    found
}

/// A declared column, and where it stands in the answer.
struct Column<'r> {
    name: Name,
    kind: ColumnKind,
    at: Option<usize>,
    message: Option<&'r ProtoColumn>,
}

/// The first statement whose tables and columns are all there.
fn fitting<'r>(connection: &Connection, rule: &'r Sqlite) -> Result<Option<&'r str>, Error> {
    for (needs, sql) in rule.statements() {
        let mut all = true;
        for need in needs {
            all &= is_there(connection, need)?;
        }
        if all {
            return Ok(Some(sql.as_str()));
        }
    }
    Ok(None)
}

/// Whether a table, or a column of one (`table.column`), exists.
pub(super) fn is_there(connection: &Connection, name: &str) -> Result<bool, Error> {
    let (table, column) = match name.split_once('.') {
        Some((table, column)) => (table, Some(column)),
        None => (name, None),
    };
    let sql = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE";
    let mut statement = connection.prepare(sql)?;
    if !statement.exists([table])? {
        return Ok(false);
    }
    let Some(column) = column else {
        return Ok(true);
    };
    let sql = format!("SELECT * FROM {} LIMIT 0", quoted(table));
    let statement = connection.prepare(&sql)?;
    let mut names = statement.column_names();
    Ok(names.any(|name| name.eq_ignore_ascii_case(column)))
}

/// A name of a table or column, so that it cannot be anything else.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn run(connection: &Connection, rule: &Sqlite, hit: &Hit, found: &mut Found) -> Result<(), Error> {
    let Some(sql) = fitting(connection, rule)? else {
        found.not_meant = true;
        return Ok(());
    };
    let mut statement = connection.prepare(sql)?;
    let columns = columns(&statement, rule, hit, found);
    let mut base = match rule.file_fields {
        true => hit.fields(),
        false => Row::new(),
    };
    // A null in a column stands below all rows once, as do the fields of the file.
    for column in &columns {
        base.insert(column.name, Value::Null);
    }
    let mut given = Vec::with_capacity(columns.len());
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
        // Fields of a message and columns may replace each other.
        let mut with_messages = (!rule.protobuf.is_empty()).then(|| base.clone());
        for column in &columns {
            let cell = match column.at {
                None => None,
                Some(at) => Some(row.get_ref(at)?),
            };
            let value = cell.map_or(Value::Null, |cell| {
                let read = column::read(cell, column.kind);
                if let Some(loss) = read.loss {
                    found.lost(hit, number, &column.name, loss, rule);
                }
                read.value
            });
            match &mut with_messages {
                Some(out) => {
                    if let Some(message) = column.message {
                        found.message(hit, number, column, message, cell, out);
                    }
                    out.insert(column.name, value);
                }
                None if value.is_null() => {}
                None => given.push((column.name, value)),
            }
        }
        let row = with_messages.unwrap_or_else(|| Row::over_with(&base, given.drain(..)));
        found.add(row, rule, hit);
    }
    found.vacant = number == 0;
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
            name: name.into(),
            kind: wanted.kind,
            at,
            message: rule.protobuf.get(name),
        });
    }
    out
}

impl Found {
    /// Puts the fields of a message in a cell into its row. A cell without a value, or without
    /// bytes, has none; that is no damage.
    fn message(
        &mut self,
        hit: &Hit,
        number: u64,
        column: &Column<'_>,
        message: &ProtoColumn,
        cell: Option<ValueRef<'_>>,
        out: &mut Row,
    ) {
        let bytes = match cell {
            Some(ValueRef::Blob(bytes) | ValueRef::Text(bytes)) => bytes,
            _ => &[],
        };
        let decoded = wire::decoded(bytes, message.encoding);
        let whole = decoded.filter(|bytes| wire::is_message(bytes));
        if whole.is_none() {
            let message = format!("column `{}` is no protobuf message", column.name);
            let issue = Issue::new(codes::DAMAGED, message).at(&hit.recorded);
            self.report.issue(issue.line(number));
        }
        wire::take(&message.fields, &whole.unwrap_or_default(), out);
    }

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
            Some(rows) => self.extend(rows, hit, column),
            None if value.is_null() => {}
            None => self
                .report
                .strange(&hit.recorded, 0, &format!("no list stands in `{column}`")),
        }
    }

    /// Adds the elements of a list, unless they are too many.
    pub(super) fn extend(&mut self, rows: Vec<Row>, hit: &Hit, what: &str) {
        if self.rows.len() + rows.len() > ELEMENTS {
            let message = format!("`{what}` holds more than {ELEMENTS} elements");
            return self.gap(hit, codes::CAP, message);
        }
        self.rows.extend(rows);
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

    pub(super) fn gap(&mut self, hit: &Hit, code: &str, message: String) {
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
                let message = format!(
                    "the query took longer than {TIME:?}, or the run was ended; {read} rows were read"
                );
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
