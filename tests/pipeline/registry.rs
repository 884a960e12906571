//! The registry while messages go: its lock is held for a merge and for nothing longer, so that
//! nobody waits for a delivery or for a look around.

use crate::desk::{Desk, message_id};
use axiowl_test_support::poll;
use std::fs::File;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::Duration;

fn lock_file(desk: &Desk) -> File {
    let path = desk.axiowl.registry().with_file_name("agents.lock");
    File::options().write(true).open(path).expect("lock file")
}

fn is_free(desk: &Desk) -> bool {
    lock_file(desk).try_lock().is_ok()
}

fn names(desk: &Desk) -> Vec<String> {
    let list = desk.run(&["list", "agents", "--json"]);
    let rows = list.lines("agent").into_iter();
    let names = rows.map(|row| row["display_name"].as_str().expect("a name").to_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_second_process_merges_while_a_delivery_is_in_flight() {
    let desk = Desk::with(&["Beta"]);
    desk.claude(
        "init; echo_back; record; until [ -e \"$H/go\" ]; do sleep 0.05; done; end; result",
    );
    let id = message_id(&desk.send("Beta", &["--wait", "seen"]));
    assert!(is_free(&desk), "the worker holds it");
    desk.session("Gamma", 1);
    desk.discover();
    assert_eq!(names(&desk), ["Beta", "Gamma"]);
    let renamed = desk.run(&["registry", "rename", "Beta", "Beta 2"]);
    assert_eq!(renamed.code, 0, "{renamed}");
    let stage = desk.stage_words(&id).pop();
    assert_eq!(stage.as_deref(), Some("seen"), "it is still under way");
    desk.axiowl.write("home/go", "");
    desk.until(&id, &["turn_done"]);
    desk.quiet();
    assert_eq!(desk.copies(0, &id), 1);
}

/// A rule of the user's own that asks a program, and a program that answers when it is told to.
fn slow_rule(desk: &Desk) {
    let program = desk.axiowl.path("slow-list");
    desk.axiowl.write(
        "slow-list",
        "#!/bin/sh\nH=${0%/*}/home\n: > \"$H/asked\"\nuntil [ -e \"$H/go\" ]; do sleep 0.05; done\necho '[]'\n",
    );
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("mode");
    desk.axiowl.write(
        "home/.config/axiowl/rules/slow/rule.yaml",
        "axiowl: 1\nprovider: slow\ntitle: Slow\nroots: { slow: ~/.slow }\nsources:\n  s: { command: { argv: [slow-list], readonly: proven, reason: it prints a constant, deadline: 60s, each: { at: \"\", fields: { id: /id, title: /title } } } }\nrows: { from: s, session: \"slow:session:{id}\" }\nname: { candidates: [ { from: title, label: title } ] }\nproof:\n  - { source: slow_listed, when: { id: { present: true } }, grants: [enroll, send] }\n",
    );
    desk.axiowl.write("home/.slow/store", "");
    desk.axiowl.write(
        "home/.config/axiowl/config.yaml",
        format!(
            "executables: {{ claude: {}, slow-list: {} }}\nproviders: {{ slow: {{ commands: true }} }}\n",
            desk.axiowl.path("claude").display(),
            program.display()
        ),
    );
    let folder = desk.axiowl.path("home/.config/axiowl/rules/slow");
    let trusted = desk.run(&["rules", "trust", &folder.display().to_string()]);
    assert_eq!(trusted.code, 0, "{trusted}");
}

#[test]
fn a_second_process_merges_while_a_send_looks_around_for_its_target() {
    let desk = Desk::with(&["Beta"]);
    slow_rule(&desk);
    // Nobody is called that yet, so every scope is searched, the slow one among them.
    let mut child = desk.axiowl.command(&[
        "send", "--to", "Gamma", "--body", "x", "--wait", "turn", "--json",
    ]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().expect("axiowl runs");
    let asked = poll(Duration::from_secs(60), || {
        desk.axiowl.path("home/asked").exists().then_some(())
    });
    assert!(asked.is_some(), "the pass never came to the slow scope");
    assert!(is_free(&desk), "the pass holds it");
    desk.session("Gamma", 1);
    desk.discover();
    let renamed = desk.run(&["registry", "rename", "Beta", "Beta 2"]);
    assert_eq!(renamed.code, 0, "{renamed}");
    assert!(child.try_wait().expect("wait").is_none(), "still looking");
    desk.axiowl.write("home/go", "");
    let output = child.wait_with_output().expect("output");
    let said = String::from_utf8_lossy(&output.stdout);
    // What the other process enrolled meanwhile is found.
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(names(&desk), ["Beta 2", "Gamma"], "no update was lost");
    desk.quiet();
}

#[test]
fn a_send_to_somebody_known_needs_no_lock_and_a_change_waits_for_it() {
    let desk = Desk::with(&["Beta"]);
    let held = lock_file(&desk);
    held.lock().expect("lock");
    let (run, id) = desk.deliver("Beta");
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(desk.copies(0, &id), 1);
    let mut change = desk
        .axiowl
        .command(&["registry", "rename", "Beta", "Gamma"]);
    let change = change.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut change = change.spawn().expect("axiowl runs");
    // It waits in the lock, which the system shows.
    let pid = change.id();
    let waits = poll(Duration::from_secs(60), || {
        let locks = std::fs::read_to_string("/proc/locks").expect("locks");
        let waiting = |line: &str| line.contains("->") && line.contains(&format!(" {pid} "));
        locks.lines().any(waiting).then_some(())
    });
    assert!(waits.is_some(), "it does not wait for the lock");
    assert!(change.try_wait().expect("wait").is_none());
    assert_eq!(names(&desk), ["Beta"], "nothing is written meanwhile");
    drop(held);
    assert!(change.wait().expect("wait").success());
    assert_eq!(names(&desk), ["Gamma"]);
    desk.quiet();
}

#[test]
fn a_registry_with_a_damaged_line_and_columns_of_a_newer_axiowl_serves_and_keeps_both() {
    let desk = Desk::with(&["Beta", "Gamma"]);
    let path = desk.axiowl.registry();
    let text = std::fs::read_to_string(&path).expect("registry");
    let lines = text.lines().enumerate().map(|(number, line)| match number {
        0 => format!("{line}\tfuture"),
        _ => format!("{line}\tkept {number}"),
    });
    let mut newer: Vec<String> = lines.collect();
    newer.push("half a li".into());
    std::fs::write(&path, newer.join("\n")).expect("registry");
    let (run, id) = desk.deliver("Beta");
    assert_eq!(run.code, 0, "{run}");
    desk.quiet();
    assert_eq!(desk.copies(0, &id), 1);
    let renamed = desk.run(&["registry", "rename", "Gamma", "Delta"]);
    assert_eq!(renamed.code, 0, "{renamed}");
    assert!(
        renamed.stderr.contains("agents.tsv:4: this line is no row"),
        "the damage is named: {renamed}"
    );
    let text = std::fs::read_to_string(&path).expect("registry");
    for part in ["\tfuture", "\tkept 1", "\tkept 2"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("half a li"), "{text}");
    let aside = std::fs::read_to_string(path.with_file_name("damaged.tsv")).expect("file");
    assert!(aside.contains("half a li"), "{aside}");
}

#[test]
fn a_registry_folder_that_was_made_read_only_stays_so() {
    let desk = Desk::with(&["Beta"]);
    let folder = desk.axiowl.registry().parent().expect("folder").to_owned();
    let mode = std::fs::Permissions::from_mode(0o555);
    std::fs::set_permissions(&folder, mode).expect("mode");
    // Root may write there all the same.
    desk.run(&["registry", "rename", "Beta", "Gamma"]);
    let mode = std::fs::metadata(&folder)
        .expect("folder")
        .permissions()
        .mode();
    assert_eq!(
        mode & 0o777,
        0o500,
        "closed to others, and not opened to its owner"
    );
    let run = desk.run(&["send", "--to", "Gamma", "--body", "x", "--dry-run"]);
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(&folder, mode).expect("mode");
    assert!([0, 3].contains(&run.code), "{run}");
}
