//! Reads the map: `C042: [test, …]`, `C345: { later: A28 }`, `{ not_applicable: A28 }`, and in
//! `open.yaml` `C437: why`.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What the map says about a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// These tests name it.
    Tests(Vec<String>),
    /// Later work, by this annex row.
    Later(String),
    /// Met in another way, by this annex row.
    NotApplicable(String),
}

/// All topics together.
#[derive(Debug, Default)]
pub struct Map {
    pub claims: BTreeMap<String, Claim>,
    /// Number → why no test covers it.
    pub open: BTreeMap<String, String>,
    pub problems: Vec<String>,
}

/// Reads every file of the folder.
pub fn read(folder: &Path) -> Map {
    let mut map = Map::default();
    let entries = std::fs::read_dir(folder).expect("the map's folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("entry").path()).collect();
    files.sort();
    for file in files {
        let topic = file
            .file_name()
            .expect("name")
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&file).expect("text");
        map.add(&topic, &text);
    }
    map
}

impl Map {
    /// Adds one topic's text.
    pub fn add(&mut self, topic: &str, text: &str) {
        // The reader keeps the last of equal keys, so they are looked for in the text.
        let mut keys = BTreeSet::new();
        let starts = text
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic()));
        for key in starts.filter_map(|line| line.split(':').next()) {
            if !keys.insert(key) {
                self.problems.push(format!("{topic}: {key} stands twice"));
            }
        }
        let document = match axiowl_lang::yaml::to_json(text, 4) {
            Ok(Value::Object(document)) => document,
            Ok(_) => return self.problems.push(format!("{topic}: it is no mapping")),
            Err(error) => return self.problems.push(format!("{topic}: {error}")),
        };
        for (number, value) in document {
            if topic == "open.yaml" {
                match value.as_str().map(str::trim) {
                    Some(reason) if !reason.is_empty() => {
                        self.open.insert(number, reason.to_owned());
                    }
                    _ => self
                        .problems
                        .push(format!("{topic}: {number} has no reason")),
                }
                continue;
            }
            match claim(&value) {
                Some(claim) => self.claim(topic, number, claim),
                None => self
                    .problems
                    .push(format!("{topic}: {number} says {value}")),
            }
        }
    }

    /// Two topics may each name tests of one number; anything else has to agree.
    fn claim(&mut self, topic: &str, number: String, claim: Claim) {
        match (self.claims.get_mut(&number), claim) {
            (None, claim) => {
                self.claims.insert(number, claim);
            }
            (Some(Claim::Tests(known)), Claim::Tests(more)) => known.extend(more),
            (Some(known), claim) if *known == claim => {}
            (Some(known), claim) => {
                self.problems.push(format!(
                    "{topic}: {number} is {claim:?} here and {known:?} elsewhere"
                ));
            }
        }
    }
}

fn claim(value: &Value) -> Option<Claim> {
    match value {
        Value::Array(names) => {
            let names: Option<Vec<String>> = names
                .iter()
                .map(|name| name.as_str().map(str::to_owned))
                .collect();
            names.filter(|names| !names.is_empty()).map(Claim::Tests)
        }
        Value::Object(fields) => {
            let (key, row) = fields.iter().next().filter(|_| fields.len() == 1)?;
            let row = row.as_str().filter(|row| row.starts_with('A'))?.to_owned();
            match key.as_str() {
                "later" => Some(Claim::Later(row)),
                "not_applicable" => Some(Claim::NotApplicable(row)),
                _ => None,
            }
        }
        _ => None,
    }
}

#[test]
fn topics_add_up_and_contradictions_are_named() {
    let mut map = Map::default();
    map.add(
        "a.yaml",
        "# topic\nC001: [one]\nC002: { later: A28 }\nC003: [two]\nC003: [three]\n",
    );
    map.add(
        "b.yaml",
        "C001: [four]\nC002: [five]\nC004: []\nC005: { never: A28 }\n",
    );
    map.add("c.yaml", "C002: { later: A28 }\n");
    map.add("open.yaml", "C006: the rule is not there yet\nC007: ''\n");
    let both = Claim::Tests(vec!["one".into(), "four".into()]);
    assert_eq!(map.claims.get("C001"), Some(&both));
    assert_eq!(map.open.keys().collect::<Vec<_>>(), ["C006"]);
    let named = [
        "C003 stands twice",
        "C002 is Tests",
        "C004 says",
        "C005 says",
        "C007 has no",
    ];
    assert_eq!(map.problems.len(), named.len(), "{:#?}", map.problems);
    for name in named {
        assert!(
            map.problems.iter().any(|p| p.contains(name)),
            "{name}: {:#?}",
            map.problems
        );
    }
}
