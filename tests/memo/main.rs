//! A discovery of what has not changed reads nothing again, and says and keeps the same as one
//! that reads everything: whatever changes in between, and whatever becomes of the cache.

#[path = "../program/mod.rs"]
mod program;

mod harm;
mod machine;

use machine::{FIRST, Machine, NEW, SECOND, set};
use program::Run;
use serde_json::json;
use std::fs::{self, File};

#[test]
fn what_has_not_changed_is_not_read_and_the_registry_stays_as_it_is() {
    let machine = Machine::new();
    let first = machine.cached();
    let tsv = machine.tsv("cached");
    assert!(tsv.contains("First") && tsv.contains("Echo"), "{tsv}");
    let mut second = None;
    let unchanged = machine.unchanged(|| second = Some(machine.cached()));
    assert_eq!(
        unchanged,
        set(&["claude_code_cli", "codex", "codex_cli", "echo"])
    );
    assert_eq!(machine.tsv("cached"), tsv, "byte for byte");
    // It says what a run that reads everything says.
    let said = |run: &Run| {
        run.stdout
            .replace(&machine.state("plain"), &machine.state("cached"))
    };
    machine.discover("plain", &["--no-cache"]);
    let plain = machine.discover("plain", &["--no-cache"]);
    assert_eq!(said(&second.expect("a run")), said(&plain));
    assert_ne!(first.stdout, plain.stdout, "new targets are known ones now");
}

#[test]
fn what_others_read_or_only_look_at_is_read_whatever_is_known() {
    let machine = Machine::new();
    machine.cached();
    for more in [
        &["--json"][..],
        &["--dry-run"],
        &["--target", "First"],
        &["--no-cache"],
    ] {
        let unchanged = machine.unchanged(|| drop(machine.discover("cached", more)));
        assert_eq!(unchanged, set(&[]), "{more:?}");
    }
}

#[test]
fn a_run_shows_where_its_time_went_and_why_it_read_anew() {
    let machine = Machine::new();
    let shown = |more: &[&str]| -> String {
        let state = machine.state("cached");
        let run = [&["--state", &state, "discover", "echo", "--timings"], more].concat();
        machine.axiowl.run(&run).stdout
    };
    let first = shown(&[]);
    assert!(
        first.contains("read anew  nothing is known of it"),
        "{first}"
    );
    assert!(
        first.contains("judge (1)") && first.contains("merge (1)"),
        "{first}"
    );
    let second = shown(&[]);
    assert!(
        second.contains("compare") && !second.contains("judge"),
        "{second}"
    );
    machine.echo('1', "Another");
    let third = shown(&[]);
    assert!(
        third.contains("read anew  ") && third.contains("changed"),
        "{third}"
    );
    let plain = shown(&["--no-cache"]);
    assert!(
        plain.contains("judge (1)") && !plain.contains("compare"),
        "{plain}"
    );
    let state = machine.state("cached");
    let json = machine
        .axiowl
        .run(&["--state", &state, "discover", "echo", "--timings", "--json"]);
    let stages = json.lines("discovery_timing");
    let judged = stages.iter().find(|line| line["stage"] == "judge");
    let judged = judged.unwrap_or_else(|| panic!("{json}"));
    assert!(
        judged["count"] == 1 && judged["cpu_ms"].as_f64() > Some(0.0),
        "{json}"
    );
    assert!(
        stages
            .iter()
            .any(|line| line["stage"].as_str() > Some("read ")),
        "{json}"
    );
}

#[test]
fn a_renamed_session_is_seen() {
    let machine = Machine::new();
    let unchanged = machine.same_after(|machine| {
        let named = json!({ "type": "custom-title", "customTitle": "Renamed", "sessionId": FIRST });
        machine.append(FIRST, &named);
    });
    assert_eq!(unchanged, set(&["codex", "codex_cli", "echo"]));
    assert!(machine.tsv("cached").contains("Renamed"));
    // What did not change is known with the new registry too.
    let unchanged = machine.unchanged(|| drop(machine.cached()));
    assert!(
        unchanged.is_superset(&set(&["codex", "codex_cli", "echo"])),
        "{unchanged:?}"
    );
}

#[test]
fn a_new_session_and_one_that_is_gone_are_seen() {
    let machine = Machine::new();
    let unchanged = machine.same_after(|machine| machine.claude(NEW, "Third"));
    assert!(!unchanged.contains("claude_code_cli"));
    let machine = Machine::new();
    let gone = |machine: &Machine| fs::remove_file(machine.transcript(SECOND)).expect("gone");
    machine.same_after(gone);
}

#[test]
fn a_folder_that_is_gone_is_seen_though_no_file_of_the_provider_changed() {
    let machine = Machine::new();
    let unchanged = machine.same_after(|machine| {
        fs::rename(
            machine.home().join("projects/api"),
            machine.home().join("moved"),
        )
        .expect("move");
    });
    assert!(
        !unchanged.contains("claude_code_cli") && !unchanged.contains("echo"),
        "{unchanged:?}"
    );
}

#[test]
fn what_stands_only_in_the_log_of_a_database_is_seen() {
    let machine = Machine::new();
    let database = machine.codex();
    database
        .pragma_update(None, "journal_mode", "wal")
        .expect("a log");
    machine.settle();
    machine.same_after(|_| {
        let sql = "UPDATE threads SET name = 'Named in the log' WHERE name IS NOT NULL";
        let changed = database.execute(sql, []).expect("an update");
        assert!(changed > 0);
    });
    assert!(machine.tsv("cached").contains("Named in the log"));
    drop(database);
}

#[cfg(unix)]
#[test]
fn a_file_rewritten_with_its_old_size_and_time_is_seen() {
    let machine = Machine::new();
    machine.same_after(|machine| {
        let path = machine.transcript(FIRST);
        let before = fs::metadata(&path).expect("metadata");
        let text = fs::read_to_string(&path).expect("text");
        fs::write(&path, text.replace("\"First\"", "\"Other\"")).expect("rewritten");
        let file = File::options().write(true).open(&path).expect("file");
        file.set_modified(before.modified().expect("time"))
            .expect("old time");
        let after = fs::metadata(&path).expect("metadata");
        assert_eq!(after.len(), before.len());
    });
    assert!(machine.tsv("cached").contains("Other"));
}

#[test]
fn a_rule_of_the_user_counts_at_once() {
    let machine = Machine::new();
    machine.same_after(|machine| {
        let mine = machine.axiowl.path("home/.config/axiowl/rules/echo");
        machine.axiowl.copy_rule("echo", &mine);
        let rule = fs::read_to_string(mine.join("rule.yaml")).expect("rule");
        assert!(rule.contains("\"{name} agent\""), "{rule}");
        let rule = rule.replace("\"{name} agent\"", "\"{name} parrot\"");
        fs::write(mine.join("rule.yaml"), rule).expect("rule");
    });
    assert!(machine.tsv("cached").contains("Echo parrot"));
}

#[test]
fn what_somebody_changed_in_the_registry_is_merged_with() {
    let machine = Machine::new();
    machine.cached();
    let state = machine.state("cached");
    let agents = machine
        .axiowl
        .run(&["--state", &state, "registry", "remove", "First"]);
    assert_eq!(agents.code, 0, "{agents}");
    assert!(!machine.tsv("cached").contains("First"));
    let unchanged = machine.unchanged(|| drop(machine.cached()));
    assert_eq!(unchanged, set(&[]));
    assert!(machine.tsv("cached").contains("First"), "found again");
}
