//! Plain text by regular expressions: one row a file, a line or a match.
//!
//! Only the start of a file is read. What lies beyond is a gap where a row might have stood
//! there. It must not know what a group means.

use crate::document::newest;
use crate::file::Hit;
use crate::read::{Context, Outcome};
use crate::report::Report;
use crate::{Row, encoding};
use axiowl_lang::source::{Text, TextRow};
use axiowl_model::{Issue, codes};
use rayon::prelude::*;
use regex::{Captures, Regex};
use serde_json::Value;
use std::io::{self, Read};

/// Characters of a group that are kept; more is no field.
const GROUP: usize = 64 << 10;

/// Reads one text source.
pub(crate) fn read(rule: &Text, context: &Context<'_>) -> Outcome {
    let mut report = Report::default();
    let (mut table, mut hits) = context.files(&rule.path, &mut report);
    newest(&mut hits, rule.max_files, &mut report);
    let read: Vec<_> = hits
        .par_iter()
        .map(|hit| {
            let mut report = Report::default();
            (rows(rule, hit, &mut report), report)
        })
        .collect();
    for (hit, (rows, one)) in hits.iter().zip(read) {
        report.add(one);
        if let Some(rows) = rows {
            table.note_read(&hit.recorded);
            table.add_rows(rows, rule.max_rows, &hit.recorded, &mut report);
        }
    }
    Outcome { table, report }
}

/// The rows of one file; nothing when it cannot be read.
fn rows(rule: &Text, hit: &Hit, report: &mut Report) -> Option<Vec<Row>> {
    let (bytes, cut) = match head(hit, rule.head.0) {
        Ok(read) => read,
        Err(error) => {
            report.unreadable(&hit.recorded, &error);
            return None;
        }
    };
    let mut text = encoding::text(&bytes);
    if cut && rule.per != TextRow::File {
        // The last line is not whole.
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    }
    let base = empty(rule, hit);
    let rows = match rule.per {
        TextRow::File => {
            let (row, all) = of_file(rule, &text, base);
            if !all && cut {
                report.gap(beyond(rule, hit, "a pattern may fit"));
            } else if !all && !rule.pattern.iter().any(|p| p.regex().is_match(&text)) {
                report.strange(&hit.recorded, 0, "no pattern fits it");
            }
            vec![row]
        }
        TextRow::Line => text
            .lines()
            .filter_map(|line| {
                let fit = rule
                    .pattern
                    .iter()
                    .find_map(|p| p.regex().captures(line).map(|c| (p, c)))?;
                let mut row = base.clone();
                take(fit.0.regex(), &fit.1, &mut row);
                Some(row)
            })
            .collect(),
        TextRow::Match => {
            let of = |pattern: &Regex| -> Vec<Row> {
                let found = pattern
                    .captures_iter(&text)
                    .take(rule.max_rows.saturating_add(1));
                found
                    .map(|captures| {
                        let mut row = base.clone();
                        take(pattern, &captures, &mut row);
                        row
                    })
                    .collect()
            };
            rule.pattern
                .iter()
                .flat_map(|pattern| of(pattern.regex()))
                .collect()
        }
    };
    if cut && rule.per != TextRow::File {
        report.gap(beyond(rule, hit, "more rows may stand"));
    }
    Some(rows)
}

/// Each pattern's first match; whether all of them fit.
fn of_file(rule: &Text, text: &str, mut row: Row) -> (Row, bool) {
    let mut all = true;
    for pattern in rule.pattern.iter() {
        match pattern.regex().captures(text) {
            Some(captures) => take(pattern.regex(), &captures, &mut row),
            None => all = false,
        }
    }
    (row, all)
}

/// Puts the groups that took part into a row; a field that an earlier pattern gave stays.
fn take(pattern: &Regex, captures: &Captures<'_>, row: &mut Row) {
    for name in pattern.capture_names().flatten() {
        let Some(found) = captures.name(name) else {
            continue;
        };
        if row.get(name).is_none_or(Value::is_null) {
            let end = found
                .as_str()
                .char_indices()
                .nth(GROUP)
                .map_or(found.len(), |(at, _)| at);
            row.insert(name.into(), Value::from(&found.as_str()[..end]));
        }
    }
}

/// The file's own fields, and every group absent.
fn empty(rule: &Text, hit: &Hit) -> Row {
    let mut row = hit.fields();
    let groups = rule
        .pattern
        .iter()
        .flat_map(|p| p.regex().capture_names().flatten());
    for group in groups {
        row.insert(group.into(), Value::Null);
    }
    row
}

fn beyond(rule: &Text, hit: &Hit, what: &str) -> Issue {
    let message = format!(
        "only the first {} bytes were read; {what} beyond",
        rule.head.0
    );
    Issue::new(codes::CAP, message).at(&hit.recorded)
}

/// The start of a file, and whether there is more.
fn head(hit: &Hit, bytes: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut out = Vec::new();
    crate::file::open(&hit.real)?
        .take(bytes.saturating_add(1))
        .read_to_end(&mut out)?;
    let cut = out.len() as u64 > bytes;
    if cut {
        out.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    Ok((out, cut))
}

#[cfg(test)]
mod tests {
    use crate::harness::{Home, columns, issues};
    use axiowl_model::codes;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn rule(per: &str, rest: &str) -> String {
        format!(
            "  s:\n    text:\n      path: \"{{r}}/*.log\"\n      pattern: ['^id=(?<id>\\w+)', '(?m)cwd=(?<cwd>.*)$']\n      per: {per}\n{rest}"
        )
    }

    #[test]
    fn a_file_a_line_and_a_match_are_rows() {
        let home = Home::new();
        home.write(
            "a.log",
            "\u{feff}id=one\r\ncwd=/x\0y \u{e9}\ncwd=/later\nother\n",
        );
        home.write("b.log", b"nothing \xff here");
        let tables = home.read(&rule("file", ""));
        assert_eq!(
            columns(&tables, &["stem", "id", "cwd"]),
            [
                [json!("a"), json!("one"), json!("/x\0y \u{e9}")],
                [json!("b"), json!(null), json!(null)]
            ]
        );
        assert_eq!(tables.tables["s"].not_understood.len(), 1);
        let lines = home.read(&rule("line", ""));
        assert_eq!(
            columns(&lines, &["id", "cwd"]),
            [
                [json!("one"), json!(null)],
                [json!(null), json!("/x\0y \u{e9}")],
                [json!(null), json!("/later")]
            ]
        );
        let matches = home.read(&rule("match", "      convert: { cwd: last_segment }\n"));
        assert_eq!(
            columns(&matches, &["id", "cwd"]),
            [
                [json!("one"), json!(null)],
                [json!(null), json!("x\0y \u{e9}")],
                [json!(null), json!("later")]
            ]
        );
    }

    #[test]
    fn what_lies_beyond_the_start_is_said() {
        let home = Home::new();
        home.write("a.log", format!("id=one\n{}cwd=/x\n", "-".repeat(100)));
        let tables = home.read(&rule("file", "      head: 64\n"));
        assert_eq!(
            columns(&tables, &["id", "cwd"]),
            [[json!("one"), Value::Null]]
        );
        assert_eq!(issues(&tables), [(codes::CAP, None)]);
        home.write("a.log", format!("id=one\ncwd=/x\n{}", "-".repeat(100)));
        assert!(
            home.read(&rule("file", "      head: 64\n"))
                .issues
                .is_empty()
        );
        home.write("a.log", "id=a\nid=b\nid=c\nid=long".repeat(3));
        let tables = home.read(&rule("line", "      head: 18\n"));
        assert_eq!(
            columns(&tables, &["id"]).concat(),
            [json!("a"), json!("b"), json!("c")]
        );
        assert_eq!(issues(&tables), [(codes::CAP, None)]);
        let tables = home.read(&rule("line", "      max_rows: 2\n"));
        assert_eq!(tables.tables["s"].rows.len(), 2);
        assert_eq!(issues(&tables), [(codes::CAP, None)]);
        assert!(tables.tables["s"].incomplete);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn no_bytes_are_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..300), head in 1..200_u64) {
            let home = Home::new();
            home.write("a.log", &bytes);
            for per in ["file", "line", "match"] {
                let tables = home.read(&rule(per, &format!("      head: {head}\n")));
                prop_assert!(tables.tables["s"].rows.len() <= 300);
            }
        }
    }
}
