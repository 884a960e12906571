//! Sources that are read whole: documents, texts, tables, messages, folders, commands.

use super::paths::inside;
use super::{Lint, Place};
use crate::codes;
use crate::source::{Command, Document, FileFact, Folder, FolderField, Source};
use std::path::Path;

pub(super) fn check(lint: &mut Lint, name: &str, source: &Source) {
    match source {
        Source::Json(doc) => document(lint, name, "json", doc),
        Source::Yaml(doc) => document(lint, name, "yaml", doc),
        Source::Toml(doc) => document(lint, name, "toml", doc),
        Source::Folder(folder) => folder_files(lint, folder),
        Source::Command(command) => program(lint, name, command),
        Source::Files(_)
        | Source::MutationLog(_)
        | Source::Text(_)
        | Source::PbText(_)
        | Source::Protobuf(_)
        | Source::Tsv(_) => {}
        Source::Sqlite(_) | Source::Jsonl(_) => return,
    }
    let by_name = matches!(source, Source::Folder(_) | Source::Files(_));
    if source.own_fields().is_empty() && !by_name {
        let at = lint.key(&["sources", name, source.reader()]);
        lint.takes_nothing(at, name);
    }
}

fn document(lint: &mut Lint, name: &str, reader: &str, document: &Document) {
    let column = |each: &crate::source::Each| each.column.is_some();
    if document.each.as_ref().is_some_and(column) {
        let at = lint.key(&["sources", name, reader, "each", "column"]);
        let message = "`each.column` names a database column, and this source has none";
        lint.no_effect(
            at,
            message,
            "leave `column` out; `at` says where the list stands",
        );
    }
    if document.comments && reader != "json" {
        let at = lint.key(&["sources", name, reader, "comments"]);
        let message = format!("`comments` is for JSON; {reader} has comments of its own");
        lint.no_effect(at, &message, "leave `comments` out");
    }
}

fn folder_files(lint: &mut Lint, folder: &Folder) {
    for needed in folder.needs.iter().flat_map(|needs| needs.iter()) {
        let at = lint.place(needed.span);
        inside(lint, needed, at);
    }
    for field in folder.fields.values() {
        let at = lint.place(field.span);
        inside(lint, &field.file, at.clone());
        folder_field(lint, field, at);
    }
}

fn folder_field(lint: &mut Lint, field: &FolderField, at: Place) {
    let ways = [
        field.json.is_some(),
        field.yaml.is_some(),
        field.toml.is_some(),
        field.first_line.is_some(),
        field.last_line.is_some(),
        field.matches.is_some(),
        field.what.is_some(),
    ];
    if ways.iter().filter(|w| **w).count() > 1 {
        let message = "`json`, `yaml`, `toml`, `first_line`, `last_line`, `matches` and `what` exclude each other";
        lint.no_effect(at, message, "keep the one that is meant");
    } else if field.file.contains('*')
        && !matches!(field.what, Some(FileFact::Count | FileFact::Newest))
    {
        let message = "a name with `*` fits several files";
        lint.no_effect(at, message, "use `what: count` or `what: newest`");
    } else if field.comments && field.json.is_none() {
        let message = "`comments` is for `json`";
        lint.no_effect(at, message, "leave `comments` out");
    }
}

/// A command names a program the world can find, and why it may run at all.
fn program(lint: &mut Lint, name: &str, command: &Command) {
    match command.argv.first() {
        None => {
            let at = lint.key(&["sources", name, "command", "argv"]);
            let message = format!("the command `{name}` names no program");
            let help = "write the program and its arguments: `argv: [name, …]`".into();
            lint.error(codes::INCOMPLETE, at, "empty", message, help);
        }
        Some(program) if Path::new(program.as_str()).components().count() != 1 => {
            let at = lint.place(program.span);
            let message = format!("`{}` is a path; a program is named", program.value);
            let help = "name it as on PATH; `executables` in config.yaml says where it lies".into();
            lint.error(codes::COMMAND, at, "not a name", message, help);
        }
        Some(_) => {}
    }
    if command.reason.trim().is_empty() {
        let at = lint.place(command.reason.span);
        let message = format!("the command `{name}` does not say why it may run");
        let help = "say where it was shown to change nothing, and why files do not do".into();
        lint.error(codes::COMMAND, at, "no reason", message, help);
    }
    if command
        .each
        .as_ref()
        .is_some_and(|each| each.column.is_some())
    {
        let at = lint.key(&["sources", name, "command", "each", "column"]);
        let message = "`each.column` names a database column, and this source has none";
        lint.no_effect(
            at,
            message,
            "leave `column` out; `at` says where the list stands",
        );
    }
}

impl Lint<'_> {
    /// A source without any field.
    pub(super) fn takes_nothing(&mut self, at: Place, name: &str) {
        let message = format!("the source `{name}` takes nothing from what it reads");
        let help = "add `fields:`".into();
        self.error(codes::INCOMPLETE, at, "empty", message, help);
    }
}
