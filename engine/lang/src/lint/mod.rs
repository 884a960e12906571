//! What types cannot check: names that must resolve, parts that can never be reached,
//! paths that would leave their root.
//!
//! Each module finds one sort of thing and pushes it; order and duplicates are tidied by
//! the loader. A finding that follows from another one is not pushed.

mod conditions;
mod databases;
mod documents;
mod identity;
mod ladder;
mod names;
mod paths;
mod policy;
mod rows;
mod shape;
mod sources;
mod sql;
mod transcript;
mod unread;

use crate::at::{At, Span};
use crate::codes;
use crate::diag::{Diagnostic, Help, SourceText};
use crate::fields;
use crate::folder::RuleFolder;
use crate::nearest::correct;
use crate::parse::first_line;
use crate::policy::CompiledPolicy;
use crate::rule::Rule;
use crate::template::{Piece, Template};
use crate::tree::Tree;
use std::collections::BTreeSet;
use std::ops::Range;

/// A rule under examination.
pub(crate) struct Subject<'a> {
    pub folder: &'a RuleFolder,
    pub rule: &'a Rule,
    pub policy: Option<&'a CompiledPolicy>,
    pub files: &'a [SourceText],
    pub trees: &'a [Tree],
}

/// Every finding.
pub(crate) fn all(subject: &Subject) -> Vec<Diagnostic> {
    let mut lint = Lint {
        folder: subject.folder,
        rule: subject.rule,
        files: subject.files,
        trees: subject.trees,
        fields: fields::row_fields(subject.rule),
        unsure: false,
        found: Vec::new(),
    };
    shape::check(&mut lint);
    identity::check(&mut lint);
    sources::check(&mut lint);
    unread::check(&mut lint);
    rows::check(&mut lint);
    names::check(&mut lint);
    transcript::check(&mut lint);
    ladder::check(&mut lint);
    policy::check(&mut lint, subject.policy);
    lint.found
}

/// The rule, its texts, and what was found so far.
struct Lint<'a> {
    folder: &'a RuleFolder,
    rule: &'a Rule,
    files: &'a [SourceText],
    trees: &'a [Tree],
    /// All fields of an assembled row.
    fields: BTreeSet<String>,
    /// A source of the rows is not declared, so any field might exist.
    unsure: bool,
    found: Vec<Diagnostic>,
}

/// A file and a place in it.
type Place<'a> = (&'a SourceText, Range<usize>);

impl<'a> Lint<'a> {
    fn push(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    /// The file and bytes of a span; the first line of a long one. (The reader gives a
    /// mapping no end, so that comes from the tree.)
    fn place(&self, span: Span) -> Place<'a> {
        let at = usize::from(span.file).min(self.files.len() - 1);
        let mut range = span.range();
        if range.len() <= 1
            && let Some(whole) = self.trees[at].collection_from(range.start)
        {
            range = whole;
        }
        (&self.files[at], first_line(&self.files[at].text, range))
    }

    /// The place of a key that no type keeps one for; in the rule itself, else in the one it
    /// shares, else at the top of the rule.
    fn key(&self, path: &[&str]) -> Place<'a> {
        self.find_key(path).unwrap_or_else(|| {
            (
                &self.files[0],
                self.trees[0].key(&["provider"]).unwrap_or(0..0),
            )
        })
    }

    /// The place of a key, if it stands anywhere.
    fn find_key(&self, path: &[&str]) -> Option<Place<'a>> {
        let mut files = self.files.iter().zip(self.trees);
        files.find_map(|(file, tree)| Some((file, tree.key(path)?)))
    }

    fn error(&mut self, code: &'static str, at: Place, label: &str, message: String, help: String) {
        self.mistyped(code, at, label, message, help.into());
    }

    /// An error whose help may name the word that was meant.
    fn mistyped(
        &mut self,
        code: &'static str,
        at: Place,
        label: &str,
        message: String,
        help: Help,
    ) {
        let diagnostic = Diagnostic::error(code, message)
            .at(at.0, at.1, label)
            .help(help);
        self.push(diagnostic);
    }

    /// Says that a source is not declared.
    fn unknown_source(&mut self, name: &str, span: Span) {
        let known = self.rule.sources.keys().map(String::as_str);
        let help = correct(name, known, "the sources of this rule");
        let at = self.place(span);
        let message = format!("there is no source `{name}`");
        self.mistyped(codes::UNKNOWN_SOURCE, at, "not declared", message, help);
    }

    /// Says that a field does not exist, unless it does; whether it does.
    fn known_field(&mut self, name: &str, at: Place, known: &Known) -> bool {
        let pointer = known.pointers && name.starts_with('/');
        if known.unsure || pointer || known.fields.contains(name) {
            return true;
        }
        // The name of a record join alone: what is meant is one of its fields.
        let prefix = format!("{name}.");
        let below: Vec<&str> = known
            .fields
            .iter()
            .filter(|f| f.starts_with(&prefix))
            .map(String::as_str)
            .collect();
        let help: Help = if !below.is_empty() {
            format!(
                "`{name}` is a joined record; name a field of it: `{}`",
                below.join("`, `")
            )
            .into()
        } else if known.pointers && known.fields.is_empty() {
            format!("fields of a record are JSON Pointers: write `/{name}`").into()
        } else {
            correct(
                name,
                known.fields.iter().map(String::as_str),
                "the fields here",
            )
        };
        let message = format!("{} has no field `{name}`", known.what);
        self.mistyped(codes::UNKNOWN_FIELD, at, "unknown field", message, help);
        false
    }

    /// The fields of an assembled row.
    fn row(&self) -> Known {
        Known {
            unsure: self.unsure,
            ..Known::of("a row", self.fields.clone())
        }
    }

    /// A field of an assembled row.
    fn row_field(&mut self, name: &At<String>) {
        let known = self.row();
        let at = self.place(name.span);
        self.known_field(name, at, &known);
    }

    /// The fields of a template, and that it has no variables: those work in roots alone.
    fn template(&mut self, template: &At<Template>, known: &Known) {
        let at = self.place(template.span);
        for piece in template.pieces() {
            match piece {
                Piece::Field(name) => {
                    let at = narrowed(&at, &format!("{{{name}}}"));
                    self.known_field(name, at, known);
                }
                Piece::Variable(name) => self.error(
                    codes::BAD_TEMPLATE,
                    at.clone(),
                    "not here",
                    format!("the variable `${{{name}}}` is not known here"),
                    "variables work in `roots` alone; name the root as `{root}`".into(),
                ),
                Piece::Text(_) => {}
            }
        }
    }
}

/// The part of a place that is exactly this text, else the whole place.
fn narrowed<'a>(place: &Place<'a>, part: &str) -> Place<'a> {
    let (file, span) = place;
    let found = file.text.get(span.clone()).and_then(|text| text.find(part));
    let span = match found {
        Some(at) => span.start + at..span.start + at + part.len(),
        None => span.clone(),
    };
    (file, span)
}

/// The fields that may be named at some place.
struct Known {
    /// Whose fields they are, for messages.
    what: String,
    fields: BTreeSet<String>,
    /// JSON Pointers are fields too.
    pointers: bool,
    /// Any field might exist.
    unsure: bool,
}

impl Known {
    fn of(what: impl Into<String>, fields: BTreeSet<String>) -> Self {
        Self {
            what: what.into(),
            fields,
            pointers: false,
            unsure: false,
        }
    }

    fn and<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.fields.extend(names.into_iter().map(str::to_owned));
        self
    }

    fn and_pointers(mut self) -> Self {
        self.pointers = true;
        self
    }
}

/// A name that cannot be taken for a path, a pointer or a piece of template.
fn is_plain_name(name: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.chars().all(word)
}
