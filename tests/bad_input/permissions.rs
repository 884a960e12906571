//! Files and folders that may not be read, and times that cannot be.

use crate::found::Found;
use crate::home::{Home, Provider, id};
use crate::measured::Measured;
use crate::program::copy_tree;
use crate::untouched::untouched;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Who root becomes, since root may read everything.
const NOBODY: u32 = 65_534;

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("mode");
}

/// Gives everything below a folder to somebody.
fn give(path: &Path, to: u32) {
    chown(path, Some(to), Some(to)).expect("owner");
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("folder") {
            give(&entry.expect("entry").path(), to);
        }
    }
}

/// Discovers as somebody who is not root.
fn discover(home: &Home) -> Found {
    let mut command = home.command(&["discover", "all", "--json"]);
    let user = rustix::process::getuid().is_root().then_some(NOBODY);
    if user.is_some() {
        // The checkout may be closed to them.
        let binary = home.axiowl.path("axiowl");
        if !binary.exists() {
            std::fs::copy(command.get_program(), &binary).expect("copy");
        }
        mode(&home.axiowl.path(""), 0o755);
        mode(&binary, 0o755);
        let state = home.axiowl.path("state");
        std::fs::create_dir_all(&state).expect("folder");
        give(&state, NOBODY);
        let mut other = Command::new(binary);
        other.args(command.get_args()).env_clear().current_dir("/");
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                other.env(name, value);
            }
        }
        command = other;
    }
    let found = Found::of(Measured::of_user(&command, user));
    assert_eq!(found.run.code, 0, "{}", found.run);
    found
}

#[test]
fn what_may_not_be_read_is_named_and_costs_only_itself() {
    let home = Home::new();
    for provider in [
        Provider::Claude,
        Provider::Codex,
        Provider::Copilot,
        Provider::Gemini,
    ] {
        home.add(provider, 11);
    }
    if rustix::process::getuid().is_root() {
        give(&home.axiowl.home(), NOBODY);
    }
    let closed = [Provider::Claude, Provider::Copilot, Provider::Gemini].map(|provider| {
        let file = home.file(provider, 11);
        mode(&home.path(&file), 0);
        (provider, file)
    });
    let found = untouched_by(&home);
    home.sound(&found);
    for (provider, file) in &closed {
        let id = id(*provider, 11);
        assert!(!found.sendable(*provider, &id), "{}", found.run);
        found.names(file, "unreadable");
    }
    // Opened again, they are there again.
    for (_, file) in &closed {
        mode(&home.path(file), 0o644);
    }
    let found = untouched_by(&home);
    for (provider, _) in closed {
        home.is_sound(&found, provider, 11);
    }
}

fn untouched_by(home: &Home) -> Found {
    // Root's watcher sees closed files too.
    match rustix::process::getuid().is_root() {
        true => untouched(&home.axiowl.home(), || discover(home)),
        false => discover(home),
    }
}

#[test]
fn folders_that_may_not_be_listed_are_named_and_lose_nothing_that_was_known() {
    for (folder, store, provider) in [
        (".claude/projects", ".claude", Provider::Claude),
        (".claude", ".claude", Provider::Claude),
        (".codex", ".codex", Provider::Codex),
        (
            ".local/share/opencode",
            ".local/share/opencode",
            Provider::OpenCode,
        ),
        (".copilot/session-state", ".copilot", Provider::Copilot),
        (".gemini/tmp/work/chats", ".gemini", Provider::Gemini),
    ] {
        for closed in [0, 0o111, 0o444] {
            let home = Home::new();
            if rustix::process::getuid().is_root() {
                give(&home.axiowl.home(), NOBODY);
            }
            home.sound(&discover(&home));
            mode(&home.path(folder), closed);
            let found = untouched_by(&home);
            for other in crate::home::ALL.into_iter().filter(|p| *p != provider) {
                for number in 1..=3 {
                    home.is_sound(&found, other, number);
                }
            }
            // A folder that may be entered is as good as open where the name of the file is known.
            let seen = (1..=3).all(|number| found.sendable(provider, &id(provider, number)));
            if !seen {
                assert!(
                    !found.codes_at(store).is_empty(),
                    "{folder} {closed:o} is not named: {:#?}",
                    found.issues
                );
            }
            // What cannot be looked at is not gone.
            let listed = home.run(&["list", "agents", "--json"]);
            assert_eq!(
                listed.lines("agent").len(),
                15,
                "{folder} {closed:o}: {listed}"
            );
            mode(&home.path(folder), 0o755);
            home.sound(&discover(&home));
        }
    }
}

/// A home that belongs to somebody else and is read-only is read like any other.
#[test]
fn a_home_that_may_only_be_read_is_read() {
    let home = Home::new();
    let copy = home.axiowl.path("copy");
    copy_tree(&home.axiowl.home(), &copy);
    fn close(path: &Path) {
        if path.is_dir() {
            for entry in std::fs::read_dir(path).expect("folder") {
                close(&entry.expect("entry").path());
            }
            mode(path, 0o555);
        } else {
            mode(path, 0o444);
        }
    }
    close(&home.axiowl.home());
    let found = untouched_by(&home);
    home.sound(&found);
    // So that the temporary folder can be removed by anybody.
    fn open(path: &Path) {
        if path.is_dir() {
            mode(path, 0o755);
            for entry in std::fs::read_dir(path).expect("folder") {
                open(&entry.expect("entry").path());
            }
        }
    }
    open(&home.axiowl.home());
}

/// Clocks go wrong: files from before 1970 and from far ahead are files like others.
#[test]
fn times_before_the_epoch_and_far_ahead_are_times() {
    let home = Home::new();
    let year = Duration::from_secs(365 * 24 * 3_600);
    let times = [
        SystemTime::UNIX_EPOCH,
        SystemTime::UNIX_EPOCH - 50 * year,
        SystemTime::UNIX_EPOCH + 300 * year,
        SystemTime::now() + 2 * year,
    ];
    let mut set = Vec::new();
    for (number, time) in (20..).zip(times) {
        for provider in [Provider::Claude, Provider::Copilot, Provider::Gemini] {
            home.add(provider, number);
            let file = std::fs::File::options()
                .write(true)
                .open(home.path(&home.file(provider, number)))
                .expect("file");
            file.set_modified(time).expect("a time of the file");
            set.push((provider, number));
        }
    }
    for store in [".codex/state_5.sqlite", ".local/share/opencode/opencode.db"] {
        let file = std::fs::File::options().write(true).open(home.path(store));
        let time = SystemTime::UNIX_EPOCH + 300 * year;
        file.expect("file").set_modified(time).expect("a time");
    }
    for _ in 0..2 {
        let found = home.discover_sound();
        for (provider, number) in &set {
            home.is_sound(&found, *provider, *number);
        }
    }
    let run = home.run(&["list", "agents"]);
    assert_eq!(run.code, 0, "{run}");
}
