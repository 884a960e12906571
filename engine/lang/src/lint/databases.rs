//! SQLite sources: one SELECT each, columns, named keys.

use super::sql::not_one_select;
use super::{Known, Lint};
use crate::at::At;
use crate::codes;
use crate::scalar::ColumnKind;
use crate::source::{KeyValue, Pick, Sqlite};
use std::collections::BTreeSet;

pub(super) fn check(lint: &mut Lint, name: &str, sqlite: &Sqlite) {
    match &sqlite.key_value {
        Some(keys) => key_value(lint, name, sqlite, keys),
        None => statements(lint, name, sqlite),
    }
    let columns: BTreeSet<String> = sqlite.columns.keys().cloned().collect();
    let known = Known::of(format!("the source `{name}`"), columns);
    if let Some(tie) = &sqlite.tie {
        let at = lint.key(&["sources", name, "sqlite", "tie"]);
        if sqlite.pick == Pick::All {
            let message = "`tie` decides between files, and `pick: all` reads every one";
            lint.no_effect(at, message, "set `pick`, or leave `tie` out");
        } else {
            lint.known_field(tie, at, &known);
        }
    }
    for column in sqlite.protobuf.keys() {
        let at = lint.key(&["sources", name, "sqlite", "protobuf", column]);
        if lint.known_field(column, at.clone(), &known)
            && sqlite.columns[column].kind != ColumnKind::Blob
        {
            let message = format!("`protobuf` looks into the column `{column}`, which is no blob");
            lint.no_effect(at, &message, "give the column the type `blob`");
        }
    }
    if let Some(each) = &sqlite.each {
        match &each.column {
            Some(column) => {
                let at = lint.key(&["sources", name, "sqlite", "each", "column"]);
                lint.known_field(column, at, &known);
            }
            None => {
                let at = lint.key(&["sources", name, "sqlite", "each"]);
                let message = format!("`each` of `{name}` names no column");
                let help = "add `column:`, the JSON column whose elements become rows".into();
                lint.error(codes::INCOMPLETE, at, "which column?", message, help);
            }
        }
    }
}

fn statements(lint: &mut Lint, name: &str, sqlite: &Sqlite) {
    for (needs, sql) in sqlite.statements() {
        if let Some(why) = not_one_select(sql) {
            let at = lint.place(sql.span);
            let message = format!("the SQL of `{name}` is not one SELECT: {why}");
            let help = "write one `SELECT …`; the engine never changes a store".into();
            lint.error(codes::BAD_SQL, at, "not one SELECT", message, help);
        }
        for need in needs {
            table_name(lint, need);
        }
    }
    if sqlite.sql.is_none() {
        let at = lint.key(&["sources", name, "sqlite"]);
        let message = format!("the source `{name}` has neither `sql` nor `key_value`");
        let help = "write one `SELECT …` under `sql:`".into();
        lint.error(codes::INCOMPLETE, at, "reads nothing", message, help);
    }
    if !sqlite.instead.is_empty() && sqlite.when_table.is_none() {
        let at = lint.key(&["sources", name, "sqlite", "instead"]);
        let message = "`sql` is always run, so nothing comes `instead` of it";
        lint.no_effect(at, message, "say when `sql` is run: `when_table: <table>`");
    }
    if sqlite.columns.is_empty() {
        let at = lint.key(&["sources", name, "sqlite", "columns"]);
        let message = format!("the source `{name}` has no columns");
        let help = "name the columns that are read, with their types".into();
        lint.error(codes::INCOMPLETE, at, "empty", message, help);
    }
}

fn key_value(lint: &mut Lint, name: &str, sqlite: &Sqlite, keys: &KeyValue) {
    let place = |lint: &Lint, word: &str| {
        let (file, at) = lint.key(&["sources", name, "sqlite", word]);
        (file.clone(), at)
    };
    let beside = [
        (sqlite.sql.is_some(), "sql"),
        (sqlite.when_table.is_some(), "when_table"),
        (!sqlite.instead.is_empty(), "instead"),
        (!sqlite.columns.is_empty(), "columns"),
        (!sqlite.protobuf.is_empty(), "protobuf"),
        (sqlite.each.is_some(), "each"),
    ];
    for (_, word) in beside.iter().filter(|(given, _)| *given) {
        let (file, at) = place(lint, word);
        let message = format!("`{word}` does nothing beside `key_value`");
        lint.no_effect(
            (&file, at),
            &message,
            "put it within `key_value`, or leave it out",
        );
    }
    let (file, at) = place(lint, "key_value");
    if keys.keys.is_empty() == keys.prefix.is_none() {
        let message = format!("`key_value` of `{name}` needs either `keys` or `prefix`");
        let help = "name the keys whose values are read".into();
        lint.error(
            codes::INCOMPLETE,
            (&file, at.clone()),
            "which keys?",
            message,
            help,
        );
    }
    let json = !keys.fields.is_empty() || keys.each.is_some();
    match &keys.protobuf {
        Some(_) if json => lint.no_effect(
            (&file, at),
            "`fields` and `each` read JSON, and `protobuf` says the value is none",
            "keep the one that is meant",
        ),
        Some(message) if message.fields.is_empty() && message.each.is_none() => {
            lint.takes_nothing((&file, at), name)
        }
        None if !json => lint.takes_nothing((&file, at), name),
        _ => {}
    }
    if keys.each.as_ref().is_some_and(|each| each.column.is_some()) {
        let at = lint.key(&["sources", name, "sqlite", "key_value", "each", "column"]);
        let message = "`each.column` names a column, and a value has none";
        lint.no_effect(
            at,
            message,
            "leave `column` out; `at` says where the list stands",
        );
    }
    for identifier in [&keys.table, &keys.key, &keys.value] {
        table_name(lint, identifier);
    }
}

/// `table` or `table.column`.
pub(super) fn table_name(lint: &mut Lint, name: &At<String>) {
    let word =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    let parts: Vec<&str> = name.split('.').collect();
    if parts.len() > 2 || !parts.into_iter().all(word) {
        let at = lint.place(name.span);
        let message = format!("`{}` is no table or column", name.value);
        let help = "write `table` or `table.column`".into();
        lint.error(codes::BAD_SQL, at, "no such name", message, help);
    }
}
