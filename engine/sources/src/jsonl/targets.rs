//! Which files a JSON Lines source reads, before any of them is opened.
//!
//! By patterns below the roots, or one file for each row of another source. It must not
//! know what stands in them.

use super::key;
use crate::file::Hit;
use crate::find::{Finder, Kind};
use crate::read::{Context, Only};
use crate::report::Report;
use crate::{Row, record};
use axiowl_lang::at::At;
use axiowl_lang::scalar::Pattern;
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
    /// The source and number of the row that named the file.
    pub owner: Option<(String, usize)>,
}

impl Target {
    /// Whether the file may be one of those that are wanted.
    pub fn may_have(&self, only: &Only) -> bool {
        let known = self.fields.get(&only.field).and_then(Value::as_str);
        known.is_none_or(|value| value == only.value)
    }
}

/// The files of a source.
pub(super) struct Found {
    pub targets: Vec<Target>,
    /// Files the patterns fit, before names and conditions.
    pub matched: usize,
    pub root_exists: bool,
}

/// Finds them, sorted by path, or in the order of the rows that name them.
pub(super) fn find(
    rule: &Jsonl,
    context: &Context<'_>,
    only: Option<&Only>,
    report: &mut Report,
) -> Found {
    let known = known(rule, context);
    let by_name = |name: &str| known.holds_name(rule, name);
    // Under another suffix a file has another name.
    let by_name = rule
        .also
        .is_empty()
        .then_some(&by_name as &dyn Fn(&str) -> bool);
    let mut finder = Finder::new(context.world, context.roots, Kind::File)
        .with_in_name(only.and_then(|only| in_name(rule, only)))
        .passing_over(by_name);
    let (named, plain): (Vec<_>, Vec<_>) = rule
        .path
        .iter()
        .cloned()
        .partition(|template| owner(template).is_some());
    let hits = below_roots(rule, &plain, &mut finder, report);
    let mut found = Found {
        targets: Vec::new(),
        matched: hits.len() + finder.passed(),
        root_exists: finder.root_exists(&plain),
    };
    for (hit, suffix) in hits {
        let target = target(rule, hit, suffix).filter(|target| fits(rule, target, context));
        found
            .targets
            .extend(target.filter(|target| !known.holds(&target.fields)));
    }
    for template in &named {
        found.root_exists |= finder.any_root_exists();
        let of_rows = named_by_rows(rule, template, context, &mut finder, report);
        found.matched += of_rows.len();
        for (number, hit, suffix) in of_rows {
            let target = target(rule, hit, suffix).filter(|target| !known.holds(&target.fields));
            found.targets.extend(target.map(|mut target| {
                target.owner = owner(template).map(|source| (source.to_owned(), number));
                target
            }));
        }
    }
    limit(&mut found.targets, rule.max_files, report);
    if let Some(only) = only {
        found.targets.retain(|target| target.may_have(only));
    }
    found
}

/// What stands in the name of each file that is wanted, where the field comes from there.
fn in_name<'o>(rule: &Jsonl, only: &'o Only) -> Option<&'o str> {
    let names = rule.name.iter();
    let mut groups = names.flat_map(|name| name.regex().capture_names());
    let from_name = only.field == "stem" || groups.any(|group| group == Some(&*only.field));
    from_name.then_some(only.value.as_str())
}

/// The source whose rows name the files of a path.
fn owner(template: &Template) -> Option<&str> {
    template
        .fields()
        .find_map(|field| field.split_once('.').map(|(source, _)| source))
}

/// Hits of the patterns, and the suffix each was found by.
fn below_roots<'r>(
    rule: &'r Jsonl,
    patterns: &[At<Template>],
    finder: &mut Finder<'_>,
    report: &mut Report,
) -> Vec<(Hit, &'r str)> {
    let plain = finder.find(patterns, "", report);
    let mut hits: Vec<(Hit, &str)> = plain.into_iter().map(|hit| (hit, "")).collect();
    for suffix in &rule.also {
        let there: HashSet<&str> = hits.iter().map(|(hit, _)| hit.recorded.as_str()).collect();
        let new = |hit: &Hit| {
            let base = hit.recorded.strip_suffix(suffix.as_str());
            base.is_some_and(|base| !there.contains(base) && !there.contains(hit.recorded.as_str()))
        };
        let more = finder
            .find(patterns, suffix, report)
            .into_iter()
            .filter(new);
        let more: Vec<_> = more.map(|hit| (hit, suffix.as_str())).collect();
        hits.extend(more);
    }
    hits.sort_by(|(a, _), (b, _)| a.recorded.cmp(&b.recorded));
    hits
}

/// For each row of the source that the path names: its number, its file, and the suffix the
/// file was found by.
fn named_by_rows<'r>(
    rule: &'r Jsonl,
    template: &Template,
    context: &Context<'_>,
    finder: &mut Finder<'_>,
    report: &mut Report,
) -> Vec<(usize, Hit, &'r str)> {
    let Some((owner, table)) = owner(template).and_then(|o| Some((o, context.tables.get(o)?)))
    else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (number, row) in table.rows.iter().enumerate() {
        let holds = |cond| record::evaluate(cond, row, Some(context.world));
        if !rule.when.as_ref().is_none_or(holds) {
            continue;
        }
        let root = |name: &str| {
            context
                .roots
                .get(name)
                .map(|root| Cow::Borrowed(root.recorded()))
        };
        let field = |name: &str| match name.split_once('.') {
            Some((source, field)) if source == owner => text(row.get(field)?),
            _ => root(name),
        };
        let variable = |name: &str| context.world.env(name).map(Cow::Borrowed);
        let path = template.fill(field, variable);
        let Some(path) = path.filter(|path| !path.trim().is_empty()) else {
            continue;
        };
        let mut suffixes = std::iter::once("").chain(rule.also.iter().map(String::as_str));
        out.extend(suffixes.find_map(|suffix| {
            let hit = finder.named(&format!("{path}{suffix}"), report)?;
            Some((number, hit, suffix))
        }));
    }
    out
}

/// A file under the name it has without `suffix`; `None` when the rule means no such name.
fn target(rule: &Jsonl, hit: Hit, suffix: &str) -> Option<Target> {
    let name = crate::file::lossy(hit.real.file_name());
    let name = name.strip_suffix(suffix).unwrap_or(&name);
    let stem = crate::file::lossy(Path::new(name).file_stem());
    let groups_of = |pattern: &At<Pattern>| pattern.regex().captures_len();
    let mut fields = hit.fields_named(stem, rule.name.as_ref().map_or(0, groups_of));
    groups(rule, &mut fields).then_some(Target {
        hit,
        fields,
        owner: None,
    })
}

/// Whether a file found by a pattern is one of those the rule means.
fn fits(rule: &Jsonl, target: &Target, context: &Context<'_>) -> bool {
    let holds = |cond| record::evaluate(cond, &target.fields, Some(context.world));
    rule.when.as_ref().is_none_or(holds)
}

/// Matches the file's name; its named groups become fields.
fn groups(rule: &Jsonl, fields: &mut Row) -> bool {
    let Some(pattern) = &rule.name else {
        return true;
    };
    let stem = fields
        .get("stem")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let Some(captures) = pattern.regex().captures(&stem) else {
        return false;
    };
    for group in pattern.regex().capture_names().flatten() {
        let value = captures
            .name(group)
            .map_or(Value::Null, |m| m.as_str().into());
        fields.insert(group.into(), value);
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
    /// Whether the name of a file alone says so, by its stem or a named group of it.
    fn holds_name(&self, rule: &Jsonl, name: &str) -> bool {
        if self.0.iter().all(|(_, values)| values.is_empty()) {
            return false;
        }
        let stem = Path::new(name).file_stem();
        let Some(stem) = stem.and_then(|stem| stem.to_str()) else {
            return false;
        };
        let pattern = rule.name.as_ref().map(|name| name.regex());
        let captures = match pattern.map(|pattern| pattern.captures(stem)) {
            // The rule means no such file.
            Some(None) => return false,
            Some(captures) => captures,
            None => None,
        };
        self.0.iter().any(|(field, values)| {
            let group = captures.as_ref().and_then(|captures| captures.name(field));
            let value = match (group, field.as_str()) {
                (Some(group), _) => group.as_str(),
                (None, "stem") => stem,
                (None, _) => return false,
            };
            !value.trim().is_empty() && values.contains(value)
        })
    }

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

#[cfg(test)]
mod tests;
