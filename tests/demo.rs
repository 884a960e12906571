//! The demo and the path it shows, through the binary.

mod program;

use program::Axiowl;

#[test]
fn the_demo_runs_with_nothing_installed_and_ends_in_a_reply() {
    let axiowl = Axiowl::new();
    let mut command = axiowl.command(&["demo"]);
    command.env("PATH", "/nonexistent");
    let output = command.output().expect("axiowl runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // An agent answers within its turn, so the turn may end before or after the reply is told;
    // and the transcript may show a message before the door's own word arrives.
    let mut from = 0;
    for stage in ["accepted_by_axiowl", "seen", "replied"] {
        let at = text[from..]
            .find(stage)
            .unwrap_or_else(|| panic!("no {stage} after byte {from}:\n{text}"));
        from += at;
    }
    assert!(text.contains("turn_done"), "{text}");
    for name in [
        "Checkout Bot",
        "Design Review",
        "Echo",
        "echo: Are you there?",
    ] {
        assert!(text.contains(name), "{name} is missing:\n{text}");
    }
    // Archived sessions are no targets, and the user's own home got no file.
    assert!(!text.contains("Old plan"), "{text}");
    assert_eq!(std::fs::read_dir(axiowl.home()).expect("home").count(), 0);
}

#[test]
fn only_the_echo_agent_is_known_to_the_server_and_only_by_its_transcript() {
    let axiowl = Axiowl::new();
    axiowl.write(
        "home/.axiowl-echo/0190aaaa-0000-7000-8000-00000000ec40.jsonl",
        format!(
            "{{\"type\":\"session\",\"id\":\"0190aaaa-0000-7000-8000-00000000ec40\",\"name\":\"Echo\",\"cwd\":{:?}}}\n",
            axiowl.home()
        ),
    );
    assert_eq!(axiowl.run(&["discover", "echo"]).code, 0);
    let call = |client: &str, meta: &str| {
        let lines = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{{}},\"clientInfo\":{{\"name\":\"{client}\",\"version\":\"1\"}}}}}}\n\
             {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}\n\
             {{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{{\"name\":\"axiowl_send_message\",\"arguments\":{{\"to\":\"Echo\",\"body\":\"hi\"}},\"_meta\":{meta}}}}}\n"
        );
        let mut child = axiowl
            .command(&["mcp"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("axiowl runs");
        let mut input = child.stdin.take().expect("stdin");
        std::io::Write::write_all(&mut input, lines.as_bytes()).expect("write");
        // The answer has to be read before the pipe is closed: closing it ends the server.
        let output = child.stdout.take().expect("stdout");
        let answers = std::io::BufRead::lines(std::io::BufReader::new(output));
        let answer = answers
            .map(|line| line.expect("line"))
            .find(|line| line.contains("\"id\":2"))
            .expect("an answer");
        drop(input);
        child.wait().expect("wait");
        answer
    };
    let id = "\"0190aaaa-0000-7000-8000-00000000ca11\"";
    for (client, meta, why) in [
        ("some-host", "{}".to_owned(), "no rule knows"),
        ("axiowl-echo-agent", "{}".to_owned(), "echoCall"),
        (
            "axiowl-echo-agent",
            format!("{{\"axiowl/echoCall\":{id}}}"),
            "refused",
        ),
    ] {
        let answer = call(client, &meta);
        assert!(
            answer.contains("\"isError\":true") && answer.contains(why),
            "{client}: {answer}"
        );
    }
    let run = axiowl.run(&["list", "messages", "--json"]);
    assert_eq!(run.lines("message").len(), 0, "{run}");
}
