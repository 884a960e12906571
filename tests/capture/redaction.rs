//! Nothing of what people wrote gets into a case: canaries in every sort of store.

use super::*;

const USER: &str = "zeldafitz";
const PROJECT: &str = "quuxmoonbase";
const WORD: &str = "canaryword";
const SECRET: &str = "sk-proj-hunter2secretvalue";
const PLANTED: [&str; 5] = [USER, PROJECT, WORD, "hunter2", "secretvalue"];

/// A case's home as a real one: databases built, the user and the words of its texts renamed.
fn planted(axiowl: &Axiowl, provider: &str, case: &Path, words: &[&str]) -> PathBuf {
    let folder = axiowl.path("planted").join(provider);
    copy_tree(case, &folder);
    let shared = Path::new(ROOT).join("rules/codex/fixtures/home");
    if !folder.join("home").is_dir() {
        copy_tree(&shared, &folder.join("home"));
    }
    let mut open = vec![folder.clone()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                std::fs::read_dir(&path)
                    .expect("folder")
                    .map(|e| e.expect("entry").path()),
            );
            continue;
        }
        let bytes = std::fs::read(&path).expect("file");
        let Ok(mut content) = String::from_utf8(bytes) else {
            continue;
        };
        content = content.replace("../../../codex/fixtures/home", "home");
        content = content.replace("../home", "home");
        content = content.replace("/home/dev/projects/", &format!("/home/{USER}/{PROJECT}/"));
        content = content.replace("-home-dev-projects-", &format!("-home-{USER}-{PROJECT}-"));
        content = content.replace("/home/dev", &format!("/home/{USER}"));
        content = content.replace(
            "home%2Fdev%2Fprojects",
            &format!("home%2F{USER}%2F{PROJECT}"),
        );
        for word in words {
            content = content.replace(word, &format!("{WORD}{word}{WORD}"));
        }
        if path.extension().is_some_and(|ext| ext == "jsonl") {
            content += &format!(
                "{{\"type\":\"auth\",\"{USER}\":{{\"apiKey\":\"{SECRET}\",\"pin_secret\":771177}},\"note\":\"Bearer {SECRET} for {WORD}\",\"source\":\"{USER}\"}}\n"
            );
        }
        let text_of_database = path.extension().is_some_and(|ext| ext == "sql");
        std::fs::write(&path, &content).expect("file");
        if text_of_database {
            let database = rusqlite::Connection::open(path.with_extension("")).expect("database");
            database.execute_batch(&content).expect("statements");
            let more = format!(
                "CREATE TABLE account_x (id TEXT, access_token TEXT, owner TEXT); \
                 INSERT INTO account_x VALUES ('1', '{SECRET}', '{USER} {WORD}');"
            );
            database.execute_batch(&more).expect("statements");
            std::fs::remove_file(&path).expect("text");
        }
    }
    // The folder names of projects.
    rename_below(
        &folder,
        "-home-dev-projects-",
        &format!("-home-{USER}-{PROJECT}-"),
    );
    rename_below(
        &folder,
        "home%2Fdev%2Fprojects",
        &format!("home%2F{USER}%2F{PROJECT}"),
    );
    folder
}

fn rename_below(dir: &Path, from: &str, to: &str) {
    for entry in std::fs::read_dir(dir).expect("folder") {
        let path = entry.expect("entry").path();
        let renamed = dir.join(name(&path).replace(from, to));
        if renamed != path {
            std::fs::rename(&path, &renamed).expect("rename");
        }
        if renamed.is_dir() {
            rename_below(&renamed, from, to);
        }
    }
}

/// Canaries in names, texts, keys, paths, damaged lines and foreign tables: none gets through,
/// whatever the store is made of.
#[test]
fn nothing_planted_in_a_store_gets_into_a_capture() {
    let axiowl = Axiowl::new();
    // Case, and words of its texts.
    for (provider, case, words) in [
        ("codex", "threads", &["Payments", "Renamed", "index"][..]),
        ("claude_code_cli", "projects", &["webshop", "Fix", "cart"]),
        ("cursor", "composers", &["Rename", "checkout", "Archived"]),
        ("grok", "sessions", &["Cart", "shop", "hello"]),
        ("gemini_cli", "sessions", &["webshop", "reply", "greeting"]),
        (
            "opencode_cli",
            "sessions",
            &["Checkout", "title", "webshop"],
        ),
        ("copilot_cli", "sessions", &["webshop", "Reply", "Fix"]),
    ] {
        let case = Path::new(ROOT)
            .join("rules")
            .join(provider)
            .join("fixtures")
            .join(case);
        // Words that a rule reads by name would change what the store means.
        let rule = std::fs::read_to_string(case.join("../../rule.yaml")).expect("rule");
        let words: Vec<&str> = words
            .iter()
            .copied()
            .filter(|word| !rule.contains(word))
            .collect();
        let planted = planted(&axiowl, provider, &case, &words);
        let out = axiowl.path(&format!("out/{provider}"));
        let world = planted.join("world.yaml");
        let run = axiowl.run(&[
            "--world",
            text(&world),
            "rules",
            "capture",
            provider,
            "--out",
            text(&out),
        ]);
        assert_eq!(run.code, 0, "{provider}: {run}");
        assert!(
            !run.stdout.contains("replay    0 of 0"),
            "{provider}: {run}"
        );
        let found = everything(&planted)
            .iter()
            .any(|(_, content)| String::from_utf8_lossy(content).contains(SECRET));
        assert!(found, "{provider}: nothing was planted");
        assert_absent(&out, &PLANTED);
        assert_absent(&out, &["771177"]);
        assert!(!run.stdout.contains(USER), "{run}");
    }
}

/// Texts in protobuf messages keep their length, so a word of the same length is planted.
#[test]
fn texts_inside_messages_are_replaced() {
    let axiowl = Axiowl::new();
    let case = Path::new(ROOT).join("rules/antigravity/fixtures/summaries");
    let folder = axiowl.path("summaries");
    copy_tree(&case, &folder);
    let file = folder.join("home/.config/Antigravity/User/globalStorage/state.vscdb.sql");
    let candidates = everything(&folder);
    let with_words = candidates.iter().find(|(name, content)| {
        name.ends_with(".sql") && String::from_utf8_lossy(content).contains("X'")
            || name.ends_with(".pb")
    });
    assert!(with_words.is_some(), "no message in {}", file.display());
    let out = axiowl.path("out");
    let world = folder.join("world.yaml");
    let run = axiowl.run(&[
        "--world",
        text(&world),
        "rules",
        "capture",
        "antigravity",
        "--out",
        text(&out),
    ]);
    assert_eq!(run.code, 0, "{run}");
    let expected: serde_json::Value =
        serde_json::from_slice(&std::fs::read(case.join("expected.json")).expect("expectation"))
            .expect("json");
    let names = expected["rows"].as_array().expect("rows").iter();
    let names: Vec<&str> = names
        .filter_map(|row| row["display_name"].as_str())
        .collect();
    let names: Vec<&str> = names.into_iter().filter(|name| name.len() > 8).collect();
    assert!(names.len() > 3, "{names:?}");
    assert_absent(&out, &names);
}
