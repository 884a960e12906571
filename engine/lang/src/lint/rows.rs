//! How rows are put together: sources, joins, made fields.

use super::{Known, Lint, Place, is_plain_name};
use crate::at::At;
use crate::codes;
use crate::cond::RESERVED;
use crate::diag::Diagnostic;
use crate::fields::{self, ENGINE_FIELDS};
use crate::rule::Join;
use crate::source::Source;
use std::collections::BTreeMap;

pub(super) fn check(lint: &mut Lint) {
    let rule = lint.rule;
    let rows = &rule.rows;
    let from = rows.from.as_deref().unwrap_or_default();
    for (i, source) in from.iter().enumerate() {
        if !rule.sources.contains_key(source.as_str()) {
            lint.unknown_source(source, source.span);
        } else if from[..i].iter().any(|s| s.value == source.value) {
            let at = lint.place(source.span);
            let message = format!("rows start from `{}` twice", source.value);
            lint.error(codes::NO_EFFECT, at, "again", message, "remove one".into());
        }
    }
    for source in &rule.expects {
        if !rule.sources.contains_key(source.as_str()) {
            lint.unknown_source(source, source.span);
        }
    }
    // Without its sources a rule has no fields, and every name would be wrong.
    let sure = |source: &Source| !matches!(source, Source::Sqlite(s) if s.columns.is_empty() && s.key_value.is_none());
    let known = |name: &At<String>| rule.sources.get(name.as_str()).is_some_and(sure);
    lint.unsure |= from.is_empty() || !from.iter().all(known);
    joins(lint);
    made(lint);
    if let Some(session) = &rows.session {
        let known = lint.row();
        lint.template(session, &known);
    }
    if let Some(filter) = &rows.filter {
        let known = lint.row();
        let at = lint.key(&["rows", "where"]);
        lint.condition(filter, at, &known);
    }
    let times = rows.seen_at.as_deref().unwrap_or_default();
    for field in times.iter().chain(&rows.cwd) {
        lint.row_field(field);
    }
}

fn joins(lint: &mut Lint) {
    let rule = lint.rule;
    let mut so_far = fields::base_fields(rule);
    let lets = rule.rows.first_of.iter().flat_map(|m| m.keys());
    let made: Vec<&String> = lets
        .chain(rule.rows.make.iter().flat_map(|m| m.keys()))
        .collect();
    let mut taken: BTreeMap<&str, &At<String>> = BTreeMap::new();
    for join in rule.rows.join.iter().flatten() {
        lint.name_is_free(&join.name);
        match taken.get(join.name.as_str()) {
            Some(first) => lint.taken(&join.name, Some(first)),
            None if so_far.contains(join.name.as_str()) || made.contains(&&join.name.value) => {
                lint.taken(&join.name, None)
            }
            None => {}
        }
        taken.insert(join.name.as_str(), &join.name);
        let mut known = Known::of("a row, before this join,", so_far.clone());
        known.unsure = lint.unsure || join.on.as_str() == "*";
        let at = lint.place(join.on.span);
        let sound = lint.known_field(&join.on, at, &known);
        match rule.sources.get(join.with.as_str()) {
            None => {
                lint.unknown_source(&join.with, join.with.span);
                // Its fields are unknown: every use of them would be reported again.
                lint.unsure = true;
            }
            Some(source) => joined(lint, join, source, sound),
        }
        so_far.extend(fields::join_fields(rule, join));
    }
}

fn joined(lint: &mut Lint, join: &At<Join>, source: &Source, sound: bool) {
    let with = join.with.as_str();
    let known = Known::of(
        format!("the source `{with}`"),
        fields::source_fields(lint.rule, with),
    );
    let answers = [&join.member_of, &join.value_of, &join.to];
    for field in answers.into_iter().flatten() {
        let at = lint.place(field.span);
        lint.known_field(field, at, &known);
    }
    let whole = join.on.as_str() == "*";
    let single = join.member_of.is_some() || join.value_of.is_some();
    if sound && !whole && !single && join.to.is_none() {
        // The same name on the other side.
        let at = lint.place(join.on.span);
        lint.known_field(&join.on, at, &known);
    }
    let many = source.many_rows();
    let ways = [
        join.member_of.is_some(),
        join.value_of.is_some(),
        join.exists,
    ];
    let any_row = whole && join.exists && !single && join.to.is_none();
    let wrong = if ways.iter().filter(|w| **w).count() > 1 {
        "`member_of`, `value_of` and `exists` exclude each other"
    } else if any_row {
        return;
    } else if whole && (single || join.to.is_some()) {
        "`on: \"*\"` joins the whole document and compares nothing"
    } else if whole && many {
        "`on: \"*\"` joins one document, and this source has many rows"
    } else if single && join.to.is_some() {
        "`to` does nothing beside `member_of` and `value_of`"
    } else {
        return;
    };
    let at = lint.place(join.on.span);
    let help = "keep the one that is meant";
    lint.error(
        codes::NO_EFFECT,
        at,
        "in this join",
        wrong.into(),
        help.into(),
    );
}

fn made(lint: &mut Lint) {
    let rule = lint.rule;
    let lets = rule.rows.first_of.iter().flatten();
    for (name, fields) in lets {
        lint.own_name(name, &["rows", "let", name]);
        for field in fields.iter() {
            lint.row_field(field);
        }
    }
    let makes = rule.rows.make.iter().flatten();
    for (name, template) in makes {
        lint.own_name(name, &["rows", "make", name]);
        let roots = rule.roots.keys().map(String::as_str);
        let known = lint.row().and(roots);
        lint.template(template, &known);
    }
}

impl Lint<'_> {
    /// A name the rule gives to a field, by its path in the text.
    pub(super) fn own_name(&mut self, name: &str, path: &[&str]) {
        let at = self.key(path);
        self.own_name_at(name, at);
    }

    /// The same, by its place.
    pub(super) fn own_name_at(&mut self, name: &str, at: Place) {
        if let Some(why) = not_free(name) {
            let help = "take another name".into();
            let message = format!("a field cannot be called `{name}`: {why}");
            self.error(codes::RESERVED_NAME, at, "reserved", message, help);
        }
    }

    fn name_is_free(&mut self, name: &At<String>) {
        if let Some(why) = not_free(name) {
            let at = self.place(name.span);
            let message = format!("a join cannot be called `{}`: {why}", name.value);
            let help = "take another name".into();
            self.error(codes::RESERVED_NAME, at, "reserved", message, help);
        }
    }

    fn taken(&mut self, name: &At<String>, first: Option<&At<String>>) {
        let (file, at) = self.place(name.span);
        let message = format!("there is already something called `{}`", name.value);
        let mut diagnostic = Diagnostic::error(codes::NAME_TAKEN, message)
            .at(file, at, "hides the other one")
            .help("give the join another name");
        match first {
            Some(first) => {
                let (file, at) = self.place(first.span);
                diagnostic = diagnostic.also(file, at, "the other one");
            }
            None => diagnostic.message.push_str(", a field of the rows"),
        }
        self.push(diagnostic);
    }
}

fn not_free(name: &str) -> Option<&'static str> {
    if RESERVED.contains(&name) {
        Some("it is a word of conditions")
    } else if ENGINE_FIELDS.contains(&name) {
        Some("the engine gives every row a field of this name")
    } else if !is_plain_name(name) {
        Some("names are made of letters, digits, `_` and `-`")
    } else {
        None
    }
}
