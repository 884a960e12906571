//! Names in every script, of any length, and names that would act on a terminal: what people
//! read shows them and does nothing, what programs read has them as they are.

use crate::home::{Home, Provider, id, insert_opencode};
use serde_json::json;

/// Sets the name of a session in Claude Code's and OpenCode's way.
fn named(home: &Home, number: usize, name: &str) {
    let file = home.file(Provider::Claude, number);
    let mut lines = home.lines(Provider::Claude, number);
    lines[2]["customTitle"] = name.into();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    home.write(&file, text);
    let session = id(Provider::OpenCode, number);
    insert_opencode(&home.opencode(), &session, &home.cwd(), name);
}

/// Whether a text holds anything that acts on a terminal or turns the direction of writing.
fn acts(text: &str) -> Option<char> {
    text.chars().find(|c| {
        (c.is_control() && *c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}'
                | '\u{200f}' | '\u{61c}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    })
}

#[test]
fn names_in_every_script_are_kept_and_lead_to_their_session() {
    let home = Home::new();
    let names = [
        "Проверка корзины",
        "결제 검토",
        "デザインレビュー",
        "设计评审",
        "مراجعة التصميم",
        "סקירת עיצוב",
        "डिज़ाइन समीक्षा",
        "การตรวจสอบการออกแบบ",
        "Ανασκόπηση",
        "ንድፍ ግምገማ",
        "დიზაინი",
        "ᏣᎳᎩ",
        "Å ñ ﬃ Ω e\u{301}",
        "👩\u{200d}🔧 🏳️\u{200d}🌈",
        "𝔇𝔢𝔰𝔦𝔤𝔫",
        "a\"b\\c'd`$(e) <f> & --g",
        "100% {name} {{x}} %s \\n",
    ];
    for (number, name) in names.iter().enumerate() {
        named(&home, 100 + number, name);
    }
    let found = home.discover_sound();
    for (number, name) in names.iter().enumerate() {
        for provider in [Provider::Claude, Provider::OpenCode] {
            let row = found.row(provider, &id(provider, 100 + number));
            let row = row.unwrap_or_else(|| panic!("{name} is lost\n{}", found.run));
            assert_eq!(row["display_name"], *name, "{row}");
            assert_eq!(row["sendable"], true, "{row}");
        }
        let explained = home.run(&["explain", name, "--json"]);
        assert_ne!(explained.code, 3, "{name}: {explained}");
        assert!(
            explained
                .stdout
                .contains(&id(Provider::Claude, 100 + number)),
            "{name}: {explained}"
        );
    }
    let listed = home.run(&["list", "agents"]);
    for name in names {
        assert!(listed.stdout.contains(name), "{name}\n{listed}");
    }
}

#[test]
fn names_that_would_act_are_shown_and_do_nothing() {
    let home = Home::new();
    let names = [
        "red \u{1b}[31mred\u{1b}[0m",
        "title \u{1b}]0;owned\u{7} bell",
        "clear \u{1b}[2J\u{1b}[H",
        "c1 \u{9b}31m \u{85}",
        "back\u{8}\u{8}\u{8}\u{8}front",
        "nul\0nul",
        "return\rto the start",
        "tab\tbed",
        "\u{202e}gnp.exe",
        "iso\u{2066}late\u{2069}",
        "marks\u{200e}\u{200f}\u{61c}",
        "line\u{2028}par\u{2029}",
        "bom\u{feff}inside",
        "tags\u{e0041}\u{e0042}",
        "del\u{7f}ete",
    ];
    for (number, name) in names.iter().enumerate() {
        named(&home, 200 + number, name);
    }
    let found = home.discover_sound();
    // Programs get the names as they are, in a form that does nothing where a person sees it.
    assert_eq!(acts(&found.run.stdout), None);
    for (number, name) in names.iter().enumerate() {
        let row = found.row(Provider::Claude, &id(Provider::Claude, 200 + number));
        let known = row.and_then(|row| row["display_name"].as_str());
        assert!(known.is_some(), "{name:?} is lost\n{}", found.run);
    }
    let mut shown = String::new();
    for arguments in [
        &["list", "agents"][..],
        &["list", "agents", "--all"],
        &["discover", "all"],
        &["discover", "all", "--dry-run"],
    ] {
        let run = home.run(arguments);
        assert_eq!(run.code, 0, "{run}");
        for text in [&run.stdout, &run.stderr] {
            assert_eq!(acts(text), None, "{arguments:?}: {text:?}");
        }
        shown.push_str(&run.stdout);
    }
    for number in 0..names.len() {
        for provider in [Provider::Claude, Provider::OpenCode] {
            let id = id(provider, 200 + number);
            for arguments in [
                &["explain", &id][..],
                &["send", "--to", &id, "--body", "x", "--dry-run"],
            ] {
                let run = home.run(arguments);
                for text in [&run.stdout, &run.stderr] {
                    assert_eq!(acts(text), None, "{arguments:?}: {text:?}");
                }
                // Without the provider's program a send is refused, and says so.
                let refused = arguments[0] == "send" && run.code == 5;
                assert!(refused || run.stdout.contains(&id), "{run}");
            }
        }
    }
    // Shown, not swallowed.
    assert!(shown.contains("\\u{1b}[31mred"), "{shown}");
    assert!(shown.contains("\\u{202e}gnp.exe"), "{shown}");
}

/// A name with lines in it is no name, and one of 100 KB costs no more than its place.
#[test]
fn names_of_many_lines_and_of_a_hundred_kilobytes_stay_in_bounds() {
    let home = Home::new();
    let long = "long name ".repeat(10_000);
    named(&home, 301, long.trim_end());
    named(&home, 302, "first line\nsecond line\r\nthird line");
    named(&home, 303, &"\n".repeat(100_000));
    named(&home, 304, &"结账".repeat(20_000));
    named(&home, 305, &" ".repeat(100_000));
    named(&home, 306, &"a\u{301}".repeat(30_000));
    let found = home.discover_sound();
    for number in 301..=306 {
        for provider in [Provider::Claude, Provider::OpenCode] {
            let row = found.row(provider, &id(provider, number));
            let row = row.unwrap_or_else(|| panic!("{provider:?} {number} is lost\n{}", found.run));
            let name = row["display_name"].as_str().unwrap_or_default();
            assert!(!name.contains('\n') && !name.contains('\r'), "{row}");
            assert!(name.trim() == name, "{row}");
        }
    }
    // A blank name is none.
    for number in [303, 305] {
        let row = found.row(Provider::Claude, &id(Provider::Claude, number));
        assert_eq!(row.expect("a row")["display_name"], "Look at it");
    }
    // The table is one line a session, and people read one line a session.
    let listed = home.run(&["list", "agents", "--all"]);
    assert_eq!(listed.code, 0, "{listed}");
    let longest = listed.stdout.lines().map(|line| line.chars().count()).max();
    assert!(longest < Some(400), "{longest:?}");
    let rows = home.run(&["list", "agents", "--all", "--json"]);
    let rows = rows.lines("agent").len();
    let table = std::fs::read_to_string(home.axiowl.path("state/registry/agents.tsv"));
    assert_eq!(
        table.expect("registry").lines().count(),
        found.rows.len() + 1
    );
    assert_eq!(rows, found.rows.len());
}

/// Ids, folders and file names are foreign too.
#[test]
fn hostile_ids_and_folders_are_shown_and_do_nothing() {
    let home = Home::new();
    let db = home.opencode();
    for (number, id) in [
        "ses_\u{1b}[31m",
        "ses_../../../../etc/passwd",
        "ses_a\nb",
        "ses_\u{202e}",
        "",
        "ses_'; DROP TABLE session; --",
    ]
    .iter()
    .enumerate()
    {
        insert_opencode(
            &db,
            id,
            "/home/\u{1b}]0;x\u{7}/结账\n",
            &format!("Hostile {number}"),
        );
    }
    drop(db);
    let about = json!({"sessionId": "x"}).to_string();
    home.write(
        ".claude/projects/-\u{1b}[31m\u{202e}/not an id.jsonl",
        &about,
    );
    use std::os::unix::ffi::OsStringExt as _;
    let name = std::ffi::OsString::from_vec(b"\xff\xfe.jsonl".to_vec());
    std::fs::write(home.path(".claude/projects").join(name), about).expect("file");
    let found = home.discover_sound();
    for arguments in [
        &["discover", "all"][..],
        &["list", "agents", "--all"],
        &["explain", "Hostile 0"],
        &["explain", "Hostile 3"],
    ] {
        let run = home.run(arguments);
        for text in [&run.stdout, &run.stderr] {
            assert_eq!(acts(text), None, "{arguments:?}: {text:?}");
        }
    }
    let table = std::fs::read_to_string(home.axiowl.path("state/registry/agents.tsv"));
    let lines: Vec<String> = table
        .expect("registry")
        .lines()
        .map(str::to_owned)
        .collect();
    let cells: Vec<usize> = lines.iter().map(|line| line.split('\t').count()).collect();
    assert!(cells.iter().all(|count| *count == cells[0]), "{lines:#?}");
    assert_eq!(acts(&found.run.stdout), None);
}
