//! A disk that is full, a state folder that cannot be written, a ledger that is locked,
//! damaged or newer: a clear error, in bounded time, and nothing lost or doubled.

use crate::desk::{Desk, message_id, words};
use crate::program::Run;
use axiowl_test_support::{Skip, or_skip};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Runs a script in a mount namespace of its own, with a small file system at `$STATE` that is
/// gone afterwards. It knows `$AXIOWL`, and `axiowl` runs it on the desk's home.
fn on_a_small_disk(desk: &Desk, script: &str) -> Result<Run, Skip> {
    let state = desk.axiowl.path("small");
    std::fs::create_dir_all(&state).expect("folder");
    let mount = "mount -t tmpfs -o size=1500k,mode=0700 tmpfs \"$STATE\"";
    let able = |script: &str| {
        let mut command = desk.axiowl.command(&[]);
        let mut shell = Command::new("unshare");
        shell
            .args(["-Urm", "/bin/sh", "-c", script])
            .env_clear()
            .envs(
                command
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .env("STATE", &state)
            .env("AXIOWL", command.get_program())
            .current_dir(desk.axiowl.path(""))
            .stdin(Stdio::null());
        command.env_clear();
        shell.output()
    };
    let possible = able(mount).is_ok_and(|output| output.status.success());
    if !possible {
        return Err(Skip::new("a small file system cannot be mounted here"));
    }
    let functions = "axiowl() { \"$AXIOWL\" --state \"$STATE\" \"$@\"; }\n\
                     fill() { dd if=/dev/zero of=\"$STATE/filler\" bs=4096 2>/dev/null; }\n\
                     quiet() { for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do \
                     for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -q \
                     \"worker --state $STATE\" && { sleep 0.25; continue 2; }; done; return; done; }\n";
    let output = able(&format!("{mount} || exit 99\n{functions}{script}")).expect("unshare runs");
    Ok(Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[test]
fn a_full_disk_takes_no_message_and_says_so_and_the_next_one_goes() {
    let desk = Desk::with(&["Beta"]);
    let run = or_skip!(on_a_small_disk(
        &desk,
        r#"
        axiowl discover claude-code-cli >/dev/null || exit 98
        axiowl send --to Beta --body first --wait turn >/dev/null || exit 97
        fill
        axiowl send --to Beta --body "$(head -c 40000 /dev/zero | tr '\0' x)" --json; echo "exit $?"
        rm "$STATE/filler"
        axiowl send --to Beta --body third --wait turn >/dev/null; echo "exit $?"
        axiowl list messages --json | grep -c message_id
        "#,
    ));
    // Where it was noticed, when the ledger was opened or when it was written, does not matter.
    let told = format!("{}{}", run.stdout, run.stderr);
    assert!(
        told.contains("no space left") && told.contains("free some space"),
        "{run}"
    );
    let lines: Vec<_> = run
        .stdout
        .lines()
        .filter(|line| !line.starts_with('{'))
        .collect();
    assert_eq!(lines, ["exit 1", "exit 0", "2"], "{run}");
}

#[test]
fn a_disk_that_fills_up_before_the_handover_delays_it_and_doubles_nothing() {
    let desk = Desk::with(&["Beta"]);
    // The question whether somebody is signed in comes right before the handover.
    desk.claude("good");
    let script = std::fs::read_to_string(desk.axiowl.path("claude")).expect("script");
    let state = desk.axiowl.path("small").display().to_string();
    let filling = script.replace(
        "echo '{\"loggedIn\":true}'; exit 0",
        &format!(
            "[ -e '{state}/filler' ] || dd if=/dev/zero of='{state}/filler' bs=4096 2>/dev/null; \
             echo '{{\"loggedIn\":true}}'; exit 0"
        ),
    );
    assert_ne!(script, filling);
    desk.install(&filling);
    let run = or_skip!(on_a_small_disk(
        &desk,
        r#"
        axiowl discover claude-code-cli >/dev/null || exit 98
        axiowl send --to Beta --body first >/dev/null || exit 97
        until [ -e "$STATE/filler" ]; do sleep 0.05; done
        quiet
        ls "$HOME/input" 2>/dev/null && echo "it was handed over"
        id=$(axiowl list messages --json | sed 's/.*"message_id":"\([^"]*\)".*/\1/')
        # Room again; the program leaves it alone from now on.
        : > "$STATE/filler"
        axiowl >/dev/null; echo "exit $?"
        axiowl message "$id" --follow --timeout 30s --json | grep -o '"stage":"[a-z_]*"'
        echo "$id"
        "#,
    ));
    let lines: Vec<_> = run.stdout.lines().collect();
    assert_eq!(lines.first(), Some(&"exit 0"), "{run}");
    assert!(lines.contains(&"\"stage\":\"turn_done\""), "{run}");
    let id = lines.last().expect("an id");
    assert_eq!(desk.copies(0, id), 1, "{run}");
}

#[test]
fn a_state_folder_on_a_read_only_file_system_is_a_clear_error() {
    let desk = Desk::with(&["Beta"]);
    let run = or_skip!(on_a_small_disk(
        &desk,
        r#"
        axiowl discover claude-code-cli >/dev/null || exit 98
        axiowl send --to Beta --body first --wait turn >/dev/null || exit 97
        quiet
        mount -o remount,ro "$STATE" || exit 96
        axiowl list agents | grep -c Beta
        axiowl send --to Beta --body second; echo "exit $?"
        "#,
    ));
    assert_eq!(
        run.stdout.lines().collect::<Vec<_>>(),
        ["1", "exit 1"],
        "{run}"
    );
    assert!(
        run.stderr.contains("messages.db") && run.stderr.contains("--state DIR"),
        "{run}"
    );
}

#[test]
fn a_state_folder_of_somebody_else_is_a_clear_error() {
    let desk = Desk::with(&["Beta"]);
    let uid = std::fs::metadata(desk.axiowl.home())
        .map(|meta| std::os::unix::fs::MetadataExt::uid(&meta));
    if uid.expect("metadata") != 0 {
        Skip::new("only root can run a command as somebody else").report();
        return;
    }
    // Nobody may look through the folders above, and write into none of them.
    for folder in ["", "home", "home/.axiowl"] {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(desk.axiowl.path(folder), mode).expect("mode");
    }
    let mut command = desk
        .axiowl
        .command(&["send", "--to", "Beta", "--body", "x"]);
    // The checkout may be closed to them.
    let binary = desk.axiowl.path("axiowl");
    std::fs::copy(command.get_program(), &binary).expect("copy");
    let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let mut as_nobody = Command::new(binary);
    std::os::unix::process::CommandExt::uid(&mut as_nobody, 65534);
    command.env_clear();
    let output = as_nobody
        .args(arguments)
        .env_clear()
        .env("HOME", desk.axiowl.home())
        .current_dir("/")
        .output()
        .expect("axiowl runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("ermission denied") && said.contains("hint: "),
        "{said}"
    );
}

fn database(desk: &Desk) -> PathBuf {
    desk.axiowl.home().join(".axiowl/messages.db")
}

#[test]
fn a_ledger_that_is_damaged_or_newer_is_named_and_left_as_it_is() {
    for newer in [false, true] {
        let desk = Desk::with(&["Beta"]);
        let path = database(&desk);
        if newer {
            let db = rusqlite::Connection::open(&path).expect("database");
            db.execute_batch("CREATE TABLE future (x); PRAGMA user_version = 99")
                .expect("sql");
        } else {
            std::fs::write(&path, [0x5a; 8192]).expect("file");
        }
        let before = std::fs::read(&path).expect("file");
        for arguments in [
            &["send", "--to", "Beta", "--body", "x"][..],
            &["list", "messages"],
            &["message", "01a22d6a-5558-7246-97f9-27ae53f7e871"],
            &[
                "message",
                "01a22d6a-5558-7246-97f9-27ae53f7e871",
                "--settle",
            ],
            &[
                "worker",
                "--message",
                "01a22d6a-5558-7246-97f9-27ae53f7e871",
            ],
            &[],
        ] {
            let run = desk.run(arguments);
            assert_eq!(run.code, 1, "{arguments:?}: {run}");
            let part = if newer { "format 99" } else { "is damaged" };
            assert!(
                run.stderr.contains(part) && run.stderr.contains("hint: "),
                "{run}"
            );
        }
        assert_eq!(std::fs::read(&path).expect("file"), before);
        assert_eq!(
            desk.run(&["list", "agents"]).code,
            0,
            "the registry is another file"
        );
    }
}

#[test]
fn a_registry_that_is_no_registry_stops_a_send_and_loses_no_message() {
    let desk = Desk::with(&["Beta"]);
    let (_, id) = desk.deliver("Beta");
    desk.quiet();
    std::fs::write(desk.axiowl.registry(), [0x5a; 4096]).expect("file");
    let run = desk.send("Beta", &[]);
    assert_eq!(run.code, 1, "{run}");
    assert_eq!(run.lines("stage")[0]["code"], "registry_error", "{run}");
    assert_eq!(
        desk.stage_words(&id).last().map(String::as_str),
        Some("turn_done")
    );
}

#[test]
fn a_ledger_that_another_process_writes_to_is_waited_for_and_not_for_ever() {
    let desk = Desk::with(&["Beta"]);
    let (_, first) = desk.deliver("Beta");
    desk.quiet();
    let other = rusqlite::Connection::open(database(&desk)).expect("database");
    other.execute_batch("BEGIN IMMEDIATE").expect("lock");
    let start = || {
        let mut command = desk
            .axiowl
            .command(&["send", "--to", "Beta", "--body", "x", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("axiowl runs")
    };
    // One that is let go in time costs nothing but the time.
    let waits = start();
    std::thread::scope(|scope| {
        let waited = scope.spawn(move || waits.wait_with_output().expect("output"));
        other.execute_batch("ROLLBACK").expect("unlock");
        let output = waited.join().expect("no panic");
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    });
    other.execute_batch("BEGIN IMMEDIATE").expect("lock");
    let begin = Instant::now();
    let output = start().wait_with_output().expect("output");
    other.execute_batch("ROLLBACK").expect("unlock");
    assert!(begin.elapsed().as_secs() < 60);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("locked by another process"), "{said}");
    desk.quiet();
    let list = desk.run(&["list", "messages", "--json"]);
    assert_eq!(
        list.lines("message").len(),
        2,
        "what was not accepted is nowhere: {list}"
    );
    assert_eq!(desk.copies(0, &first), 1);
}

#[test]
fn a_worker_that_cannot_be_started_costs_no_message() {
    let desk = Desk::with(&["Beta"]);
    // The log of workers cannot be opened, so none can be started.
    std::fs::create_dir_all(desk.axiowl.home().join(".axiowl/worker.log")).expect("folder");
    let run = desk.send("Beta", &[]);
    assert_eq!(run.code, 0, "it is accepted: {run}");
    assert!(
        run.stderr.contains("the next axiowl command tries again"),
        "{run}"
    );
    let id = message_id(&run);
    assert_eq!(words(&desk.stages(&id)), ["accepted_by_axiowl"]);
    std::fs::remove_dir(desk.axiowl.home().join(".axiowl/worker.log")).expect("folder");
    let status = desk.run(&[]);
    assert!(status.stdout.contains("deliveries resumed  1"), "{status}");
    desk.until(&id, &["turn_done"]);
    desk.quiet();
    assert_eq!(desk.copies(0, &id), 1);
}
