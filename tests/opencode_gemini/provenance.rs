//! That every reviewed version and every case says where it comes from.

use super::ROOT;
use axiowl_lang::layers::{self, Sources};
use std::path::{Path, PathBuf};

fn rules() -> PathBuf {
    Path::new(ROOT).join("rules")
}

fn text(provider: &str) -> String {
    let path = rules().join(provider).join("PROVENANCE.md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cells of the row that has these words in its first cell.
fn row(text: &str, first: &str) -> String {
    let rows = text.lines().filter(|line| line.starts_with('|'));
    let mut fits = rows.filter(|line| line.split('|').nth(1).is_some_and(|c| c.contains(first)));
    let found = fits.next();
    found
        .unwrap_or_else(|| panic!("no line about {first}"))
        .to_owned()
}

#[test]
fn c466_every_reviewed_version_and_every_case_says_where_it_comes_from() {
    let provenance = text("opencode_cli");
    let set = layers::load_all(&Sources {
        disk: Some(&rules()),
        ..Sources::default()
    });
    let rule = &set.get("opencode_cli").expect("the rule").rule;
    let tested = rule.tested.as_ref().expect("versions");
    for range in &tested.ranges {
        for end in [&range.from, &range.to] {
            row(&provenance, end.as_str());
        }
    }
    // The versions that wrote what the cases hold; those of the gates stand in their table.
    for name in ["sessions", "older"] {
        let folder = rules().join("opencode_cli/fixtures").join(name);
        let expected = std::fs::read_to_string(folder.join("expected.json")).expect("rows");
        let versions: Vec<&str> = expected
            .split("written by opencode ")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(!versions.is_empty());
        for version in versions {
            assert!(row(&provenance, version).contains("run"), "{version}");
        }
    }
}

#[test]
fn every_case_of_a_rule_with_a_provenance_stands_in_it() {
    let mut checked = 0;
    for entry in std::fs::read_dir(rules()).expect("rules") {
        let folder = entry.expect("entry").path();
        let Ok(text) = std::fs::read_to_string(folder.join("PROVENANCE.md")) else {
            continue;
        };
        for case in std::fs::read_dir(folder.join("fixtures")).expect("cases") {
            let name = case.expect("case").file_name();
            let name = format!("`{}`", name.to_str().expect("text"));
            assert!(text.contains(&name), "{}: {name}", folder.display());
            checked += 1;
        }
    }
    assert!(checked > 10);
}

#[test]
fn c399_the_reviewed_versions_of_1_19_say_who_verified_them() {
    let provenance = text("opencode_cli");
    let runs = row(&provenance, "1.19.2, 1.19.3");
    assert!(runs.contains("Linux runs verified"), "{runs}");
    let source = row(&provenance, "1.19.4, 1.19.5");
    assert!(source.contains("review of their source"), "{source}");
}

#[test]
fn c400_c401_what_was_never_run_of_version_2_says_so() {
    let provenance = text("opencode_cli");
    let migration = row(&provenance, "2.2.0 to 2.2.5");
    for words in ["synthetic", "2.2.3", "macOS"] {
        assert!(migration.contains(words), "{migration}");
    }
    let parts = row(&provenance, "session_part");
    for words in ["source-shaped", "never a model run"] {
        assert!(parts.contains(words), "{parts}");
    }
}
