//! Files that may not grow, and clocks that jump: nothing accepted is lost, nothing goes twice,
//! and what cannot be taken is refused in plain words. Needs no right that a user lacks.

use crate::desk::{Desk, message_id, words};
use crate::program::Run;
use std::process::{Command, Stdio};

const DAY: i64 = 24 * 60 * 60 * 1000;

/// Runs AxiOwl with files that may have this many KiB at most. A write beyond that is an error
/// where `told`, and the end of the process otherwise, as the system does it.
fn with_small_files(desk: &Desk, kib: u64, told: bool, arguments: &[&str]) -> Run {
    let trap = if told { "trap '' XFSZ; " } else { "" };
    let script = format!("{trap}ulimit -f {}; exec \"$0\" \"$@\"", kib * 2);
    let mut axiowl = desk.axiowl.command(arguments);
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &script])
        .arg(axiowl.get_program())
        .args(arguments)
        .env_clear()
        .envs(axiowl.get_envs().filter_map(|(k, v)| Some((k, v?))))
        .stdin(Stdio::null());
    axiowl.env_clear();
    let output = shell.output().expect("sh runs");
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn known(desk: &Desk) -> Vec<String> {
    let list = desk.run(&["list", "messages", "--json"]);
    let ids = list.lines("message").into_iter();
    ids.map(|line| line["message_id"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn a_ledger_that_cannot_grow_takes_no_message_and_the_next_one_goes() {
    let desk = Desk::with(&["Beta"]);
    let (_, first) = desk.deliver("Beta");
    desk.quiet();
    let body = "x".repeat(60_000);
    let send = ["send", "--to", "Beta", "--body", &body, "--json"];
    for (kib, told) in [(64, true), (64, false), (8, true), (1, true), (1, false)] {
        let run = with_small_files(&desk, kib, told, &send);
        assert_ne!(run.code, 0, "{kib} {told}: {run}");
        if told {
            // Where it was noticed, when the ledger was opened or when it was written.
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(said.contains("messages.db"), "{kib}: {run}");
        }
        assert_eq!(known(&desk), [first.as_str()], "{kib} {told}: {run}");
    }
    let (run, next) = desk.deliver("Beta");
    assert_eq!(run.code, 0, "{run}");
    desk.quiet();
    assert_eq!((desk.copies(0, &first), desk.copies(0, &next)), (1, 1));
}

#[test]
fn a_worker_that_cannot_write_leaves_the_message_to_the_next_one() {
    let desk = Desk::with(&["Beta"]);
    let id = desk.send_and_leave("Beta");
    for told in [true, false] {
        let run = with_small_files(&desk, 1, told, &["worker", "--message", &id]);
        assert_ne!(run.code, 0, "{run}");
        assert_eq!(desk.copies(0, &id), 0, "nothing was handed over: {run}");
    }
    assert_eq!(desk.run(&[]).code, 0);
    let lines = desk.until(&id, &["turn_done"]);
    assert_eq!(words(&lines)[0], "accepted_by_axiowl");
    desk.quiet();
    assert_eq!(desk.copies(0, &id), 1);
}

#[test]
fn a_clock_that_went_back_bars_nobody_and_keeps_the_order() {
    let desk = Desk::with(&["Beta"]);
    desk.configure("limits: { pair_per_minute: 2 }\n");
    let (_, first) = desk.deliver("Beta");
    desk.quiet();
    // It waits, and then the clock says that it comes from tomorrow, and is not of this minute.
    let second = desk.send_and_leave("Beta");
    desk.shift(DAY);
    let third = desk.send_and_leave("Beta");
    assert_eq!(desk.run(&[]).code, 0);
    desk.until(&third, &["turn_done"]);
    desk.quiet();
    let transcript = std::fs::read_to_string(desk.transcript(0)).expect("transcript");
    let place = |id: &str| transcript.find(&format!("[AxiOwl {id}]")).expect("there");
    assert!(place(&first) < place(&second) && place(&second) < place(&third));
    for id in [&first, &second, &third] {
        assert_eq!(desk.copies(0, id), 1);
    }
}

#[test]
fn a_clock_that_went_forward_expires_what_waits_and_settles_what_was_out() {
    let desk = Desk::with(&["Beta"]);
    let waits = desk.send_and_leave("Beta");
    desk.shift(-2 * DAY);
    assert_eq!(desk.run(&[]).code, 0);
    let lines = desk.until(&waits, &["expired"]);
    assert_eq!(words(&lines), ["accepted_by_axiowl", "expired"]);
    // One that is being delivered while the clock jumps goes its way.
    desk.claude(
        "init; echo_back; record; until [ -e \"$H/go\" ]; do sleep 0.05; done; end; result",
    );
    let out = message_id(&desk.send("Beta", &["--wait", "seen"]));
    desk.shift(-2 * DAY);
    assert_eq!(desk.run(&[]).code, 0);
    desk.axiowl.write("home/go", "");
    desk.until(&out, &["turn_done"]);
    desk.quiet();
    assert_eq!((desk.copies(0, &waits), desk.copies(0, &out)), (0, 1));
}

#[test]
fn a_lease_from_a_clock_ahead_does_not_outlive_its_holder() {
    let desk = Desk::with(&["Beta"]);
    desk.claude("init; echo_back; record; while :; do sleep 0.1; done");
    let id = message_id(&desk.send("Beta", &["--wait", "seen"]));
    let holders: Vec<u32> = desk.processes().into_iter().map(|(pid, _)| pid).collect();
    desk.shift(DAY);
    for pid in &holders {
        let kill = Command::new("kill").args(["-9", &pid.to_string()]).output();
        kill.expect("kill runs");
    }
    desk.claude("good");
    assert_eq!(desk.run(&[]).code, 0);
    let lines = desk.until(&id, &["failed"]);
    assert!(
        lines.last().expect("a line")["reason"]
            .to_string()
            .contains("broken off")
    );
    desk.quiet();
    assert_eq!(desk.copies(0, &id), 1, "and nothing was handed over again");
}
