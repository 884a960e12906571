//! The shipped rules: they check clean and every fixture gives what is expected of it.

mod program;

use program::Axiowl;

#[test]
fn shipped_rules_check_clean() {
    let run = Axiowl::new().run(&["--rules", "rules", "rules", "check"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(run.stdout.contains("0 errors, 0 warnings"), "{run}");
}

/// Shows: codex discover, codex_cli discover, claude_code_cli discover, opencode_cli discover.
/// Shows: copilot_cli discover, vscode_native discover, vscode_copilot_backed discover.
#[test]
fn every_fixture_gives_what_is_expected() {
    let run = Axiowl::new().run(&["--rules", "rules", "rules", "test"]);
    assert_eq!(run.code, 0, "{run}");
}

/// A rule without a fixture, or a case in which nothing matches, is untested, and says so.
#[test]
fn a_rule_without_fixture_and_a_case_without_match_fail() {
    let axiowl = Axiowl::new();
    let rules = axiowl.path("rules");
    axiowl.copy_rule("echo", &rules.join("echo"));
    std::fs::remove_dir_all(rules.join("echo/fixtures")).expect("fixtures");
    let flags = ["--rules", rules.to_str().expect("text"), "rules", "test"];
    let run = axiowl.run(&flags);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stdout.contains("no fixtures"), "{run}");

    axiowl.write(
        "rules/echo/fixtures/empty/world.yaml",
        "now: 2026-11-30T15:00:00Z\nmaps: { /home/dev: home }\n",
    );
    axiowl.write(
        "rules/echo/fixtures/empty/home/.axiowl-echo/notes.txt",
        "no session\n",
    );
    axiowl.write("rules/echo/fixtures/empty/expected.json", "{}");
    let run = axiowl.run(&flags);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stdout.contains("nothing matched"), "{run}");
}

#[test]
fn a_wrong_expectation_is_shown_row_by_row_and_kept_on_request() {
    let axiowl = Axiowl::new();
    let rules = axiowl.path("rules");
    axiowl.copy_rule("echo", &rules.join("echo"));
    let expected = rules.join("echo/fixtures/session/expected.json");
    let right = std::fs::read_to_string(&expected).expect("expectation");
    std::fs::write(&expected, right.replace("\"Echo\"", "\"Ohce\"")).expect("write");
    let rules = rules.to_str().expect("text");
    let run = axiowl.run(&["--rules", rules, "rules", "test"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(
        run.stdout.contains("display_name: \"Ohce\" -> \"Echo\""),
        "{run}"
    );
    let run = axiowl.run(&["--rules", rules, "rules", "test", "--update=all"]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(
        std::fs::read_to_string(&expected).expect("expectation"),
        right
    );
}

#[test]
fn a_fault_in_a_rule_that_two_providers_share_is_said_once() {
    let axiowl = Axiowl::new();
    let folder = axiowl.home().join(".config/axiowl/rules/codex");
    axiowl.copy_rule("codex", &folder);
    let file = folder.join("rule.yaml");
    let text = std::fs::read_to_string(&file).expect("rule");
    std::fs::write(
        &file,
        text.replacen("provider: codex", "provider: codex\nnonsense: 1", 1),
    )
    .expect("rule");
    for (arguments, of) in [
        (&["discover", "all"][..], "codex"),
        (&["rules", "list"], "codex"),
    ] {
        let run = axiowl.run(arguments);
        assert_eq!(run.stderr.matches("nonsense").count(), 2, "{of}: {run}");
        assert!(!run.stderr.contains("AX012"), "{run}");
    }
    let run = axiowl.run(&["discover", "all"]);
    assert!(
        run.stderr
            .contains("the rule for codex_cli uses the shared rule of a lower layer"),
        "{run}"
    );
}
