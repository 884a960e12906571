//! What must hold whatever happens: an edited rule changes discovery without a build, a broken
//! one names its line and costs nothing else, damage costs only itself, and the registry is whole
//! whenever it is read.

mod program;

use program::{Axiowl, ROOT};
use std::path::Path;
use std::process::{Command, Stdio};

/// A home with the Codex store of the fixtures, its database built.
fn codex_home(axiowl: &Axiowl, sql: impl Fn(&str) -> String) {
    let home = axiowl.home();
    program::copy_tree(&Path::new(ROOT).join("rules/codex/fixtures/home"), &home);
    let text = std::fs::read_to_string(home.join(".codex/state_5.sqlite.sql")).expect("sql");
    let database =
        rusqlite::Connection::open(home.join(".codex/state_5.sqlite")).expect("database");
    database
        .execute_batch(&sql(&text))
        .expect("the fixture's SQL runs");
}

/// The world in which the fixture's folders exist.
fn world(axiowl: &Axiowl) -> String {
    axiowl.write(
        "world.yaml",
        "now: 2026-11-30T15:00:00Z\nmaps: { /home/dev: home }\n\
         dirs: [/home/dev/projects/webshop, /home/dev/projects/api]\n",
    );
    axiowl.path("world.yaml").display().to_string()
}

#[test]
fn a_rule_edited_to_follow_a_renamed_column_changes_discovery_with_no_rebuild() {
    let axiowl = Axiowl::new();
    codex_home(&axiowl, |sql| sql.replace("archived", "is_archived"));
    let world = world(&axiowl);
    let discover = ["--world", &world, "discover", "codex-cli", "--json"];

    let run = axiowl.run(&discover);
    let summary = &run.lines("discovery_summary")[0];
    assert_eq!(summary["enrolled"], 0, "{run}");
    assert_eq!(summary["verdict"], "drift", "{run}");
    let issues = summary["issues"].to_string();
    assert!(
        issues.contains("guard_missing") && issues.contains("archived"),
        "{run}"
    );

    // The override is a copy of the built-in rule with the column's new name in three places.
    let mine = axiowl.path("home/.config/axiowl/rules/codex");
    axiowl.copy_rule("codex", &mine);
    let rule = std::fs::read_to_string(mine.join("rule.yaml")).expect("rule");
    std::fs::write(
        mine.join("rule.yaml"),
        rule.replace("archived: bool", "is_archived: bool"),
    )
    .expect("write");
    let check = axiowl.run(&["rules", "check", mine.to_str().expect("text")]);
    assert_eq!(check.code, 1, "{check}");
    assert!(
        check.stdout.contains("archived") && check.stdout.contains("rule.yaml:"),
        "{check}"
    );
    let fixed = rule
        .replace("archived: bool", "is_archived: bool")
        .replace("{ archived: true }", "{ is_archived: true }");
    std::fs::write(mine.join("rule.yaml"), fixed).expect("write");
    let check = axiowl.run(&["rules", "check", mine.to_str().expect("text")]);
    assert_eq!(check.code, 0, "{check}");

    let run = axiowl.run(&discover);
    let summary = &run.lines("discovery_summary")[0];
    assert_eq!(summary["enrolled"], 8, "{run}");
    assert_eq!(summary["verdict"], "verified", "{run}");
    let archived = run
        .lines("discovered_agent")
        .into_iter()
        .find(|row| row["status"] == "archived");
    assert_eq!(
        archived.expect("the archived thread")["sendable"],
        false,
        "{run}"
    );
}

#[test]
fn a_broken_rule_names_its_line_and_the_built_in_one_is_used() {
    let axiowl = Axiowl::new();
    codex_home(&axiowl, str::to_owned);
    let world = world(&axiowl);
    axiowl.copy_rule("codex", &axiowl.path("home/.config/axiowl/rules/codex"));
    let file = axiowl.path("home/.config/axiowl/rules/codex/rule.yaml");
    let rule = std::fs::read_to_string(&file).expect("rule");
    let line = rule
        .lines()
        .position(|line| line.starts_with("prune:"))
        .expect("a line")
        + 1;
    std::fs::write(&file, rule.replace("prune: never", "prunes: never")).expect("write");

    let run = axiowl.run(&["--world", &world, "discover", "codex", "--json"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(run.stderr.contains(&format!("rule.yaml:{line}:")), "{run}");
    assert!(
        run.stderr.contains("prunes") && run.stderr.contains("`prune`"),
        "{run}"
    );
    assert!(run.stderr.contains("the built-in one is used"), "{run}");
    assert!(
        run.lines("discovery_summary")[0]["found"].as_u64() > Some(5),
        "{run}"
    );
    assert_eq!(axiowl.run(&["rules", "list"]).code, 1);
}

#[test]
fn damaged_files_cost_only_themselves_and_are_named() {
    let axiowl = Axiowl::new();
    program::copy_tree(
        &Path::new(ROOT).join("rules/claude_code_cli/fixtures/projects/home"),
        &axiowl.home(),
    );
    let world = axiowl.path("world.yaml");
    let text = std::fs::read_to_string(
        Path::new(ROOT).join("rules/claude_code_cli/fixtures/projects/world.yaml"),
    );
    std::fs::write(&world, text.expect("world")).expect("write");
    let world = world.display().to_string();
    let discover = [
        "--world",
        &world,
        "discover",
        "claude-code-cli",
        "--json",
        "--dry-run",
    ];
    let before = axiowl.run(&discover);
    let names = |run: &program::Run| {
        let rows = run.lines("discovered_agent");
        rows.iter()
            .map(|row| format!("{}{}", row["display_name"], row["provider_session_id"]))
            .collect::<Vec<_>>()
    };

    let folder = "home/.claude/projects/-home-dev-projects-webshop";
    let id = |n: u32| format!("{folder}/5000000{n}-0000-4000-8000-000000000000.jsonl");
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    let garbage: Vec<u8> = std::iter::repeat_with(|| {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise.to_le_bytes()[0]
    })
    .take(300_000)
    .collect();
    axiowl.write(&id(1), &garbage);
    axiowl.write(&id(2), "");
    axiowl.write(&id(3), "{\"type\":\"user\",\"sessionId\":\"500000");
    axiowl.write(&id(4), vec![0_u8; 70_000]);
    axiowl.write(&id(5), "{\"a\":".repeat(60_000));
    let huge = std::fs::File::create(axiowl.path(&id(6))).expect("file");
    huge.set_len(20 << 30).expect("a sparse file");
    let dangling = axiowl.path(&id(7));
    std::os::unix::fs::symlink("/nowhere/at/all.jsonl", dangling).expect("link");
    let secret = axiowl.path("outside.jsonl");
    std::fs::write(&secret, "{}\n").expect("file");
    std::os::unix::fs::symlink(&secret, axiowl.path(&id(8))).expect("link");

    let after = axiowl.run(&discover);
    assert_eq!(after.code, 0, "{after}");
    for name in names(&before) {
        assert!(names(&after).contains(&name), "{name} was lost\n{after}");
    }
    let sendable = |run: &program::Run| {
        run.lines("discovered_agent")
            .iter()
            .filter(|row| row["sendable"] == true)
            .count()
    };
    assert_eq!(sendable(&after), sendable(&before));
    let issues = after.lines("discovery_summary")[0]["issues"].to_string();
    for n in [1, 2, 3, 4, 5, 6, 8] {
        assert!(
            issues.contains(&format!("5000000{n}")),
            "file {n} is not named: {issues}"
        );
    }
}

/// kill -9 at any time during merges leaves the old or the new table, never half.
#[test]
fn kill_during_merge_leaves_a_whole_registry() {
    let axiowl = Axiowl::new();
    codex_home(&axiowl, str::to_owned);
    let world = world(&axiowl);
    let state = axiowl.path("state").display().to_string();
    let flags = ["--world", &world, "--state", &state];
    let run = axiowl.run(&[&flags[..], &["discover", "codex-cli"]].concat());
    assert_eq!(run.code, 0, "{run}");
    let registry = axiowl.path("state/registry/agents.tsv");
    let rows = |text: &str| text.lines().count();
    let whole = rows(&std::fs::read_to_string(&registry).expect("registry"));
    for round in 0..40_u64 {
        // Each round writes a table that differs, so that every merge has something to replace.
        let id = "01a22cbd-692e-7df2-9c84-59884464c7c4";
        let name = format!("Round {round}");
        let rename = axiowl.run(&[&flags[..], &["registry", "rename", id, &name]].concat());
        assert_eq!(rename.code, 0, "{rename}");
        let mut child = axiowl
            .command(&[&flags[..], &["discover", "all"]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("axiowl runs");
        // The moment of the kill walks through the run; a child that is done by then was not cut.
        let deadline = std::time::Instant::now() + std::time::Duration::from_micros(500 * round);
        while std::time::Instant::now() < deadline && child.try_wait().expect("wait").is_none() {
            std::hint::spin_loop();
        }
        child.kill().expect("kill");
        child.wait().expect("wait");
        let text = std::fs::read_to_string(&registry).expect("registry");
        assert!(
            text.ends_with('\n') && rows(&text) >= whole,
            "round {round}: {text}"
        );
        let list = axiowl.run(&[&flags[..], &["list", "agents", "--json"]].concat());
        assert_eq!(list.code, 0, "{list}");
        assert_eq!(list.stderr, "", "round {round}");
    }
}

#[test]
fn two_processes_merging_at_once_lose_nothing() {
    let axiowl = Axiowl::new();
    codex_home(&axiowl, str::to_owned);
    program::copy_tree(
        &Path::new(ROOT).join("rules/claude_code_cli/fixtures/projects/home"),
        &axiowl.home(),
    );
    let world = world(&axiowl);
    let mut seen = Vec::new();
    for round in 0..8 {
        let state = axiowl.path(&format!("state{round}")).display().to_string();
        let start = |scope: &str| -> std::process::Child {
            let mut command: Command =
                axiowl.command(&["--world", &world, "--state", &state, "discover", scope]);
            command.stdout(Stdio::null()).spawn().expect("axiowl runs")
        };
        let children = ["codex", "codex-cli", "claude-code-cli"].map(start);
        for mut child in children {
            assert!(child.wait().expect("wait").success());
        }
        let run = axiowl.run(&["--state", &state, "list", "agents", "--all", "--json"]);
        let mut ids: Vec<String> = run
            .lines("agent")
            .iter()
            .map(|row| row["agent_id"].to_string())
            .collect();
        ids.sort();
        seen.push(ids);
    }
    assert!(seen[0].len() > 35, "{:?}", seen[0]);
    assert!(seen.iter().all(|ids| ids == &seen[0]));
}
