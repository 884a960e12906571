//! One row a file, by its name, size and time alone.
//!
//! For files whose being there says something and whose content says nothing, or may not
//! be looked at. It opens none of them.

use crate::document::newest;
use crate::file::Hit;
use crate::read::{Context, Outcome};
use crate::report::Report;
use axiowl_lang::source::Files;
use serde_json::Value;

/// Reads one source of files.
pub(crate) fn read(rule: &Files, context: &Context<'_>) -> Outcome {
    let mut report = Report::default();
    let (mut table, mut hits) = context.files(&rule.path, &mut report);
    if let Some(name) = &rule.name {
        hits.retain(|hit| name.regex().is_match(&hit.stem()));
        table.files_matched = hits.len();
    }
    newest(&mut hits, rule.max_files, &mut report);
    for hit in &hits {
        table.note_read(&hit.recorded);
        table.rows.push(row(rule, hit));
    }
    Outcome { table, report }
}

fn row(rule: &Files, hit: &Hit) -> crate::Row {
    let stem = hit.stem();
    let mut row = hit.fields();
    let Some(name) = &rule.name else {
        return row;
    };
    let captures = name.regex().captures(&stem);
    for group in name.regex().capture_names().flatten() {
        let found = captures.as_ref().and_then(|captures| captures.name(group));
        row.insert(
            group.into(),
            found.map_or(Value::Null, |m| Value::from(m.as_str())),
        );
    }
    row
}

#[cfg(test)]
mod tests {
    use crate::harness::{Home, columns, issues};
    use axiowl_model::codes;
    use serde_json::json;

    #[test]
    fn files_are_rows_by_their_names() {
        let home = Home::new();
        home.write("a/inuse.12.lock", "");
        home.write("a/inuse.x.lock", "");
        home.write("b/inuse.34.lock", "34\n");
        let rule =
            "  s:\n    files: { path: \"{r}/*/inuse.*.lock\", name: '^inuse\\.(?<pid>\\d+)$' }\n";
        let tables = home.read(rule);
        assert_eq!(
            columns(&tables, &["folder", "pid", "size"]),
            [
                [json!("a"), json!("12"), json!(0)],
                [json!("b"), json!("34"), json!(3)]
            ]
        );
        assert!(tables.issues.is_empty());
        let capped = rule.replace("name:", "max_files: 1, name:");
        assert_eq!(issues(&home.read(&capped)), [(codes::CAP, None)]);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/etc/passwd", home.path("r/a/inuse.9.lock")).unwrap();
            assert_eq!(issues(&home.read(rule)), [(codes::OUTSIDE_ROOTS, None)]);
        }
    }
}
