//! Sources: settings that fit together, fields that exist where they are used.

use super::paths::{inside, root, source_path};
use super::sql::not_one_select;
use super::{Known, Lint, Place, is_plain_name};
use crate::at::At;
use crate::codes;
use crate::fields;
use crate::scalar::ByteSize;
use crate::source::{
    Document, FILE_FIELDS, FileFact, Folder, Jsonl, Per, Pick, Source, Sqlite, Take,
};
use std::collections::BTreeSet;

pub(super) fn check(lint: &mut Lint) {
    let rule = lint.rule;
    for (name, candidates) in &rule.roots {
        if !is_plain_name(name) {
            lint.bad_name("root", name, &["roots", name]);
        }
        for candidate in candidates.iter() {
            root(lint, candidate);
        }
    }
    for (name, source) in &rule.sources {
        if !is_plain_name(name) {
            lint.bad_name("source", name, &["sources", name]);
        }
        if source.paths().is_empty() {
            let at = lint.key(&["sources", name, source.reader(), "path"]);
            let message = format!("the source `{name}` has no path");
            let help = "name a file below a root: `{root}/…`".into();
            lint.error(codes::INCOMPLETE, at, "empty", message, help);
        }
        for path in source.paths() {
            source_path(lint, name, source, path);
        }
        own_fields(lint, name, source);
        match source {
            Source::Sqlite(sqlite) => database(lint, name, sqlite),
            Source::Jsonl(jsonl) => lines(lint, name, jsonl),
            Source::Json(doc) | Source::Yaml(doc) => document(lint, name, source.reader(), doc),
            Source::Folder(folder) => folder_files(lint, name, folder),
        }
    }
}

/// Names that the rule gives to the fields of a source.
fn own_fields(lint: &mut Lint, name: &str, source: &Source) {
    let reader = source.reader();
    let from_file = !matches!(source, Source::Sqlite(_));
    let mut given: Vec<(&str, Vec<&str>)> = Vec::new();
    match source {
        Source::Sqlite(s) => {
            let path = vec!["sources", name, reader, "columns"];
            given.extend(s.columns.keys().map(|k| (k.as_str(), path.clone())));
        }
        Source::Json(s) | Source::Yaml(s) => {
            let path = vec!["sources", name, reader, "fields"];
            given.extend(s.fields.keys().map(|k| (k.as_str(), path.clone())));
        }
        Source::Folder(s) => {
            let path = vec!["sources", name, reader, "fields"];
            given.extend(s.fields.keys().map(|k| (k.as_str(), path.clone())));
        }
        Source::Jsonl(s) => {
            for (i, take) in s.take.iter().enumerate() {
                let path = vec![
                    "sources",
                    name,
                    reader,
                    "take",
                    INDEX[i.min(INDEX.len() - 1)],
                ];
                let path = [path.as_slice(), &["fields"]].concat();
                given.extend(take.fields.keys().map(|k| (k.as_str(), path.clone())));
            }
        }
    }
    if let Some(each) = source.each() {
        let path = vec!["sources", name, reader, "each", "fields"];
        given.extend(each.fields.keys().map(|k| (k.as_str(), path.clone())));
    }
    for (field, mut path) in given {
        path.push(field);
        lint.own_name(field, &path);
        if from_file && FILE_FIELDS.contains(&field) {
            let at = lint.key(&path);
            let message = format!("a field cannot be called `{field}`: every file has one");
            let help = "take another name".into();
            lint.error(codes::RESERVED_NAME, at, "reserved", message, help);
        }
    }
}

/// List positions as steps of a path; the rest share the last one's place.
const INDEX: [&str; 16] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
];

fn database(lint: &mut Lint, name: &str, sqlite: &Sqlite) {
    if let Some(why) = not_one_select(&sqlite.sql) {
        let at = lint.place(sqlite.sql.span);
        let message = format!("the SQL of `{name}` is not one SELECT: {why}");
        let help = "write one `SELECT …`; the engine never changes a store".into();
        lint.error(codes::BAD_SQL, at, "not one SELECT", message, help);
    }
    let columns: BTreeSet<String> = sqlite.columns.keys().cloned().collect();
    if columns.is_empty() {
        let at = lint.key(&["sources", name, "sqlite", "columns"]);
        let message = format!("the source `{name}` has no columns");
        let help = "name the columns that are read, with their types".into();
        lint.error(codes::INCOMPLETE, at, "empty", message, help);
    }
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

fn lines(lint: &mut Lint, name: &str, jsonl: &Jsonl) {
    let key = |lint: &Lint, word: &str| {
        let (file, at) = lint.key(&["sources", name, "jsonl", word]);
        (file.clone(), at)
    };
    let all = fields::source_fields(lint.rule, name);
    if jsonl.take.is_empty() {
        let (file, at) = key(lint, "take");
        let message = format!("the source `{name}` takes nothing from its lines");
        let help = "add a take with `fields:`".into();
        lint.error(codes::INCOMPLETE, (&file, at), "empty", message, help);
    }
    if jsonl.head == ByteSize(0) && jsonl.tail == ByteSize(0) {
        let (file, at) = key(lint, "head");
        let message = "with `head: 0` and no `tail`, nothing of the file is read";
        lint.no_effect((&file, at), message, "give one of them a size");
    }
    // What is known before a line is read: of the row that names the file, or of the file.
    let source = lint.rule.sources.get(name);
    let before: BTreeSet<String> = match source.and_then(fields::followed_source) {
        Some(other) => fields::source_fields(lint.rule, other),
        None => file_fields(jsonl),
    };
    if let Some(when) = &jsonl.when {
        let (file, at) = lint.key(&["sources", name, "jsonl", "when"]);
        let known = Known::of("a file that is not open yet", before);
        lint.condition(when, (file, at), &known);
    }
    let known = Known::of(format!("the source `{name}`"), all);
    for (field, other) in &jsonl.unless_in {
        let at = lint.key(&["sources", name, "jsonl", "unless_in", field]);
        lint.known_field(field, at, &known);
        lint.foreign_field(other);
    }
    if let Some(last_by) = &jsonl.last_by {
        let at = lint.place(last_by.span);
        if jsonl.per == Per::File {
            let message = "`last_by` chooses between lines, and this source has one row a file";
            lint.no_effect(at, message, "set `per: line`, or leave `last_by` out");
        } else {
            lint.known_field(last_by, at, &known);
        }
    }
    for take in &jsonl.take {
        one_take(lint, jsonl, take);
    }
}

fn file_fields(jsonl: &Jsonl) -> BTreeSet<String> {
    let groups = jsonl
        .name
        .iter()
        .flat_map(|n| n.0.capture_names().flatten());
    groups.chain(FILE_FIELDS).map(str::to_owned).collect()
}

fn one_take(lint: &mut Lint, jsonl: &Jsonl, take: &At<Take>) {
    if let Some(filter) = &take.filter {
        let known = Known::of("a line", file_fields(jsonl)).and_pointers();
        let at = lint.place(take.span);
        lint.condition(filter, at, &known);
    }
    match &take.skip_empty {
        Some(field) => {
            let known = Known::of("this take", take.fields.keys().cloned().collect());
            let at = lint.place(field.span);
            lint.known_field(field, at, &known);
        }
        None if !take.skip_matching.is_empty() => {
            let at = lint.place(take.skip_matching[0].span);
            let message = "`skip_matching` looks at the field of `skip_empty`, which is not set";
            lint.no_effect(at, message, "add `skip_empty: <field>`");
        }
        None => {}
    }
    if take.prefix && jsonl.per == Per::Line {
        let at = lint.place(take.span);
        let message = "`prefix` reads the first line of a file, and this source has a row a line";
        lint.no_effect(at, message, "leave `prefix` out, or read one row a file");
    }
}

fn document(lint: &mut Lint, name: &str, reader: &str, document: &Document) {
    if document
        .each
        .as_ref()
        .is_some_and(|each| each.column.is_some())
    {
        let at = lint.key(&["sources", name, reader, "each", "column"]);
        let message = "`each.column` names a database column, and this source has none";
        lint.no_effect(
            at,
            message,
            "leave `column` out; `at` says where the list stands",
        );
    }
}

fn folder_files(lint: &mut Lint, name: &str, folder: &Folder) {
    if let Some(needs) = &folder.needs {
        let at = lint.key(&["sources", name, "folder", "needs"]);
        inside(lint, needs, at);
    }
    for field in folder.fields.values() {
        let at = lint.place(field.span);
        inside(lint, &field.file, at.clone());
        let ways = [
            field.json.is_some(),
            field.yaml.is_some(),
            field.matches.is_some(),
            field.what.is_some(),
        ];
        if ways.iter().filter(|w| **w).count() > 1 {
            let message = "`json`, `yaml`, `matches` and `what` exclude each other";
            lint.no_effect(at, message, "keep the one that is meant");
        } else if field.file.contains('*')
            && !matches!(field.what, Some(FileFact::Count | FileFact::Newest))
        {
            let message = "a name with `*` fits several files";
            lint.no_effect(at, message, "use `what: count` or `what: newest`");
        }
    }
}

impl Lint<'_> {
    /// `source.field` of another source.
    fn foreign_field(&mut self, name: &At<String>) {
        let at = self.place(name.span);
        let Some((source, field)) = name.split_once('.') else {
            let message = format!("`{}` names no field of a source", name.value);
            let help = "write `source.field`".into();
            return self.error(codes::UNKNOWN_FIELD, at, "which source?", message, help);
        };
        if self.rule.sources.contains_key(source) {
            let fields = fields::source_fields(self.rule, source);
            let known = Known::of(format!("the source `{source}`"), fields);
            self.known_field(field, at, &known);
        } else {
            self.unknown_source(source, name.span);
        }
    }

    fn no_effect(&mut self, at: Place, message: &str, help: &str) {
        self.error(
            codes::NO_EFFECT,
            at,
            "does nothing",
            message.into(),
            help.into(),
        );
    }

    fn bad_name(&mut self, what: &str, name: &str, path: &[&str]) {
        let at = self.key(path);
        let message = format!("a {what} cannot be called `{name}`");
        let help = "names are made of letters, digits, `_` and `-`".into();
        self.error(codes::RESERVED_NAME, at, "not a name", message, help);
    }
}
