//! Patches: what they make of a rule, where each line comes from, and what is wrong with them.

use axiowl_lang::codes;
use axiowl_lang::diag::Diagnostic;
use axiowl_lang::layers::{RuleSet, Sources, load_all};
use axiowl_lang::load::{Layer, LoadedRule};
use std::path::Path;

mod bases;
mod mistakes;
mod verbs;

const RULE: &str = r#"# A rule in both styles.
axiowl: 1
provider: demo
title: Demo
roots:
  store: "~/.demo"
sources:
  threads:
    sqlite:
      path: "{store}/state.sqlite"
      sql: SELECT * FROM threads
      columns: { id: text, title: text, archived: bool, folder: text? }
      max_rows: 5000          # plenty
  index:
    jsonl:
      path: "{store}/index.jsonl"
      per: line
      take:
        # The last one counts.
        - fields: { id: /id, name: /name }
          skip_empty: name
rows:
  from: threads
  session: "{id}"
  where: { title: { present: true } }
  join:
    - { with: index, on: id, as: index }
name:
  candidates:
    - { from: index.name, label: renamed }
    - { from: title, label: title, weak: true }
  reject: [blank, uuid]
status:
  - { when: { archived: true }, is: archived }
  - { is: active }
proof:
  - source: demo_thread
    when: { title: { present: true } }
    grants: [enroll, send]   # both
  - source: demo_rest
aliases: ["{name} agent"]
"#;

const BASE: &str = "1f2a03b1";

fn digest() -> String {
    load("").get("demo").unwrap().digest.clone()
}

/// The rules with a patch of these overrides in the user's layer; none for an empty text.
fn load(overrides: &str) -> RuleSet {
    let dir = tempfile::tempdir().unwrap();
    if !overrides.is_empty() {
        let base = match overrides.contains("base:") {
            true => String::new(),
            false => format!("base: {}\n", digest()),
        };
        let text =
            format!("axiowl: 1\nprovider: demo\nextends: builtin\n{base}override:\n{overrides}");
        put(&dir.path().join("demo/rule.yaml"), &text);
        put(&dir.path().join("demo/fixtures/one/world.yaml"), "");
    }
    load_all(&Sources {
        built_in: &[("demo", "rule.yaml", RULE)],
        user: Some(dir.path()),
        ..Sources::default()
    })
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// The lines that a patch changes: `-` of the built-in, `+` of the result.
fn changes(overrides: &str) -> Vec<String> {
    let set = load(overrides);
    assert!(set.problems().is_empty(), "{}", shown(&set));
    let after = &set.get("demo").unwrap().files[0].text;
    let (before, after): (Vec<&str>, Vec<&str>) = (RULE.lines().collect(), after.lines().collect());
    let same = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a == b)
        .count();
    let (before, after) = (&before[same..], &after[same..]);
    let both = before.iter().rev().zip(after.iter().rev());
    let end = both.take_while(|(a, b)| a == b).count();
    let mark = |sign: char, lines: &[&str]| -> Vec<String> {
        let lines = lines[..lines.len() - end].iter();
        lines.map(|line| format!("{sign}{line}")).collect()
    };
    [mark('-', before), mark('+', after)].concat()
}

fn shown(set: &RuleSet) -> String {
    let all = set.problems().iter().flat_map(|p| &p.diagnostics);
    all.map(|d| format!("{d}\n")).collect()
}

fn errors(overrides: &str) -> Vec<Diagnostic> {
    let set = load(overrides);
    // The built-in one is used, and that is said.
    let problem = &set.problems()[0];
    assert_eq!(problem.layer, Layer::User);
    assert_eq!(problem.instead, Some(Layer::BuiltIn));
    assert_eq!(set.get("demo").unwrap().layer, Layer::BuiltIn);
    problem.diagnostics.clone()
}

fn warnings(overrides: &str) -> Vec<String> {
    let set = load(overrides);
    assert!(set.problems().is_empty(), "{}", shown(&set));
    let loaded = set.get("demo").unwrap();
    let found = loaded.warnings.iter();
    found
        .map(|d| format!("{}: {}", d.code, d.message))
        .collect()
}
