//! Which files a JSON Lines source reads, before any of them is opened.
//!
//! By patterns below the roots, or one file for each row of another source. It must not
//! know what stands in them.

use super::key;
use crate::file::Hit;
use crate::find::{Finder, Kind};
use crate::read::Context;
use crate::report::Report;
use crate::roots::Root;
use crate::{Row, record};
use axiowl_lang::at::At;
use axiowl_lang::source::Jsonl;
use axiowl_lang::template::Template;
use axiowl_model::{Issue, codes};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

/// A file to read.
pub(super) struct Target {
    pub hit: Hit,
    /// The file fields and the named groups of the file's name.
    pub fields: Row,
    /// Fields of the row that named the file, for those the file does not give itself.
    pub inherited: Vec<(String, Value)>,
}

/// The files of a source.
pub(super) struct Found {
    pub targets: Vec<Target>,
    /// Files the patterns fit, before names and conditions.
    pub matched: usize,
    pub root_exists: bool,
}

/// Finds them, sorted by path, or in the order of the rows that name them.
pub(super) fn find(rule: &Jsonl, context: &Context<'_>, report: &mut Report) -> Found {
    let mut finder = Finder::new(context.world, context.roots, Kind::File);
    let (named, plain): (Vec<_>, Vec<_>) = rule
        .path
        .iter()
        .cloned()
        .partition(|template| owner(template).is_some());
    let mut targets = below_roots(rule, &plain, &mut finder, report);
    let mut matched = targets.len();
    let known = known(rule, context);
    targets.retain_mut(|target| fits(rule, target, context) && !known.holds(&target.fields));
    let mut root_exists = finder.root_exists(&plain);
    for template in &named {
        root_exists |= context.roots.values().any(Root::exists);
        let of_rows = named_by_rows(rule, template, context, &mut finder, report);
        matched += of_rows.len();
        let kept = of_rows.into_iter().filter_map(|mut target| {
            (groups(rule, &mut target) && !known.holds(&target.fields)).then_some(target)
        });
        targets.extend(kept);
    }
    limit(&mut targets, rule.max_files, report);
    Found {
        targets,
        matched,
        root_exists,
    }
}

/// The source whose rows name the files of a path.
fn owner(template: &Template) -> Option<&str> {
    template
        .fields()
        .find_map(|field| field.split_once('.').map(|(source, _)| source))
}

fn below_roots(
    rule: &Jsonl,
    patterns: &[At<Template>],
    finder: &mut Finder<'_>,
    report: &mut Report,
) -> Vec<Target> {
    let hits = finder.find(patterns, "", report);
    let mut targets: Vec<Target> = hits.into_iter().map(|hit| target(hit, "")).collect();
    for suffix in &rule.also {
        let there: HashSet<&str> = targets.iter().map(|t| t.hit.recorded.as_str()).collect();
        let more: Vec<Target> = finder
            .find(patterns, suffix, report)
            .into_iter()
            .filter(|hit| {
                let base = hit.recorded.strip_suffix(suffix.as_str());
                base.is_some_and(|base| !there.contains(base))
                    && !there.contains(hit.recorded.as_str())
            })
            .map(|hit| target(hit, suffix))
            .collect();
        targets.extend(more);
    }
    targets.sort_by(|a, b| a.hit.recorded.cmp(&b.hit.recorded));
    targets
}

fn named_by_rows(
    rule: &Jsonl,
    template: &Template,
    context: &Context<'_>,
    finder: &mut Finder<'_>,
    report: &mut Report,
) -> Vec<Target> {
    let Some(owner) = owner(template) else {
        return Vec::new();
    };
    let rows = context
        .tables
        .get(owner)
        .map(|table| table.rows.as_slice())
        .unwrap_or_default();
    let mut targets = Vec::new();
    for row in rows {
        let holds = |cond| record::evaluate(cond, row, Some(context.world));
        if !rule.when.as_ref().is_none_or(holds) {
            continue;
        }
        let field = |name: &str| match name.split_once('.') {
            Some((source, field)) if source == owner => text(row.get(field)?),
            _ => context
                .roots
                .get(name)
                .map(|root| Cow::Borrowed(root.recorded())),
        };
        let variable = |name: &str| context.world.env(name).map(Cow::Borrowed);
        let Some(path) = template
            .fill(field, variable)
            .filter(|path| !path.trim().is_empty())
        else {
            continue;
        };
        let found = finder
            .named(&path, report)
            .map(|hit| target(hit, ""))
            .or_else(|| {
                rule.also.iter().find_map(|suffix| {
                    let hit = finder.named(&format!("{path}{suffix}"), report)?;
                    Some(target(hit, suffix))
                })
            });
        if let Some(mut target) = found {
            let plain = row
                .iter()
                .filter(|(_, value)| !value.is_array() && !value.is_object());
            target.inherited = plain.map(|(k, v)| (k.clone(), v.clone())).collect();
            targets.push(target);
        }
    }
    targets
}

/// A file under the name it has without `suffix`.
fn target(hit: Hit, suffix: &str) -> Target {
    let name = crate::file::lossy(hit.real.file_name());
    let name = name.strip_suffix(suffix).unwrap_or(&name);
    let stem = crate::file::lossy(Path::new(name).file_stem());
    let fields = hit.fields_named(stem);
    Target {
        hit,
        fields,
        inherited: Vec::new(),
    }
}

/// Whether a file found by a pattern is one of those the rule means.
fn fits(rule: &Jsonl, target: &mut Target, context: &Context<'_>) -> bool {
    let holds = |target: &Target, cond| record::evaluate(cond, &target.fields, Some(context.world));
    groups(rule, target) && rule.when.as_ref().is_none_or(|cond| holds(target, cond))
}

/// Matches the file's name; its named groups become fields.
fn groups(rule: &Jsonl, target: &mut Target) -> bool {
    let Some(pattern) = &rule.name else {
        return true;
    };
    let stem = target
        .fields
        .get("stem")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let Some(captures) = pattern.0.captures(&stem) else {
        return false;
    };
    for group in pattern.0.capture_names().flatten() {
        let value = captures
            .name(group)
            .map_or(Value::Null, |m| m.as_str().into());
        target.fields.insert(group.to_owned(), value);
    }
    true
}

/// Of too many files the ones changed last stay.
fn limit(targets: &mut Vec<Target>, most: usize, report: &mut Report) {
    if targets.len() <= most {
        return;
    }
    let message = format!(
        "{} files, of which the {most} changed last were read; `max_files` sets the limit",
        targets.len()
    );
    report.gap(Issue::new(codes::CAP, message));
    let mut times: Vec<i64> = targets.iter().map(|target| target.hit.mtime).collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    let oldest = most.checked_sub(1).map_or(i64::MAX, |last| times[last]);
    let mut left = most;
    // Newer ones first, then as many of the oldest kept time as still fit, by path.
    let newer = targets
        .iter()
        .filter(|target| target.hit.mtime > oldest)
        .count();
    let mut equal = most.saturating_sub(newer);
    targets.retain(|target| {
        let time = target.hit.mtime;
        let stays = left > 0 && (time > oldest || (time == oldest && equal > 0));
        if stays {
            left -= 1;
            equal -= usize::from(time == oldest);
        }
        stays
    });
}

/// Values of other sources' rows for which a file is not read (`unless_in`).
pub(super) struct Known(Vec<(String, HashSet<String>)>);

/// Collects them.
pub(super) fn known(rule: &Jsonl, context: &Context<'_>) -> Known {
    let values = |place: &At<String>| {
        let (source, field) = place.split_once('.')?;
        let rows = &context.tables.get(source)?.rows;
        Some(rows.iter().filter_map(|row| key(row.get(field))).collect())
    };
    let all = rule.unless_in.iter();
    Known(
        all.map(|(field, place)| (field.clone(), values(place).unwrap_or_default()))
            .collect(),
    )
}

impl Known {
    /// Whether any of the fields has a value that is known already.
    pub(super) fn holds(&self, row: &Row) -> bool {
        self.0
            .iter()
            .any(|(field, values)| key(row.get(field)).is_some_and(|key| values.contains(&key)))
    }
}

fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(flag) => Some(Cow::Owned(flag.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
