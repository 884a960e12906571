//! `rules capture`: small, redacted, and decided as the real files are.

#[path = "../program/mod.rs"]
mod program;
mod redaction;

use program::{Axiowl, ROOT, copy_tree};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every case of every shipped rule: provider, folder.
fn cases() -> Vec<(String, PathBuf)> {
    let folders = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten();
        let mut out: Vec<PathBuf> = entries.map(|entry| entry.expect("entry").path()).collect();
        out.sort();
        out
    };
    let mut out = Vec::new();
    for rule in folders(&Path::new(ROOT).join("rules")) {
        let provider = name(&rule);
        let cases = folders(&rule.join("fixtures")).into_iter();
        let cases = cases.filter(|case| case.join("world.yaml").is_file());
        out.extend(cases.map(|case| (provider.clone(), case)));
    }
    assert!(out.len() > 40, "the cases are not where they were");
    out
}

fn name(path: &Path) -> String {
    path.file_name()
        .expect("name")
        .to_string_lossy()
        .into_owned()
}

/// Names and contents of everything below a folder.
fn everything(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(path) = open.pop() {
        let shown = path
            .strip_prefix(dir)
            .expect("below")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("folder");
            open.extend(entries.map(|entry| entry.expect("entry").path()));
            out.push((shown, Vec::new()));
        } else {
            out.push((shown, std::fs::read(&path).expect("file")));
        }
    }
    out
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Fails when a word stands in a folder: in a name, a text, or as hexadecimal digits.
fn assert_absent(dir: &Path, words: &[&str]) {
    for (file, content) in everything(dir) {
        let content = String::from_utf8_lossy(&content).to_lowercase();
        for word in words {
            let word = word.to_lowercase();
            assert!(
                !file.to_lowercase().contains(&word),
                "{word} in the name {file}"
            );
            assert!(!content.contains(&word), "{word} in {file}:\n{content}");
            assert!(!content.contains(&hex(&word)), "{word} as digits in {file}");
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// Capture says itself whether the sessions of the case are decided as before; here it has to
/// be so for every shape of store there is, on what every provider's cases hold.
#[test]
fn every_case_is_captured_and_replays_to_the_same_decisions() {
    let axiowl = Axiowl::new();
    for (provider, case) in cases() {
        let out = axiowl.path(&format!("out/{provider}-{}", name(&case)));
        let world = case.join("world.yaml");
        let run = axiowl.run(&[
            "--world",
            text(&world),
            "rules",
            "capture",
            &provider,
            "--json",
            "--out",
            text(&out),
        ]);
        assert_eq!(run.code, 0, "{}\n{run}", case.display());
        let told = &run.lines("capture")[0];
        let sessions = told["sessions"].as_array().expect("sessions").len();
        assert_eq!(told["same"], sessions, "{}\n{run}", case.display());
        assert_eq!(told["files"], run.lines("captured_file").len(), "{run}");
        own_words_are_gone(&provider, &case, &out);
    }
}

/// The names of the sessions and of their folders, as far as the rule has no word for them.
fn own_words_are_gone(provider: &str, case: &Path, out: &Path) {
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        words
            .filter(|word| word.len() > 4)
            .map(str::to_lowercase)
            .collect()
    };
    let expected: serde_json::Value =
        serde_json::from_str(&read(case.join("expected.json"))).expect("expectation");
    let mut own = BTreeSet::new();
    for row in expected["rows"].as_array().into_iter().flatten() {
        for key in ["display_name", "cwd"] {
            own.extend(words(row[key].as_str().unwrap_or_default()));
        }
    }
    let folder = Path::new(ROOT).join("rules").join(provider);
    // What the rule says, and what capture and the engine say of themselves.
    let mut known = words(&read(folder.join("rule.yaml")));
    known.extend(words(&read(folder.join("policy.rhai"))));
    for shared in [
        "codex",
        "copilot_cli",
        "cursor",
        "vscode_native",
        "antigravity",
    ] {
        known.extend(words(&read(
            Path::new(ROOT).join("rules").join(shared).join("rule.yaml"),
        )));
    }
    // A word of a closed set is kept where it stands alone, as in `"kind": "cloud"`.
    let texts: String = everything(case)
        .iter()
        .map(|(_, content)| String::from_utf8_lossy(content).into_owned())
        .collect();
    own.retain(|word| !texts.contains(&format!("\"{word}\"")));
    for (file, content) in everything(out) {
        if file == "expected.json" || file == "world.yaml" {
            continue;
        }
        let content = String::from_utf8_lossy(&content).into_owned();
        let texts = words(&format!("{file} {}", values_only(&content)));
        let left: Vec<&String> = texts
            .intersection(&own)
            .filter(|word| !known.contains(*word) && word.parse::<u64>().is_err())
            .collect();
        assert!(
            left.is_empty(),
            "{provider}/{}: {left:?} in {file}",
            name(case)
        );
    }
}

/// A text without what names parts of a format: keys of JSON, tables and columns of SQL.
fn values_only(content: &str) -> String {
    let ours = |line: &&str| !line.starts_with("CREATE") && !line.starts_with("PRAGMA");
    let lines = content.lines().filter(ours);
    let values = lines.map(|line| match line.split_once(" VALUES ") {
        Some((_, values)) if line.starts_with("INSERT") => values,
        _ => line,
    });
    let text: String = values.collect::<Vec<_>>().join("\n");
    let mut out = String::new();
    for part in text.split_inclusive("\":") {
        let part = part.strip_suffix("\":").unwrap_or(part);
        out.push_str(part.rsplit_once('"').map_or(part, |(before, _)| before));
        out.push(' ');
    }
    out
}

/// A case of 20 MiB of transcripts is small, and the sessions asked for are the ones kept.
#[test]
fn a_capture_is_small_and_keeps_the_sessions_that_were_named() {
    let axiowl = Axiowl::new();
    let ids = [
        "0192b1c0-0000-7000-8000-00000000000a",
        "0192b1c0-0000-7000-8000-00000000000b",
    ];
    let cwd = axiowl.home().join("work");
    std::fs::create_dir_all(&cwd).expect("folder");
    for (id, name) in ids.iter().zip(["First", "Second"]) {
        let first = serde_json::json!({ "type": "session", "id": id, "name": name, "cwd": cwd });
        let message =
            serde_json::json!({ "type": "message", "role": "user", "text": "word ".repeat(200) });
        let lines = format!("{first}\n{}", format!("{message}\n").repeat(10_000));
        axiowl.write(&format!("home/.axiowl-echo/{id}.jsonl"), lines);
    }
    let out = axiowl.path("case");
    let run = axiowl.run(&[
        "rules",
        "capture",
        "echo",
        "--session",
        "Second",
        "--json",
        "--out",
        text(&out),
    ]);
    assert_eq!(run.code, 0, "{run}");
    let told = &run.lines("capture")[0];
    assert_eq!(told["sessions"].as_array().map(Vec::len), Some(1), "{run}");
    let bytes = |what: &str| told[what].as_u64().expect("bytes");
    assert!(
        bytes("of_bytes") > 10_000_000 && bytes("bytes") < 64 << 10,
        "{run}"
    );
    let left: Vec<_> = everything(&out)
        .into_iter()
        .filter(|(f, _)| f.ends_with(".jsonl"))
        .collect();
    assert_eq!(left.len(), 1, "{run}");
    assert_absent(&out, &["Second", "word"]);

    // A folder that is there is not written to, and a session has to be there.
    let run = axiowl.run(&["rules", "capture", "echo", "--out", text(&out)]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stderr.contains("is there already"), "{run}");
    let run = axiowl.run(&["rules", "capture", "echo", "--session", "Third"]);
    assert_eq!(run.code, 3, "{run}");
}

/// Without --out the case lies among those of the user's own rule, where `rules test` finds it.
#[test]
fn a_captured_case_is_tested_with_the_ejected_rule() {
    let axiowl = Axiowl::new();
    let cwd = axiowl.home().join("work");
    std::fs::create_dir_all(&cwd).expect("folder");
    let id = "0192b1c0-0000-7000-8000-00000000000a";
    let first = serde_json::json!({ "type": "session", "id": id, "name": "Zebra", "cwd": cwd });
    axiowl.write(
        &format!("home/.axiowl-echo/{id}.jsonl"),
        format!("{first}\n"),
    );
    let run = axiowl.run(&["rules", "capture", "echo"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(
        run.stdout
            .contains("1 of 1 sessions are decided as the real ones"),
        "{run}"
    );
    let case = axiowl
        .home()
        .join(".config/axiowl/rules/echo/fixtures/captured");
    assert!(case.join("expected.json").is_file(), "{run}");
    // A folder with cases and no rule yet is no broken layer.
    let run = axiowl.run(&["discover", "echo"]);
    assert!(run.code == 0 && run.stderr.is_empty(), "{run}");
    assert_eq!(axiowl.run(&["rules", "eject", "echo", "--patch"]).code, 0);
    let run = axiowl.run(&["rules", "test", "echo"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(run.stdout.contains("passed   echo/captured"), "{run}");
    // The next one has a name of its own.
    assert_eq!(axiowl.run(&["rules", "capture", "echo"]).code, 0);
    assert!(case.with_file_name("captured-2").is_dir());
}

/// Two of the same name at once: one has it, whole, and the other says that it is there.
#[test]
fn captures_into_one_folder_never_take_each_other_s_away() {
    let axiowl = Axiowl::new();
    let cwd = axiowl.home().join("work");
    std::fs::create_dir_all(&cwd).expect("folder");
    for number in 0..20 {
        let id = format!("0192b1c0-0000-7000-8000-0000000000{number:02}");
        let first = serde_json::json!({ "type": "session", "id": id, "name": "Zebra", "cwd": cwd });
        axiowl.write(
            &format!("home/.axiowl-echo/{id}.jsonl"),
            format!("{first}\n"),
        );
    }
    for round in 0..3 {
        let out = axiowl.path(&format!("case-{round}"));
        let children: Vec<_> = (0..3)
            .map(|_| {
                let mut command =
                    axiowl.command(&["rules", "capture", "echo", "--out", text(&out)]);
                let quiet = command.stdout(std::process::Stdio::null());
                quiet.stderr(std::process::Stdio::null()).spawn()
            })
            .collect();
        let ended = children.into_iter().map(|child| {
            let status = child.expect("axiowl runs").wait();
            status.expect("it ends").code()
        });
        let mut codes: Vec<_> = ended.collect();
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(1), Some(1)]);
        assert!(out.join("world.yaml").is_file() && out.join("expected.json").is_file());
    }
}
