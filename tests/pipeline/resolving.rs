//! Who is meant, who sends, and what is said when that is not clear or not allowed.

use crate::desk::{Desk, message_id};
use crate::program::Run;
use serde_json::Value;

#[test]
fn c144_the_newest_of_two_names_is_used_and_said_and_strict_refuses() {
    let desk = Desk::with(&["Beta", "Beta"]);
    let run = desk.send("Beta", &[]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(
        run.lines("stage")[0]["also_matching"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert!(
        run.stderr.contains("also fits claude_code_cli:local:"),
        "{run}"
    );
    let strict = desk.send("Beta", &["--strict"]);
    assert_eq!(strict.code, 4, "{strict}");
    let line = &strict.lines("stage")[0];
    assert_eq!(
        (&line["stage"], &line["code"]),
        (&"refused".into(), &"ambiguous_target".into())
    );
    assert_eq!(
        line["also_matching"].as_array().map(Vec::len),
        Some(2),
        "{strict}"
    );
    desk.configure("ambiguity: refuse\n");
    assert_eq!(desk.send("Beta", &[]).code, 4);
    let exact = desk.send(&Desk::id(0), &["--wait", "turn"]);
    assert_eq!(exact.code, 0, "an id is no name: {exact}");
    assert_eq!(desk.copies(0, &message_id(&exact)), 1);
    // The same for a sender.
    let run = desk.send(&Desk::id(1), &["--from", "Beta"]);
    assert!(run.stderr.contains("\"Beta\" also fits"), "{run}");
    desk.quiet();
}

#[test]
fn c204_c205_a_rejection_says_what_was_seen_and_what_is_near() {
    let desk = Desk::with(&["Design Review"]);
    let run = desk.send("Desing Review", &[]);
    assert_eq!(run.code, 3, "{run}");
    let line = &run.lines("stage")[0];
    assert_eq!(
        (&line["stage"], &line["code"]),
        (&"refused".into(), &"no_such_target".into())
    );
    assert_eq!(line["near"][0], "Design Review", "{run}");
    let scopes = line["discovery"]["scopes"].as_array().expect("scopes");
    let looked = |scope: &Value| scope["provider"] == "claude_code_cli" && scope["found"] == 0;
    assert!(scopes.iter().any(looked), "{run}");
    assert_eq!(
        line["discovery"]["remote"], "remote discovery is out of scope",
        "C343"
    );
    let plain = desk.run(&["send", "--to", "Desing Review", "--body", "x"]);
    assert!(
        plain.stderr.contains("did you mean `Design Review`?"),
        "{plain}"
    );
    let lines: Vec<_> = plain.stderr.lines().collect();
    assert!(lines.len() <= 8, "a few lines: {plain}");
    assert_eq!(lines[0], "error: no agent matches `Desing Review`");
    assert!(
        lines[1].starts_with("  targeted discovery found 0 that fit in "),
        "C205: {plain}"
    );

    std::fs::remove_dir_all(desk.axiowl.home().join("work")).expect("folder");
    desk.discover();
    let run = desk.send("Design Review", &[]);
    assert_eq!(run.code, 5, "{run}");
    let line = &run.lines("stage")[0];
    assert_eq!(line["code"], "target_not_sendable", "{run}");
    assert_eq!(line["provider"], "claude_code_cli", "{run}");
    assert!(
        line["provider_session_id"]
            .to_string()
            .contains(&Desk::id(0)),
        "{run}"
    );
    assert!(
        line["reason"].to_string().contains("folder is gone"),
        "its last error: {run}"
    );
    assert!(
        desk.run(&["list", "messages", "--json"])
            .lines("message")
            .is_empty()
    );
}

#[test]
fn c201_a_session_that_nobody_discovered_yet_is_found_by_the_one_targeted_pass() {
    let desk = Desk::new();
    desk.session("Beta", 0);
    let (run, id) = desk.deliver("Beta");
    assert_eq!(run.code, 0, "{run}");
    desk.quiet();
    let log = desk.axiowl.home().join(".axiowl/evidence.log");
    let text = std::fs::read_to_string(log).expect("log");
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let of = |event: &str| {
        let place = events.iter().position(|line| line["event"] == event);
        place.unwrap_or_else(|| panic!("no {event}"))
    };
    let order = [
        "request",
        "target_missing",
        "targeted_pass",
        "target_resolved",
        "accepted",
        "lease_taken",
    ];
    assert!(order.map(of).is_sorted(), "C203: {text}");
    let passes = events
        .iter()
        .filter(|line| line["event"] == "targeted_pass");
    assert_eq!(passes.count(), 1);
    let resolved = &events[of("target_resolved")];
    assert_eq!(resolved["node_id"], "local", "C206");
    assert_eq!(resolved["message_id"], id.as_str(), "C196");
}

#[test]
fn c154_c166_senders_of_the_command_line_are_claimed_and_never_invented() {
    let desk = Desk::with(&["Alpha", "Beta"]);
    let header = |from: &[&str]| {
        let run = desk.send("Beta", &[from, &["--dry-run"]].concat());
        assert_eq!(run.code, 0, "{run}");
        let body = run.lines("dry_run")[0]["visible_body"].clone();
        let line = body
            .as_str()
            .expect("text")
            .lines()
            .next()
            .expect("a line")
            .to_owned();
        line.split_once("] from ").expect("a sender").1.to_owned()
    };
    assert!(header(&[]).starts_with("\"operator\" (axiowl, claimed);"));
    for alpha in ["Alpha", "Alpha agent", &Desk::id(0)] {
        let header = header(&["--from", alpha]);
        assert!(
            header.starts_with("\"Alpha\" (claude_code_cli, claimed);"),
            "{alpha}: {header}"
        );
    }
    assert!(header(&["--from", "Build Bot"]).starts_with("\"Build Bot\" (axiowl, claimed);"));
    let run = desk.send(
        "Beta",
        &[
            "--from",
            "codex-thread:0190aaaa-0000-4000-8000-00000000ffff",
        ],
    );
    assert_eq!(run.code, 6, "{run}");
    assert!(
        run.stdout
            .contains("sender session did not match a registered AxiOwl sender"),
        "{run}"
    );
}

#[test]
fn guards_refuse_with_how_long_or_how_much_and_come_from_the_configuration() {
    let desk = Desk::with(&["Alpha", "Beta"]);
    desk.configure("limits: { body: 10, pair_per_minute: 2, target_per_minute: 3 }\n");
    let refused = |run: &Run, code: &str, parts: &[&str]| {
        assert_eq!(run.code, 5, "{run}");
        let line = &run.lines("stage")[0];
        assert_eq!(line["code"], code, "{run}");
        for part in parts {
            assert!(line["reason"].to_string().contains(part), "{part}: {run}");
        }
    };
    let run = desk.run(&["send", "--to", "Beta", "--body", "12345678901", "--json"]);
    refused(&run, "body_too_large", &["11 bytes", "at most 10"]);
    let run = desk.send("Beta", &["--from", "Beta"]);
    refused(&run, "self_send", &["itself"]);
    for _ in 0..2 {
        assert_eq!(desk.send("Beta", &[]).code, 0);
    }
    refused(
        &desk.send("Beta", &[]),
        "rate_limit",
        &["operator", "the next one may go in", " s"],
    );
    assert_eq!(desk.send("Beta", &["--from", "Alpha"]).code, 0);
    refused(
        &desk.send("Beta", &["--from", "Bot"]),
        "target_rate_limit",
        &["at most 3 messages within 60 s", "the next one may go in"],
    );
    assert_eq!(desk.send("Alpha", &[]).code, 0, "others are not touched");
    desk.quiet();
}

#[test]
fn a_chain_through_several_sends_is_seen_and_named() {
    let desk = Desk::with(&["Alpha", "Beta", "Gamma"]);
    let pass_on =
        |to: &str, from: &str, cause: &str| desk.send(to, &["--from", from, "--reply-to", cause]);
    let first = message_id(&desk.send("Beta", &["--from", "Alpha"]));
    let second = message_id(&pass_on("Gamma", "Beta", &first));
    let circle = pass_on("Alpha", "Gamma", &second);
    assert_eq!(circle.code, 5, "{circle}");
    let line = &circle.lines("stage")[0];
    assert_eq!(line["code"], "hop_circle", "{circle}");
    let reason = line["reason"].to_string();
    let chain = format!(
        "Alpha > Beta > Gamma > claude_code_cli:local:claude_code_cli:session:{}",
        Desk::id(0)
    );
    assert!(reason.contains(&chain), "{reason}");
    assert_eq!(
        pass_on("Beta", "Gamma", &second).code,
        0,
        "an answer is no circle"
    );

    desk.configure("limits: { hops: 1 }\n");
    let long = pass_on("Alpha", "Gamma", &second);
    assert_eq!(long.code, 5, "{long}");
    desk.session("Delta", 3);
    desk.discover();
    let long = pass_on("Delta", "Gamma", &second);
    let line = &long.lines("stage")[0];
    assert_eq!(
        (long.code, &line["code"]),
        (5, &"hop_limit".into()),
        "{long}"
    );
    assert!(
        line["reason"].to_string().contains("Alpha > Beta"),
        "{long}"
    );
    desk.quiet();
}
