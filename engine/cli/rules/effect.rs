//! What another rule would do to the registry: rows gained, lost, trusted, no longer trusted.

use axiowl_model::AgentRecord;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The difference between two registries, by what it means for a sender.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effect {
    gained: Vec<String>,
    lost: Vec<String>,
    promoted: Vec<String>,
    demoted: Vec<String>,
    renamed: Vec<String>,
}

impl Effect {
    /// From the rows as they would be now to the rows as they would be then.
    pub fn between(now: &[AgentRecord], then: &[AgentRecord]) -> Self {
        let by_id = |rows: &[AgentRecord]| -> BTreeMap<String, AgentRecord> {
            rows.iter()
                .map(|row| (row.agent_id(), row.clone()))
                .collect()
        };
        let (now, then) = (by_id(now), by_id(then));
        let named = |id: &str, row: &AgentRecord| format!("{:?} ({id})", row.display_name);
        let mut out = Self::default();
        for (id, row) in &then {
            match now.get(id) {
                None => out.gained.push(match row.sendable {
                    true => named(id, row),
                    false => format!("{}, not sendable: {}", named(id, row), row.last_error),
                }),
                Some(old) if row.sendable && !old.sendable => out.promoted.push(named(id, row)),
                Some(old) if !row.sendable && old.sendable => {
                    let why = &row.last_error;
                    out.demoted.push(format!("{}: {why}", named(id, row)));
                }
                Some(old) if old.display_name != row.display_name => {
                    let was = &old.display_name;
                    out.renamed.push(format!("{}, was {was:?}", named(id, row)));
                }
                Some(_) => {}
            }
        }
        let gone = now.iter().filter(|(id, _)| !then.contains_key(*id));
        out.lost = gone.map(|(id, row)| named(id, row)).collect();
        out
    }

    fn all(&self) -> [(&'static str, &'static str, &[String]); 5] {
        [
            ("gained", "gains", &self.gained),
            ("lost", "loses", &self.lost),
            ("promoted", "can send to", &self.promoted),
            ("demoted", "can no longer send to", &self.demoted),
            ("renamed", "renames", &self.renamed),
        ]
    }

    /// One line a row, or that nothing changes.
    pub fn lines(&self) -> Vec<String> {
        let lines: Vec<String> = self
            .all()
            .iter()
            .flat_map(|(_, verb, rows)| rows.iter().map(move |row| format!("{verb} {row}")))
            .collect();
        match lines.is_empty() {
            true => vec!["would be the same".into()],
            false => lines,
        }
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let mut out = json!({});
        for (key, _, rows) in self.all() {
            out[key] = json!(rows);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_model::SessionKey;

    fn row(session: &str, name: &str, sendable: bool) -> AgentRecord {
        let key = SessionKey {
            provider: "p".into(),
            node: "local".into(),
            session: session.into(),
        };
        AgentRecord {
            sendable,
            last_error: if sendable {
                String::new()
            } else {
                "gone".into()
            },
            ..AgentRecord::new(key, name)
        }
    }

    #[test]
    fn rows_are_sorted_by_what_becomes_of_them() {
        let now = [
            row("a", "A", true),
            row("b", "B", true),
            row("c", "C", false),
            row("d", "D", true),
        ];
        let then = [
            row("b", "B", false),
            row("c", "C", true),
            row("d", "E", true),
            row("e", "F", false),
        ];
        let effect = Effect::between(&now, &then);
        assert_eq!(
            effect.lines(),
            [
                "gains \"F\" (p:local:e), not sendable: gone",
                "loses \"A\" (p:local:a)",
                "can send to \"C\" (p:local:c)",
                "can no longer send to \"B\" (p:local:b): gone",
                "renames \"E\" (p:local:d), was \"D\"",
            ]
        );
        assert_eq!(Effect::between(&now, &now).lines(), ["would be the same"]);
        assert_eq!(effect.to_json()["lost"][0], "\"A\" (p:local:a)");
    }
}
