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

/// The commands of a document in their order, from text blocks and from recorded sessions.
fn commands(document: &str) -> Vec<String> {
    let text = read(document);
    let lines = text
        .lines()
        .filter_map(|line| match line.strip_prefix("$ ") {
            Some(command) => Some(command),
            None => line.starts_with("axiowl ").then_some(line),
        });
    let bare = |line: &str| {
        line.split(" #")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    lines.map(bare).collect()
}

/// A home with the echo agent and two clients that have a configuration.
fn home_with_clients() -> (Axiowl, PathBuf) {
    let (axiowl, home) = demo_home();
    for (file, text) in [
        (".codex/config.toml", "model = \"gpt-5\"\n"),
        (".claude/settings.json", "{}\n"),
    ] {
        let path = home.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        std::fs::write(path, text).expect("a file");
    }
    (axiowl, home)
}

/// Whoever follows a guide from its first to its last command gets through.
#[test]
fn every_command_of_the_guides_runs() {
    let mut ran = 0;
    for guide in GUIDES {
        let document = format!("engine/docs/{guide}.md");
        let commands = commands(&document);
        if commands.is_empty() {
            continue;
        }
        let (axiowl, home) = home_with_clients();
        for line in commands {
            let (well, said) = typed(&axiowl, &home, &line);
            assert!(well, "{document}: {line}: {said}");
            ran += 1;
        }
    }
    assert!(ran > 15, "only {ran} commands");
}

/// The README's session is somebody's own; here the echo agent goes by its name.
#[test]
fn every_command_of_the_readme_runs() {
    let (axiowl, home) = home_with_clients();
    let mut answered = false;
    let commands = commands("README.md");
    assert!(commands.len() > 5, "{commands:?}");
    for line in commands {
        if line.contains("--to \"Design Review\"") {
            for (from, to) in [("Design Review", "Older"), ("Echo", "Design Review")] {
                let rename = format!("axiowl registry rename '{from}' '{to}'");
                let (well, said) = typed(&axiowl, &home, &rename);
                assert!(well, "{rename}: {said}");
            }
        }
        let (well, said) = typed(&axiowl, &home, &line);
        assert!(well, "{line}: {said}");
        answered |= line.ends_with("--wait reply") && said.contains("replied");
    }
    assert!(answered, "nobody answered");
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
