//! Several homes of one provider: each a source of its own, with its own id.

mod program;

use axiowl_test_support::{ClientHome, Clients, MockModel, or_skip};
use program::{Axiowl, Run};
use serde_json::Value;
use std::process::{Command, Stdio};

const SESSION: &str = "0190aaaa-0000-7000-8000-00000000ec4";

/// Writes a session of the demo's provider into a home of it.
fn session(axiowl: &Axiowl, folder: &str, digit: char, name: &str) {
    let id = format!("{SESSION}{digit}");
    let cwd = axiowl.path("work");
    std::fs::create_dir_all(&cwd).expect("folder");
    let record = serde_json::json!({ "type": "session", "id": id, "name": name, "cwd": cwd });
    axiowl.write(&format!("{folder}/{id}.jsonl"), format!("{record}\n"));
}

/// A machine with a default home and the homes that `config` names.
fn machine(config: &str) -> Axiowl {
    let axiowl = Axiowl::new();
    axiowl.write("home/.config/axiowl/config.yaml", config);
    session(&axiowl, "home/.axiowl-echo", '0', "Default");
    axiowl
}

fn discover(axiowl: &Axiowl, more: &[&str]) -> Run {
    let all = [&["discover", "echo", "--json"], more].concat();
    axiowl.run(&all)
}

/// Name, home and decision of each row, by name.
fn rows(axiowl: &Axiowl, run: &Run) -> Vec<(String, String, String)> {
    let registry = axiowl.run(&["list", "agents", "--all", "--json"]);
    let homes = registry.lines("agent");
    let mut out: Vec<_> = run
        .lines("discovered_agent")
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            let same = |agent: &&Value| agent["provider_session_id"] == row["provider_session_id"];
            let home = homes.iter().find(same).map(|agent| agent["home"].clone());
            let home = home.and_then(|home| home.as_str().map(str::to_owned));
            (
                text("display_name"),
                home.unwrap_or_default(),
                text("decision"),
            )
        })
        .collect();
    out.sort();
    out
}

fn row(name: &str, home: &str, decision: &str) -> (String, String, String) {
    (name.into(), home.into(), decision.into())
}

#[test]
fn every_home_is_read_and_rows_remember_theirs() {
    let axiowl =
        machine("homes: { echo: [ { id: work, path: ~/elsewhere }, { id: lab, path: ~/lab } ] }\n");
    session(&axiowl, "home/elsewhere", '1', "At work");
    session(&axiowl, "home/lab", '2', "In the lab");
    let run = discover(&axiowl, &[]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(
        rows(&axiowl, &run),
        [
            row("At work", "work", "enrolled"),
            row("Default", "", "enrolled"),
            row("In the lab", "lab", "enrolled")
        ]
    );
    let summaries = run.lines("discovery_summary");
    assert_eq!(
        (summaries.len(), &summaries[0]["found"]),
        (1, &Value::from(3)),
        "{run}"
    );

    // A home that is not configured any more takes its rows' trust with it, and no others.
    axiowl.write(
        "home/.config/axiowl/config.yaml",
        "homes: { echo: [ { id: lab, path: ~/lab } ] }\n",
    );
    let run = discover(&axiowl, &[]);
    assert_eq!(run.code, 0, "{run}");
    let listed = axiowl.run(&["list", "agents", "--json"]).lines("agent");
    let mut names: Vec<&str> = listed
        .iter()
        .filter_map(|a| a["display_name"].as_str())
        .collect();
    // Those seen last come first, and the files may or may not be written in one tick.
    names.sort_unstable();
    assert_eq!(names, ["Default", "In the lab"]);
}

#[test]
fn one_session_in_two_homes_is_one_row_and_one_piece_of_evidence() {
    let axiowl = machine("homes: { echo: [ { id: work, path: ~/elsewhere } ] }\n");
    session(&axiowl, "home/elsewhere", '0', "Default");
    let run = discover(&axiowl, &[]);
    assert_eq!(run.code, 0, "{run}");
    let decisions: Vec<_> = rows(&axiowl, &run)
        .into_iter()
        .map(|(_, home, decision)| (home, decision))
        .collect();
    let expected = [("", "enrolled"), ("", "evidence")].map(|(h, d)| (h.to_owned(), d.to_owned()));
    assert_eq!(decisions, expected, "{run}");
    let issues = run.lines("discovery_summary")[0]["issues"].clone();
    let codes: Vec<&str> = issues
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|i| i["code"].as_str())
        .collect();
    assert_eq!(codes, ["duplicate_across_sources"], "{run}");

    // When the home that has it loses it, the other one takes over.
    std::fs::remove_file(axiowl.path(&format!("home/.axiowl-echo/{SESSION}0.jsonl")))
        .expect("remove");
    session(&axiowl, "home/.axiowl-echo", '7', "Another");
    let run = discover(&axiowl, &[]);
    assert_eq!(
        rows(&axiowl, &run),
        [
            row("Another", "", "enrolled"),
            row("Default", "work", "updated")
        ],
        "{run}"
    );
}

#[test]
fn two_homes_that_are_one_folder_are_refused() {
    for (config, other) in [
        (
            "homes: { echo: [ { id: work, path: ~/.axiowl-echo } ] }",
            "the default home",
        ),
        (
            "homes: { echo: [ { id: work, path: ~/link } ] }",
            "the default home",
        ),
        (
            "homes: { echo: [ { id: work, path: ~/elsewhere }, { id: lab, path: ~/elsewhere/../elsewhere } ] }",
            "the home `work`",
        ),
    ] {
        let axiowl = machine(&format!("{config}\n"));
        session(&axiowl, "home/elsewhere", '1', "At work");
        #[cfg(unix)]
        std::os::unix::fs::symlink(axiowl.path("home/.axiowl-echo"), axiowl.path("home/link"))
            .expect("link");
        let run = discover(&axiowl, &[]);
        assert_eq!(run.code, 1, "{run}");
        assert!(run.stderr.contains("is the same folder as"), "{run}");
        assert!(run.stderr.contains(other), "{run}");
        assert!(run.stderr.contains("config.yaml"), "{run}");
        assert!(!axiowl.registry().exists(), "nothing was merged");
    }
}

/// The same folder for two providers is two sources: what one finds says nothing of the other.
#[test]
fn one_folder_may_be_a_home_of_two_providers() {
    let axiowl = machine(
        "homes: { echo: [ { id: work, path: ~/shared } ], claude_code_cli: [ { id: work, path: ~/shared } ] }\n",
    );
    session(&axiowl, "home/shared", '1', "At work");
    let run = axiowl.run(&["discover", "all", "--json"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(
        rows(&axiowl, &run).contains(&row("At work", "work", "enrolled")),
        "{run}"
    );
}

#[test]
fn a_home_that_is_not_there_is_named_and_costs_the_others_nothing() {
    let axiowl = machine("homes: { echo: [ { id: work, path: ~/gone } ] }\n");
    let run = discover(&axiowl, &[]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(rows(&axiowl, &run), [row("Default", "", "enrolled")]);
    let issues = &run.lines("discovery_summary")[0]["issues"];
    assert_eq!(issues[0]["code"], "root_missing", "{run}");
}

#[test]
fn explain_looks_into_the_home_of_the_session() {
    let axiowl = machine("homes: { echo: [ { id: work, path: ~/elsewhere } ] }\n");
    session(&axiowl, "home/elsewhere", '1', "At work");
    discover(&axiowl, &[]);
    let run = axiowl.run(&["explain", "At work"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(run.stdout.contains("echo_session_file"), "{run}");
    assert!(!run.stdout.contains("only in the registry"), "{run}");

    // An examined home has none of this user's homes.
    let other = axiowl.path("home").display().to_string();
    let run = axiowl.run(&["discover", "echo", "--json", "--home", &other]);
    assert_eq!(run.lines("discovered_agent").len(), 1, "{run}");
}

/// A real Claude Code session in a further home: the edge runs the client in that home, and the
/// proof is read there.
#[test]
fn a_message_reaches_a_real_session_in_its_own_home() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    let cwd = home.project("webshop").expect("a folder");
    let session = home
        .claude_session("Design Review", "Review the checkout design", &cwd)
        .expect("a session");
    let further = home.path().join("claude-at-work");
    std::fs::rename(home.path().join(".claude"), &further).expect("rename");
    let variables = [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "IS_SANDBOX",
    ];
    let config = format!(
        "homes: {{ claude_code_cli: [ {{ id: work, path: ~/claude-at-work }} ] }}\nproviders: {{ claude_code_cli: {{ env: [{}] }} }}\n",
        variables.join(", ")
    );
    home.write(".config/axiowl/config.yaml", &config)
        .expect("config");
    let axiowl = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_axiowl"))
            .env_clear()
            .envs(home.env())
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .expect("axiowl runs");
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    };
    let run = axiowl(&["discover", "claude-code-cli", "--json"]);
    assert_eq!(
        run.lines("discovered_agent")[0]["decision"],
        "enrolled",
        "{run}"
    );
    let agents = axiowl(&["list", "agents", "--json"]).lines("agent");
    assert_eq!(agents[0]["home"], "work");

    let send = [
        "send",
        "--to",
        &session,
        "--body",
        "Is it done?",
        "--wait",
        "turn",
        "--timeout",
        "120s",
        "--json",
    ];
    let run = axiowl(&send);
    assert_eq!(run.code, 0, "{run}");
    let stages = run.lines("stage");
    let seen = stages
        .iter()
        .find(|line| line["stage"] == "seen")
        .unwrap_or_else(|| panic!("{run}"));
    let path = seen["evidence"]["path"].as_str().expect("a path");
    assert!(path.starts_with(further.to_str().expect("text")), "{path}");
    let message = stages[0]["message_id"].as_str().expect("an id");
    assert!(
        std::fs::read_to_string(path)
            .expect("transcript")
            .contains(message)
    );
    assert!(
        !home.path().join(".claude/projects").exists(),
        "the default home was used"
    );
}
