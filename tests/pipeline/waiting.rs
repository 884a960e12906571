//! Messages that a provider has and no model has read: `held` and `queued`, and the ways out of
//! them; `expired` and `misdelivered`, which have none.

use crate::desk::{Desk, message_id, words};
use axiowl_test_support::poll;
use serde_json::json;
use std::process::Stdio;
use std::time::Duration;

const SESSION: &str = "0190aaaa-0000-7000-8000-00000000ec40";

/// A home with the built-in agent, which keeps what it gets.
fn keeping(how: &str) -> Desk {
    let desk = Desk::new();
    let record = json!({
        "type": "session", "id": SESSION, "name": "Echo", "cwd": desk.axiowl.home().join("work"),
    });
    write(&desk, "jsonl", &format!("{record}\n"));
    write(&desk, "keeps", how);
    let run = desk.run(&["discover", "echo"]);
    assert_eq!(run.code, 0, "{run}");
    desk
}

fn file(end: &str) -> String {
    format!("home/.axiowl-echo/{SESSION}.{end}")
}

fn write(desk: &Desk, end: &str, text: &str) {
    desk.axiowl.write(&file(end), text);
}

fn remove(desk: &Desk, end: &str) {
    std::fs::remove_file(desk.axiowl.path(&file(end))).expect("file");
}

/// A message that the agent keeps.
fn kept(desk: &Desk, how: &str) -> String {
    let id = message_id(&desk.send("Echo", &[]));
    let lines = desk.until(&id, &[how]);
    assert_eq!(words(&lines), ["accepted_by_axiowl", how]);
    assert_eq!(lines[1]["evidence"]["kind"], "stream_event", "{lines:?}");
    desk.quiet();
    id
}

/// Settles, and gives the new stages and what was said.
fn settle(desk: &Desk, id: &str, how: &[&str]) -> (Vec<String>, String) {
    let run = desk.run(&[&["message", id, "--settle"], how, &["--json"]].concat());
    (words(&run.lines("stage")), run.stderr)
}

#[test]
fn held_and_queued_are_stages_that_wait_and_are_left_by_an_answer() {
    for how in ["held", "queued"] {
        let desk = keeping(how);
        let id = kept(&desk, how);
        // The provider has it, so it is neither there nor lost: nothing may be said or done.
        let (moved, said) = settle(&desk, &id, &[]);
        assert!(moved.is_empty(), "{moved:?}");
        assert!(said.contains("it waits unread in "), "{said}");
        let shown = desk.run(&["message", &id]);
        assert_eq!(shown.code, 0, "{shown}");
        // Nobody hands it over again, whoever looks after what waits.
        assert_eq!(desk.run(&[]).code, 0);
        desk.quiet();
        assert_eq!(desk.stage_words(&id), ["accepted_by_axiowl", how]);
        // Its user lets it through, and the next start of the agent reads it first.
        remove(&desk, "keeps");
        let next = message_id(&desk.send("Echo", &["--wait", "reply"]));
        desk.quiet();
        let stages = desk.stage_words(&id);
        assert_eq!(
            stages[..3],
            ["accepted_by_axiowl", how, "replied"],
            "{stages:?}"
        );
        let transcript = std::fs::read_to_string(desk.axiowl.path(&file("jsonl"))).expect("file");
        for message in [&id, &next] {
            let copies = transcript.matches(&format!("[AxiOwl {message}]")).count();
            assert_eq!(copies, 1, "{transcript}");
        }
    }
}

#[test]
fn a_wait_for_a_turn_whose_end_nobody_saw_says_so() {
    let desk = keeping("queued");
    let arguments = [
        "send",
        "--to",
        "Echo",
        "--body",
        "x",
        "--wait",
        "turn",
        "--timeout",
        "60s",
    ];
    let mut command = desk.axiowl.command(&arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let waiting = command.spawn().expect("axiowl runs");
    let id = poll(Duration::from_secs(30), || {
        let listed = desk.run(&["list", "messages", "--json"]).lines("message");
        Some(listed.first()?["message_id"].as_str()?.to_owned())
    });
    let id = id.expect("a message");
    desk.until(&id, &["queued"]);
    // The next start of the agent reads and answers it, and nobody follows its turn.
    remove(&desk, "keeps");
    let next = desk.send("Echo", &["--wait", "reply"]);
    assert_eq!(next.code, 0, "{next}");
    let output = waiting.wait_with_output().expect("axiowl ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(8), "{said}");
    assert!(said.contains("the end of its turn is not proven"), "{said}");
    assert!(said.contains(&format!("axiowl message {id}")), "{said}");
}

#[test]
fn a_wait_of_no_time_ends_at_once() {
    let desk = keeping("held");
    let run = desk.send("Echo", &["--wait", "reply", "--timeout", "0s"]);
    assert_eq!(run.code, 9, "{run}");
    assert!(
        run.stderr.contains(" at once; the message goes on"),
        "{run}"
    );
}

#[test]
fn held_and_queued_are_left_by_evidence_and_by_a_person() {
    let desk = keeping("held");
    let id = kept(&desk, "held");
    // The agent reads it when AxiOwl does not look.
    let text = format!("[AxiOwl {id}] from somebody\n\nhello");
    let records = [
        json!({ "type": "message", "role": "user", "turn": "t", "text": text }),
        json!({ "type": "turn_end", "turn": "t", "ok": true }),
    ];
    let path = desk.axiowl.path(&file("jsonl"));
    let mut transcript = std::fs::read_to_string(&path).expect("file");
    records
        .iter()
        .for_each(|record| transcript.push_str(&format!("{record}\n")));
    std::fs::write(&path, transcript).expect("file");
    remove(&desk, "queue");
    let (moved, said) = settle(&desk, &id, &[]);
    assert_eq!(moved, ["seen", "turn_done"], "{said}");

    // One that its user threw away is nowhere any more.
    let id = kept(&desk, "held");
    remove(&desk, "queue");
    assert_eq!(settle(&desk, &id, &[]).0, ["failed"]);
    let lines = desk.stages(&id);
    let reason = lines[2]["reason"].to_string();
    assert!(reason.contains("not in the target's store"), "{reason}");

    write(&desk, "keeps", "queued");
    for (word, stage) in [
        ("seen", "seen"),
        ("turn", "turn_done"),
        ("failed", "failed"),
        ("refused", "refused"),
        ("misdelivered", "misdelivered"),
    ] {
        let id = kept(&desk, "queued");
        let (moved, said) = settle(&desk, &id, &[word]);
        assert_eq!(moved, [stage], "{word}: {said}");
        assert_eq!(desk.stages(&id)[2]["evidence"]["kind"], "person", "{word}");
        remove(&desk, "queue");
    }
}

#[test]
fn expired_and_misdelivered_stay_what_they_are() {
    let desk = Desk::with(&["Beta", "Gamma"]);
    let other = Desk::id(1);
    desk.claude(&format!(
        "init; record \"$H/.claude/projects/-p/{other}.jsonl\"; result false {other}"
    ));
    let (run, astray) = desk.deliver("Beta");
    assert_eq!(run.code, 7, "{run}");
    let late = desk.send_and_leave("Beta");
    desk.shift(-2 * 24 * 60 * 60 * 1000);
    assert_eq!(desk.run(&[]).code, 0);
    desk.until(&late, &["expired"]);
    desk.quiet();
    for (id, stage, code) in [(&astray, "misdelivered", 7), (&late, "expired", 9)] {
        assert_eq!(desk.stage_words(id).last().map(String::as_str), Some(stage));
        for how in [&[][..], &["seen"], &["failed"], &["refused"]] {
            let run = desk.run(&[&["message", id, "--settle"], how].concat());
            assert!(
                run.stderr.contains(&format!("it is settled as {stage}")),
                "{how:?}: {run}"
            );
            assert_eq!(run.code, code, "{run}");
        }
    }
    // A person may say that an uncertain one went astray.
    desk.claude("kill -9 $$");
    let (_, id) = desk.deliver("Beta");
    let (moved, said) = settle(&desk, &id, &["misdelivered"]);
    assert_eq!(moved, ["misdelivered"], "{said}");
}
