//! The difference between two outcomes, row by row, as a person reads it.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Only in the new outcome.
    Found(String),
    /// Only in the old outcome.
    Lost(String),
    /// A field of a row.
    Changed {
        /// Which row or part.
        what: String,
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
        match self {
            Self::Found(what) => write!(f, "+ {what}"),
            Self::Lost(what) => write!(f, "- {what}"),
            Self::Changed {
                what,
                field,
                before,
                after,
            } => {
                write!(f, "~ {what}\n    {field}: {before} -> {after}")
            }
        }
    }
}

/// Differences between outcomes with `rows`, `registry` and other parts.
pub fn between(before: &Value, after: &Value) -> Vec<Change> {
    let mut out = Vec::new();
    lists(
        &before["rows"],
        &after["rows"],
        "provider_session_id",
        "",
        &mut out,
    );
    lists(
        &before["registry"],
        &after["registry"],
        "agent_id",
        "registry ",
        &mut out,
    );
    for part in ["left_out", "issues", "verdict"] {
        if before[part] != after[part] {
            out.push(Change::Changed {
                what: part.replace('_', " "),
                field: "is".into(),
                before: before[part].to_string(),
                after: after[part].to_string(),
            });
        }
    }
    out
}

fn lists(before: &Value, after: &Value, key: &str, prefix: &str, out: &mut Vec<Change>) {
    let (before, after) = (keyed(before, key), keyed(after, key));
    for (id, row) in &before {
        match after.get(id) {
            None => out.push(Change::Lost(format!("{prefix}{}", label(id, row)))),
            Some(new) => fields(&format!("{prefix}{}", label(id, new)), row, new, out),
        }
    }
    for (id, row) in after.iter().filter(|(id, _)| !before.contains_key(*id)) {
        out.push(Change::Found(format!("{prefix}{}", label(id, row))));
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

fn fields(
    what: &str,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    out: &mut Vec<Change>,
) {
    let keys: Vec<&String> = before
        .keys()
        .chain(after.keys().filter(|key| !before.contains_key(*key)))
        .collect();
    for key in keys {
        let (old, new) = (
            before.get(key).unwrap_or(&Value::Null),
            after.get(key).unwrap_or(&Value::Null),
        );
        if old != new {
            out.push(Change::Changed {
                what: what.to_owned(),
                field: key.clone(),
                before: old.to_string(),
                after: new.to_string(),
            });
        }
    }
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
}
