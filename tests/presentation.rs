//! What people see: the status, lists, completions and manual pages; and that programs get
//! JSON of the same.

mod program;

use program::Axiowl;
use serde_json::json;

/// A registry with two agents, one of which cannot be sent to.
fn machine() -> Axiowl {
    let axiowl = Axiowl::new();
    for (session, name, more) in [
        ("s1", "設計レビュー", None),
        ("s2", "Old shed", Some("--not-sendable")),
    ] {
        let mut arguments = vec![
            "registry",
            "add-agent",
            "--provider",
            "codex_cli",
            "--session",
            session,
            "--name",
            name,
        ];
        arguments.extend(more);
        let run = axiowl.run(&arguments);
        assert_eq!(run.code, 0, "{run}");
    }
    axiowl
}

#[test]
fn the_status_says_what_is_there_and_what_to_do_next() {
    let empty = Axiowl::new().run(&[]);
    assert!(
        empty
            .stdout
            .contains("next                axiowl discover all"),
        "{empty}"
    );
    let axiowl = machine();
    let run = axiowl.run(&[]);
    assert_eq!(run.code, 0, "{run}");
    for words in [
        "PROVIDER",
        "codex_cli",
        "sessions known      2",
        "agents sendable     1",
        "axiowl send --to",
    ] {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
    let line = axiowl.run(&["--json"]).lines("status").remove(0);
    assert_eq!(
        (&line["known"], &line["sendable"], &line["in_flight"]),
        (&json!(2), &json!(1), &json!(0))
    );
    assert_eq!(line["providers"][0]["provider"], "codex_cli");
}

#[test]
fn tables_line_up_in_any_script_and_without_a_terminal_nothing_is_coloured() {
    let mut command = machine().command(&["list", "agents", "--all"]);
    command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
    let axiowl = machine();
    let run = axiowl.run(&["list", "agents", "--all"]);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let column = |line: &str| {
        let before = line.split("codex_cli").next().unwrap_or_default();
        let before = before.split("PROVIDER").next().unwrap_or_default();
        before
            .chars()
            .map(|c| if c.is_ascii() { 1 } else { 2 })
            .sum::<usize>()
    };
    let columns: Vec<usize> = lines.iter().map(|line| column(line)).collect();
    assert!(
        columns.len() == 3 && columns.iter().all(|c| *c == columns[0]),
        "{columns:?}\n{run}"
    );
    let output = command.output().expect("axiowl runs");
    assert!(
        !output.stdout.contains(&0x1b),
        "colour belongs on terminals alone"
    );
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let axiowl = Axiowl::new();
    for (shell, words) in [
        ("bash", "_axiowl"),
        ("zsh", "#compdef axiowl"),
        ("fish", "complete -c axiowl"),
    ] {
        let run = axiowl.run(&["completions", shell]);
        assert_eq!(run.code, 0, "{run}");
        assert!(
            run.stdout.contains(words) && run.stdout.contains("uninstall"),
            "{shell}"
        );
    }
    let page = axiowl.run(&["man"]);
    assert!(
        page.stdout.contains(".TH") && page.stdout.contains("uninstall"),
        "{page}"
    );
    let dir = axiowl.path("man");
    std::fs::create_dir(&dir).expect("folder");
    let run = axiowl.run(&["man", "--dir", dir.to_str().expect("text")]);
    assert_eq!(run.code, 0, "{run}");
    assert!(dir.join("axiowl-install.1").is_file());
    assert_eq!(axiowl.run(&["man", "--dir", "/nowhere/at/all"]).code, 1);
}
