//! Things of another kind where a file or folder is expected: pipes, sockets, devices, links in
//! circles and out of the root, folders for files and files for folders.

use crate::home::{ALL, Home, Provider, id, link};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use std::os::unix::net::UnixListener;
use std::path::Path;

fn pipe(at: &Path) {
    std::fs::create_dir_all(at.parent().expect("a folder")).expect("folder");
    mknodat(CWD, at, FileType::Fifo, Mode::from_raw_mode(0o644), 0).expect("pipe");
}

/// Where each provider has a file a session or one for all.
fn places(home: &Home, number: usize) -> Vec<String> {
    let mut out: Vec<String> = ALL
        .iter()
        .filter(|provider| **provider != Provider::OpenCode)
        .map(|provider| home.file(*provider, number))
        .collect();
    let copilot = id(Provider::Copilot, number + 100);
    out.push(format!(".copilot/session-state/{copilot}/workspace.yaml"));
    out.push(format!(".copilot/session-state/{copilot}/inuse.1.lock"));
    out.push(format!(".codex/state_{number}.sqlite.backup"));
    out.push(format!(".claude/sessions/{number}.json"));
    out.push(format!(
        ".config/Code/User/workspaceStorage/{number}/chatSessions/{}.json",
        id(Provider::Claude, number)
    ));
    out.push(format!(
        ".config/Code/User/workspaceStorage/{number}0/state.vscdb"
    ));
    out.push(format!(".config/Cursor/User/globalStorage/{number}.vscdb"));
    out.push(format!(".cursor/chats/h/{number}/store.db"));
    out.push(format!(".grok/sessions/p/{number}/summary.json"));
    out.push(format!(".gemini/antigravity-cli/conversations/{number}.db"));
    out
}

/// Nobody is waited for who never writes, and nobody's connection is taken.
#[test]
fn pipes_sockets_and_devices_are_never_opened() {
    let home = Home::new();
    let mut kept = Vec::new();
    for place in places(&home, 11) {
        pipe(&home.path(&place));
    }
    for (number, place) in places(&home, 12).into_iter().enumerate() {
        // A socket's path is short.
        let short = home.path(&format!("s{number}"));
        kept.push(UnixListener::bind(&short).expect("socket"));
        let at = home.path(&place);
        std::fs::create_dir_all(at.parent().expect("a folder")).expect("folder");
        std::fs::rename(&short, at).expect("rename");
    }
    // Only root can make a device; where nobody is root, nobody meets one in a home either.
    for place in places(&home, 13) {
        let at = home.path(&place);
        std::fs::create_dir_all(at.parent().expect("a folder")).expect("folder");
        let zero = makedev(1, 5);
        let mode = Mode::from_raw_mode(0o666);
        let made = mknodat(CWD, &at, FileType::CharacterDevice, mode, zero);
        assert!(
            made.is_ok() || !rustix::process::getuid().is_root(),
            "{made:?}"
        );
    }
    let found = home.discover_sound();
    for number in 11..=13 {
        for provider in [Provider::Claude, Provider::Gemini] {
            let id = id(provider, number);
            assert!(found.row(provider, &id).is_none(), "{}", found.run);
        }
    }
    for listener in kept {
        listener.set_nonblocking(true).expect("socket");
        assert!(listener.accept().is_err(), "somebody came");
    }
}

/// Beside a database a pipe may have the name of its log or journal.
#[test]
fn pipes_with_the_names_of_a_databases_side_files_stop_nobody() {
    for ending in ["-wal", "-journal", "-shm"] {
        for store in [".codex/state_5.sqlite", ".local/share/opencode/opencode.db"] {
            let home = Home::new();
            let side = format!("{store}{ending}");
            pipe(&home.path(&side));
            let found = home.discover();
            let codex = store.starts_with(".codex");
            let (whole, other) = match codex {
                true => (Provider::OpenCode, Provider::Codex),
                false => (Provider::Codex, Provider::OpenCode),
            };
            for number in 1..=3 {
                for provider in [Provider::Claude, Provider::Copilot, Provider::Gemini, whole] {
                    home.is_sound(&found, provider, number);
                }
            }
            // A log that is none leaves open what the database holds, so nobody is a target.
            if ending != "-shm" {
                // Codex's transcripts say enough by themselves.
                let known = found.sendable(other, &id(other, 1));
                assert!(!known || codex, "{}", found.run);
                found.names(store, "unreadable");
            } else {
                home.sound(&found);
            }
        }
    }
}

#[test]
fn links_in_circles_and_out_of_the_root_lead_nowhere() {
    let home = Home::new();
    let outside = home.axiowl.path("outside");
    std::fs::create_dir_all(outside.join("folder")).expect("folder");
    let mut strangers = Vec::new();
    for provider in [Provider::Claude, Provider::Copilot, Provider::Gemini] {
        // A sound session that lies elsewhere.
        let file = home.file(provider, 21);
        home.add(provider, 21);
        let away = outside.join(format!("{provider:?}.jsonl"));
        std::fs::rename(home.path(&file), &away).expect("rename");
        link(&away, &home.path(&file));
        strangers.push((provider, file));
        // One that leads to itself, one in a circle of two, one to its own folder, one to nothing.
        let place = |number| home.path(&home.file(provider, number));
        link(place(22), &place(22));
        link(place(24), &place(23));
        link(place(23), &place(24));
        link(".", &place(25));
        link("/nowhere/at/all", &place(26));
        link("/dev/zero", &place(27));
        link("/proc/self/mem", &place(28));
    }
    // Folders that hold themselves.
    link("..", &home.path(".claude/projects/-up"));
    link(".", &home.path(".claude/projects/-here"));
    link("/", &home.path(".claude/projects/-root"));
    link("../../..", &home.path(".codex/sessions/2026/up"));
    link("..", &home.path(".copilot/session-state/up"));
    link(&outside, &home.path(".gemini/tmp/outside"));
    let found = home.discover_sound();
    for (provider, file) in strangers {
        assert!(
            !found.sendable(provider, &id(provider, 21)),
            "{provider:?}\n{}",
            found.run
        );
        found.names(&file, "outside_roots");
    }
    for number in 22..=28 {
        for provider in [Provider::Claude, Provider::Gemini] {
            let id = id(provider, number);
            assert!(found.row(provider, &id).is_none(), "{}", found.run);
        }
    }
}

/// A link to another file of the same store is one session, not two.
#[test]
fn a_link_within_the_root_is_read() {
    let home = Home::new();
    home.add(Provider::Claude, 31);
    let file = home.file(Provider::Claude, 31);
    let moved = ".claude/archive/moved.jsonl";
    std::fs::create_dir_all(home.path(".claude/archive")).expect("folder");
    std::fs::rename(home.path(&file), home.path(moved)).expect("rename");
    link(home.path(moved), &home.path(&file));
    let found = home.discover_sound();
    home.is_sound(&found, Provider::Claude, 31);
}

#[test]
fn folders_for_files_and_files_for_folders_cost_only_themselves() {
    let home = Home::new();
    for place in places(&home, 41) {
        std::fs::create_dir_all(home.path(&place).join("inside")).expect("folder");
    }
    for file in [
        ".claude/projects/-a-file",
        ".codex/sessions/2026/12",
        ".codex/archived_sessions",
        ".copilot/session-state/a-file",
        ".gemini/tmp/a-file",
        ".cursor/projects",
        ".grok/active_sessions.json/x",
        ".config/Code - Insiders",
        ".gemini/antigravity",
    ] {
        home.write(file, "a file, where a folder is expected\n");
    }
    let found = home.discover_sound();
    for provider in [Provider::Claude, Provider::Gemini] {
        let id = id(provider, 41);
        assert!(found.row(provider, &id).is_none(), "{}", found.run);
    }
}

/// Whole roots of the wrong kind: that provider has nothing, and the others are found.
#[test]
fn a_root_that_is_no_folder_costs_that_provider_alone() {
    for (root, provider) in [
        (".claude", Provider::Claude),
        (".codex", Provider::Codex),
        (".local/share/opencode", Provider::OpenCode),
        (".copilot", Provider::Copilot),
        (".gemini", Provider::Gemini),
    ] {
        for shape in ["file", "pipe", "circle", "store"] {
            let home = Home::new();
            let at = home.path(root);
            std::fs::remove_dir_all(&at).expect("remove");
            match shape {
                "file" => std::fs::write(&at, "a file").expect("file"),
                "pipe" => pipe(&at),
                "circle" => link(&at, &at),
                // The store itself, where there is one file for all.
                _ => std::fs::create_dir_all(at.join("opencode.db/state_5.sqlite")).expect("made"),
            }
            let found = home.discover();
            for other in ALL.into_iter().filter(|other| *other != provider) {
                for number in 1..=3 {
                    home.is_sound(&found, other, number);
                }
            }
            assert!(
                !found.rows.keys().any(|(key, _)| key == provider.key()),
                "{}",
                found.run
            );
        }
    }
}
