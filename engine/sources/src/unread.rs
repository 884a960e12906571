//! Stores that a rule knows and does not read: whether they are there, and how many files.
//!
//! Nothing here opens a file.

use crate::file::Hit;
use crate::find::{Finder, Kind};
use crate::read::Table;
use crate::record::evaluate;
use crate::report::Report;
use crate::roots::Root;
use crate::{Row, World};
use axiowl_lang::rule::{Rule, Unread};
use axiowl_model::{Issue, codes};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// What was seen of them.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub issues: Vec<Issue>,
    pub files: usize,
    pub root_exists: bool,
}

/// Looks for every one.
pub(crate) fn look(
    rule: &Rule,
    world: &World,
    roots: &BTreeMap<String, Root>,
    tables: &BTreeMap<String, Table>,
) -> Seen {
    let mut seen = Seen::default();
    let mut report = Report::default();
    for unread in &rule.unread {
        let applies = |when| evaluate(when, &Row::new(), Some(world));
        if !unread.when.as_ref().is_none_or(applies) {
            continue;
        }
        if unread.files.is_empty() {
            seen.issues
                .push(Issue::new(codes::UNSUPPORTED_STORE, unread.say.clone()));
            continue;
        }
        let mut finder = Finder::new(world, roots, Kind::File);
        seen.root_exists |= finder.root_exists(&unread.files);
        let mut hits = finder.find(&unread.files, "", &mut report);
        let known = stems(unread, tables);
        hits.retain(|hit| counts(unread, hit, &known));
        seen.files += hits.len();
        let Some(first) = hits.first() else { continue };
        let message = match hits.len() {
            1 => unread.say.clone(),
            n => format!("{}; {n} files, this one first", unread.say),
        };
        seen.issues
            .push(Issue::new(codes::UNSUPPORTED_STORE, message).at(&first.recorded));
    }
    seen.issues.extend(report.into_issues("unread"));
    seen
}

fn counts(unread: &Unread, hit: &Hit, known: &HashSet<&str>) -> bool {
    let name = hit.recorded.rsplit(['/', '\\']).next().unwrap_or_default();
    let fits = |pattern: &str| glob::Pattern::new(pattern).is_ok_and(|p| p.matches(name));
    let excepted = unread.except.iter().any(|pattern| fits(pattern));
    !excepted && !known.contains(hit.stem().as_str())
}

/// The values that stand for files already read.
fn stems<'t>(unread: &Unread, tables: &'t BTreeMap<String, Table>) -> HashSet<&'t str> {
    let places = unread.unless_in.iter().flat_map(|places| places.iter());
    let fields = places.filter_map(|place| place.split_once('.'));
    fields
        .filter_map(|(source, field)| Some((tables.get(source)?, field)))
        .flat_map(|(table, field)| table.rows.iter().filter_map(move |row| row.get(field)))
        .filter_map(Value::as_str)
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::harness::Home;
    use axiowl_model::codes;

    const RULE: &str = "  s:
    json: { path: \"{r}/known.json\", each: { at: \"\", fields: { id: /id } } }
unread:
  - { files: \"{r}/*.db\", except: [main.db, \"old-*.db\"], say: another name }
  - { files: \"{r}/old/*/*.json\", unless_in: s.id, say: the old storage }
  - { when: { env: NOWHERE_SET }, say: never }
  - { when: { not: { env: NOWHERE_SET } }, say: a setting }
";

    #[test]
    fn what_is_not_read_is_said_once_a_store_with_its_first_file() {
        let home = Home::new();
        home.write("known.json", r#"[{"id":"a"}]"#);
        for name in ["main.db", "old-1.db", "dev.db", "dev.db-wal"] {
            home.write(name, "not a database, and nobody looks");
        }
        for name in ["old/p/a.json", "old/p/b.json", "old/q/c.json"] {
            home.write(name, "{ not even JSON");
        }
        let tables = home.read(RULE);
        let said: Vec<(&str, String)> = tables
            .issues
            .iter()
            .map(|issue| {
                assert_eq!(issue.code, codes::UNSUPPORTED_STORE, "{issue:?}");
                let path = issue.path.as_deref().unwrap_or_default();
                let name = path.rsplit_once("/r/").map_or("", |(_, name)| name);
                (name, issue.message.clone())
            })
            .collect();
        assert_eq!(
            said,
            [
                ("dev.db", "another name".to_owned()),
                (
                    "old/p/b.json",
                    "the old storage; 2 files, this one first".to_owned()
                ),
                ("", "a setting".to_owned()),
            ]
        );
        assert_eq!((tables.unread_files, tables.unread_root_exists), (3, true));
        assert!(!tables.tables["s"].incomplete);
    }
}
