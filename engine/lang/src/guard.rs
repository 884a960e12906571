//! The columns that a rule needs to see in order to keep a session out.
//!
//! A status that bars, a kind other than main, and a row filter each read fields. Where a
//! source lacks such a column, the rule cannot tell, and its rows are evidence only
//! (`guard_missing`).

use crate::at::{At, Span};
use crate::cond::{Cond, Ops, Test};
use crate::rule::{Join, Rule};
use crate::source::{FILE_FIELDS, Source, TORN_FIELD};
use axiowl_model::{Kind, Status};
use std::collections::BTreeSet;

/// One thing a barring part of the rule reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The field as the rule names it.
    pub field: String,
    /// Source and column, of which at least one has to be there; several for a field of
    /// `rows.let`, and where several sources give rows.
    pub any_of: Vec<(String, String)>,
    /// Where the rule reads it.
    pub at: Span,
}

/// Every guard of a rule, in the order of the rule. Fields that every file has (path, size …)
/// and fields of the engine guard nothing: they are always there.
pub fn guards(rule: &Rule) -> Vec<Guard> {
    let mut out: Vec<Guard> = Vec::new();
    let mut read = |name: &At<String>| {
        let mut any_of = columns(rule, name, 0);
        any_of.sort();
        any_of.dedup();
        let known = out.iter().any(|g| g.field == **name);
        if !any_of.is_empty() && !known {
            out.push(Guard {
                field: name.value.clone(),
                any_of,
                at: name.span,
            });
        }
    };
    for cond in barring(rule) {
        cond.each_field(&mut |name, test| {
            read(name);
            if let Test::Ops(ops) = &test.value {
                other_fields(ops).for_each(&mut read);
            }
        });
    }
    out
}

/// The columns of [`guards`], flat: source and column.
pub fn guarding_columns(rule: &Rule) -> BTreeSet<(String, String)> {
    guards(rule).into_iter().flat_map(|g| g.any_of).collect()
}

/// The fields a test compares with.
pub(crate) fn other_fields(ops: &Ops) -> impl Iterator<Item = &At<String>> {
    [&ops.under, &ops.same_as, &ops.slug_of, &ops.md5_of]
        .into_iter()
        .flatten()
}

fn barring(rule: &Rule) -> impl Iterator<Item = &Cond> {
    let status = rule
        .status
        .iter()
        .filter(|s| s.is == Status::Archived || s.error.is_some())
        .filter_map(|s| s.when.as_ref());
    let kind = rule
        .rows
        .kind
        .iter()
        .flatten()
        .filter(|k| k.is != Kind::Main)
        .filter_map(|k| k.when.as_ref());
    rule.rows.filter.iter().chain(kind).chain(status)
}

/// Where a field of a row comes from. Names of `let` may stand for each other, so the
/// depth is bounded.
fn columns(rule: &Rule, field: &str, depth: usize) -> Vec<(String, String)> {
    if depth > 4 {
        return Vec::new();
    }
    if let Some(names) = rule.rows.first_of.as_ref().and_then(|m| m.get(field)) {
        let others = names.iter().filter(|n| n.as_str() != field);
        let mut out: Vec<_> = others.flat_map(|n| columns(rule, n, depth + 1)).collect();
        out.extend(base(rule, field));
        return out;
    }
    if let Some(made) = rule.rows.make.as_ref().and_then(|m| m.get(field)) {
        return made
            .fields()
            .filter(|n| *n != field)
            .flat_map(|n| columns(rule, n, depth + 1))
            .collect();
    }
    let joins = || rule.rows.join.iter().flatten();
    if let Some(join) = joins().find(|j| j.name.as_str() == field) {
        return answer(join);
    }
    if let Some((name, column)) = field.split_once('.')
        && let Some(join) = joins().find(|j| j.name.as_str() == name)
    {
        return real(rule, &join.with, column).into_iter().collect();
    }
    base(rule, field)
}

fn base(rule: &Rule, field: &str) -> Vec<(String, String)> {
    let from = rule.rows.from.iter().flat_map(|from| from.iter());
    from.filter_map(|source| real(rule, source, field))
        .collect()
}

/// A declared column, unless it is one that every file has.
fn real(rule: &Rule, source: &str, column: &str) -> Option<(String, String)> {
    let found = rule.sources.get(source)?;
    let declared = found.fields().contains(&column);
    let always = found.has_file_fields() && FILE_FIELDS.contains(&column)
        || matches!(found, Source::MutationLog(_)) && column == TORN_FIELD;
    (declared && !always).then(|| (source.to_owned(), column.to_owned()))
}

/// The column behind a yes-or-no or single-value join.
fn answer(join: &Join) -> Vec<(String, String)> {
    if join.on.as_str() == "*" {
        // It asks for rows, not for a column.
        return Vec::new();
    }
    let column = [&join.member_of, &join.value_of, &join.to]
        .into_iter()
        .flatten()
        .next()
        .unwrap_or(&join.on);
    vec![(join.with.value.clone(), column.value.clone())]
}
