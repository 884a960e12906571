//! The difference between two outcomes, row by row, as a person reads it, and how one of
//! them is taken over.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The lists of an outcome: their name, what a row is known by, and the word put before it.
const LISTS: [(&str, &str, &str); 2] = [
    ("rows", "provider_session_id", ""),
    ("registry", "agent_id", "registry "),
];
/// The other parts, each compared as a whole.
const PARTS: [&str; 3] = ["left_out", "issues", "verdict"];

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where it is.
    pub place: Place,
    /// Which row or part, for people.
    pub what: String,
    /// What is different.
    pub kind: Kind,
}

/// Where a difference is: a row of a list by its id, or a part as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    list: &'static str,
    id: String,
}

/// What is different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Only in the new outcome.
    Found,
    /// Only in the old outcome.
    Lost,
    /// A list that is compared as a whole: what is no longer in it, and what is new.
    Listed {
        /// Only in the old one, as a person reads it.
        gone: Vec<String>,
        /// Only in the new one.
        new: Vec<String>,
    },
    /// A field of a row.
    Changed {
        /// Which field.
        field: String,
        /// As it was.
        before: String,
        /// As it is.
        after: String,
    },
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = &self.what;
        match &self.kind {
            Kind::Found => write!(f, "+ {what}"),
            Kind::Lost => write!(f, "- {what}"),
            Kind::Listed { gone, new } => {
                write!(f, "~ {what}")?;
                gone.iter().try_for_each(|one| write!(f, "\n    - {one}"))?;
                new.iter().try_for_each(|one| write!(f, "\n    + {one}"))
            }
            Kind::Changed {
                field,
                before,
                after,
            } => write!(f, "~ {what}\n    {field}: {before} -> {after}"),
        }
    }
}

/// Differences between outcomes with `rows`, `registry` and other parts.
pub fn between(before: &Value, after: &Value) -> Vec<Change> {
    let mut out = Vec::new();
    for (list, key, prefix) in LISTS {
        rows(&before[list], &after[list], list, key, prefix, &mut out);
    }
    for part in PARTS {
        if before[part] != after[part] {
            out.push(Change {
                place: Place {
                    list: part,
                    id: String::new(),
                },
                what: part.replace('_', " "),
                kind: whole(part, &before[part], &after[part]),
            });
        }
    }
    out
}

/// How a part that is compared as a whole differs.
fn whole(part: &str, before: &Value, after: &Value) -> Kind {
    if part != "issues" || !before.is_array() && !before.is_null() {
        return Kind::Changed {
            field: "is".into(),
            before: before.to_string(),
            after: after.to_string(),
        };
    }
    let (before, after) = (issues(before), issues(after));
    let without = |list: &[String], other: &[String]| -> Vec<String> {
        let only = list.iter().filter(|one| !other.contains(one));
        only.cloned().collect()
    };
    Kind::Listed {
        gone: without(&before, &after),
        new: without(&after, &before),
    }
}

/// Issues as lines.
fn issues(list: &Value) -> Vec<String> {
    let text = |issue: &Value, key: &str| issue[key].as_str().unwrap_or_default().to_owned();
    let list = list.as_array().into_iter().flatten();
    list.map(|issue| {
        let line = issue["line"].as_u64();
        let line = line.map_or(String::new(), |line| format!(":{line}"));
        let place = match text(issue, "path") {
            path if path.is_empty() => String::new(),
            path => format!(" {path}{line}:"),
        };
        format!("{}{place} {}", text(issue, "code"), text(issue, "message"))
    })
    .collect()
}

/// The changes as a person reads them, those of one row under its name once.
pub fn lines(changes: &[Change]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut before: Option<&Place> = None;
    for change in changes {
        let shown = change.to_string();
        let mut lines = shown.lines();
        let same = before == Some(&change.place) && matches!(change.kind, Kind::Changed { .. });
        if same {
            lines.next();
        }
        out.extend(lines.map(str::to_owned));
        before = Some(&change.place);
    }
    out
}

/// Takes one change of `after` over into `expected`.
pub fn take(expected: &mut Value, after: &Value, change: &Change) {
    let Place { list, id } = &change.place;
    let Some((_, key, _)) = LISTS.iter().find(|(name, ..)| name == list) else {
        expected[*list] = after[*list].clone();
        return;
    };
    let is_it = |row: &Value| row[*key].as_str() == Some(id);
    let new = after[*list]
        .as_array()
        .into_iter()
        .flatten()
        .find(|r| is_it(r));
    if !expected[*list].is_array() {
        expected[*list] = Value::Array(Vec::new());
    }
    let Some(rows) = expected[*list].as_array_mut() else {
        return;
    };
    match (&change.kind, new) {
        (Kind::Lost, _) | (Kind::Found, None) => rows.retain(|row| !is_it(row)),
        (Kind::Found, Some(new)) => {
            rows.push(new.clone());
            // As a run writes them: by id.
            rows.sort_by_key(|row| row[*key].as_str().unwrap_or_default().to_owned());
        }
        // Parts were taken over above.
        (Kind::Listed { .. }, _) => {}
        (Kind::Changed { field, .. }, new) => {
            if let Some(row) = rows.iter_mut().find(|row| is_it(row)) {
                match new.and_then(|new| new.get(field)) {
                    Some(value) => row[field] = value.clone(),
                    None => {
                        if let Some(row) = row.as_object_mut() {
                            row.shift_remove(field);
                        }
                    }
                }
            }
        }
    }
}

fn rows(
    before: &Value,
    after: &Value,
    list: &'static str,
    key: &str,
    prefix: &str,
    out: &mut Vec<Change>,
) {
    let (before, after) = (keyed(before, key), keyed(after, key));
    let mut push = |id: &str, row: &Map<String, Value>, kind| {
        out.push(Change {
            place: Place {
                list,
                id: id.to_owned(),
            },
            what: format!("{prefix}{}", label(id, row)),
            kind,
        });
    };
    for (id, row) in &before {
        match after.get(id) {
            None => push(id, row, Kind::Lost),
            Some(new) => {
                for kind in fields(row, new) {
                    push(id, new, kind);
                }
            }
        }
    }
    for (id, row) in after.iter().filter(|(id, _)| !before.contains_key(*id)) {
        push(id, row, Kind::Found);
    }
}

fn keyed<'v>(list: &'v Value, key: &str) -> BTreeMap<String, &'v Map<String, Value>> {
    let rows = list
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object);
    rows.filter_map(|row| Some((row.get(key)?.as_str()?.to_owned(), row)))
        .collect()
}

fn label(id: &str, row: &Map<String, Value>) -> String {
    match row.get("display_name").and_then(Value::as_str) {
        Some(name) => format!("{:?} ({id})", name),
        None => id.to_owned(),
    }
}

fn fields(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<Kind> {
    let new = after.keys().filter(|key| !before.contains_key(*key));
    let keys = before.keys().chain(new);
    let value = |row: &Map<String, Value>, key: &str| row.get(key).cloned().unwrap_or_default();
    keys.filter(|key| value(before, key) != value(after, key))
        .map(|key| Kind::Changed {
            field: key.clone(),
            before: value(before, key).to_string(),
            after: value(after, key).to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn found_lost_and_changed_rows_are_told_apart() {
        let row = |id: &str, name: &str| json!({ "provider_session_id": id, "display_name": name });
        let before = json!({ "rows": [row("a", "A"), row("b", "B")] });
        let after = json!({ "rows": [row("b", "C"), row("d", "D")] });
        let shown: Vec<String> = between(&before, &after)
            .iter()
            .map(Change::to_string)
            .collect();
        assert_eq!(
            shown,
            [
                "- \"A\" (a)",
                "~ \"C\" (b)\n    display_name: \"B\" -> \"C\"",
                "+ \"D\" (d)"
            ]
        );
    }

    #[test]
    fn taking_every_change_gives_the_new_outcome() {
        let row = |id: &str, name: &str| json!({ "provider_session_id": id, "display_name": name });
        let mut before =
            json!({ "rows": [row("a", "A"), row("b", "B")], "verdict": "drift", "registry": [] });
        let after = json!({
            "rows": [row("aa", "X"), row("b", "C")], "verdict": "verified",
            "registry": [{ "agent_id": "p:local:b", "sendable": true }],
        });
        let changes = between(&before, &after);
        assert_eq!(changes.len(), 5);
        take(&mut before, &after, &changes[1]);
        assert_eq!(before["rows"][1]["display_name"], "C");
        for change in &changes {
            take(&mut before, &after, change);
        }
        assert_eq!(before, after);
    }
}
