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

/// AxiOwl's own state folder, which is there the second time, says nothing about a provider.
#[test]
fn an_empty_home_has_a_line_for_each_provider_and_a_whole_report_for_the_one_asked_for() {
    let axiowl = Axiowl::new();
    for _ in 0..2 {
        let run = axiowl.run(&["discover", "all"]);
        assert_eq!(run.code, 0, "{run}");
        let absent = run.stdout.matches("  not here: ").count();
        assert!(absent > 10, "{run}");
        // And the word that other machines were left out.
        assert_eq!(run.stdout.lines().count(), absent + 1, "{run}");
    }
    let run = axiowl.run(&["discover", "codex"]);
    for words in ["found      0", "verdict    not here", "agents.tsv"] {
        assert!(run.stdout.contains(words), "{run}");
    }
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

/// What is wider than the terminal is cut there, columns of names and ids first, and only words
/// that mean something have a colour.
#[cfg(unix)]
#[test]
fn a_table_fits_its_terminal_and_colour_obeys_no_color() {
    let axiowl = machine();
    let add = [
        "registry",
        "add-agent",
        "--provider",
        "codex_cli",
        "--session",
        "s3",
        "--name",
        "A name that goes on for longer than anybody wants to read it in a table",
    ];
    assert_eq!(axiowl.run(&add).code, 0);
    let list = |columns: u16, colours: bool| {
        let mut command = axiowl.command(&["list", "agents", "--all"]);
        if colours {
            command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
        }
        let (well, said) = program::screen::run(&mut command, columns);
        assert!(well, "{said}");
        said
    };
    for columns in [60, 80, 100] {
        let said = list(columns, false);
        assert!(!said.contains('\u{1b}'), "{said:?}");
        let width = |line: &str| {
            line.chars()
                .map(|c| if c.is_ascii() || c == '…' { 1 } else { 2 })
                .sum()
        };
        let widest: usize = said.lines().map(width).max().expect("lines");
        assert!(
            widest <= usize::from(columns),
            "{widest} of {columns}:\n{said}"
        );
        assert!(said.contains('…'), "{said}");
    }
    let said = list(200, true);
    assert!(said.contains("\u{1b}[1mNAME"), "{said:?}");
    let row = said
        .lines()
        .find(|line| line.contains("Old shed"))
        .expect("the row");
    let name = row.find('\u{1b}').expect("a colour");
    assert!(
        row[..name].contains("Old shed"),
        "only its reason is coloured: {row:?}"
    );
    let plain = list(200, false);
    assert!(
        plain.contains("longer than anybody"),
        "nothing is cut where there is room: {plain}"
    );
}

#[test]
fn a_client_that_was_only_started_is_one_line_that_says_so() {
    let axiowl = Axiowl::new();
    axiowl.write("home/.claude/settings.json", "{}\n");
    axiowl.write("home/.copilot/logs/process-1-2.log", "started\n");
    for _ in 0..2 {
        let run = axiowl.run(&["discover", "all", "--strict"]);
        assert_eq!(run.code, 0, "{run}");
        let unused = run
            .stdout
            .lines()
            .filter(|line| line.contains("not used yet"));
        let unused: Vec<&str> = unused.filter_map(|line| line.split(' ').next()).collect();
        // The sessions of VS Code's Copilot lie in the same folder.
        let expected = ["claude_code_cli", "copilot_cli", "vscode_copilot_backed"];
        assert_eq!(unused, expected, "{run}");
        assert!(!run.stdout.contains("verdict"), "{run}");
    }
    let run = axiowl.run(&["discover", "claude-code-cli"]);
    for words in ["found      0", "not_used", "verdict    verified"] {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
    // What lies there by now may be sessions.
    axiowl.write("home/.claude/conversations/1.jsonl", "{}\n");
    let run = axiowl.run(&["discover", "all", "--strict"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stdout.contains("verdict    blind"), "{run}");
}
