//! Which fields a row has. The one answer for lints, discovery and `rules explain`.
//!
//! Discovery gives every one of these to every row, null where nothing was found, so that
//! a script sees `()` for an absent value and an error for a mistyped name.

use crate::at::At;
use crate::rule::{Join, Rule};
use crate::source::Source;
use crate::template::Template;
use std::collections::BTreeSet;

/// The provider keys under which a session already stands in the registry, as a list.
pub const REGISTERED_AS: &str = "registered_as";

/// Fields that the engine itself gives to every row.
pub const ENGINE_FIELDS: [&str; 1] = [REGISTERED_AS];

/// Names that templates may use beside the fields: the name that won and the session id.
pub const TEMPLATE_NAMES: [&str; 2] = ["name", "session"];

/// All fields of an assembled row:
///
/// - those of every source in `rows.from` ([`source_fields`]);
/// - of a record join and of a document join (`on: "*"`), `as.field` for every field of the
///   joined source, and not `as` alone;
/// - of a join with `member_of` or `exists`, `as` alone, true or false;
/// - of a join with `value_of`, `as` alone, a value;
/// - the names in `rows.let` and `rows.make`;
/// - [`ENGINE_FIELDS`].
pub fn row_fields(rule: &Rule) -> BTreeSet<String> {
    let mut out = base_fields(rule);
    for join in rule.rows.join.iter().flatten() {
        out.extend(join_fields(rule, join));
    }
    out.extend(rule.rows.first_of.iter().flat_map(|m| m.keys().cloned()));
    out.extend(rule.rows.make.iter().flat_map(|m| m.keys().cloned()));
    out
}

/// The fields a row starts with: those of its sources and of the engine.
pub fn base_fields(rule: &Rule) -> BTreeSet<String> {
    let mut out: BTreeSet<String> = ENGINE_FIELDS.iter().map(|f| (*f).to_owned()).collect();
    for from in rule.rows.from.iter().flat_map(|from| from.iter()) {
        out.extend(source_fields(rule, from));
    }
    out
}

/// The fields one join adds to a row.
pub fn join_fields(rule: &Rule, join: &Join) -> BTreeSet<String> {
    let name = join.name.as_str();
    if join.exists || join.member_of.is_some() || join.value_of.is_some() {
        return BTreeSet::from([name.to_owned()]);
    }
    source_fields(rule, &join.with)
        .iter()
        .map(|field| format!("{name}.{field}"))
        .collect()
}

/// The fields of a source's rows: its own, and where its path is `{other.field}`, those of
/// the source it follows too (its own come first). Empty for a source that is not declared.
pub fn source_fields(rule: &Rule, source: &str) -> BTreeSet<String> {
    let Some(found) = rule.sources.get(source) else {
        return BTreeSet::new();
    };
    let mut out: BTreeSet<String> = found.fields().into_iter().map(str::to_owned).collect();
    if let Some(followed) = followed_source(found)
        && followed != source
        && let Some(other) = rule.sources.get(followed)
    {
        out.extend(other.fields().into_iter().map(str::to_owned));
    }
    out
}

/// The source whose rows name this source's files (`{other.field}`), if any.
pub fn followed_source(source: &Source) -> Option<&str> {
    source.paths().iter().find_map(followed)
}

fn followed(path: &At<Template>) -> Option<&str> {
    path.fields()
        .find_map(|field| field.split_once('.').map(|(source, _)| source))
}
