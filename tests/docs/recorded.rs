//! Recorded sessions: blocks marked so are what the program writes on a terminal, in the home of
//! the demo, command after command. What differs from run to run is not compared.

use crate::program::{Axiowl, screen};
use crate::{blessing, demo_home, file, read, typing};
use std::path::Path;

/// How a recorded block begins.
const BEGIN: &str = "```console recorded\n";
/// The width of the terminal.
const COLUMNS: u16 = 100;

/// Types a line on a terminal; what stands there then.
fn shown(axiowl: &Axiowl, home: &Path, line: &str) -> String {
    let (well, said) = screen::run(&mut typing(axiowl, home, line), COLUMNS);
    assert!(well, "{line}: {said}");
    let said = said.replace(home.to_str().expect("text"), "~");
    let mut out = String::new();
    for line in said.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The document with its recorded blocks as they are now.
fn played(document: &str) -> String {
    let (axiowl, home) = demo_home();
    shown(&axiowl, &home, "axiowl discover all");
    let text = read(document);
    let mut parts = text.split(BEGIN);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (block, rest) = part.split_once("```\n").expect("the block's end");
        out.push_str(BEGIN);
        for line in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
            out.push_str(&format!("$ {line}\n{}", shown(&axiowl, &home, line)));
        }
        out.push_str("```\n");
        out.push_str(rest);
    }
    out
}

/// A word without what is another in each run: an id made just now, a time, a folder's name.
fn lasting(word: &str) -> String {
    let id = |word: &str| {
        let parts: Vec<&str> = word.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        let hex = |c: char| c.is_ascii_hexdigit() || c == '-';
        lengths == [8, 4, 4, 4, 12] && word.chars().all(hex) && !word.starts_with("0190aaaa")
    };
    let core = word.trim_matches(['(', ')']);
    let core = core.rsplit('=').next().unwrap_or(core);
    if id(core) {
        return word.replace(core, "<id>");
    }
    if word.len() == 24 && word.contains('T') && word.ends_with('Z') {
        return "<time>".to_owned();
    }
    // How much room an age takes moves the place where a longer word is cut.
    if let Some(cut) = word.strip_suffix('…') {
        return cut.chars().take(16).chain(['…']).collect();
    }
    match word.split_once("axiowl-demo-") {
        Some((_, rest)) => match rest.split_once('/') {
            Some((_, below)) => format!("<demo>/{below}"),
            None => "<demo>".to_owned(),
        },
        None => word.to_owned(),
    }
}

/// Stages that a slow or a quick machine may not show: the transcript can have a message before
/// its door has said so, and an answer before the turn's end ends the wait.
const PASSING: [&str; 2] = ["submitted ", "turn_done "];

fn is_passing(line: &str) -> bool {
    PASSING.iter().any(|stage| line.starts_with(stage))
}

/// Stages of a reply that has just come.
const WAY: [&str; 2] = ["accepted_by_axiowl", "submitted"];

/// A line as it is compared. Stages of one moment may change places, columns may be wider.
fn comparable(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let after = |back: usize| at.checked_sub(back).map(|at| words[at]);
        let age = words.get(at + 2) == Some(&"ago");
        let number = word.parse::<u64>().is_ok();
        out.push(match number {
            true if age || after(1) == Some("byte") => "<number>".to_owned(),
            // A reply on its way to a person: how far it is.
            _ if at == 1 && WAY.contains(word) => "<stage>".to_owned(),
            _ => lasting(word),
        });
    }
    out.join(" ")
}

fn compared(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for block in text.split("\n\n") {
        let lines = block.lines().map(comparable);
        let mut lines: Vec<String> = lines.filter(|line| !is_passing(line)).collect();
        lines.sort();
        out.extend(lines);
    }
    out
}

fn holds(document: &str, least: usize) {
    let now = played(document);
    let commands = now.lines().filter(|line| line.starts_with("$ ")).count();
    assert!(commands >= least, "{document}: only {commands} commands");
    if blessing() {
        std::fs::write(file(document), now).expect("the document");
        return;
    }
    let (then, now) = (compared(&read(document)), compared(&now));
    for (then, now) in then.iter().zip(&now) {
        assert_eq!(
            then, now,
            "{document}: AXIOWL_BLESS=1 cargo test --test docs records it anew"
        );
    }
    assert_eq!(then.len(), now.len(), "{document}");
}

#[test]
fn the_session_of_the_readme_is_what_the_program_says() {
    holds("README.md", 3);
}

#[test]
fn the_recorded_demo_is_what_the_program_says() {
    holds("engine/docs/demo.md", 1);
}
