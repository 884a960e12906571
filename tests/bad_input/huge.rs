//! Files of 20 GB that hold nothing between their ends: time and memory do not follow the size.

use crate::home::{Home, Provider, id};
use std::fs::OpenOptions;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::Duration;

const HUGE: u64 = 20 << 30;
/// CPU time of a run that meets them; reading one of them takes several times that.
const CPU: Duration = Duration::from_secs(4);

/// A sound session whose file has a gap of 20 GB before its last lines.
fn stretched(home: &Home, provider: Provider, number: usize) -> String {
    let lines = home.lines(provider, number);
    let file = home.put(provider, number, "");
    let mut out = OpenOptions::new()
        .write(true)
        .open(home.path(&file))
        .expect("file");
    let (head, tail) = lines.split_at(lines.len() - 1);
    for line in head {
        writeln!(out, "{line}").expect("write");
    }
    let end = format!("\n{}\n", tail[0]);
    out.seek(SeekFrom::Start(HUGE - end.len() as u64))
        .expect("seek");
    out.write_all(end.as_bytes()).expect("write");
    file
}

#[test]
fn a_transcript_of_twenty_gigabytes_is_read_at_both_ends() {
    let home = Home::new();
    let all = [
        Provider::Claude,
        Provider::Codex,
        Provider::Copilot,
        Provider::Gemini,
    ];
    for provider in all {
        let file = stretched(&home, provider, 11);
        assert_eq!(home.path(&file).metadata().expect("file").len(), HUGE);
    }
    let found = home.discover_sound();
    for provider in all {
        // What stands in the last line is known, so the tail was read.
        home.is_sound(&found, provider, 11);
    }
    assert!(found.cpu < CPU, "{:?}", found.cpu);
    // Again, with what was kept from the first time.
    assert!(home.discover_sound().cpu < CPU);
}

#[test]
fn files_of_twenty_gigabytes_of_nothing_are_named() {
    let home = Home::new();
    let mut files = Vec::new();
    for provider in [Provider::Claude, Provider::Copilot, Provider::Gemini] {
        let file = home.put(provider, 21, "");
        let out = OpenOptions::new().write(true).open(home.path(&file));
        out.expect("file").set_len(HUGE).expect("a sparse file");
        files.push((provider, file));
    }
    let found = home.discover_sound();
    for (provider, file) in files {
        assert!(
            !found.sendable(provider, &id(provider, 21)),
            "{}",
            found.run
        );
        assert!(!found.codes_at(&file).is_empty(), "{:#?}", found.issues);
    }
    assert!(found.cpu < CPU, "{:?}", found.cpu);
}

/// Descriptions, indexes and settings that grew to 20 GB.
#[test]
fn small_files_that_became_huge_are_not_read_whole() {
    let home = Home::new();
    let copilot = id(Provider::Copilot, 31);
    home.add(Provider::Copilot, 31);
    let about = format!(".copilot/session-state/{copilot}/workspace.yaml");
    let all = [
        about.as_str(),
        ".claude/sessions/77.json",
        ".gemini/tmp/work/logs.json",
        ".codex/session_index.jsonl",
    ];
    for file in all {
        let path = home.path(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        let out = OpenOptions::new().create(true).append(true).open(path);
        out.expect("file").set_len(HUGE).expect("a sparse file");
    }
    let found = home.discover_sound();
    for file in all {
        assert!(
            !found.codes_at(file).is_empty(),
            "{file} is not named: {:#?}",
            found.issues
        );
    }
    assert!(found.cpu < CPU, "{:?}", found.cpu);
}

/// A store that is read in place is read page by page, however large; one that is read from a
/// copy is refused, with its size, and no disk is filled.
#[test]
fn databases_of_twenty_gigabytes_are_not_copied() {
    let home = Home::new();
    for store in [".codex/state_5.sqlite", ".local/share/opencode/opencode.db"] {
        let out = OpenOptions::new().write(true).open(home.path(store));
        out.expect("file").set_len(HUGE).expect("a sparse file");
    }
    // Zeros alone, by the name of a newer store.
    let zeros = std::fs::File::create(home.path(".codex/state_4.sqlite")).expect("file");
    zeros.set_len(HUGE).expect("a sparse file");
    let found = home.discover();
    for number in 1..=3 {
        for provider in [
            Provider::Claude,
            Provider::Codex,
            Provider::Copilot,
            Provider::Gemini,
        ] {
            home.is_sound(&found, provider, number);
        }
        assert!(!found.sendable(Provider::OpenCode, &id(Provider::OpenCode, number)));
    }
    found.names("opencode.db", "mirror_too_large");
    assert!(found.cpu < CPU, "{:?}", found.cpu);
}

/// The header alone of a database, and then 20 GB of zeros, in use as it seems: it has a log.
#[test]
fn a_huge_store_that_seems_live_is_left_alone() {
    let home = Home::new();
    let path = home.path(".codex/state_5.sqlite");
    let out = OpenOptions::new().write(true).open(&path).expect("file");
    out.set_len(HUGE).expect("a sparse file");
    home.write(".codex/state_5.sqlite-wal", [0x37; 4_096]);
    let found = home.discover();
    found.names("state_5.sqlite", "store_too_large_live");
    home.is_sound(&found, Provider::Claude, 1);
    assert!(found.cpu < CPU, "{:?}", found.cpu);
}
