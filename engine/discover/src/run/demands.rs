//! What a rule needs of its sources: which fields end a search early, and which columns decide.

use axiowl_lang::guard::guards;
use axiowl_lang::load::LoadedRule;
use axiowl_lang::source::{Source, Then};
use axiowl_sources::read::Tables;
use std::collections::BTreeSet;

/// The fields that are strong name candidates, as (source, field): a file in which one stands
/// needs no further look.
pub(super) fn strong_fields(loaded: &LoadedRule) -> BTreeSet<(String, String)> {
    let rule = &loaded.rule;
    let strong = rule
        .name
        .iter()
        .flat_map(|n| &n.candidates)
        .filter(|c| !c.weak);
    let mut out = BTreeSet::new();
    for candidate in strong {
        let from = candidate.from.value.as_str();
        // Others are read as far in any case.
        let whole =
            |source: &Source| matches!(source, Source::Jsonl(source) if source.then == Then::Whole);
        for (name, source) in rule.sources.iter().filter(|(_, source)| whole(source)) {
            let joined = rule.rows.join.iter().flatten().any(|join| {
                join.with.value == *name
                    && from
                        .strip_prefix(&join.name.value)
                        .is_some_and(|rest| rest.starts_with('.'))
            });
            let field = if joined {
                from.rsplit('.').next().unwrap_or(from)
            } else {
                from
            };
            if source.fields().contains(&field) {
                out.insert((name.clone(), field.to_owned()));
            }
        }
    }
    out
}

/// A column that a barring status, a kind or the filter reads is absent from a source that
/// gives rows: then nothing of that source can be told from what would have been barred. A
/// column that may be absent (`?`) is one that older generations of the store do not have.
pub(super) fn missing_guard(loaded: &LoadedRule, tables: &Tables) -> Option<String> {
    let mut missing = BTreeSet::new();
    for base in loaded.rule.rows.from.iter().flat_map(|from| from.iter()) {
        let Some(table) = tables.tables.get(&base.value) else {
            continue;
        };
        for guard in guards(&loaded.rule) {
            let columns: Vec<&String> = guard
                .any_of
                .iter()
                .filter(|(source, _)| *source == base.value)
                .map(|(_, column)| column)
                .collect();
            let gone = |column: &&String| {
                table.missing_columns.contains(*column) && !optional(loaded, &base.value, column)
            };
            if !columns.is_empty() && columns.iter().all(gone) {
                missing.insert(format!("{}.{}", base.value, guard.field));
            }
        }
    }
    let missing: Vec<String> = missing.into_iter().collect();
    (!missing.is_empty()).then(|| {
        format!(
            "{} is absent, and it decides who may be enrolled",
            missing.join(", ")
        )
    })
}

pub(super) fn optional(loaded: &LoadedRule, source: &str, column: &str) -> bool {
    let columns = match loaded.rule.sources.get(source) {
        Some(Source::Sqlite(sqlite)) => &sqlite.columns,
        Some(Source::Tsv(table)) => &table.columns,
        _ => return false,
    };
    columns.get(column).is_some_and(|kind| kind.optional)
}
