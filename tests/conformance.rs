//! The conformance map: which test proves which numbered statement, and the tests that were
//! written for the map's sake.
//!
//! `tests/conformance.d/<topic>.yaml` names the tests of a topic's numbers; `open.yaml` holds
//! the numbers no test covers yet, each with its reason. The statements' text stands in the
//! specification; here are only their numbers.

mod program;

#[path = "conformance/claude.rs"]
mod claude;
#[path = "conformance/codex.rs"]
mod codex;
#[path = "conformance/codex_cli.rs"]
mod codex_cli;
#[path = "conformance/codex_home.rs"]
mod codex_home;
#[path = "conformance/discover.rs"]
mod discover;
#[path = "conformance/manifest.rs"]
mod manifest;
#[path = "conformance/map.rs"]
mod map;
#[path = "conformance/remote.rs"]
mod remote;
#[path = "conformance/required.rs"]
mod required;
#[path = "conformance/scene.rs"]
mod scene;
#[path = "conformance/spoofs.rs"]
mod spoofs;
#[path = "conformance/table.rs"]
mod table;
#[path = "conformance/tests_of.rs"]
mod tests_of;

use map::Claim;
use std::path::Path;

#[test]
fn every_required_number_is_covered_by_a_test_or_openly_missing() {
    let root = Path::new(program::ROOT);
    let map = map::read(&root.join("tests/conformance.d"));
    let known = required::known();
    let required = required::required();
    let tests = tests_of::tests(root);
    let mut wrong = map.problems.clone();

    for (number, claim) in &map.claims {
        if !known.contains(number) {
            wrong.push(format!("{number}: the specification has no such number"));
        }
        match claim {
            Claim::Tests(names) => {
                for name in names.iter().filter(|name| !tests.contains(name.as_str())) {
                    wrong.push(format!("{number}: there is no test `{name}`"));
                }
            }
            Claim::Later(_) | Claim::NotApplicable(_) => {
                if !required::may_be_later(number) {
                    wrong.push(format!(
                        "{number}: neither an annex row nor the product's later work excuses it"
                    ));
                }
            }
        }
    }
    for number in map.open.keys() {
        if !required.contains(number) {
            wrong.push(format!("{number} is in open.yaml and not required"));
        }
        if map.claims.contains_key(number) {
            wrong.push(format!("{number} is claimed: take it out of open.yaml"));
        }
    }

    let claimed = |number: &&String| map.claims.get(*number);
    let covered = required
        .iter()
        .filter(|n| matches!(claimed(n), Some(Claim::Tests(_))))
        .count();
    let excused = required
        .iter()
        .filter(|n| matches!(claimed(n), Some(Claim::Later(_) | Claim::NotApplicable(_))))
        .count();
    let uncovered: Vec<&String> = required
        .iter()
        .filter(|n| claimed(n).is_none() && !map.open.contains_key(*n))
        .collect();
    println!(
        "conformance: {} required, {covered} covered, {excused} later, {} open, {} unclaimed; {} more claimed",
        required.len(),
        map.open.len(),
        uncovered.len(),
        map.claims.keys().filter(|n| !required.contains(*n)).count(),
    );
    for (number, reason) in &map.open {
        println!("  open {number}: {reason}");
    }
    for number in &uncovered {
        wrong.push(format!("{number} is covered by no test"));
    }
    assert!(
        wrong.is_empty(),
        "{} problems:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
