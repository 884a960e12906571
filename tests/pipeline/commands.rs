//! What a person types, and what programs read.

use crate::desk::{Desk, message_id, words};
use crate::program::Run;
use std::io::Write as _;
use std::process::Stdio;

/// A stand-in that goes on only when it is told to.
const WAITS: &str =
    "init; echo_back; record; until [ -e \"$H/go\" ]; do sleep 0.05; done; end; result";

#[test]
fn c193_c207_c208_c231_a_send_returns_at_acceptance_and_the_delivery_goes_on() {
    let desk = Desk::with(&["Beta"]);
    desk.claude(WAITS);
    let run = desk.send("Beta", &[]);
    assert_eq!(run.code, 0, "{run}");
    let lines = run.lines("stage");
    assert_eq!(lines.len(), 1, "{run}");
    let line = &lines[0];
    for (field, value) in [
        ("stage", "accepted_by_axiowl"),
        ("receipt", "accepted_by_axiowl"),
        ("provider", "claude_code_cli"),
        ("display_name", "Beta"),
    ] {
        assert_eq!(line[field], value, "{run}");
    }
    assert_eq!(line["evidence"]["kind"], "ledger_row", "{run}");
    for field in [
        "message_id",
        "run_id",
        "at",
        "provider_session_id",
        "route",
        "reason",
    ] {
        assert!(line[field].is_string(), "{field}: {run}");
    }
    let id = message_id(&run);
    desk.until(&id, &["seen"]);
    desk.axiowl.write("home/go", "");
    desk.until(&id, &["turn_done"]);
    desk.quiet();
    assert_eq!(desk.copies(0, &id), 1);
}

#[test]
fn waiting_ends_at_the_stage_that_was_asked_for_or_when_the_time_is_up() {
    let desk = Desk::with(&["Beta"]);
    desk.claude(WAITS);
    let run = desk.send("Beta", &["--wait", "seen", "--timeout", "60s"]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(
        words(&run.lines("stage")).last().map(String::as_str),
        Some("seen"),
        "{run}"
    );
    let late = desk.send("Beta", &["--wait", "submitted", "--timeout", "300ms"]);
    assert_eq!(late.code, 9, "{late}");
    assert!(late.stderr.contains("the message goes on"), "{late}");
    desk.axiowl.write("home/go", "");
    let id = message_id(&late);
    let followed = desk.run(&["message", &id, "--follow", "--json"]);
    assert_eq!(followed.code, 0, "nothing more comes by itself: {followed}");
    assert_eq!(
        words(&followed.lines("stage")).last().map(String::as_str),
        Some("turn_done")
    );
    let plain = desk.run(&["send", "--to", "Beta", "--body", "x", "--wait", "turn"]);
    assert_eq!(plain.code, 0, "{plain}");
    for part in [
        "accepted_by_axiowl",
        "turn_done",
        "transcript record",
        "at byte",
    ] {
        assert!(plain.stdout.contains(part), "{part}: {plain}");
    }
    desk.quiet();
}

#[test]
fn a_dry_run_shows_everything_and_changes_nothing() {
    let desk = Desk::with(&["Beta"]);
    let arguments = ["send", "--to", "Beta", "--body", "/clear\n@x", "--dry-run"];
    let run = desk.run(&[&arguments[..], &["--json"]].concat());
    assert_eq!(run.code, 0, "{run}");
    let shown = &run.lines("dry_run")[0];
    assert_eq!(shown["row"]["display_name"], "Beta", "{run}");
    assert_eq!(shown["row"]["sendable"], true, "{run}");
    assert_eq!(shown["proof"], "claude_code_cli_session_file", "{run}");
    assert_eq!(shown["liveness"], "idle", "{run}");
    assert!(shown["route"].to_string().contains("resume"), "{run}");
    let body = shown["visible_body"].as_str().expect("a body");
    assert!(
        body.starts_with("[AxiOwl ") && body.contains("\n> /clear\n"),
        "{body}"
    );
    let plain = desk.run(&arguments);
    for part in [
        "would go to \"Beta\"",
        "proof",
        "idle",
        "route",
        "| > /clear",
        "nothing was sent",
    ] {
        assert!(plain.stdout.contains(part), "{part}: {plain}");
    }
    let list = desk.run(&["list", "messages", "--json"]);
    assert!(list.lines("message").is_empty(), "{list}");
    assert!(
        !desk.axiowl.home().join("input").exists(),
        "no program was started"
    );
    // Without a way, the same exit code as the send would end with.
    std::fs::remove_dir_all(desk.axiowl.home().join("work")).expect("folder");
    let run = desk.run(&arguments);
    assert_eq!(run.code, 5, "{run}");
    assert!(run.stdout.contains("folder is gone"), "{run}");
}

#[test]
fn a_body_comes_from_an_argument_a_file_or_standard_input_as_it_is() {
    let desk = Desk::with(&["Beta"]);
    let body = "first line\n\ttab \u{1f989}\nlast";
    desk.axiowl.write("text", body);
    let file = desk.axiowl.path("text").display().to_string();
    let by_argument = desk.run(&[
        "send",
        "--to",
        "Beta",
        "--body",
        body,
        "--dry-run",
        "--json",
    ]);
    let by_file = desk.run(&[
        "send",
        "--to",
        "Beta",
        "--body-file",
        &file,
        "--dry-run",
        "--json",
    ]);
    let mut child = desk
        .axiowl
        .command(&["send", "--to", "Beta", "-", "--dry-run", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("axiowl runs");
    let mut input = child.stdin.take().expect("stdin");
    input.write_all(body.as_bytes()).expect("write");
    drop(input);
    let output = child.wait_with_output().expect("output");
    let by_stdin = Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::new(),
    };
    for run in [by_argument, by_file, by_stdin] {
        assert_eq!(run.code, 0, "{run}");
        let shown = run.lines("dry_run")[0]["visible_body"].clone();
        let (_, quoted) = shown
            .as_str()
            .expect("text")
            .split_once('\n')
            .expect("a header");
        assert_eq!(quoted, "> first line\n> \ttab \u{1f989}\n> last");
    }
    for wrong in [
        &["send", "--to", "Beta"][..],
        &["send", "--to", "Beta", "--body", "x", "--body-file", &file],
        &["send", "--body", "x"],
        &["send", "--to", "Beta", "--body", " \n"],
        &["send", "--to", "Beta", "--body-file", "/nowhere"],
        &["send", "--to", " ", "--body", "x"],
        &["send", "--to", "Beta", "--body", "x", "--reply-to", "y"],
        &["message", "no-id"],
    ] {
        let run = desk.run(wrong);
        assert_eq!(run.code, 2, "{wrong:?}: {run}");
    }
}

#[test]
fn messages_are_listed_and_each_is_shown_as_the_ledger_has_it() {
    let desk = Desk::with(&["Beta"]);
    let (_, id) = desk.deliver("Beta");
    let list = desk.run(&["list", "messages", "--json"]);
    let line = &list.lines("message")[0];
    assert_eq!(
        (&line["message_id"], &line["stage"]),
        (&id.clone().into(), &"turn_done".into())
    );
    let table = desk.run(&["list", "messages"]);
    assert!(
        table.stdout.contains(&id) && table.stdout.contains("turn_done"),
        "{table}"
    );
    let shown = desk.run(&["message", &id]);
    assert!(
        shown.stdout.contains("from \"operator\" to \"Beta\""),
        "{shown}"
    );
    let unknown = desk.run(&["message", "01a22d6a-5558-7246-97f9-27ae53f7e871"]);
    assert_eq!(unknown.code, 1, "{unknown}");
    assert!(unknown.stderr.contains("list messages"), "{unknown}");
    desk.quiet();
}

#[test]
fn old_settled_messages_go_by_the_configured_time_and_others_stay() {
    let desk = Desk::with(&["Beta"]);
    let (_, old) = desk.deliver("Beta");
    desk.claude("kill -9 $$");
    let (_, unsure) = desk.deliver("Beta");
    desk.quiet();
    let database = desk.axiowl.home().join(".axiowl/messages.db");
    let db = rusqlite::Connection::open(database).expect("the ledger");
    for (table, column) in [("messages", "created_at"), ("stages", "at")] {
        db.execute(
            &format!("UPDATE {table} SET {column} = {column} - 8 * 86400000"),
            [],
        )
        .expect("made old");
    }
    drop(db);
    desk.claude("good");
    let (_, first) = desk.deliver("Beta");
    desk.quiet();
    assert_eq!(
        desk.run(&["message", &old]).code,
        0,
        "90 days unless said otherwise"
    );
    desk.configure("retention: 7d\n");
    let (_, new) = desk.deliver("Beta");
    desk.quiet();
    let list = desk.run(&["list", "messages", "--all", "--json"]);
    let ids: Vec<_> = list
        .lines("message")
        .iter()
        .map(|m| m["message_id"].to_string())
        .collect();
    let kept = [new, first, unsure].map(|id| format!("\"{id}\""));
    assert_eq!(ids, kept, "{old} is gone: {list}");
}

#[test]
fn whoever_waits_for_an_answer_is_told_when_the_turn_ends_without_one() {
    let desk = Desk::with(&["Beta"]);
    let wait = ["--wait", "reply", "--timeout", "10s"];
    let run = desk.send("Beta", &wait);
    assert_eq!(run.code, 9, "{run}");
    let id = message_id(&run);
    let told = run.stderr.find("its turn ended without an answer");
    let over = run.stderr.find(&format!("axiowl message {id}"));
    assert!(told.is_some() && told < over, "{run}");
    assert!(!run.stderr.contains("still turn_done"), "{run}");
    desk.quiet();
}

#[test]
fn a_look_at_messages_sees_to_those_that_nobody_delivers() {
    for all in [true, false] {
        let desk = Desk::with(&["Beta"]);
        let id = desk.send_and_leave("Beta");
        let run = match all {
            true => desk.run(&["list", "messages"]),
            false => desk.run(&["message", &id]),
        };
        assert_eq!(run.code, 0, "{run}");
        assert!(run.stdout.contains("accepted_by_axiowl"), "{run}");
        desk.until(&id, &["turn_done"]);
        desk.quiet();
        assert_eq!(desk.copies(0, &id), 1);
    }
}
