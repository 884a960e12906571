//! Which clients are chosen when nobody names one, and what a plan says.

use crate::machine::{machine, ok, others, program};
use crate::program::Axiowl;
use serde_json::Value;

/// The marks of the list of choices, by client.
fn marks(run: &crate::program::Run) -> Vec<(String, bool, String)> {
    let lines = run.stdout.lines().filter(|line| line.starts_with('['));
    lines
        .map(|line| {
            let (name, reason) = line[4..].trim_start().split_once(' ').expect("a name");
            (
                name.to_owned(),
                line.starts_with("[x]"),
                reason.trim().to_owned(),
            )
        })
        .collect()
}

fn chosen(axiowl: &Axiowl) -> Vec<String> {
    let run = axiowl.run(&["install"]);
    let marks = marks(&run).into_iter();
    marks
        .filter(|(_, chosen, _)| *chosen)
        .map(|(name, ..)| name)
        .collect()
}

#[test]
fn c348_c355_choices_follow_what_is_here_now_and_nothing_is_changed_by_looking() {
    let axiowl = machine();
    let before = others(&axiowl);
    let run = ok(&axiowl, &["install"]);
    let marks = marks(&run);
    let of = |name: &str| {
        marks
            .iter()
            .find(|(has, ..)| has == name)
            .expect("listed")
            .clone()
    };
    assert!(of("codex").1 && of("claude-code").1, "{run}");
    assert!(!of("cursor").1 && of("cursor").2 == "not here", "{run}");
    assert!(run.stdout.contains("Nothing was changed"), "{run}");
    assert_eq!(others(&axiowl), before);
    // Not what an earlier run saw: the client is gone, so it is no longer chosen.
    std::fs::remove_file(axiowl.home().join(".local/bin/codex")).expect("program");
    std::fs::remove_dir_all(axiowl.home().join(".codex")).expect("folder");
    assert_eq!(chosen(&axiowl), ["claude-code"]);
}

#[test]
fn c349_c350_a_client_needs_to_be_there_and_to_have_been_used() {
    let axiowl = Axiowl::new().with_env("PATH", "/usr/bin:/bin");
    program(&axiowl, "grok");
    assert!(
        chosen(&axiowl).is_empty(),
        "a program that was never started"
    );
    axiowl.write("home/.grok/config.toml", "");
    assert_eq!(chosen(&axiowl), ["grok"]);
    std::fs::remove_file(axiowl.home().join(".local/bin/grok")).expect("program");
    assert!(chosen(&axiowl).is_empty(), "a folder that was left behind");
    // Named all the same, since something of it is here; a client that is not here is refused.
    ok(&axiowl, &["install", "grok", "--dry-run"]);
    let run = axiowl.run(&["install", "copilot", "--yes"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(
        run.stderr.contains("nothing of Copilot CLI is here"),
        "{run}"
    );
    assert_eq!(axiowl.run(&["install", "remote"]).code, 2);
}

#[test]
fn c351_c352_a_surface_that_nothing_supports_is_not_chosen_by_itself() {
    let axiowl = Axiowl::new().with_env("PATH", "/usr/bin:/bin");
    program(&axiowl, "cursor-agent");
    let chat =
        "home/.cursor/chats/00000000000000000000000000000000/c0c00001-0000-4000-8000-000000000001";
    axiowl.write(&format!("{chat}/meta.json"), "{}");
    assert!(chosen(&axiowl).is_empty(), "{}", axiowl.run(&["install"]));
    ok(&axiowl, &["install", "cursor-cli", "--dry-run"]);
}

#[test]
fn c354_a_result_speaks_of_files_alone() {
    let axiowl = machine();
    let run = ok(&axiowl, &["install", "--all-detected", "--json"]);
    let results = run.lines("install_result");
    assert!(results.len() >= 2, "{run}");
    for line in &results {
        assert_eq!(line["result"], "installed", "{line}");
        let keys: Vec<&String> = line.as_object().expect("object").keys().collect();
        assert_eq!(
            keys,
            ["schema", "client", "surfaces", "result", "changed"],
            "no word of support or delivery"
        );
    }
    for words in ["supported", "delivered", "working", "connected"] {
        assert!(!run.stdout.contains(words), "{run}");
    }
}

#[test]
fn a_dry_run_shows_every_entry_with_its_value_and_writes_nothing() {
    let axiowl = machine();
    let before = others(&axiowl);
    let run = ok(&axiowl, &["install", "claude-code", "--dry-run", "--json"]);
    let plan = &run.lines("install_plan")[0];
    let steps = plan["steps"].as_array().expect("steps");
    let words: Vec<(&Value, &Value)> = steps
        .iter()
        .map(|step| (&step["entry"], &step["what"]))
        .collect();
    assert_eq!(
        words,
        [
            (&"mcpServers.axiowl".into(), &"adds".into()),
            (&"permissions.allow[]".into(), &"adds".into())
        ]
    );
    assert_eq!(steps[0]["value"]["args"], serde_json::json!(["mcp"]));
    assert!(run.lines("install_result").is_empty());
    // People see the same values.
    let run = ok(&axiowl, &["install", "claude-code", "--dry-run"]);
    let shown = steps[0]["value"].to_string();
    assert!(run.stdout.contains(&shown), "{shown}: {run}");
    assert!(run.stdout.contains("mcp__axiowl"), "{run}");
    assert_eq!(others(&axiowl), before);
}

/// Whoever types the client has its key; a delivery has it only where the configuration names it.
#[test]
fn an_install_says_which_login_a_delivery_would_not_see() {
    let axiowl = machine().with_env("ANTHROPIC_API_KEY", "sk-do-not-say-this");
    let line = "{ claude_code_cli: { env_file: ~/FILE } }";
    let run = ok(&axiowl, &["install", "claude-code", "--yes"]);
    assert!(run.stdout.contains(line), "{run}");
    assert!(!run.stdout.contains("do-not-say"), "{run}");
    for given in ["env_file: ~/claude.env", "env: [ANTHROPIC_API_KEY]"] {
        ok(&axiowl, &["uninstall", "claude-code", "--yes"]);
        axiowl.write("home/claude.env", "ANTHROPIC_API_KEY=sk-do-not-say-this\n");
        axiowl.write(
            "home/.config/axiowl/config.yaml",
            format!("providers: {{ claude_code_cli: {{ {given} }} }}\n"),
        );
        let run = ok(&axiowl, &["install", "claude-code", "--yes"]);
        assert!(!run.stdout.contains(line), "{given}: {run}");
    }
}
