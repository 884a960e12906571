//! `opencode session list`: the database is the source, and the listing a cross-check that a
//! user may add in a rule file.
//!
//! The shipped rule runs nothing: the listing starts the program, and writes to the store.

use super::{Axiowl, ROOT, STORE, Scope, database, sql};
use axiowl_lang::layers::{self, Sources};
use axiowl_lang::source::Source;
use std::path::Path;

/// What `session list` prints for a project (`providers/opencode-gemini.md` C), with a session
/// that no database holds.
const LISTED: &str = r#"[
  { "id": "ses_02", "title": "Version 1.0.0", "updated": 1796000000002, "created": 1796000000002, "projectId": "global", "directory": "/home/dev/projects/webshop" },
  { "id": "ses_only_listed", "title": "Only listed", "updated": 1796000000009, "created": 1796000000009, "projectId": "global", "directory": "/home/dev/projects/webshop" }
]"#;

/// A home with a store of version 1 and an `opencode` that notes how it was called.
fn machine() -> Axiowl {
    let axiowl = Axiowl::new();
    drop(database(&sql("versions-1"), &axiowl.home().join(STORE)));
    let program = axiowl.path("opencode");
    let script = format!("#!/bin/sh\necho \"$@\" >> \"$0.log\"\ncat <<'EOF'\n{LISTED}\nEOF\n");
    axiowl.write("opencode", script);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("mode");
    let config = format!("executables: {{ opencode: {} }}\n", program.display());
    axiowl.write("home/.config/axiowl/config.yaml", config);
    axiowl
}

/// The shipped rule with the listing added to it, as a user would; it is trusted.
fn with_listing(axiowl: &Axiowl, argv: &str) {
    let rules = Path::new(ROOT).join("rules");
    let base = layers::load_all(&Sources {
        disk: Some(&rules),
        ..Sources::default()
    });
    let digest = base.get("opencode_cli").expect("the rule").digest.clone();
    let command = format!(
        "{{ command: {{ argv: [{argv}], readonly: proven, reason: a program of this test, each: {{ at: \"\", fields: {{ id: /id, title: /title, folder: /directory }} }} }} }}"
    );
    let rule = format!(
        "axiowl: 1\nprovider: opencode_cli\nextends: builtin\nbase: {digest}\noverride:\n  sources: {{ append: {{ listed: {command} }} }}\n  rows.join:\n    append:\n    - {{ with: listed, on: id, as: listed }}\n  evidence:\n    append:\n    - {{ say: \"listed as {{listed.title}} in {{listed.folder}}\" }}\n"
    );
    axiowl.write("home/.config/axiowl/rules/opencode_cli/rule.yaml", rule);
    let folder = axiowl.path("home/.config/axiowl/rules/opencode_cli");
    let run = axiowl.run(&["rules", "trust", folder.to_str().expect("text")]);
    assert_eq!(run.code, 0, "{run}");
}

fn discovered(axiowl: &Axiowl) -> Scope {
    let flags = ["discover", "opencode-cli", "--json", "--allow-commands"];
    Scope::of(axiowl.run(&flags))
}

fn calls(axiowl: &Axiowl) -> Vec<String> {
    let text = std::fs::read_to_string(axiowl.path("opencode.log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a20_the_shipped_rule_reads_the_database_and_starts_nothing() {
    let axiowl = machine();
    let scope = discovered(&axiowl);
    assert_eq!(scope.rows.len(), 10);
    assert!(calls(&axiowl).is_empty());
    // The reader of the database is bound to a private copy, wherever the rule reads it.
    let rules = Path::new(ROOT).join("rules");
    let set = layers::load_all(&Sources {
        disk: Some(&rules),
        ..Sources::default()
    });
    let rule = &set.get("opencode_cli").expect("the rule").rule;
    for (name, source) in &rule.sources {
        assert!(matches!(source, Source::Sqlite(_)), "{name}");
    }
}

#[test]
fn a5_how_the_listing_is_called_stands_in_a_rule_file() {
    let axiowl = machine();
    for (argv, called) in [
        (
            "opencode, session, list, --format, json, --max-count, \"100\"",
            "session list --format json --max-count 100",
        ),
        (
            "opencode, session, list, --format, json, -n, \"100\"",
            "session list --format json -n 100",
        ),
    ] {
        with_listing(&axiowl, argv);
        discovered(&axiowl);
        assert_eq!(calls(&axiowl).last().map(String::as_str), Some(called));
    }
    assert_eq!(calls(&axiowl).len(), 2);
}

#[test]
fn c315_a20_the_objects_of_the_listing_are_evidence_beside_the_database() {
    let axiowl = machine();
    with_listing(
        &axiowl,
        "opencode, session, list, --format, json, -n, \"100\"",
    );
    let scope = discovered(&axiowl);
    assert_eq!(calls(&axiowl).len(), 1);
    assert!(scope.evidence(
        "ses_02",
        "listed as Version 1.0.0 in /home/dev/projects/webshop"
    ));
    // Never the only source: what only the listing has is no row, what only the database has is
    // one all the same.
    assert!(!scope.rows.contains_key("ses_only_listed"));
    assert!(scope.rows.contains_key("ses_03") && !scope.evidence("ses_03", "listed as"));
}
