//! Recorded homes, damaged further: cut, overwritten and emptied at fixed places.

use crate::found::Found;
use crate::measured::Measured;
use crate::program::{Axiowl, ROOT, copy_tree};
use crate::untouched::untouched;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The recorded homes, or a line that says why there are none.
fn homes() -> Vec<PathBuf> {
    let Some(samples) = std::env::var_os("AXIOWL_SAMPLES").map(PathBuf::from) else {
        use std::io::Write as _;
        let line = b"skipped: AXIOWL_SAMPLES names no folder with recorded homes\n";
        // Through the handle, since the test runner swallows what the print macros write.
        std::io::stderr().write_all(line).expect("standard error");
        return Vec::new();
    };
    let mut out = vec![
        samples.join("opencode/1.18"),
        samples.join("opencode/2x-synthetic"),
    ];
    let named = [
        "claude-code",
        "codex",
        "copilot",
        "gemini",
        "vscode",
        "cursor-antigravity-grok",
    ];
    out.extend(named.map(|name| samples.join(name)));
    out
}

fn discover(axiowl: &Axiowl, home: &Path) -> Found {
    let world = Path::new(ROOT).join("fixtures/samples/world.yaml");
    let state = axiowl.path("state");
    let command = axiowl.command(&[
        "discover",
        "all",
        "--json",
        "--dry-run",
        "--state",
        state.to_str().expect("text"),
        "--home",
        home.to_str().expect("text"),
        "--world",
        world.to_str().expect("text"),
    ]);
    let found = Found::of(Measured::of(&command));
    assert_eq!(found.run.code, 0, "{}", found.run);
    found
}

fn targets(found: &Found) -> BTreeSet<(String, String)> {
    let rows = found.rows.iter().filter(|(_, row)| row["sendable"] == true);
    rows.map(|(key, _)| key.clone()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder).expect("folder") {
            let path = entry.expect("entry").path();
            match path.is_dir() {
                true => left.push(path),
                false => out.push(path),
            }
        }
    }
    out.sort();
    out
}

/// What a damage does to the bytes of one file.
type Damage = fn(&[u8]) -> Vec<u8>;

const DAMAGES: [(&str, Damage); 6] = [
    ("the second half is gone", |b| b[..b.len() / 2].to_vec()),
    ("the last byte is gone", |b| {
        b[..b.len().saturating_sub(1)].to_vec()
    }),
    ("zeros in the middle", |b| {
        let mut b = b.to_vec();
        let (from, to) = (b.len() / 3, b.len() / 2);
        b[from..to].fill(0);
        b
    }),
    ("noise at the start", |b| {
        let mut b = b.to_vec();
        let end = b.len().min(64);
        b[..end]
            .iter_mut()
            .enumerate()
            .for_each(|(n, byte)| *byte = (n as u8).wrapping_mul(151) ^ 0xa5);
        b
    }),
    ("every line twice as long, cut", |b| {
        let mut out = Vec::with_capacity(b.len());
        for line in b.split(|c| *c == b'\n') {
            out.extend_from_slice(&line[..line.len() * 3 / 4]);
            out.push(b'\n');
        }
        out
    }),
    ("empty", |_| Vec::new()),
];

/// Every third file of a recorded home is damaged, each time others. Nothing is found in the
/// damaged home that was not a target in the sound one, and nothing in it is touched.
#[test]
fn a_damaged_recorded_home_enrols_nobody_new() {
    for home in homes() {
        let whole = Axiowl::new();
        let copy = whole.path("copy");
        copy_tree(&home, &copy);
        let sound = targets(&discover(&whole, &copy));
        for (turn, (what, damage)) in DAMAGES.iter().enumerate() {
            let axiowl = Axiowl::new();
            let copy = axiowl.path("copy");
            copy_tree(&home, &copy);
            for (number, file) in files(&copy).into_iter().enumerate() {
                // A database's log that ends early is a transaction that never was.
                let log = file.to_string_lossy().ends_with("-wal");
                if number % 3 == turn % 3 && !log {
                    let bytes = std::fs::read(&file).expect("file");
                    std::fs::write(&file, damage(&bytes)).expect("write");
                }
            }
            let found = untouched(&copy, || discover(&axiowl, &copy));
            let left = targets(&found);
            let new: Vec<_> = left.difference(&sound).collect();
            assert!(new.is_empty(), "{}: {what}: {new:?}", home.display());
            if left.len() < sound.len() {
                let said = !found.issues.is_empty()
                    || found
                        .run
                        .lines("discovery_summary")
                        .iter()
                        .any(|summary| summary["verdict"] == "drift");
                let shown = sound
                    .difference(&left)
                    .all(|key| found.rows.contains_key(key));
                assert!(
                    said || shown,
                    "{}: {what}: sessions went without a word\n{}",
                    home.display(),
                    found.run
                );
            }
        }
    }
}
