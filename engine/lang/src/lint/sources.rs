//! Sources: settings that fit together, fields that exist where they are used.

use super::paths::{root, source_path};
use super::{Known, Lint, Place, is_plain_name};
use super::{databases, documents};
use crate::at::At;
use crate::codes;
use crate::fields;
use crate::scalar::ByteSize;
use crate::source::{
    FILE_FIELDS, Jsonl, KEY_FIELD, Per, STATE_ROOT, Source, TORN_FIELD, Take, Then,
};
use std::collections::BTreeSet;

pub(super) fn check(lint: &mut Lint) {
    let rule = lint.rule;
    for (name, candidates) in &rule.roots {
        if !is_plain_name(name) || name == STATE_ROOT {
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
        let reads_files = !matches!(source, Source::Command(_));
        if reads_files && source.paths().is_empty() {
            let at = lint.key(&["sources", name, source.reader(), "path"]);
            let message = format!("the source `{name}` has no path");
            let help = "name a file below a root: `{root}/…`".into();
            lint.error(codes::INCOMPLETE, at, "empty", message, help);
        }
        for path in source.paths() {
            source_path(lint, name, source, path);
        }
        own_fields(lint, name, source);
        converts(lint, name, source);
        match source {
            Source::Sqlite(sqlite) => databases::check(lint, name, sqlite),
            Source::Jsonl(jsonl) => lines(lint, name, jsonl),
            other => documents::check(lint, name, other),
        }
    }
}

/// Names that the rule gives to the fields of a source.
fn own_fields(lint: &mut Lint, name: &str, source: &Source) {
    let from_file = source.has_file_fields();
    let log = matches!(source, Source::MutationLog(_));
    for (field, path) in source.own_fields() {
        let place = field_place(lint, name, source, &path, field);
        lint.own_name_at(field, place.clone());
        let given = if from_file && FILE_FIELDS.contains(&field) {
            "every file has one"
        } else if log && field == TORN_FIELD {
            "every row of a mutation log has one"
        } else {
            continue;
        };
        let message = format!("a field cannot be called `{field}`: {given}");
        let help = "take another name".into();
        lint.error(codes::RESERVED_NAME, place, "reserved", message, help);
    }
}

/// Where a field of a source gets its name.
fn field_place<'a>(
    lint: &Lint<'a>,
    name: &str,
    source: &Source,
    path: &[&str],
    field: &str,
) -> Place<'a> {
    let start = ["sources", name, source.reader()];
    let found = |middle: &[&str]| lint.find_key(&[&start, middle, &[field]].concat());
    let in_list = || (0..INDEX.len()).find_map(|i| found(&[path[0], INDEX[i], "fields"]));
    let in_columns = || {
        let Source::Sqlite(sqlite) = source else {
            return None;
        };
        let mut columns = sqlite.protobuf.keys();
        columns.find_map(|column| found(&["protobuf", column, "fields"]))
    };
    found(path)
        .or_else(in_list)
        .or_else(in_columns)
        .unwrap_or_else(|| lint.key(&[&start, path].concat()))
}

/// Conversions name fields that the source has.
fn converts(lint: &mut Lint, name: &str, source: &Source) {
    let own: BTreeSet<String> = source.fields().into_iter().map(str::to_owned).collect();
    let known = Known::of(format!("the source `{name}`"), own).and([KEY_FIELD]);
    for field in source.converts().keys() {
        let at = lint.key(&["sources", name, source.reader(), "convert", field]);
        lint.known_field(field, at, &known);
    }
}

/// List positions as steps of a path.
const INDEX: [&str; 16] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
];

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
    for field in &jsonl.titled_by {
        let at = lint.place(field.span);
        if jsonl.then == Then::Stop {
            let message = "`titled_by` says when `then: whole` is not needed, which is not set";
            lint.no_effect(at, message, "set `then: whole`, or leave `titled_by` out");
        } else {
            lint.known_field(field, at, &known);
        }
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
        .flat_map(|n| n.regex().capture_names().flatten());
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

impl Lint<'_> {
    /// `source.field` of another source.
    pub(super) fn foreign_field(&mut self, name: &At<String>) {
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

    pub(super) fn no_effect(&mut self, at: Place, message: &str, help: &str) {
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
        let help = match name == STATE_ROOT {
            true => "`{state}` is the folder of AxiOwl's own files".into(),
            false => "names are made of letters, digits, `_` and `-`".into(),
        };
        self.error(codes::RESERVED_NAME, at, "not a name", message, help);
    }
}
