//! Every stage a message can come to, made by what a provider's program does, and the ways on
//! from there.

use crate::desk::{Desk, message_id, words};
use serde_json::json;

fn ends(does: &str, more: &str) -> (Desk, String, Vec<String>, i32, String) {
    let desk = Desk::with(&["Beta", "Gamma"]);
    desk.configure(more);
    desk.claude(does);
    let (run, id) = desk.deliver("Beta");
    let lines = run.lines("stage");
    let reason = lines.last().expect("a stage")["reason"].to_string();
    (desk, id, words(&lines), run.code, reason)
}

/// A program that never ends is given this long.
const BRIEF: &str = "limits: { delivery: 2s }\n";

#[test]
fn c230_c234_each_end_of_a_delivery_is_the_stage_that_it_proves_and_an_exit_code() {
    let accepted = "accepted_by_axiowl";
    for (does, more, stages, code, part) in [
        (
            "good",
            "",
            vec![accepted, "submitted", "seen", "turn_done"],
            0,
            "",
        ),
        (
            "init; echo_back; record; end true; result true",
            "",
            vec![accepted, "submitted", "seen", "failed"],
            7,
            "fine",
        ),
        (
            "echo 'no such model' >&2; exit 1",
            "",
            vec![accepted, "failed"],
            7,
            "no such model",
        ),
        (
            "init; echo_back; result",
            "",
            vec![accepted, "submitted", "uncertain"],
            8,
            "lacks",
        ),
        (
            "init; record \"$H/.claude/projects/-p/0190aaaa-0000-4000-8000-000000000001.jsonl\"; result false 0190aaaa-0000-4000-8000-000000000001",
            "",
            vec![accepted, "misdelivered"],
            7,
            "000000000001",
        ),
        ("kill -9 $$", "", vec![accepted, "uncertain"], 8, ""),
        (
            "exec >&-; sleep 600",
            BRIEF,
            vec![accepted, "uncertain"],
            8,
            "",
        ),
        (
            "trap '' TERM; sleep 600",
            BRIEF,
            vec![accepted, "uncertain"],
            8,
            "time",
        ),
        (
            "init; echo_back; record; sleep 600",
            BRIEF,
            vec![accepted, "submitted", "seen", "failed"],
            7,
            "stopped",
        ),
        (
            "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
            BRIEF,
            vec![accepted, "uncertain"],
            8,
            "",
        ),
    ] {
        let (desk, id, reached, exit, reason) = ends(does, more);
        // A program's word and its record come at the same time. Where the record is noticed
        // first, the word says nothing new.
        let mut told = reached.clone();
        told.retain(|word| word != "submitted" || !stages.contains(&"seen"));
        let mut expected = stages;
        if expected.contains(&"seen") {
            expected.retain(|word| *word != "submitted");
        }
        assert_eq!(
            (told, exit),
            (expected.iter().map(|s| s.to_string()).collect(), code),
            "{does}: {reason}"
        );
        assert!(reason.contains(part), "{does}: {reason}");
        desk.quiet();
        assert_eq!(
            words(&desk.stages(&id)),
            reached,
            "the ledger says the same"
        );
        let retried = desk.run(&["message", &id]);
        assert_eq!(retried.code, code, "{retried}");
    }
}

#[test]
fn an_open_session_is_refused_with_what_would_help_and_nothing_starts() {
    let desk = Desk::with(&["Beta"]);
    let pid = std::process::id();
    let record = json!({
        "pid": pid, "sessionId": Desk::id(0), "entrypoint": "cli", "status": "idle",
        "version": "2.1.332", "messagingSocketPath": "/x.sock",
    });
    desk.axiowl.write(
        &format!("home/.claude/sessions/{pid}.json"),
        record.to_string(),
    );
    let (run, id) = desk.deliver("Beta");
    assert_eq!(run.code, 5, "{run}");
    assert_eq!(desk.stage_words(&id), ["accepted_by_axiowl", "refused"]);
    let reason = desk.stages(&id)[1]["reason"].to_string();
    assert!(reason.contains("/exit"), "{reason}");
    assert!(
        !desk.axiowl.home().join("input").exists(),
        "nothing was started"
    );
    let dry = desk.run(&["send", "--to", "Beta", "--body", "x", "--dry-run", "--json"]);
    assert_eq!(dry.code, 5, "{dry}");
    assert_eq!(dry.lines("dry_run")[0]["liveness"], "closed");
}

#[test]
fn a_message_that_waits_too_long_expires_and_is_never_delivered() {
    let desk = Desk::with(&["Beta"]);
    desk.configure("limits: { expires: 1s }\n");
    desk.claude(
        "init; echo_back; record; until [ -e \"$H/go\" ]; do sleep 0.05; done; end; result",
    );
    let first = message_id(&desk.send("Beta", &["--wait", "seen"]));
    let second = message_id(&desk.send("Beta", &[]));
    // Its turn comes when the first one's is over; by then its time is up.
    let lines = desk.until(&second, &["expired"]);
    assert_eq!(words(&lines), ["accepted_by_axiowl", "expired"]);
    assert_eq!(desk.run(&["message", &second]).code, 9);
    desk.axiowl.write("home/go", "");
    desk.until(&first, &["turn_done"]);
    desk.quiet();
    assert_eq!((desk.copies(0, &first), desk.copies(0, &second)), (1, 0));
}

#[test]
fn an_uncertain_message_is_settled_by_the_store_or_by_a_person() {
    // The program dies with the message in its hands; somebody else writes it down later.
    let desk = Desk::with(&["Beta"]);
    desk.claude("kill -9 $$");
    let (run, id) = desk.deliver("Beta");
    assert_eq!(run.code, 8, "{run}");
    let again = desk.run(&["message", &id, "--settle", "--json"]);
    assert_eq!(words(&again.lines("stage")), ["failed"], "{again}");
    assert_eq!(again.code, 7, "{again}");

    let (_, id) = desk.deliver("Beta");
    let line = json!({
        "type": "user", "uuid": id, "isSidechain": false, "sessionId": Desk::id(0),
        "message": { "role": "user", "content": format!("[AxiOwl {id}]") },
    });
    let end = json!({
        "type": "assistant", "isSidechain": false, "sessionId": Desk::id(0),
        "message": { "role": "assistant", "stop_reason": "end_turn", "content": [] },
    });
    let mut text = std::fs::read_to_string(desk.transcript(0)).expect("transcript");
    text.push_str(&format!("{line}\n{end}\n"));
    std::fs::write(desk.transcript(0), text).expect("transcript");
    let settled = desk.run(&["message", &id, "--settle", "--json"]);
    let lines = settled.lines("stage");
    assert_eq!(words(&lines), ["seen", "turn_done"], "{settled}");
    assert!(lines[0]["evidence"]["offset"].is_u64(), "{settled}");
    assert_eq!(settled.code, 0, "{settled}");

    // By a person, and recorded as that.
    let (_, id) = desk.deliver("Beta");
    for wrong in ["refused", "evidence-of-nothing"] {
        let run = desk.run(&["message", &id, "--settle", wrong]);
        assert_ne!(run.code, 0, "{wrong}: {run}");
    }
    let decided = desk.run(&["message", &id, "--settle", "seen", "--json"]);
    let lines = decided.lines("stage");
    assert_eq!(words(&lines), ["seen"], "{decided}");
    assert_eq!(lines[0]["evidence"]["kind"], "person", "{decided}");
    assert!(
        lines[0]["reason"].to_string().contains("decided"),
        "{decided}"
    );
    assert_eq!(
        desk.stage_words(&id),
        ["accepted_by_axiowl", "uncertain", "seen"]
    );
    let late = desk.run(&["message", &id, "--settle", "refused"]);
    assert!(late.stderr.contains("unchanged"), "{late}");
}

#[test]
fn a_message_that_waits_can_be_taken_back_and_one_that_is_delivered_cannot_be_touched() {
    let desk = Desk::with(&["Beta"]);
    desk.claude(
        "init; echo_back; record; until [ -e \"$H/go\" ]; do sleep 0.05; done; end; result",
    );
    let first = message_id(&desk.send("Beta", &["--wait", "seen"]));
    let (taken_back, waits) = (
        message_id(&desk.send("Beta", &[])),
        message_id(&desk.send("Beta", &[])),
    );
    // Nobody may judge a message while it is delivered, and nothing but taking it back can be
    // decided about one that waits.
    let run = desk.run(&["message", &first, "--settle", "failed"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stderr.contains("is being delivered"), "{run}");
    assert!(run.stderr.contains("--follow"), "{run}");
    let run = desk.run(&["message", &taken_back, "--settle", "seen"]);
    assert!(
        run.stderr.contains("nothing of it was handed over"),
        "{run}"
    );
    let run = desk.run(&["message", &taken_back, "--settle", "refused", "--json"]);
    assert_eq!(
        (words(&run.lines("stage")), run.code),
        (vec!["refused".to_owned()], 5),
        "{run}"
    );
    desk.axiowl.write("home/go", "");
    desk.until(&waits, &["turn_done"]);
    desk.quiet();
    let copies = [&first, &taken_back, &waits].map(|id| desk.copies(0, id));
    assert_eq!(
        copies,
        [1, 0, 1],
        "the one behind it is delivered all the same"
    );
}

#[test]
fn secrets_that_a_program_prints_are_in_no_receipt_and_no_log() {
    let desk = Desk::with(&["Beta"]);
    let named = "mock-key-without-any-shape";
    desk.axiowl
        .write("home/keys.env", format!("ANTHROPIC_API_KEY={named}\n"));
    desk.configure("providers: { claude_code_cli: { env_file: ~/keys.env } }\n");
    let shaped = "sk-ant-api03-0123456789abcdefghijKLMN";
    desk.claude(&format!(
        "echo \"refused: key $ANTHROPIC_API_KEY and {shaped}; Authorization: Bearer abcdefgh12345678\" >&2; exit 1"
    ));
    let (run, id) = desk.deliver("Beta");
    let reason = run.lines("stage").last().expect("a stage")["reason"].to_string();
    assert!(reason.contains("[redacted] and [redacted]"), "{reason}");
    desk.quiet();
    let state = desk.axiowl.home().join(".axiowl");
    let mut looked = 0;
    for entry in std::fs::read_dir(&state).expect("state").flatten() {
        if entry.path().is_file() {
            let bytes = std::fs::read(entry.path()).expect("file");
            for secret in [named, shaped, "abcdefgh12345678"] {
                let found = bytes
                    .windows(secret.len())
                    .any(|part| part == secret.as_bytes());
                assert!(!found, "{secret} in {}", entry.path().display());
            }
            looked += 1;
        }
    }
    assert!(looked >= 3, "only {looked} files");
    assert_eq!(
        desk.stage_words(&id).last().map(String::as_str),
        Some("failed")
    );
}
