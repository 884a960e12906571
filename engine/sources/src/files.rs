//! One row a file, by its name and metadata alone.
//!
//! It opens nothing, so it serves for files whose content nobody can read.

use crate::document::newest;
use crate::find::{Finder, Kind};
use crate::read::{Context, Outcome, Table};
use crate::report::Report;
use axiowl_lang::source::Files;
use serde_json::Value;

/// Lists one source of files.
pub(crate) fn read(rule: &Files, context: &Context<'_>) -> Outcome {
    let mut report = Report::default();
    let mut finder = Finder::new(context.world, context.roots, Kind::File);
    let mut hits = finder.find(&rule.path, "", &mut report);
    let mut table = Table {
        files_matched: hits.len(),
        root_exists: finder.root_exists(&rule.path),
        ..Table::default()
    };
    newest(&mut hits, rule.max_files, &mut report);
    for hit in &hits {
        let mut row = hit.fields();
        if let Some(pattern) = &rule.name {
            let stem = hit.stem();
            let Some(found) = pattern.0.captures(&stem) else {
                continue;
            };
            for group in pattern.0.capture_names().flatten() {
                let value = found.name(group).map(|m| m.as_str().to_owned());
                row.insert(group.to_owned(), value.map_or(Value::Null, Value::String));
            }
        }
        table.rows.push(row);
    }
    Outcome { table, report }
}

#[cfg(test)]
mod tests {
    use crate::harness::{Home, columns, issues};
    use serde_json::json;

    #[test]
    fn files_are_listed_by_name_and_never_opened() {
        let home = Home::new();
        home.write("c/a1.pb", b"\xff\x00 not to be read");
        home.write("c/b2.pb", "");
        home.write("c/other.pb", "x");
        home.write("c/a3.txt", "x");
        let tables = home.read(
            "  s: { files: { path: \"{r}/c/*.pb\", name: \"^(?<letter>[a-z])(?<digit>[0-9])?$|^x(?<never>y)\" } }\n",
        );
        assert_eq!(
            columns(&tables, &["stem", "letter", "digit", "never", "size"]),
            [
                [json!("a1"), json!("a"), json!("1"), json!(null), json!(17)],
                [json!("b2"), json!("b"), json!("2"), json!(null), json!(0)],
            ]
        );
        let table = &tables.tables["s"];
        assert_eq!((table.files_matched, table.files_read), (3, 0));
        assert!(table.root_exists && issues(&tables).is_empty());
    }

    #[test]
    fn secret_files_and_too_many_are_left_out_and_said() {
        let home = Home::new();
        home.write("a.key", "x");
        home.write("b.pb", "x");
        home.write("c.pb", "x");
        let tables = home.read("  s: { files: { path: \"{r}/*\", max_files: 1 } }\n");
        assert_eq!(tables.tables["s"].rows.len(), 1);
        assert!(tables.tables["s"].incomplete);
        assert_eq!(
            issues(&tables),
            [("secret_refused", None), ("cap_reached", None)]
        );
    }
}
