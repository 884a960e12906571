//! The guide `rules/README.md`: every command it shows is run, in its order, on a machine like
//! the one it tells of, and says what the guide says. `AXIOWL_BLESS=1` rewrites the outputs.

#![cfg(unix)]

mod program;

use program::{Axiowl, ROOT};
use serde_json::json;
use std::path::Path;

/// The machine of the guide: a session of Claude Code as it writes since yesterday, two chats of
/// Moss.
fn machine() -> Axiowl {
    let axiowl = Axiowl::new();
    let home = axiowl.home().canonicalize().expect("home");
    let cwd = home.join("shop");
    std::fs::create_dir_all(&cwd).expect("folder");
    let id = "01234567-89ab-4cde-8f01-23456789abcd";
    let slug = cwd
        .to_str()
        .expect("text")
        .replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let at = "2026-01-02T03:04:05.000Z";
    let records = [
        json!({ "type": "user", "uuid": "u1", "sessionId": id, "cwd": cwd, "version": "2.1.332", "timestamp": at,
                "isSidechain": false, "message": { "role": "user", "content": "please tidy the cart" } }),
        json!({ "type": "assistant", "uuid": "u2", "sessionId": id, "cwd": cwd, "version": "2.1.332", "timestamp": at,
                "isSidechain": false, "message": { "role": "assistant", "content": [ { "type": "text", "text": "done" } ] } }),
        json!({ "type": "custom-title", "sessionId": id, "title": { "custom": "Tidy the cart" } }),
    ];
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    axiowl.write(&format!("home/.claude/projects/{slug}/{id}.jsonl"), lines);
    for (id, label, closed) in [("a", "Garden plan", false), ("b", "Old shed", true)] {
        let id = format!("0192b1c0-0000-7000-8000-00000000000{id}");
        let chat = json!({ "chat": { "id": id, "label": label }, "folder": cwd, "closed": closed });
        axiowl.write(&format!("home/.moss/chats/{id}.json"), format!("{chat}\n"));
    }
    axiowl
}

/// What a command prints, without what differs from machine to machine and run to run.
fn output(axiowl: &Axiowl, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_axiowl"))
        .parent()
        .expect("folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("{line} 2>&1"))
        .current_dir(axiowl.home())
        .env_clear()
        .env("HOME", axiowl.home().canonicalize().expect("home"))
        .env("PATH", format!("{}:{path}", program.display()))
        .env("NO_COLOR", "1")
        .output()
        .expect("sh runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let home = axiowl.home().canonicalize().expect("home");
    let text = text.replace(home.to_str().expect("text"), "~");
    let mut out = String::new();
    for line in text.lines() {
        // Frames are as long as the path in them was.
        let line: Vec<String> = line.split(' ').map(plain).collect();
        out.push_str(line.join(" ").trim_end());
        out.push('\n');
    }
    out
}

/// A word of an output; digests and times stand as what they are.
fn plain(word: &str) -> String {
    let core = word.trim_end_matches([',', ':', ';', '.']);
    let rest = &word[core.len()..];
    let digest = core.len() == 12 && core.bytes().all(|b| b.is_ascii_hexdigit());
    let time =
        core.len() > 19 && core.starts_with("20") && core.contains('T') && core.ends_with('Z');
    match (digest, time) {
        (true, _) => format!("<digest>{rest}"),
        (_, true) => format!("<time>{rest}"),
        _ => below_home(word),
    }
}

/// A path of the case, and a folder name made of a path: the temporary folder is left out.
fn below_home(word: &str) -> String {
    let word = match word.split_once("/home/.") {
        Some((before, rest)) if before.starts_with('/') => format!("~/.{rest}"),
        _ => word.to_owned(),
    };
    let steps = word.split('/').map(|step| match step.split_once("-home-") {
        Some((before, rest)) if before.starts_with('-') => format!("-home-you-{rest}"),
        _ => step.to_owned(),
    });
    steps.collect::<Vec<_>>().join("/")
}

/// A line without its numbers, where these count bytes and words of paths, or the lines of a
/// shipped rule.
fn comparable(line: &str) -> String {
    let counts = line.starts_with("kept ") || line.starts_with("replaced ");
    match counts || line.contains("  [rules/") {
        true => line.chars().filter(|c| !c.is_ascii_digit()).collect(),
        false => line.to_owned(),
    }
}

#[test]
fn every_command_of_the_guide_says_what_the_guide_says() {
    let axiowl = machine();
    let file = Path::new(ROOT).join("rules/README.md");
    let guide = std::fs::read_to_string(&file).expect("guide");
    let mut out = String::new();
    let mut block: Option<(String, String)> = None;
    let mut commands = 0;
    for line in guide.split_inclusive('\n') {
        let fence = line.strip_prefix("```");
        match (&mut block, fence) {
            (None, Some(info)) => {
                block = Some((info.trim().to_owned(), String::new()));
                out.push_str(line);
            }
            (None, None) => out.push_str(line),
            (Some((_, text)), None) => text.push_str(line),
            (Some((info, text)), Some(_)) => {
                let place = |key: &str| {
                    let (_, path) = info.split_once(key)?;
                    Some(path.replacen('~', "home", 1))
                };
                if info == "console" {
                    for command in text.lines().filter_map(|line| line.strip_prefix("$ ")) {
                        commands += 1;
                        out.push_str(&format!("$ {command}\n{}", output(&axiowl, command)));
                    }
                } else {
                    if let Some(path) = place("append=") {
                        let before = std::fs::read_to_string(axiowl.path(&path)).expect("file");
                        axiowl.write(&path, before + text.as_str());
                    } else if let Some(path) = place("write=") {
                        axiowl.write(&path, text.as_bytes());
                    }
                    out.push_str(text);
                }
                out.push_str(line);
                block = None;
            }
        }
    }
    assert!(commands > 15, "the guide shows {commands} commands");
    if std::env::var_os("AXIOWL_BLESS").is_some() {
        std::fs::write(&file, &out).expect("guide");
        return;
    }
    for (number, (said, shown)) in out.lines().zip(guide.lines()).enumerate() {
        let place = format!("line {} of rules/README.md", number + 1);
        assert_eq!(comparable(said), comparable(shown), "{place}");
    }
    assert_eq!(out.lines().count(), guide.lines().count());
}

/// Nothing in the guide's story fails on the way but the one check that is meant to.
#[test]
fn the_guide_ends_well() {
    let guide = std::fs::read_to_string(Path::new(ROOT).join("rules/README.md")).expect("guide");
    assert_eq!(
        guide.matches("error[").count(),
        1,
        "one mistake is made on purpose"
    );
    assert!(!guide.contains("\nerror: "), "a command of the guide fails");
    for end in [
        "Tidy the cart",
        "verdict    verified",
        "passed   moss/captured",
        "Garden plan",
    ] {
        assert!(guide.contains(end), "{end}");
    }
}
