//! Protobuf files: one row a file, or one a repeated message.
//!
//! A file is a message from its first byte to its last, or it is damaged and says nothing.
//! It must not know what a field number means.

use crate::document::{bytes, newest};
use crate::file::Hit;
use crate::read::{Context, Outcome};
use crate::report::Report;
use crate::{Row, wire};
use axiowl_lang::source::Protobuf;
use axiowl_model::{Issue, codes};
use rayon::prelude::*;

/// Reads one source of messages.
pub(crate) fn read(rule: &Protobuf, context: &Context<'_>) -> Outcome {
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
        if let Some((document, rows)) = rows {
            table.note_read(&hit.recorded);
            table.doc.get_or_insert(document);
            table.add_rows(rows, rule.max_rows, &hit.recorded, &mut report);
        }
    }
    Outcome { table, report }
}

fn rows(rule: &Protobuf, hit: &Hit, report: &mut Report) -> Option<(Row, Vec<Row>)> {
    let (message, _) = bytes(hit, rule.max_bytes.0, report)?;
    if message.is_empty() {
        report.issue(Issue::new(codes::EMPTY_FILE, "it is empty").at(&hit.recorded));
        return None;
    }
    if !wire::is_message(&message) {
        let message = "it is no whole protobuf message";
        report.gap(Issue::new(codes::DAMAGED, message).at(&hit.recorded));
        return None;
    }
    let mut own = hit.fields();
    let known = wire::take(&rule.fields, &message, &mut own);
    let Some(each) = &rule.each else {
        if !known {
            report.strange(&hit.recorded, 0, "none of the fields is in it");
        }
        return Some((own.clone(), vec![own]));
    };
    let rows = wire::elements(each, &message, &own, rule.max_rows);
    if rows.is_empty() && !known {
        report.strange(&hit.recorded, 0, "none of the fields and no list is in it");
    }
    Some((own, rows))
}

#[cfg(test)]
mod tests {
    use crate::harness::{Home, columns, issues};
    use axiowl_model::codes;
    use serde_json::json;

    const RULE: &str = "  s:\n    protobuf:\n      path: \"{r}/*.pb\"\n      each: { at: \"1\", fields: { id: \"1\", title: \"2.1\", folder: \"2.9.1\" } }\n      convert: { folder: file_path }\n";

    /// Two sessions, the second without a folder.
    const TWO: &[u8] = b"\x0a\x15\x0a\x01a\x12\x10\x0a\x01A\x4a\x0b\x0a\x09file:///w\x0a\x08\x0a\x01b\x12\x03\x0a\x01B";

    #[test]
    fn repeated_messages_are_rows() {
        let home = Home::new();
        home.write("a.pb", TWO);
        let tables = home.read(RULE);
        assert_eq!(
            columns(&tables, &["id", "title", "folder", "stem"]),
            [
                [json!("a"), json!("A"), json!("/w"), json!("a")],
                [json!("b"), json!("B"), json!(null), json!("a")]
            ]
        );
        assert!(tables.issues.is_empty(), "{:?}", tables.issues);
    }

    #[test]
    fn damage_and_caps_are_named() {
        let home = Home::new();
        home.write("a.pb", &TWO[..TWO.len() - 1]);
        home.write("b.pb", "");
        home.write("c.pb", b"\x10\x01");
        let tables = home.read(RULE);
        assert_eq!(tables.tables["s"].rows.len(), 0);
        assert_eq!(
            issues(&tables),
            [(codes::DAMAGED, None), (codes::EMPTY_FILE, None)]
        );
        assert!(tables.tables["s"].incomplete);
        assert_eq!(tables.tables["s"].not_understood.len(), 1);
        home.write("a.pb", TWO);
        let tables = home.read(&format!("{RULE}      max_rows: 1\n"));
        assert_eq!(columns(&tables, &["id"]), [[json!("a")]]);
        assert!(issues(&tables).contains(&(codes::CAP, None)));
        let tables = home.read(&format!("{RULE}      max_bytes: 8\n"));
        assert!(issues(&tables).contains(&(codes::CAP, None)));
    }
}
