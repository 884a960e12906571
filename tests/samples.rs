//! Recorded provider homes against a table written by hand from what is known about them:
//! title, kind, status, sendable and proof source of every session.
//!
//! The homes themselves are not in the repository; `AXIOWL_SAMPLES` names the folder that
//! holds them. The committed fixtures under `rules/` are derived from the same homes.

mod program;

use program::{Axiowl, ROOT};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn samples() -> Option<PathBuf> {
    let folder = std::env::var_os("AXIOWL_SAMPLES").map(PathBuf::from);
    if folder.is_none() {
        let line = b"skipped: AXIOWL_SAMPLES names no folder with recorded homes\n";
        // Through the handle, since the test runner swallows what the print macros write.
        std::io::stderr().write_all(line).expect("standard error");
    }
    folder
}

/// A session as the table has it: provider and id, then title, kind, status, sendable, source.
type Table = BTreeMap<(String, String), [String; 5]>;

/// The tables by home: the folder's path below the samples.
fn tables() -> BTreeMap<String, Table> {
    let text = std::fs::read_to_string(Path::new(ROOT).join("fixtures/samples/expected.tsv"))
        .expect("table");
    let mut out: BTreeMap<String, Table> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let row = [cells[3], cells[4], cells[5], cells[6], cells[7]].map(str::to_owned);
        let key = (cells[1].to_owned(), cells[2].to_owned());
        let table = out.entry(cells[0].to_owned()).or_default();
        assert!(table.insert(key, row).is_none(), "twice: {line}");
    }
    out
}

fn discovered(axiowl: &Axiowl, home: &Path) -> (Table, usize) {
    let world = Path::new(ROOT).join("fixtures/samples/world.yaml");
    let run = axiowl.run(&[
        "discover",
        "all",
        "--json",
        "--home",
        home.to_str().expect("text"),
        "--world",
        world.to_str().expect("text"),
    ]);
    assert_eq!(run.code, 0, "{run}");
    let rows = run.lines("discovered_agent");
    let count = rows.len();
    let table = rows
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap_or("-").to_owned();
            let session = text("provider_session_id");
            let bare = session.rsplit(':').next().unwrap_or_default().to_owned();
            let sendable = if row["sendable"] == true { "yes" } else { "no" };
            let status = if text("status") == "evidence_only" {
                "active".into()
            } else {
                text("status")
            };
            let cells = [
                text("display_name"),
                text("kind"),
                status,
                sendable.into(),
                text("source"),
            ];
            ((text("provider"), bare), cells)
        })
        .collect();
    (table, count)
}

/// Shows: codex discover, codex_cli discover, claude_code_cli discover, opencode_cli discover.
/// Shows: copilot_cli discover, vscode_native discover, vscode_copilot_backed discover.
/// Shows: gemini_cli discover.
#[test]
fn every_recorded_session_has_its_title_kind_and_proof() {
    let Some(samples) = samples() else { return };
    let tables = tables();
    assert!(!tables.is_empty());
    for (home, expected) in &tables {
        let (found, count) = discovered(&Axiowl::new(), &samples.join(home));
        assert_eq!(count, found.len(), "{home}: one row a session");
        for (key, row) in expected {
            assert_eq!(found.get(key), Some(row), "{home}: {key:?}");
        }
        for key in found.keys() {
            assert!(
                expected.contains_key(key),
                "{home}: {key:?} is not in the table"
            );
        }
    }
}

/// Path → length and content hash, for everything below a folder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, (u64, u64)> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut out = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("folder") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).expect("bytes");
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            out.insert(path, (bytes.len() as u64, hasher.finish()));
        }
    }
    out
}

#[test]
fn recorded_homes_stay_untouched_byte_for_byte() {
    let Some(samples) = samples() else { return };
    for home in tables().keys() {
        // On a writable copy: the recorded ones may be read-only, and would hide a write.
        let axiowl = Axiowl::new();
        let copy = axiowl.path(home);
        program::copy_tree(&samples.join(home), &copy);
        let before = contents(&copy);
        discovered(&axiowl, &copy);
        assert_eq!(contents(&copy), before, "{home}");
    }
}

/// Homes without a row in the table, and the test that says why.
const WITHOUT_ROWS: [(&str, &str); 1] = [(
    "opencode/1.1.65",
    "c403_a_home_of_the_json_storage_is_reported_and_not_read",
)];

/// A recorded home is a folder that holds hidden folders, as a user's does.
fn homes(samples: &Path) -> Vec<String> {
    let mut out = Vec::new();
    let mut left = vec![samples.to_path_buf()];
    while let Some(folder) = left.pop() {
        let entries = std::fs::read_dir(&folder).expect("folder");
        let below: Vec<PathBuf> = entries
            .map(|entry| entry.expect("entry").path())
            .filter(|path| path.is_dir())
            .collect();
        let hidden = |path: &PathBuf| {
            let name = path.file_name().expect("a name");
            name.to_string_lossy().starts_with('.')
        };
        if below.iter().any(hidden) {
            let home = folder.strip_prefix(samples).expect("below");
            out.push(home.to_string_lossy().into_owned());
        } else {
            left.extend(below);
        }
    }
    out.sort();
    out
}

#[test]
fn every_recorded_home_is_in_the_table_or_has_a_test_of_its_own() {
    let Some(samples) = samples() else { return };
    let mut named: Vec<String> = tables().into_keys().collect();
    named.extend(WITHOUT_ROWS.iter().map(|(home, _)| (*home).to_owned()));
    named.sort();
    assert_eq!(homes(&samples), named);
    let own = std::fs::read_to_string(Path::new(ROOT).join(file!())).expect("this file");
    for (home, test) in WITHOUT_ROWS {
        assert!(own.contains(&format!("fn {test}()")), "{home}");
    }
}

/// OpenCode 1.1.65 kept its sessions as JSON files, which no later version opens: they are said
/// to be there and not read (C403).
#[test]
fn c403_a_home_of_the_json_storage_is_reported_and_not_read() {
    let Some(samples) = samples() else { return };
    let world = Path::new(ROOT).join("fixtures/samples/world.yaml");
    let home = samples.join("opencode/1.1.65");
    let run = Axiowl::new().run(&[
        "discover",
        "opencode-cli",
        "--json",
        "--home",
        home.to_str().expect("text"),
        "--world",
        world.to_str().expect("text"),
    ]);
    assert_eq!(run.code, 0, "{run}");
    assert!(run.lines("discovered_agent").is_empty(), "{run}");
    let summary = &run.lines("discovery_summary")[0];
    let issues = summary["issues"].as_array().expect("issues");
    assert_eq!(issues.len(), 1, "{run}");
    assert_eq!(issues[0]["code"], "unsupported_store");
    let path = issues[0]["path"].as_str().expect("a path");
    assert!(
        path.ends_with("ses_dd32acbf1ffeskdc17DHnsYJa3.json"),
        "{path}"
    );
    assert_eq!(summary["verdict"], "verified");
}
