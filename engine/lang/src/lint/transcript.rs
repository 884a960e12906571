//! Transcripts: one place below a root, statements that only select, columns that exist.

use super::databases::table_name;
use super::sql::not_one_select;
use super::{Known, Lint};
use crate::at::{At, Span};
use crate::codes;
use crate::cond::Cond;
use crate::fields::TEMPLATE_NAMES;
use crate::rule::{SqliteTranscript, Transcript};
use crate::scalar::{OneOrMany, Pointer};
use crate::secrets::is_secret_path;
use crate::template::{Piece, Template};
use std::collections::BTreeSet;

pub(super) fn check(lint: &mut Lint) {
    let Some(transcript) = &lint.rule.transcript else {
        return;
    };
    if transcript.file.is_some() == transcript.sqlite.is_some() {
        let at = lint.place(transcript.span);
        let message = "a transcript stands in one place: `file` or `sqlite`".into();
        let help = "name the file of JSON Lines, or the database".into();
        lint.error(codes::INCOMPLETE, at, "neither or both", message, help);
    }
    if let Some(path) = transcript.path() {
        place(lint, path);
    }
    if let Some(sqlite) = &transcript.sqlite {
        database(lint, sqlite);
        if !transcript.also.is_empty() {
            let at = lint.key(&["transcript", "also"]);
            let message = "`also` is for files, and these messages stand in a database";
            lint.no_effect(at, message, "leave `also` out");
        }
    }
    records(lint, transcript);
}

/// A path that a row gives, or that goes on below a root.
fn place(lint: &mut Lint, path: &At<Template>) {
    let roots = lint.rule.roots.keys().map(String::as_str);
    let known = lint.row().and(TEMPLATE_NAMES).and(roots);
    lint.template(path, &known);
    let at = lint.place(path.span);
    let starts_with_field = matches!(path.pieces().first(), Some(Piece::Field(_)));
    let text = path.as_str();
    if !starts_with_field || text.split(['/', '\\']).any(|part| part == "..") {
        let message = format!("the transcript `{text}` does not stay below a root");
        let help = "start with a field that holds a path, or with `{root}/`, without `..`";
        lint.error(
            codes::PATH_ESCAPES,
            at,
            "leaves the roots",
            message,
            help.into(),
        );
    } else if is_secret_path(text) {
        lint.secret(text, at);
    }
}

fn database(lint: &mut Lint, sqlite: &SqliteTranscript) {
    let known = lint.row().and(TEMPLATE_NAMES);
    lint.template(&sqlite.session, &known);
    let row = lint.row();
    for select in &sqlite.select {
        let at = lint.place(select.span);
        if let Some(when) = &select.when {
            lint.condition(when, at, &row);
        }
        for need in select.when_table.iter().flat_map(|needs| needs.iter()) {
            table_name(lint, need);
        }
        let at = lint.place(select.sql.span);
        if let Some(why) = not_one_select(&select.sql) {
            let message = format!("the SQL of the transcript is not one SELECT: {why}");
            let help = "write one `SELECT …`; the engine never changes a store".into();
            lint.error(codes::BAD_SQL, at, "not one SELECT", message, help);
        } else if !select.sql.contains("?1") {
            let message = "the SQL of the transcript is not about one session".into();
            let help = "compare with `?1`, which stands for `session`".into();
            lint.error(codes::BAD_SQL, at, "no `?1`", message, help);
        }
    }
    let parts = [
        (sqlite.select.is_empty(), "select", "statements"),
        (sqlite.columns.is_empty(), "columns", "columns"),
    ];
    for (empty, key, what) in parts {
        if empty {
            let at = lint.key(&["transcript", "sqlite", key]);
            let message = format!("the transcript has no {what}");
            let help = format!("name its {what}");
            lint.error(codes::INCOMPLETE, at, "empty", message, help);
        }
    }
}

/// Conditions and pointers of the records. In a database a pointer starts with a column.
fn records(lint: &mut Lint, transcript: &Transcript) {
    let columns: Option<BTreeSet<String>> = transcript.sqlite.as_ref().map(|sqlite| {
        let names = sqlite.columns.keys();
        names.map(|name| format!("/{name}")).collect()
    });
    let groups = [&transcript.message, &transcript.done, &transcript.failed];
    for record in groups.into_iter().flatten() {
        filter(lint, record.filter.as_ref(), record.span);
        if let Some(columns) = &columns {
            let lists = [&record.text, &record.id, &record.turn, &record.prompt];
            pointers(lint, record.filter.as_ref(), &lists, columns);
        }
    }
    for undo in &transcript.undo {
        filter(lint, undo.filter.as_ref(), undo.span);
        if let Some(columns) = &columns {
            pointers(lint, undo.filter.as_ref(), &[&undo.prompt], columns);
        }
    }
}

fn filter(lint: &mut Lint, filter: Option<&Cond>, span: Span) {
    if let Some(filter) = filter {
        let known = Known::of("a record", BTreeSet::new()).and_pointers();
        let at = lint.place(span);
        lint.condition(filter, at, &known);
    }
}

fn pointers(
    lint: &mut Lint,
    filter: Option<&Cond>,
    lists: &[&OneOrMany<At<Pointer>>],
    columns: &BTreeSet<String>,
) {
    let known = Known::of("a record of the database", columns.clone());
    let mut tested = Vec::new();
    if let Some(filter) = filter {
        filter.each_field(&mut |name, _| tested.push((name.value.clone(), name.span)));
    }
    let read = lists.iter().flat_map(|list| list.iter());
    tested.extend(read.map(|at: &At<Pointer>| (at.as_str().to_owned(), at.span)));
    for (pointer, span) in tested {
        let column = pointer.split('/').nth(1).unwrap_or_default();
        let at = lint.place(span);
        lint.known_field(&format!("/{column}"), at, &known);
    }
}
