//! Files whose content is damaged, in the stores of four providers at once.

use crate::found::Found;
use crate::home::{Home, Provider, id};
use crate::measured::Measured;
use std::fmt::Write as _;

/// Providers with a file a session.
const FILES: [Provider; 4] = [
    Provider::Claude,
    Provider::Codex,
    Provider::Copilot,
    Provider::Gemini,
];

/// The sound lines of a session, each with its end.
fn lines(home: &Home, provider: Provider, number: usize) -> Vec<String> {
    let lines = home.lines(provider, number);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Does the same damage to a session of each provider; returns the files.
fn damaged(
    home: &Home,
    number: usize,
    damage: impl Fn(Vec<String>) -> Vec<u8>,
) -> Vec<(Provider, String)> {
    let one = |provider: Provider| {
        let bytes = damage(lines(home, provider, number));
        (provider, home.put(provider, number, bytes))
    };
    FILES.map(one).into()
}

#[test]
fn ends_of_lines_and_a_mark_at_the_start_change_nothing() {
    let home = Home::new();
    let crlf = |lines: Vec<String>| lines.concat().replace('\n', "\r\n").into_bytes();
    let marked = |lines: Vec<String>| format!("\u{feff}{}", lines.concat()).into_bytes();
    let both = |lines: Vec<String>| format!("\u{feff}{}", lines.concat().replace('\n', "\r\n"));
    let unended = |lines: Vec<String>| lines.concat().trim_end().as_bytes().to_vec();
    let blank = |lines: Vec<String>| format!("{}\n\n", lines.join("\n\n")).into_bytes();
    damaged(&home, 11, crlf);
    damaged(&home, 12, marked);
    damaged(&home, 13, |lines| both(lines).into_bytes());
    damaged(&home, 14, unended);
    damaged(&home, 15, blank);
    let found = home.discover_sound();
    for number in 11..=15 {
        for provider in FILES {
            home.is_sound(&found, provider, number);
        }
    }
    assert!(found.issues.is_empty(), "{:?}", found.issues);
}

/// One bad line costs itself: the session stays what the others say it is, and the file is named.
#[test]
fn a_bad_line_among_good_ones_is_named_and_costs_itself() {
    let home = Home::new();
    let between = |bad: Vec<u8>| {
        move |lines: Vec<String>| {
            let mut out = Vec::new();
            let last = lines.len() - 1;
            for (number, line) in lines.into_iter().enumerate() {
                if number == last {
                    out.extend_from_slice(&bad);
                    out.push(b'\n');
                }
                out.extend_from_slice(line.as_bytes());
            }
            out
        }
    };
    // What stands in a line decides whether anybody looks at it; a time always matters.
    let start = b"{\"timestamp\":\"";
    let with = |rest: &[u8]| [start, rest].concat();
    let deep = |open: &str, times: usize| open.repeat(times).into_bytes();
    let mut all = Vec::new();
    for (number, bad) in [
        (21, with(&[0; 4_096])),
        (22, with(b"half")),
        (
            23,
            with(&[0xff, 0xfe, 0x80, 0xc0, 0xaf, 0xed, 0xa0, 0x80, b'"', b'}']),
        ),
        (24, deep("{\"timestamp\":[", 3_000)),
        (25, deep("{\"type\":\"user\",\"timestamp\":", 1_500)),
        (26, b"{\"type\":\"user\",\"timestamp\":1e999999,}".to_vec()),
        (27, vec![0; 4_096]),
        (28, deep("[", 60_000)),
        (29, vec![0xff; 4_096]),
    ] {
        for (provider, file) in damaged(&home, number, between(bad)) {
            all.push((provider, number, file));
        }
    }
    let found = home.discover_sound();
    for (provider, number, file) in all {
        home.is_sound(&found, provider, number);
        if provider == Provider::Claude && number < 27 {
            found.names(&file, "damaged");
        }
    }
}

/// A last line that is being written is nobody's fault: the session is what was said before it.
#[test]
fn a_last_line_that_is_not_finished_leaves_the_session_as_it_was() {
    let home = Home::new();
    damaged(&home, 31, |lines| {
        let mut text = lines.concat();
        let again = lines[1].trim_end();
        text.push_str(&again[..again.len() / 2]);
        text.into_bytes()
    });
    // Inside a character of three bytes.
    damaged(&home, 32, |lines| {
        let mut bytes = lines.concat().into_bytes();
        bytes.extend_from_slice("{\"type\":\"user\",\"message\":\"结".as_bytes());
        bytes.pop();
        bytes
    });
    let found = home.discover_sound();
    for number in [31, 32] {
        for provider in FILES {
            home.is_sound(&found, provider, number);
        }
    }
}

/// Of a file that holds nothing sound nobody becomes a target, and it is named.
#[test]
fn a_file_with_nothing_sound_in_it_is_named_and_is_no_target() {
    let home = Home::new();
    let utf16 = |lines: Vec<String>| {
        let mut out = vec![0xff, 0xfe];
        out.extend(lines.concat().encode_utf16().flat_map(u16::to_le_bytes));
        out
    };
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    let garbage: Vec<u8> = std::iter::repeat_with(|| {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise.to_le_bytes()[0]
    })
    .take(200_000)
    .collect();
    let mut all = Vec::new();
    let mut add = |number: usize, damage: &dyn Fn(Vec<String>) -> Vec<u8>| {
        for (provider, file) in damaged(&home, number, damage) {
            all.push((provider, number, file));
        }
    };
    add(41, &|_| vec![0; 300_000]);
    add(42, &|_| garbage.clone());
    add(43, &utf16);
    add(44, &|_| "[".repeat(500_000).into_bytes());
    add(45, &|_| b"\x1f\x8b\x08\x00".to_vec());
    let found = home.discover_sound();
    for (provider, number, file) in all {
        // Codex's own database says what such a session is, and Codex itself would show it.
        if provider == Provider::Codex {
            continue;
        }
        assert!(
            !found.sendable(provider, &id(provider, number)),
            "{provider:?} {number}\n{}",
            found.run
        );
        assert!(
            !found.codes_at(&file).is_empty(),
            "{provider:?} {number}: {file} is not named: {:#?}",
            found.issues
        );
    }
}

/// A line of 80 MB: neither memory nor the neighbours follow it.
#[test]
fn a_gigantic_line_costs_no_memory() {
    let home = Home::new();
    let mut all = Vec::new();
    for (number, at) in [(51, 1), (52, usize::MAX)] {
        for provider in FILES {
            let mut lines = lines(&home, provider, number);
            let mut huge = String::with_capacity(80 << 20);
            huge.push_str("{\"type\":\"assistant\",\"message\":{\"content\":\"");
            huge.extend(std::iter::repeat_n("gigantic ", (80 << 20) / 9 - 10));
            writeln!(huge, "\"}}}}").expect("text");
            lines.insert(at.min(lines.len()), huge);
            home.put(provider, number, lines.concat());
            all.push((provider, number));
        }
    }
    let found = home.discover_sound();
    for (provider, number) in all {
        assert!(
            found.row(provider, &id(provider, number)).is_some(),
            "{provider:?} {number}\n{}",
            found.run
        );
    }
}

#[test]
fn ten_thousand_empty_files_are_one_finding() {
    let home = Home::new();
    let folder = home.path(".claude/projects/-empty");
    std::fs::create_dir_all(&folder).expect("folder");
    for number in 0..10_000 {
        let name = format!("{number:08x}-1111-4000-8000-000000000000.jsonl");
        std::fs::write(folder.join(name), "").expect("file");
    }
    // Ten thousand rows have their place in memory too.
    let command = home.command(&["discover", "all", "--json"]);
    let found = Found::of(Measured::within(&command, 192 << 20));
    home.sound(&found);
    let about: Vec<_> = found
        .issues
        .iter()
        .filter(|(code, _, _)| code == "empty_file")
        .collect();
    assert!(about.len() < 30, "{} lines", about.len());
    assert!(
        about.iter().any(|(_, _, said)| said.contains("9980 more")),
        "{about:#?}"
    );
    let empty = found.rows.values().filter(|row| row["kind"] == "empty");
    assert_eq!(empty.count(), 10_000);
}

/// Descriptions and settings are read whole, and damage in one costs only what it says.
#[test]
fn damaged_descriptions_are_named() {
    let home = Home::new();
    let about = |number: usize| {
        format!(
            ".copilot/session-state/{}/workspace.yaml",
            id(Provider::Copilot, number)
        )
    };
    for (number, bytes) in [
        (61, vec![0; 5_000]),
        (62, b"id: [unclosed\n  : : :".to_vec()),
        (63, vec![0xff, 0xfe, b'i', 0, b'd', 0]),
        (64, "- ".repeat(50_000).into_bytes()),
        (65, b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\nid: x\n".to_vec()),
        (66, "x".repeat(40 << 20).into_bytes()),
    ] {
        home.add(Provider::Copilot, number);
        home.write(&about(number), bytes);
    }
    let found = home.discover_sound();
    for number in 61..=66 {
        let named = &id(Provider::Copilot, number);
        assert!(!found.sendable(Provider::Copilot, named), "{}", found.run);
        let codes = found.codes_at(&about(number));
        assert!(!codes.is_empty(), "{number}: {:#?}", found.issues);
    }
}
