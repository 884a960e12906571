//! Tab-separated values: a header line, then one row a line.
//!
//! Columns are found by name. A line with too few or too many cells is damaged and costs
//! itself only. It must not know what a column means.

use crate::column;
use crate::document::{bytes, newest};
use crate::file::Hit;
use crate::read::{Context, Outcome, Table};
use crate::report::Report;
use crate::{Row, encoding};
use axiowl_lang::source::Tsv;
use axiowl_model::{Issue, codes};
use rusqlite::types::ValueRef;
use serde_json::Value;
use std::borrow::Cow;

/// Reads one source of tables.
pub(crate) fn read(rule: &Tsv, context: &Context<'_>) -> Outcome {
    let mut report = Report::default();
    let (mut table, mut hits) = context.files(&rule.path, &mut report);
    newest(&mut hits, rule.max_files, &mut report);
    for hit in &hits {
        let Some((content, _)) = bytes(hit, rule.max_bytes.0, &mut report) else {
            continue;
        };
        table.note_read(&hit.recorded);
        let rows = rows(
            rule,
            hit,
            &encoding::text(&content),
            &mut table,
            &mut report,
        );
        table.add_rows(rows, rule.max_rows, &hit.recorded, &mut report);
    }
    Outcome { table, report }
}

fn rows(rule: &Tsv, hit: &Hit, text: &str, table: &mut Table, report: &mut Report) -> Vec<Row> {
    let mut lines = text
        .lines()
        .zip(1_u64..)
        .filter(|(line, _)| !line.is_empty());
    let Some((header, _)) = lines.next() else {
        report.issue(Issue::new(codes::EMPTY_FILE, "it has no header line").at(&hit.recorded));
        return Vec::new();
    };
    let header: Vec<&str> = header.split('\t').collect();
    let base = hit.fields();
    let columns: Vec<_> = rule
        .columns
        .iter()
        .map(|(name, wanted)| {
            let at = header.iter().position(|cell| cell.trim() == name);
            if at.is_none() {
                table.missing_columns.insert(name.clone());
                if !wanted.optional {
                    let message = format!("the table has no column `{name}`");
                    report.issue(Issue::new(codes::COLUMN_MISSING, message).at(&hit.recorded));
                }
            }
            (name, wanted.kind, at)
        })
        .collect();
    let mut out = Vec::new();
    for (line, number) in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        if cells.len() != header.len() {
            let message = format!(
                "it has {} cells under {} columns",
                cells.len(),
                header.len()
            );
            report.gap(
                Issue::new(codes::DAMAGED, message)
                    .at(&hit.recorded)
                    .line(number),
            );
            continue;
        }
        if out.len() > rule.max_rows {
            break;
        }
        let mut row = base.clone();
        for (name, kind, at) in &columns {
            let value = at.map_or(Value::Null, |at| {
                let cell = if rule.escaped {
                    unescaped(cells[at])
                } else {
                    cells[at].into()
                };
                match cell.is_empty() {
                    true => Value::Null,
                    false => column::read(ValueRef::Text(cell.as_bytes()), *kind).value,
                }
            });
            row.insert(name.as_str().into(), value);
        }
        out.push(row);
    }
    out
}

/// A cell with `\t`, `\n`, `\r` and `\\` made what they stand for; another backslash stays.
fn unescaped(cell: &str) -> Cow<'_, str> {
    if !cell.contains('\\') {
        return Cow::Borrowed(cell);
    }
    let mut out = String::with_capacity(cell.len());
    let mut rest = cell.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('\\') => out.push('\\'),
            other => {
                out.push('\\');
                out.extend(other);
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use crate::harness::{Home, columns, issues};
    use axiowl_model::codes;
    use proptest::prelude::*;
    use serde_json::json;

    const RULE: &str = "  s:\n    tsv:\n      path: \"{r}/*.tsv\"\n      escaped: true\n      columns: { id: text, cwd: text, seen: rfc3339, alive: bool, note: text? }\n";

    #[test]
    fn columns_are_found_by_name_and_cells_have_types() {
        let home = Home::new();
        home.write(
            "a.tsv",
            "seen\tid\tcwd\textra\talive\n1970-01-01T00:00:01Z\ta\t/x\\ty\\\\z\\q\t\ttrue\r\n\nsoon\tb\t\t-\tno\n",
        );
        let tables = home.read(RULE);
        assert_eq!(
            columns(&tables, &["id", "cwd", "seen", "alive", "note", "stem"]),
            [
                [
                    json!("a"),
                    json!("/x\ty\\z\\q"),
                    json!(1000),
                    json!(true),
                    json!(null),
                    json!("a")
                ],
                [
                    json!("b"),
                    json!(null),
                    json!(null),
                    json!(null),
                    json!(null),
                    json!("a")
                ]
            ]
        );
        assert!(tables.issues.is_empty());
        assert!(tables.tables["s"].missing_columns.contains("note"));
    }

    #[test]
    fn damage_costs_its_line_and_is_named() {
        let home = Home::new();
        home.write("a.tsv", "id\tcwd\nonly-one\na\t/x\nb\t/y\tz\n");
        home.write("b.tsv", "");
        let tables = home.read(RULE);
        assert_eq!(columns(&tables, &["id"]), [[json!("a")]]);
        assert_eq!(
            issues(&tables),
            [
                (codes::COLUMN_MISSING, None),
                (codes::COLUMN_MISSING, None),
                (codes::DAMAGED, Some(2)),
                (codes::DAMAGED, Some(4)),
                (codes::EMPTY_FILE, None),
            ]
        );
        let capped = format!("{RULE}      max_bytes: 8\n");
        assert!(issues(&home.read(&capped)).contains(&(codes::CAP, None)));
        let capped = format!("{RULE}      max_rows: 1\n");
        home.write("a.tsv", "id\tcwd\tseen\talive\na\t\t\t\nb\t\t\t\n");
        let tables = home.read(&capped);
        assert_eq!(columns(&tables, &["id"]), [[json!("a")]]);
        assert!(issues(&tables).contains(&(codes::CAP, None)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn no_bytes_are_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let home = Home::new();
            home.write("a.tsv", [b"id\tcwd\tseen\talive\tnote\n".as_slice(), &bytes].concat());
            let tables = home.read(RULE);
            prop_assert!(tables.tables["s"].rows.len() <= 300);
        }
    }
}
