//! kill -9 of the real send and the real worker: nothing accepted is lost, nothing is there
//! twice, and what the receipt says is true.

use crate::desk::{Desk, message_id, words};
use axiowl_test_support::poll;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Kills processes of this desk by their ids.
fn kill(pids: &[u32]) {
    for pid in pids {
        let killed = Command::new("kill").arg("-9").arg(pid.to_string()).output();
        killed.expect("kill runs");
    }
}

/// Processes of a desk whose command line holds a word.
fn of(desk: &Desk, word: &str) -> Vec<u32> {
    let all = desk.processes().into_iter();
    all.filter(|(_, line)| line.contains(word))
        .map(|(pid, _)| pid)
        .collect()
}

/// Starts whatever waits, until everything has come to an end.
fn finish(desk: &Desk) -> Vec<serde_json::Value> {
    let mut left = Vec::new();
    let done = poll(Duration::from_secs(90), || {
        let status = desk.run(&[]);
        assert_eq!(status.code, 0, "{status}");
        let list = desk.run(&["list", "messages", "--all", "--json"]);
        left = list.lines("message");
        let over = |stage: &str| !matches!(stage, "accepted_by_axiowl" | "submitted" | "seen");
        left.iter()
            .all(|message| over(message["stage"].as_str().unwrap_or_default()))
            .then_some(())
    });
    assert!(done.is_some(), "{left:?}");
    desk.quiet();
    left
}

#[test]
fn a_send_that_is_killed_at_any_moment_left_its_message_whole_or_not_at_all() {
    let desk = Desk::with(&["Beta"]);
    desk.configure("limits: { pair_per_minute: 1000, target_per_minute: 1000 }\n");
    // How long a send takes here, so that the kills walk through all of it.
    let begin = Instant::now();
    assert_eq!(desk.send("Beta", &[]).code, 0);
    let (whole, rounds) = (begin.elapsed(), 24);
    for round in 0..rounds {
        let mut child = desk
            .axiowl
            .command(&["send", "--to", "Beta", "--body", &format!("round {round}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("axiowl runs");
        let moment = Instant::now() + whole * 5 / 4 * round / rounds;
        while Instant::now() < moment && child.try_wait().expect("wait").is_none() {
            std::hint::spin_loop();
        }
        child.kill().expect("kill");
        child.wait().expect("wait");
    }
    let messages = finish(&desk);
    // The first was killed before it could be anything, and some of the last had time enough.
    assert!(
        messages.len() > 1 && messages.len() <= rounds as usize,
        "{messages:?}"
    );
    for message in &messages {
        let id = message["message_id"].as_str().expect("an id");
        assert_eq!(message["stage"], "turn_done", "{message}");
        assert_eq!(desk.copies(0, id), 1, "{message}");
    }
    let input = std::fs::read_to_string(desk.axiowl.home().join("input")).expect("input");
    assert_eq!(
        input.lines().count(),
        messages.len(),
        "nothing was handed over twice"
    );
}

/// The stand-in stops at a point until it is told to go on.
const POINTS: [(&str, &str); 3] = [
    (
        "before it writes",
        "STOP; init; echo_back; record; end; result",
    ),
    (
        "after it wrote",
        "init; echo_back; record; STOP; end; result",
    ),
    (
        "after the turn",
        "init; echo_back; record; end; STOP; result",
    ),
];

fn stopping(script: &str) -> String {
    let stop = "echo x > \"$H/at\"; until [ -e \"$H/go\" ]; do sleep 0.05; done";
    // Whoever listened to it may be dead; it works on.
    format!("trap '' PIPE; {}", script.replace("STOP", stop))
}

fn at_the_point(desk: &Desk) {
    let at = desk.axiowl.home().join("at");
    let there = poll(Duration::from_secs(60), || at.exists().then_some(()));
    assert!(there.is_some(), "the stand-in never came to its point");
}

#[test]
fn a_worker_that_is_killed_while_its_program_works_is_followed_and_nothing_is_doubled() {
    for (point, script) in POINTS {
        let desk = Desk::with(&["Beta"]);
        desk.claude(&stopping(script));
        let id = message_id(&desk.send("Beta", &[]));
        at_the_point(&desk);
        kill(&of(&desk, " worker "));
        // Its program goes on: nobody cancels what a model may be doing.
        let next = message_id(&desk.send("Beta", &[]));
        desk.axiowl.write("home/go", "");
        let messages = finish(&desk);
        assert_eq!(messages.len(), 2);
        for message in [&id, &next] {
            assert_eq!(desk.copies(0, message), 1, "{point}");
            let stages = desk.stage_words(message);
            assert_eq!(
                stages.last().map(String::as_str),
                Some("turn_done"),
                "{point}: {stages:?}"
            );
        }
        let input = std::fs::read_to_string(desk.axiowl.home().join("input")).expect("input");
        assert_eq!(input.lines().count(), 2, "{point}");
    }
}

#[test]
fn when_the_program_dies_with_its_worker_the_store_decides() {
    for (point, script, written) in [
        ("before it writes", POINTS[0].1, false),
        ("after it wrote", POINTS[1].1, true),
    ] {
        let desk = Desk::with(&["Beta"]);
        desk.claude(&stopping(script));
        let id = message_id(&desk.send("Beta", &[]));
        at_the_point(&desk);
        kill(&[of(&desk, " worker "), of(&desk, "--resume")].concat());
        desk.claude("good");
        let resumed = desk.run(&[]);
        assert!(
            resumed.stdout.contains("deliveries resumed  1"),
            "{point}: {resumed}"
        );
        desk.quiet();
        assert_eq!(desk.copies(0, &id), 1, "{point}");
        let stages = desk.stage_words(&id);
        let last = stages.last().map(String::as_str);
        // Written and never finished: its turn was broken off.
        let expected = if written { "failed" } else { "turn_done" };
        assert_eq!(last, Some(expected), "{point}: {stages:?}");
        let input = std::fs::read_to_string(desk.axiowl.home().join("input")).expect("input");
        let handed_over = if written { 1 } else { 2 };
        assert_eq!(input.lines().count(), handed_over, "{point}");
    }
}

#[test]
fn workers_that_are_killed_at_any_moment_deliver_everything_once_in_the_end() {
    let desk = Desk::with(&["Beta", "Gamma"]);
    desk.configure("limits: { pair_per_minute: 1000, target_per_minute: 1000 }\n");
    let (mut sent, mut hit) = (Vec::new(), 0);
    for round in 0..16_u32 {
        let to = ["Beta", "Gamma"][round as usize % 2];
        sent.push((round as usize % 2, message_id(&desk.send(to, &[]))));
        // The kill walks through the worker's work, round by round.
        let moment = Instant::now() + Duration::from_millis(8) * round;
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        let workers = of(&desk, " worker ");
        hit += usize::from(!workers.is_empty());
        kill(&workers);
        // A message over which five of them died would be given up, rightly so.
        if round % 4 == 3 {
            finish(&desk);
        }
    }
    assert!(hit > 0, "no kill met a worker");
    let messages = finish(&desk);
    assert_eq!(messages.len(), sent.len());
    for (session, id) in &sent {
        let lines = desk.stages(id);
        assert_eq!(desk.copies(*session, id), 1, "{lines:?}");
        let last = words(&lines).pop();
        assert_eq!(last.as_deref(), Some("turn_done"), "{lines:?}");
    }
}
