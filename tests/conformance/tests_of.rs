//! The names of all tests in the sources: functions marked as tests, also inside `proptest!`.
//! A test that is ignored is none.

use std::collections::BTreeSet;
use std::path::Path;

/// Every test of the repository.
pub fn tests(root: &Path) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut folders = ["engine", "providers", "tests"]
        .map(|name| root.join(name))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("folder") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                out.extend(of_text(&std::fs::read_to_string(&path).expect("text")));
            }
        }
    }
    out
}

/// The tests of some files.
pub fn tests_in(files: &[std::path::PathBuf]) -> BTreeSet<String> {
    let texts = files.iter().map(std::fs::read_to_string);
    texts
        .flat_map(|text| of_text(&text.expect("text")))
        .collect()
}

fn of_text(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut marked = false;
    for line in text.lines().map(str::trim) {
        if line == "#[test]" || line.starts_with("#[tokio::test") {
            marked = true;
        } else if line.starts_with("#[ignore") {
            marked = false;
        } else if let Some((before, rest)) = line.split_once("fn ")
            && ["", "async ", "pub ", "pub(crate) "].contains(&before)
        {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            if std::mem::take(&mut marked) {
                out.push(name.to_owned());
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
    assert_eq!(of_text(text), ["one", "three", "four"]);
}
