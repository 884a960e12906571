//! Cases that somebody else wrote: running them reads nothing of this machine but the rules.

use super::{machine, path, says, session};
use crate::program::Run;

const CASE: &str = "home/.config/axiowl/rules/demo/fixtures/two";

#[test]
fn a_case_that_leads_out_of_its_rules_is_refused_unread() {
    let axiowl = machine();
    session(&axiowl, "home/.demo", 7, "Private", "/home/dev/work", false);
    let home = axiowl.home();
    let case = axiowl.path(CASE);
    let case_text = path(&axiowl, CASE);
    let world = |maps: &str| {
        let head = "now: 2026-01-01T12:00:00Z\nhome: /home/dev\ndirs: [/home/dev/work]\n";
        axiowl.write(&format!("{CASE}/world.yaml"), format!("{head}{maps}\n"));
    };
    let fixture = || {
        axiowl.run(&[
            "discover",
            "demo",
            "--fixture",
            &case_text,
            "--json",
            "--dry-run",
        ])
    };
    let said = |run: &Run| format!("{}{}", run.stdout, run.stderr);
    let absolute = home.display().to_string();
    std::fs::create_dir_all(&case).expect("folder");
    std::os::unix::fs::symlink(&home, case.join("link")).expect("link");
    std::fs::create_dir_all(case.join("deep")).expect("folder");
    std::os::unix::fs::symlink("../link", case.join("deep/link")).expect("link");
    // Also a folder beside the rules that is no rule folder, and what does not exist.
    axiowl.write("home/.config/axiowl/rules/notes/a.txt", "");
    let targets = [
        &*absolute,
        "../../../../../../..",
        "../../..",
        "../../../notes",
        "../../../../absent",
        "link",
        "deep/link",
        "link/.demo",
    ];
    for target in targets {
        world(&format!("maps: {{ /home/dev: '{target}' }}"));
        for run in [fixture(), axiowl.run(&["rules", "test", "demo"])] {
            let words = ["`maps` leads `/home/dev` out of the rules", "world.yaml:4:"];
            says(&run, run.code, &words);
            assert!(
                run.code != 0 && !said(&run).contains("Private"),
                "{target}\n{run}"
            );
        }
    }
    world("maps: { /home/dev: home }\ncommands: { 'tool list': link }");
    says(&fixture(), 2, &["`commands` leads `tool list` out"]);
    // The homes of this rule's cases and of its siblings' can be shared.
    axiowl.copy_rule("echo", &axiowl.path("home/.config/axiowl/rules/echo"));
    let sibling = "home/.config/axiowl/rules/echo/fixtures/shared";
    session(
        &axiowl,
        &format!("{sibling}/.demo"),
        5,
        "Theirs",
        "/home/dev/work",
        false,
    );
    let targets = [
        ("../one/home", "First"),
        ("../../../echo/fixtures/shared", "Theirs"),
    ];
    for (target, name) in targets {
        world(&format!("maps: {{ /home/dev: {target} }}"));
        says(&fixture(), 0, &[name]);
    }
    // A world that the user names may lead anywhere.
    world(&format!("maps: {{ /home/dev: '{absolute}' }}"));
    let world = case.join("world.yaml");
    let world = world.to_str().expect("text");
    says(
        &axiowl.run(&["discover", "demo", "--world", world, "--json", "--dry-run"]),
        0,
        &["Private"],
    );
}

/// Captures at the same time: each has a folder of its own, whole.
#[test]
fn captures_at_once_do_not_share_a_folder() {
    let axiowl = machine();
    let start = || {
        let mut command = axiowl.command(&["rules", "capture", "demo"]);
        command
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("started")
    };
    let all: Vec<_> = (0..6).map(|_| start()).collect();
    for mut child in all {
        assert!(child.wait().expect("ended").success());
    }
    let cases = axiowl.path("home/.config/axiowl/rules/demo/fixtures");
    for name in ["captured".to_owned()]
        .into_iter()
        .chain((2..7).map(|n| format!("captured-{n}")))
    {
        let world = std::fs::read_to_string(cases.join(&name).join("world.yaml"));
        let world = world.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            world.contains("Kept are numbers"),
            "it says what stays: {world}"
        );
    }
}

/// What a case makes up is no route: it never gets among the sessions of this machine.
#[test]
fn the_sessions_of_a_case_have_a_registry_of_their_own() {
    let axiowl = machine();
    let case =
        std::path::Path::new(crate::program::ROOT).join("rules/claude_code_cli/fixtures/projects");
    let case = case.to_str().expect("text");
    let run = axiowl.run(&["discover", "claude-code-cli", "--fixture", case, "--json"]);
    assert_eq!(run.code, 0, "{run}");
    let enrolled = |row: &&serde_json::Value| row["decision"] == "enrolled";
    assert!(
        run.lines("discovered_agent")
            .iter()
            .filter(enrolled)
            .count()
            > 3,
        "{run}"
    );
    let list = axiowl.run(&["list", "agents", "--all", "--json"]);
    assert_eq!(list.code, 0, "{list}");
    assert!(list.lines("agent").is_empty(), "{list}");
}
