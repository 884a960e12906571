//! Surfaces without a route, and targets that no edge serves, through the binary.

use crate::desk::{Desk, message_id, words};

/// A row that a person added, so that it may be sent to.
fn add(desk: &Desk, provider: &str, session: &str) -> String {
    let name = format!("Agent of {provider}");
    let run = desk.run(&[
        "registry",
        "add-agent",
        "--provider",
        provider,
        "--session",
        session,
        "--name",
        &name,
    ]);
    assert_eq!(run.code, 0, "{run}");
    name
}

/// A row that stands in the table although nobody may add it: another's, under a new name.
fn put(desk: &Desk, provider: &str, session: &str) -> String {
    let name = add(desk, "echo", session).replace("echo", provider);
    let table = std::fs::read_to_string(desk.axiowl.registry()).expect("registry");
    let lines = table.lines().map(|line| match line.contains(session) {
        true => line.replace("echo", provider),
        false => line.to_owned(),
    });
    let table: Vec<String> = lines.collect();
    std::fs::write(desk.axiowl.registry(), table.join("\n") + "\n").expect("registry");
    name
}

#[test]
fn a_row_of_a_provider_that_nobody_knows_cannot_be_added() {
    let desk = Desk::new();
    for (provider, hint) in [
        ("codex_clj", "did you mean `codex_cli`?"),
        ("Claude_Code_CLI", "did you mean `claude_code_cli`?"),
        ("nobody", "providers: `antigravity`, "),
        ("", "providers: `antigravity`, "),
    ] {
        let run = desk.run(&[
            "registry",
            "add-agent",
            "--provider",
            provider,
            "--session",
            "1",
            "--name",
            "One",
        ]);
        assert_eq!(run.code, 2, "{provider}: {run}");
        assert!(run.stderr.contains(hint), "{provider}: {run}");
    }
    assert!(!desk.axiowl.registry().exists(), "nothing was written");
    // A rule of one's own makes a provider known, whether it can be sent to or not.
    let rule = "axiowl: 1\nprovider: somebody_new\ntitle: New\nroots: { n: ~/.new }\nsources:\n  s:\n    json: { path: \"{n}/s.json\", each: { at: \"\", fields: { id: /id, title: /title } } }\nrows: { from: s, session: \"somebody_new:session:{id}\" }\nname: { candidates: [ { from: title, label: title } ] }\nproof:\n  - { source: new_proven, when: { id: { present: true } }, grants: [enroll, send] }\n";
    desk.axiowl
        .write("home/.config/axiowl/rules/somebody_new/rule.yaml", rule);
    let name = add(&desk, "somebody_new", "somebody_new:session:1");
    let run = desk.send(&name, &["--dry-run"]);
    assert_eq!(run.code, 5, "{run}");
}

#[test]
fn c213_c227_what_cannot_be_delivered_to_refuses_with_what_is_missing_and_nobody_steps_in() {
    // A stand-in that would take everything.
    let desk = Desk::with(&["Beta"]);
    for (provider, session, part) in [
        (
            "vscode_native",
            "vscode_native:session:1",
            "a bridge extension in the VS Code window",
        ),
        (
            "vscode_copilot_backed",
            "copilot_cli:session:1",
            "that owns this Copilot session",
        ),
        (
            "antigravity",
            "antigravity:cascade:1",
            "the running Antigravity app",
        ),
        (
            "antigravity_cli",
            "antigravity_cli:conversation:01a22d45-4155-71f2-b15e-0b00e2cb854c",
            "the program `agy` is not installed",
        ),
        ("cursor", "cursor:composer:1", "the Cursor window"),
        (
            "cursor_cli",
            "cursor_cli:session:01a22d45-4155-71f2-b15e-0b00e2cb854c",
            "the program `cursor-agent` is not installed",
        ),
        (
            "copilot_cli",
            "copilot_cli:session:01a22d45-4155-71f2-b15e-0b00e2cb854c",
            "the program `copilot` is not installed",
        ),
        (
            "opencode_cli",
            "opencode_cli:session:ses_dd35d6db9ffeaIlG3TuBeM7TBp",
            "the program `opencode` is not installed",
        ),
        (
            "grok",
            "grok:session:01a22d45-4155-71f2-b15e-0b00e2cb854c",
            "the program `grok` is not installed",
        ),
        (
            "gemini_cli",
            "gemini_cli:session:01a22d45-4155-71f2-b15e-0b00e2cb854c",
            "the program `gemini` is not installed",
        ),
        (
            "remote",
            "remote:session:1",
            "remote delivery is out of scope",
        ),
        // As a table of another AxiOwl would have it.
        (
            "somebody_new",
            "somebody_new:session:1",
            "no delivery edge serves the provider `somebody_new`",
        ),
    ] {
        let name = match provider {
            "somebody_new" => put(&desk, provider, session),
            known => add(&desk, known, session),
        };
        let run = desk.send(&name, &["--wait", "submitted", "--timeout", "60s"]);
        assert_eq!(run.code, 5, "{provider}: {run}");
        let lines = desk.stages(&message_id(&run));
        assert_eq!(
            words(&lines),
            ["accepted_by_axiowl", "refused"],
            "{provider}"
        );
        let reason = lines[1]["reason"].to_string();
        assert!(reason.contains(part), "{provider}: {reason}");
        assert_eq!(lines[1]["provider"], provider);
        let dry = desk.send(&name, &["--dry-run"]);
        assert_eq!(dry.code, 5, "{dry}");
        assert!(
            dry.lines("dry_run")[0]["liveness_reason"]
                .to_string()
                .contains(part),
            "{dry}"
        );
    }
    desk.quiet();
    assert!(
        !desk.axiowl.home().join("input").exists(),
        "no program was started for them"
    );
}

#[test]
fn what_is_proven_and_has_no_edge_is_listed_and_explained_as_that() {
    let desk = Desk::with(&["Beta"]);
    let plain = desk.run(&["list", "agents"]);
    assert!(!plain.stdout.contains("REASON"), "{plain}");
    let rule = "axiowl: 1\nprovider: somebody_new\ntitle: New\nroots: { n: ~/.new }\nsources:\n  s:\n    json: { path: \"{n}/s.json\", each: { at: \"\", fields: { id: /id, title: /title } } }\nrows: { from: s, session: \"somebody_new:session:{id}\" }\nname: { candidates: [ { from: title, label: title } ] }\nproof:\n  - { source: new_proven, when: { id: { present: true } }, grants: [enroll, send] }\n";
    desk.axiowl
        .write("home/.config/axiowl/rules/somebody_new/rule.yaml", rule);
    desk.axiowl
        .write("home/.new/s.json", r#"[{"id":"n1","title":"Newcomer"}]"#);
    let run = desk.run(&["discover", "somebody_new"]);
    assert_eq!(run.code, 0, "{run}");
    let run = desk.run(&["list", "agents"]);
    for (name, marked) in [("Newcomer", true), ("Beta", false)] {
        let line = run.stdout.lines().find(|line| line.contains(name));
        let line = line.unwrap_or_else(|| panic!("no {name}: {run}"));
        assert_eq!(line.contains("no delivery edge yet"), marked, "{run}");
    }
    for row in desk.run(&["list", "agents", "--json"]).lines("agent") {
        assert_eq!(row["route"], row["display_name"] == "Beta", "{row}");
    }
    for (name, verdict) in [
        ("Newcomer", "  proven, but nothing can deliver to it yet\n"),
        ("Beta", "  can be sent to\n"),
    ] {
        let run = desk.run(&["explain", name]);
        assert!(run.stdout.contains(verdict), "{run}");
    }
}

#[test]
fn a_folder_of_rules_that_is_not_there_is_named_as_that() {
    let desk = Desk::new();
    let run = desk.run(&["--rules", "/nonexistent/rules", "discover", "codex"]);
    assert_eq!(run.code, 2, "{run}");
    assert!(
        run.stderr
            .contains("the folder of disk rules cannot be read"),
        "{run}"
    );
    assert!(run.stderr.contains("no rule could be loaded"), "{run}");
    assert!(
        !run.stderr.contains("for  is broken") && !run.stderr.contains("scopes:"),
        "{run}"
    );
}
