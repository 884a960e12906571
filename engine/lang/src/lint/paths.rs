//! Roots and paths: everything a rule reads lies below a root it declares.

use super::{Known, Lint, Place};
use crate::at::At;
use crate::codes;
use crate::config::is_absolute;
use crate::fields;
use crate::nearest::correct;
use crate::secrets::is_secret_path;
use crate::source::STATE_ROOT;
use crate::source::Source;
use crate::template::{Piece, Template};

pub(super) fn root(lint: &mut Lint, candidate: &At<Template>) {
    let text = candidate.as_str();
    let fields = candidate.fields().next().is_some();
    let start = match candidate.pieces().first() {
        Some(Piece::Variable(_)) => true,
        Some(Piece::Text(text)) => is_absolute(text) || text.starts_with("~/"),
        _ => false,
    };
    let folder = text.trim_end_matches(['/', '\\']);
    let too_wide = folder.is_empty() || ["~", "${HOME}", "${USERPROFILE}"].contains(&folder);
    let why = if fields {
        "it holds a field, and roots are known before any row is"
    } else if climbs(text) {
        "it has `..` in it"
    } else if too_wide {
        "it would open the whole home or disk"
    } else if !start {
        "it is relative"
    } else {
        return;
    };
    let at = lint.place(candidate.span);
    let help = "a root is a provider's own folder: `~/.name`, `/absolute/path` or `${VARIABLE}`";
    let message = format!("the root `{text}` cannot be used: {why}");
    lint.error(codes::BAD_ROOT, at, "no root", message, help.into());
}

pub(super) fn source_path(lint: &mut Lint, name: &str, source: &Source, path: &At<Template>) {
    let at = lint.place(path.span);
    let text = path.as_str();
    let escapes = |lint: &mut Lint, why: &str| {
        let message = format!("the path `{text}` {why}");
        let help = "start with `{root}/`, and stay below it".to_owned();
        lint.error(
            codes::PATH_ESCAPES,
            at.clone(),
            "leaves the roots",
            message,
            help,
        );
    };
    if climbs(text) {
        return escapes(lint, "has `..` in it");
    }
    if is_secret_path(text) {
        return lint.secret(text, at);
    }
    let first = path.pieces().first();
    let from_row = matches!(first, Some(Piece::Field(field)) if field.contains('.'));
    for (i, piece) in path.pieces().iter().enumerate() {
        match piece {
            Piece::Text(_) if i == 0 => return escapes(lint, "is not below a root"),
            // `{root}x` is a neighbour of the root; `{source.field}.x` is up to the row.
            Piece::Text(rest) if i == 1 && !rest.starts_with(['/', '\\']) && !from_row => {
                return escapes(lint, "does not go on with `/` after its root");
            }
            Piece::Text(_) => {}
            Piece::Variable(_) => return escapes(lint, "names a variable: only roots may"),
            Piece::Field(field) => match field.split_once('.') {
                Some((other, column)) => follows(lint, name, source, path, other, column),
                None if i == 0 && field == STATE_ROOT => {}
                None if i == 0 => unknown_root(lint, field, at.clone()),
                None => return escapes(lint, "names a root in its middle"),
            },
        }
    }
}

/// `{other.column}`: one file for each row of another source.
fn follows(
    lint: &mut Lint,
    name: &str,
    source: &Source,
    path: &At<Template>,
    other: &str,
    column: &str,
) {
    let at = lint.place(path.span);
    if !lint.rule.sources.contains_key(other) {
        return lint.unknown_source(other, path.span);
    }
    let plain = matches!(source, Source::Jsonl(_));
    let chained = lint
        .rule
        .sources
        .get(other)
        .and_then(fields::followed_source);
    if other == name || !plain || chained.is_some() {
        let message = if plain {
            format!("`{name}` cannot follow `{other}`, which follows another source itself")
        } else {
            format!(
                "a {} source cannot follow the rows of another",
                source.reader()
            )
        };
        let help = "only jsonl sources follow, and only a source with paths of its own".into();
        return lint.error(codes::NO_EFFECT, at, "in this path", message, help);
    }
    let known = Known::of(
        format!("the source `{other}`"),
        fields::source_fields(lint.rule, other),
    );
    lint.known_field(column, at, &known);
}

/// A root that `home` names.
pub(super) fn known_root(lint: &mut Lint, name: &At<String>) {
    let at = lint.place(name.span);
    unknown_root(lint, name, at);
}

fn unknown_root(lint: &mut Lint, name: &str, at: Place) {
    if !lint.rule.roots.contains_key(name) {
        let known = lint.rule.roots.keys().map(String::as_str);
        let help = correct(name, known, "the roots of this rule");
        let message = format!("there is no root `{name}`");
        lint.mistyped(codes::UNKNOWN_ROOT, at, "not declared", message, help);
    }
}

/// Whether a path without a source starts with a declared root and goes on below it. A root
/// that is not declared is reported here.
pub(super) fn below_root(lint: &mut Lint, path: &At<Template>) -> bool {
    let [Piece::Field(root), Piece::Text(rest)] = path.pieces() else {
        return false;
    };
    if root != STATE_ROOT {
        let at = lint.place(path.span);
        unknown_root(lint, root, at);
    }
    rest.starts_with(['/', '\\'])
}

/// Whether a path has a `..` part.
pub(super) fn is_climbing(path: &str) -> bool {
    climbs(path)
}

fn climbs(path: &str) -> bool {
    path.split(['/', '\\']).any(|part| part.trim() == "..")
}

/// A file within a folder.
pub(super) fn inside(lint: &mut Lint, file: &str, at: Place) {
    if is_secret_path(file) {
        lint.secret(file, at);
    } else if climbs(file) || is_absolute(file) || file.starts_with('~') {
        let message = format!("the file `{file}` is not within the folder");
        let help = "name a file by its path from the folder".into();
        lint.error(codes::PATH_ESCAPES, at, "leaves the folder", message, help);
    }
}

impl Lint<'_> {
    pub(super) fn secret(&mut self, path: &str, at: Place) {
        let message = format!("`{path}` is a file that holds secrets");
        let help = "nothing can allow this; read another file".into();
        self.error(codes::SECRET_PATH, at, "never read", message, help);
    }
}
