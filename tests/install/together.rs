//! Others at the same time: a second install, a client that runs, a change that fails halfway.

use crate::machine::{CLAUDE, CODEX, json, machine, ok, others, read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[test]
fn two_installs_at_once_add_each_entry_once_and_every_byte_comes_back() {
    let axiowl = machine();
    let before = others(&axiowl);
    let runs: Vec<_> = thread::scope(|scope| {
        let ways: [&[&str]; 4] = [
            &["install", "codex", "claude-code", "--yes"],
            &["install", "claude-code", "codex", "--yes"],
            &["install", "--detected", "--yes"],
            &["install", "codex", "--yes"],
        ];
        let started = ways.map(|way| scope.spawn(|| axiowl.run(way)));
        started.map(|run| run.join().expect("a run")).into()
    });
    for run in &runs {
        assert_eq!(run.code, 0, "{run}");
    }
    let codex = read(&axiowl, ".codex/config.toml");
    assert_eq!(codex.matches("[mcp_servers.axiowl]").count(), 1, "{codex}");
    let allowed = &json(&axiowl, ".claude/settings.json")["permissions"]["allow"];
    assert_eq!(allowed, &serde_json::json!(["Bash(ls:*)", "mcp__axiowl"]));
    ok(&axiowl, &["uninstall", "--all", "--yes"]);
    assert_eq!(others(&axiowl), before);
}

/// A client reads its configuration whenever it likes: it finds the old or the new one, whole.
#[test]
fn a_client_that_runs_reads_whole_files_only() {
    let axiowl = machine();
    let file = axiowl.home().join(".claude.json");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut with, mut without) = (0_u32, 0_u32);
            while !done.load(Ordering::Acquire) {
                let text = std::fs::read_to_string(&file).expect("it is always there");
                let value: serde_json::Value = serde_json::from_str(&text).expect("whole");
                match value["mcpServers"]["axiowl"].is_object() {
                    true => with += 1,
                    false => without += 1,
                }
            }
            (with, without)
        });
        for _ in 0..4 {
            ok(&axiowl, &["install", "claude-code", "--yes"]);
            ok(&axiowl, &["uninstall", "claude-code", "--yes"]);
        }
        done.store(true, Ordering::Release);
        let (with, without) = reader.join().expect("the reader");
        assert!(with > 0 && without > 0, "{with} with, {without} without");
    });
    assert_eq!(read(&axiowl, ".claude.json"), CLAUDE);
}

/// The second file of a client cannot be written: it lies in a folder that takes no files. The
/// first one is as it was, and the other clients' are not begun.
#[cfg(target_os = "linux")]
#[test]
fn a_failure_halfway_puts_the_first_file_back() {
    let axiowl = machine();
    // The kernel's own folder: not even root makes a file in it.
    std::fs::remove_dir_all(axiowl.home().join(".claude")).expect("folder");
    symlink("/proc/self", axiowl.home().join(".claude")).expect("link");
    let before = others(&axiowl);
    let run = axiowl.run(&["install", "claude-code", "--yes"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(
        run.stderr.contains("nothing was changed") && run.stderr.contains("hint: "),
        "{run}"
    );
    assert_eq!(others(&axiowl), before);
    assert_eq!(read(&axiowl, ".claude.json"), CLAUDE);
    let status = ok(&axiowl, &["install", "--status", "--json"]);
    let states = status.lines("install_status");
    let of = states.iter().find(|line| line["client"] == "claude-code");
    assert_eq!(of.expect("its state")["state"], "not installed", "{status}");
}

#[test]
fn a_linked_file_keeps_its_mode_and_a_dry_run_of_all_touches_nothing() {
    let axiowl = machine();
    let home = axiowl.home();
    let real = home.join("dotfiles/codex.toml");
    axiowl.write("home/dotfiles/codex.toml", CODEX);
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).expect("mode");
    std::fs::remove_file(home.join(".codex/config.toml")).expect("file");
    symlink(&real, home.join(".codex/config.toml")).expect("link");
    let before = others(&axiowl);
    let run = ok(&axiowl, &["install", "--all-detected", "--dry-run"]);
    for words in [
        "[x] codex",
        "[x] claude-code",
        "[ ] cursor",
        ".codex/config.toml",
    ] {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
    assert_eq!(others(&axiowl), before);
    assert!(!home.join(".axiowl/install/codex.json").exists());
    ok(&axiowl, &["install", "codex", "--yes"]);
    let mode = std::fs::metadata(&real).expect("file").permissions().mode();
    assert_eq!(mode & 0o7777, 0o640);
    let link = std::fs::read_link(home.join(".codex/config.toml")).expect("a link");
    assert_eq!(link, real);
    ok(&axiowl, &["uninstall", "codex", "--yes"]);
    assert_eq!(others(&axiowl), before);
}
