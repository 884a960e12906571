//! The documents: every command they show runs, and what is made of the program's own data and
//! output (the table of providers, recorded sessions, the reference of the command line) is what
//! it says now. `AXIOWL_BLESS=1` writes that anew.

#![cfg(unix)]

#[path = "../program/mod.rs"]
mod program;
mod recorded;
mod reference;

use program::{Axiowl, ROOT};
use std::path::{Path, PathBuf};

const GUIDES: [&str; 5] = [
    "first-steps",
    "sending",
    "providers",
    "security",
    "troubleshooting",
];
/// Around the table of providers in the README.
const TABLE: (&str, &str) = (
    "<!-- providers: made of rules/support.yaml -->\n",
    "<!-- providers end -->\n",
);

fn file(name: &str) -> PathBuf {
    Path::new(ROOT).join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap_or_default()
}

/// Whether documents are to be written anew, and not compared.
fn blessing() -> bool {
    std::env::var_os("AXIOWL_BLESS").is_some()
}

/// Compares a document with what it should be, or writes it.
fn same(name: &str, expected: &str) {
    if blessing() {
        std::fs::write(file(name), expected).expect("the document");
        return;
    }
    let said = read(name);
    let line = said.lines().zip(expected.lines()).position(|(a, b)| a != b);
    assert!(
        said == expected,
        "{name} is not what the program says, from line {}; AXIOWL_BLESS=1 cargo test --test docs writes it",
        line.map_or(said.lines().count().min(expected.lines().count()), |at| at) + 1
    );
}

#[test]
fn the_readmes_table_of_providers_is_the_support_matrix() {
    let run = Axiowl::new().run(&["list", "providers", "--json"]);
    let mut table = String::from(
        "| provider | key | discover | send | reply | install |\n|---|---|---|---|---|---|\n",
    );
    for line in run.lines("provider") {
        let Some(operations) = line["operations"].as_array() else {
            continue;
        };
        let of = |name: &str| {
            let one = operations.iter().find(|one| one["operation"] == name);
            one.and_then(|one| one["proven"].as_str())
                .unwrap_or("-")
                .to_owned()
        };
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        table.push_str(&format!(
            "| {} | `{}` | {} | {} | {} | {} |\n",
            text("title"),
            text("provider"),
            of("discover"),
            of("send"),
            of("reply"),
            of("install")
        ));
    }
    assert!(table.lines().count() > 12, "{table}");
    let readme = read("README.md");
    let (before, rest) = readme.split_once(TABLE.0).expect("the table's beginning");
    let (_, after) = rest.split_once(TABLE.1).expect("the table's end");
    same(
        "README.md",
        &format!("{before}{}{table}{}{after}", TABLE.0, TABLE.1),
    );
}

/// A home with the echo agent, as the demo leaves it.
fn demo_home() -> (Axiowl, PathBuf) {
    let axiowl = Axiowl::new();
    let output = axiowl
        .command(&["demo", "--keep"])
        .env("TMPDIR", axiowl.path(""))
        .output()
        .expect("axiowl runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let kept = said.lines().find_map(|line| line.strip_prefix("Kept in "));
    let home = Path::new(kept.unwrap_or_else(|| panic!("{said}"))).join("home");
    (axiowl, home)
}

/// A line as a person types it in a home.
fn typing(axiowl: &Axiowl, home: &Path, line: &str) -> std::process::Command {
    let folder = Path::new(env!("CARGO_BIN_EXE_axiowl"));
    let folder = folder.parent().expect("folder");
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", line])
        .current_dir(axiowl.home())
        .env_clear()
        .env("HOME", home)
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::null());
    command
}

/// Runs such a line; whether it went well, and what it said.
fn typed(axiowl: &Axiowl, home: &Path, line: &str) -> (bool, String) {
    let output = typing(axiowl, home, line).output().expect("sh runs");
    let both = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&both).into_owned(),
    )
}

#[test]
fn every_command_of_the_guides_runs() {
    let (axiowl, home) = demo_home();
    let mut ran = 0;
    for guide in GUIDES {
        let text = read(&format!("engine/docs/{guide}.md"));
        for line in text.lines().filter_map(|line| line.strip_prefix("$ ")) {
            let (well, said) = typed(&axiowl, &home, line);
            assert!(well, "{guide}: {line}: {said}");
            ran += 1;
        }
    }
    assert!(ran > 8, "only {ran} commands");
}

#[test]
fn every_command_the_documents_show_is_one_the_program_takes() {
    let axiowl = Axiowl::new();
    let mut known = 0;
    let mut shown = read("README.md");
    for guide in GUIDES {
        shown.push_str(&read(&format!("engine/docs/{guide}.md")));
    }
    shown.push_str(&read("rules/README.md"));
    for line in shown.lines().filter(|line| line.starts_with("axiowl ")) {
        let line = line
            .split(" #")
            .next()
            .unwrap_or_default()
            .replace("<id>", "x");
        let (well, said) = typed(&axiowl, &axiowl.home(), &format!("{line} --help"));
        assert!(well, "{line}: {said}");
        known += 1;
    }
    assert!(known > 10, "only {known} commands");
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let mut checked = 0;
    let mut documents = vec!["README.md".to_owned(), "rules/README.md".to_owned()];
    let folder = std::fs::read_dir(file("engine/docs")).expect("documents");
    documents.extend(
        folder
            .flatten()
            .map(|entry| format!("engine/docs/{}", entry.file_name().to_string_lossy())),
    );
    for document in documents {
        let folder = file(&document).parent().expect("folder").to_owned();
        for part in read(&document).split("](").skip(1) {
            let link = part
                .split(')')
                .next()
                .unwrap_or_default()
                .split('#')
                .next()
                .unwrap_or_default();
            if link.is_empty() || link.contains("://") || link.contains(' ') {
                continue;
            }
            assert!(folder.join(link).exists(), "{document}: {link}");
            checked += 1;
        }
    }
    assert!(checked > 5, "only {checked} links");
}
