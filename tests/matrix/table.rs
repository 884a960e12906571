//! The committed table: one section a client and version. `AXIOWL_BLESS=1` writes it anew,
//! without it a run has to say the same.

use crate::cell::Outcome;
use crate::situation::Situation;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const HEAD: &str = "# Real clients in every situation\n\n\
    Written by `AXIOWL_BLESS=1 cargo test --test matrix -- --ignored`; see `main.rs` for what is\n\
    compared. \"stands there\" counts the message in the target's transcript and in all other\n\
    sessions, \"asked\" the turns for which the mock model was asked with it.\n";

const COLUMNS: &str = "| situation | AxiOwl said | way and reason | stands there / elsewhere | \
    asked | the window shows it |\n|---|---|---|---|---|---|\n";

/// One line of a section.
pub fn row(situation: Situation, outcome: &Outcome) -> String {
    let name = situation.name();
    let facts = match outcome {
        Outcome::NotApplicable(why) => return format!("| {name} | n/a | {why} | | | |"),
        Outcome::Sent(facts) => facts,
    };
    let reported = match facts.last() {
        "none" => format!("not accepted (exit {})", facts.code),
        last => format!("{last} (exit {})", facts.code),
    };
    // The first sentence; the rest is advice, or what some machine has.
    let reason = facts.reason().split([';', '(']).next().unwrap_or_default();
    let reason = reason.split("\\u{a}").next().unwrap_or_default();
    let reason = steady(reason.trim());
    let how = match (facts.route(), reason.as_str()) {
        (route, "") => route.to_owned(),
        ("", reason) => reason.to_owned(),
        (route, reason) => format!("{route}: {reason}"),
    };
    let how = how.replace('|', "\\|").replace('\n', " ");
    // How often a failing model is asked is up to the client's patience.
    let asked = match (situation.fails_the_model(), facts.asked) {
        (true, 1..) => "1+".to_owned(),
        (_, count) => count.to_string(),
    };
    let shown = match facts.shown {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    format!(
        "| {name} | {reported} | {how} | {} / {} | {asked} | {shown} |",
        facts.in_target, facts.elsewhere
    )
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/matrix/table.md")
}

/// Compares a row of a client with the committed one.
///
/// # Panics
/// Where they differ.
pub fn compare(title: &str, situation: Situation, row: &str) {
    let text = fs::read_to_string(file()).expect("the table");
    let sections = read(&text);
    let known = sections
        .get(title)
        .and_then(|rows| rows.get(&situation.name()));
    assert_eq!(
        known.map(String::as_str),
        Some(row),
        "{title}: the table says something else; AXIOWL_BLESS=1 with --ignored writes it anew"
    );
}

/// Compares a row of a client with the committed one, or writes it; the table keeps the others.
///
/// # Panics
/// Where they differ.
pub fn settle(title: &str, situation: Situation, row: &str) {
    if std::env::var_os("AXIOWL_BLESS").is_none() {
        return compare(title, situation, row);
    }
    let file = file();
    // Tests of other clients write at the same time.
    let guard = File::open(file.parent().expect("a folder")).expect("the folder");
    guard.lock().expect("a lock");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let mut sections = read(&text);
    let section = sections.entry(title.to_owned()).or_default();
    section.insert(situation.name(), row.to_owned());
    fs::write(&file, written(&sections)).expect("written");
}

/// The rows of each section by the names of their situations.
pub fn read(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let sections = text.split("\n## ").skip(1);
    sections
        .map(|section| {
            let title = section.lines().next().unwrap_or_default();
            let rows = section.lines().filter_map(|line| {
                let name = line.strip_prefix("| ")?.split(" | ").next()?;
                Some((name.to_owned(), line.to_owned()))
            });
            let rows = rows.filter(|(name, _)| name != "situation");
            (title.to_owned(), rows.collect())
        })
        .collect()
}

fn written(sections: &BTreeMap<String, BTreeMap<String, String>>) -> String {
    let mut out = HEAD.to_owned();
    for (title, rows) in sections {
        out.push_str(&format!("\n## {title}\n\n{COLUMNS}"));
        for situation in Situation::ALL {
            if let Some(row) = rows.get(&situation.name()) {
                out.push_str(row);
                out.push('\n');
            }
        }
    }
    out
}

/// Makes a text the same for every run: no folders, no numbers, no ids.
fn steady(text: &str) -> String {
    let mut out = String::new();
    for word in text.split(' ') {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
        let steady = if bare.starts_with('/') && Path::new(bare).components().count() > 2 {
            word.replace(bare, "<path>")
        } else if bare.len() >= 20 && bare.bytes().any(|byte| byte.is_ascii_digit()) {
            word.replace(bare, "<id>")
        } else if !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit()) {
            word.replace(bare, "<n>")
        } else {
            word.to_owned()
        };
        out.push_str(if out.is_empty() { "" } else { " " });
        out.push_str(&steady);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_runs_is_left_out_and_the_rest_stays() {
        let text =
            "it is open: process 4711, Codex 0.171.0, in /home/dev/web (7d3f8a10-5c55-4bb1-9a52)";
        assert_eq!(
            steady(text),
            "it is open: process <n>, Codex 0.171.0, in <path> (<id>)"
        );
    }

    #[test]
    fn a_table_is_read_as_it_is_written() {
        let row = "| idle | turn_done (exit 0) | x | 1 / 0 | 1 |  |".to_owned();
        let rows = BTreeMap::from([("idle".to_owned(), row)]);
        let sections = BTreeMap::from([("Codex 1.2.3".to_owned(), rows)]);
        assert_eq!(read(&written(&sections)), sections);
    }

    /// A row that nobody can make any more, or of a version that is no longer pinned, is stale.
    #[test]
    fn the_committed_table_has_pinned_versions_and_known_situations_only() {
        let pins = [
            include_str!("../support/clients/package.json"),
            include_str!("../support/clients/older/package.json"),
        ];
        let sections = read(include_str!("table.md"));
        assert!(sections.len() >= 4, "{:?}", sections.keys());
        for (title, rows) in sections {
            let mut words = title.split(' ');
            let version = words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
            let version = version.expect("a version");
            let ending = [format!("{version}\""), format!("{version}-linux-x64\"")];
            let pinned = pins
                .iter()
                .any(|text| ending.iter().any(|version| text.contains(version)));
            assert!(pinned, "{title}");
            for name in rows.keys() {
                let known = Situation::ALL.iter().any(|known| known.name() == *name);
                assert!(known, "{title}: {name}");
            }
        }
    }
}
