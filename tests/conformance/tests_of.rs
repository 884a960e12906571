//! The names of all tests in the sources: functions marked as tests, also inside `proptest!`.
//! A test that is ignored is none. A test says itself which operation of which surface it shows:
//! `/// Shows: codex_cli reply, copilot_cli reply.` above it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What begins such a line.
const SHOWS: &str = "/// Shows: ";

/// A test as it stands in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    pub name: String,
    pub file: PathBuf,
    /// `<surface> <operation>` each.
    pub shows: BTreeSet<String>,
}

impl Test {
    /// Whether a program that is no stand-in takes part in it.
    pub fn is_with_a_real_client(&self) -> bool {
        let parts = self.file.iter().filter_map(|part| part.to_str());
        let mut names = parts.map(|part| part.trim_end_matches(".rs"));
        names.any(|name| name == "real" || name.starts_with("real_"))
    }
}

/// The names of every test of the repository.
pub fn tests(root: &Path) -> BTreeSet<String> {
    all(root).into_iter().map(|test| test.name).collect()
}

/// Every test of the repository.
pub fn all(root: &Path) -> Vec<Test> {
    let mut out = Vec::new();
    let mut folders = ["engine", "providers", "tests"]
        .map(|name| root.join(name))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("folder") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                out.extend(of_text(
                    &path,
                    &std::fs::read_to_string(&path).expect("text"),
                ));
            }
        }
    }
    out
}

fn of_text(file: &Path, text: &str) -> Vec<Test> {
    let mut out = Vec::new();
    let mut marked = false;
    let mut shows = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if let Some(shown) = line.strip_prefix(SHOWS) {
            let shown = shown.trim_end_matches('.').split(',');
            shows.extend(shown.map(|one| one.trim().to_owned()));
        } else if line == "#[test]" || line.starts_with("#[tokio::test") {
            marked = true;
        } else if line.starts_with("#[ignore") {
            marked = false;
        } else if let Some((before, rest)) = line.split_once("fn ")
            && ["", "async ", "pub ", "pub(crate) "].contains(&before)
        {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            let shows = std::mem::take(&mut shows);
            if std::mem::take(&mut marked) {
                out.push(Test {
                    name: name.to_owned(),
                    file: file.to_owned(),
                    shows,
                });
            }
        }
    }
    out
}

#[test]
fn marked_functions_are_tests_and_others_are_not() {
    let text = "fn helper() {}\n#[test]\n#[cfg(unix)]\nfn one() {}\n// #[test]\nfn two() {}\n\
                #[tokio::test(flavor = \"multi_thread\")]\nasync fn three() {}\n\
                proptest! {\n    #[test]\n    fn four(a in 0..3) {\n    }\n}\n\
                #[test]\n#[ignore = \"slow\"]\nfn five() {}\n";
    let found = of_text(Path::new("a.rs"), text);
    let names: Vec<&str> = found.iter().map(|test| test.name.as_str()).collect();
    assert_eq!(names, ["one", "three", "four"]);
}

#[test]
fn a_test_shows_what_stands_above_it_and_nothing_else_does() {
    let text = "/// Shows: codex reply, codex_cli reply.\n/// Shows: grok send.\n#[test]\nfn one() {}\n\
                #[test]\nfn two() {}\n/// Shows: a send.\nfn helper() {}\n#[test]\nfn three() {}\n\
                /// Shows: b send.\n#[test]\n#[ignore]\nfn four() {}\n#[test]\nfn five() {}\n";
    let found = of_text(Path::new("tests/real_replies.rs"), text);
    let shown: Vec<Vec<&str>> = found
        .iter()
        .map(|test| test.shows.iter().map(String::as_str).collect())
        .collect();
    let none: Vec<&str> = Vec::new();
    let one = vec!["codex reply", "codex_cli reply", "grok send"];
    assert_eq!(shown, [one, none.clone(), none.clone(), none]);
    assert!(found[0].is_with_a_real_client());
    for file in [
        "tests/install/real.rs",
        "tests/samples.rs",
        "tests/unreal_x.rs",
    ] {
        let test = &of_text(Path::new(file), text)[0];
        assert_eq!(
            test.is_with_a_real_client(),
            file.ends_with("/real.rs"),
            "{file}"
        );
    }
}
