//! Whatever becomes of the cache, and whoever shares it: never a wrong row.

use crate::machine::{FIRST, Machine, set};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

#[test]
fn a_cache_that_is_deleted_damaged_or_anothers_costs_a_discovery_and_no_row() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 6] = [
        ("deleted", |cache| fs::remove_dir_all(cache).expect("gone")),
        ("emptied", |cache| each(cache, |_| Vec::new())),
        ("cut", |cache| {
            each(cache, |bytes| bytes[..bytes.len() / 2].to_vec())
        }),
        ("changed", |cache| {
            each(cache, |mut bytes| {
                let at = bytes.len() - 20;
                bytes[at] ^= 1;
                bytes
            })
        }),
        ("no text", |cache| each(cache, |_| vec![0xff; 4096])),
        ("another's", |cache| {
            let other = fs::read(cache.join("echo.json")).expect("a memo");
            each(cache, |_| other.clone());
        }),
    ];
    let machine = Machine::new();
    machine.cached();
    let known = machine.table("cached");
    for (what, harm) in harms {
        machine.cached();
        let cache = machine.axiowl.path("cached/cache");
        assert!(cache.join("echo.json").exists(), "{what}");
        harm(&cache);
        // Another's memo of echo is echo's own.
        let left = if what == "another's" {
            set(&["echo"])
        } else {
            set(&[])
        };
        assert_eq!(machine.unchanged(|| drop(machine.cached())), left, "{what}");
        assert_eq!(machine.table("cached"), known, "{what}");
        let all = set(&["claude_code_cli", "codex", "codex_cli", "echo"]);
        assert_eq!(
            machine.unchanged(|| drop(machine.cached())),
            all,
            "{what}: known again"
        );
    }
}

fn each(folder: &Path, harm: impl Fn(Vec<u8>) -> Vec<u8>) {
    for entry in fs::read_dir(folder).expect("cache").flatten() {
        let bytes = fs::read(entry.path()).expect("memo");
        fs::write(entry.path(), harm(bytes)).expect("harm");
    }
}

#[test]
fn discoveries_at_once_share_a_cache_while_sessions_come_and_end_with_the_right_rows() {
    let machine = Machine::new();
    machine.cached();
    machine.discover("plain", &["--no-cache"]);
    for round in 0..4 {
        let mut running: Vec<Child> = (0..3).map(|_| start(&machine)).collect();
        let title = format!("Round {round}");
        let named = json!({ "type": "custom-title", "customTitle": title, "sessionId": FIRST });
        machine.append(FIRST, &named);
        machine.echo(char::from_digit(round + 2, 10).expect("digit"), &title);
        for child in &mut running {
            assert!(child.wait().expect("an end").success());
        }
    }
    machine.cached();
    machine.discover("plain", &["--no-cache"]);
    // Names that only one of the two saw on the way stay as aliases.
    let without_aliases = |state: &str| {
        let mut rows = machine.table(state);
        rows.iter_mut().for_each(|row| drop(row.remove(2)));
        rows
    };
    assert_eq!(without_aliases("cached"), without_aliases("plain"));
    machine.settle();
    machine.cached();
    let all = set(&["claude_code_cli", "codex", "codex_cli", "echo"]);
    assert_eq!(machine.unchanged(|| drop(machine.cached())), all);
}

#[test]
fn a_cache_that_cannot_be_written_is_said_and_costs_nothing_else() {
    let machine = Machine::new();
    machine.cached();
    let known = machine.table("cached");
    let cache = machine.axiowl.path("cached/cache");
    fs::remove_dir_all(&cache).expect("gone");
    fs::write(&cache, "no folder").expect("written");
    let run = machine.cached();
    assert!(run.stderr.contains("without a cache"), "{run}");
    assert_eq!(machine.table("cached"), known);
    let left = fs::read_to_string(&cache).expect("still there");
    assert_eq!(left, "no folder");
}

/// What was true once is not said again when it no longer is.
#[test]
fn an_older_cache_that_is_put_back_says_nothing_that_is_no_longer_true() {
    let machine = Machine::new();
    machine.cached();
    machine.discover("plain", &["--no-cache"]);
    let cache = machine.axiowl.path("cached/cache");
    let older: Vec<_> = fs::read_dir(&cache)
        .expect("cache")
        .flatten()
        .map(|entry| (entry.path(), fs::read(entry.path()).expect("memo")))
        .collect();
    assert!(!older.is_empty());
    let named = json!({ "type": "custom-title", "customTitle": "Renamed", "sessionId": FIRST });
    machine.append(FIRST, &named);
    machine.echo('2', "Another");
    machine.cached();
    machine.discover("plain", &["--no-cache"]);
    for (file, bytes) in &older {
        fs::write(file, bytes).expect("put back");
    }
    machine.cached();
    assert_eq!(machine.table("cached"), machine.table("plain"));
    assert!(machine.tsv("cached").contains("Renamed"));
}

#[test]
fn a_cache_that_vanishes_again_and_again_while_it_is_used_costs_no_row() {
    let machine = Machine::new();
    machine.cached();
    machine.discover("plain", &["--no-cache"]);
    let cache = machine.axiowl.path("cached/cache");
    for _ in 0..3 {
        let mut child = start(&machine);
        let mut times = 0;
        while child.try_wait().expect("wait").is_none() {
            // Gone already, or just being filled: both are what this is about.
            let _ = fs::remove_dir_all(&cache);
            times += 1;
        }
        assert!(times > 0);
        assert!(child.wait().expect("an end").success());
        assert_eq!(machine.table("cached"), machine.table("plain"));
    }
}

fn start(machine: &Machine) -> Child {
    let state = machine.state("cached");
    machine
        .axiowl
        .command(&["--state", &state, "discover", "all"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a discovery")
}
