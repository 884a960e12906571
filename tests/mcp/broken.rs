//! What is no request, or none that a host may send: every line gets the answer that JSON-RPC
//! gives it, and the server goes on.

use crate::codex::{CLIENT, THREAD, meta};
use crate::host::Host;
use crate::program::Axiowl;
use axiowl_test_support::poll;
use serde_json::{Value, json};
use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Larger than any line may be.
const HUGE: usize = 5 << 20;

/// `id code` of the next answer.
fn told(host: &mut Host) -> String {
    let answer = host.read();
    assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
    assert!(
        answer.as_object().is_some_and(|all| all.contains_key("id")),
        "{answer}"
    );
    format!("{} {}", answer["id"], answer["error"]["code"])
}

#[test]
fn every_line_that_is_no_request_is_answered_and_the_next_one_served() {
    let axiowl = Axiowl::new();
    let mut host = Host::of(&axiowl, "some-host");
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}{}}}"#,
        "[".repeat(9_000),
        "]".repeat(9_000)
    );
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"x":"{}"}}}}"#,
        "a".repeat(HUGE)
    );
    let call = |params: Value| {
        json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": params }).to_string()
    };
    let cases = [
        ("hello".to_owned(), "null -32700"),
        (deep, "null -32700"),
        (long, "null -32700"),
        ("{}".into(), "null -32600"),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#.into(),
            "null -32600",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.into(),
            "null -32600",
        ),
        (r#"{"jsonrpc":"2.0","id":7}"#.into(), "7 -32600"),
        (
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call"}"#.into(),
            "4 -32602",
        ),
        (call(json!({ "name": 5 })), "4 -32602"),
        (
            call(json!({ "name": "axiowl_whoami", "arguments": [] })),
            "4 -32602",
        ),
        (call(json!({ "name": "no_such_tool" })), "4 -32602"),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"no/such"}"#.into(),
            "\"a\" -32601",
        ),
    ];
    for (line, expected) in cases {
        host.write_raw(line.as_bytes());
        host.write_raw(b"\n");
        assert_eq!(told(&mut host), expected, "{:.80}", line);
    }
    // Nobody answers a notification, or an answer.
    for line in [
        r#"{"jsonrpc":"2.0","method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":9,"error":"bad"}"#,
        "",
    ] {
        host.write_raw(line.as_bytes());
        host.write_raw(b"\r\n");
    }
    assert!(host.request("tools/list", json!({}))["result"]["tools"].is_array());
    assert!(host.close());
}

#[test]
fn what_comes_before_the_greeting_ends_no_server() {
    let axiowl = Axiowl::new();
    let mut host = Host::silent(axiowl.command(&["mcp"]));
    host.write_raw(b"hello\n");
    assert_eq!(told(&mut host), "null -32700");
    host.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    host.write(&json!({ "jsonrpc": "2.0", "id": 3, "result": {} }));
    let greeted = host.request("initialize", crate::host::greeting("some-host"));
    assert_eq!(
        greeted["result"]["serverInfo"]["name"], "axiowl",
        "{greeted}"
    );
    assert!(host.close());
}

/// A call whose caller is looked for as long as a client may take to write it down.
fn waits(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "axiowl_whoami", "arguments": {}, "_meta": meta(THREAD, "call_1") } })
}

#[test]
fn an_id_that_is_in_use_or_was_given_up_is_no_other_requests() {
    let axiowl = Axiowl::new();
    let mut host = Host::of(&axiowl, CLIENT);
    host.write(&waits(50));
    host.write(&waits(50));
    assert_eq!(told(&mut host), "50 -32600");
    let cancelled = json!({ "requestId": 50, "reason": "test" });
    host.write(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }),
    );
    // Its answer would look like the answer to this one.
    host.write(&json!({ "jsonrpc": "2.0", "id": 50, "method": "tools/list" }));
    assert_eq!(told(&mut host), "50 -32600");
    // Whoever has its answer may be asked again.
    for _ in 0..2 {
        host.write(&json!({ "jsonrpc": "2.0", "id": 51, "method": "tools/list" }));
        assert_eq!(host.read()["id"], 51);
    }
    let (well, rest) = host.close_and_read();
    assert!(well && rest.is_empty(), "{rest}");
}

#[test]
fn a_line_without_an_end_is_not_held_and_the_last_one_is_served() {
    let axiowl = Axiowl::new();
    let mut host = Host::of(&axiowl, "some-host");
    let before = resident(host.pid());
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        host.write_raw(&piece);
    }
    // It is answered before it ends.
    assert_eq!(told(&mut host), "null -32700");
    let grown = resident(host.pid()).saturating_sub(before);
    assert!(grown < 24 << 20, "it holds {grown} bytes more");
    host.write_raw(b"\n{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}");
    let (well, rest) = host.close_and_read();
    let answer: Value = serde_json::from_str(&rest).expect("one answer");
    assert!(well && answer["id"] == 8, "{rest}");
}

/// Bytes of memory that a process has.
fn resident(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("status");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_ascii_whitespace().next());
    number.and_then(|n| n.parse::<u64>().ok()).expect("a size") * 1024
}

#[test]
fn random_bytes_and_mutilated_requests_end_no_server() {
    // A minute and more by hand: AXIOWL_NOISE_SECONDS=60.
    let seconds = std::env::var("AXIOWL_NOISE_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(2);
    let axiowl = Axiowl::new();
    let mut command = axiowl.command(&["mcp"]);
    command.stderr(Stdio::null());
    let mut host = Host::greeting(command, "some-host");
    let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
    let (start, mut rounds) = (Instant::now(), 0_u64);
    let sound = r#"{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"axiowl_list_agents","arguments":{}}}"#;
    while start.elapsed() < Duration::from_secs(seconds) {
        rounds += 1;
        for _ in 0..20 {
            let mut line = match noise.below(3) {
                0 => (0..noise.below(300)).map(|_| noise.byte()).collect(),
                _ => sound.as_bytes().to_vec(),
            };
            for _ in 0..noise.below(4) {
                if !line.is_empty() {
                    let at = noise.below(line.len());
                    line[at] = noise.byte();
                }
            }
            line.retain(|byte| *byte != b'\n');
            line.push(b'\n');
            host.write_raw(&line);
        }
        // What it answered to the noise comes before this.
        let ours = format!("ours-{rounds}");
        host.write(&json!({ "jsonrpc": "2.0", "id": ours, "method": "ping" }));
        while host.read()["id"] != ours.as_str() {}
    }
    assert!(host.request("tools/list", json!({}))["result"]["tools"].is_array());
    assert!(host.close(), "after {rounds} rounds");
}

/// Xorshift: the same bytes each time.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % most
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[5]
    }
}

#[test]
fn what_the_server_says_into_a_file_has_no_colours() {
    let axiowl = Axiowl::new();
    let mut command = axiowl.command(&["mcp"]);
    command.env("AXIOWL_LOG", "debug").stderr(Stdio::piped());
    command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("axiowl runs");
    let mut input = child.stdin.take().expect("stdin");
    std::io::Write::write_all(&mut input, b"hello\n").expect("write");
    drop(input);
    let mut said = String::new();
    let mut errors = child.stderr.take().expect("stderr");
    errors.read_to_string(&mut said).expect("text");
    assert!(child.wait().expect("wait").success());
    assert!(
        said.contains("no request") && !said.contains('\u{1b}'),
        "{said:?}"
    );
}

/// A client may take five seconds to write a call down.
const SOON: Duration = Duration::from_secs(3);

/// Threads of a process that sleep and look again and again: each nap is a switch it wanted.
fn napping(pid: u32) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("threads");
    let naps = threads.filter_map(|thread| {
        let path = thread.ok()?.path().join("status");
        let text = std::fs::read_to_string(path).ok()?;
        let mut lines = text.lines();
        let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        count.trim().parse::<u64>().ok()
    });
    naps.filter(|count| *count > 20).count()
}

#[test]
fn the_wait_for_a_caller_ends_with_the_host_and_with_a_signal() {
    let axiowl = Axiowl::new();
    for signal in [false, true] {
        let mut host = Host::of(&axiowl, CLIENT);
        for id in 100..106 {
            host.write(&waits(id));
        }
        // Another call is answered meanwhile, and its answer is the first to come.
        let start = Instant::now();
        let listed = host.request("tools/call", json!({ "name": "axiowl_list_agents" }));
        assert_eq!(listed["result"]["isError"], false, "{listed}");
        assert!(
            start.elapsed() < Duration::from_secs(4),
            "{:?}",
            start.elapsed()
        );
        let naps = poll(Duration::from_secs(60), || {
            (napping(host.pid()) >= 6).then_some(())
        });
        assert!(naps.is_some(), "nobody waits");
        let start = Instant::now();
        let well = if signal {
            let pid = rustix::process::Pid::from_raw(host.pid() as i32).expect("a process");
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told");
            host.ended()
        } else {
            host.close_and_read().0
        };
        let took = start.elapsed();
        assert!(well && took < SOON, "signal {signal}: {took:?}");
    }
}

#[test]
fn a_cancelled_wait_for_a_caller_makes_room_for_the_next() {
    let axiowl = Axiowl::new();
    let mut host = Host::of(&axiowl, CLIENT);
    let start = Instant::now();
    // Each of them would wait five seconds, and a few dozen may wait at once.
    for id in 1000..1320 {
        host.write(&waits(id));
        let cancelled = json!({ "requestId": id });
        host.write(
            &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }),
        );
    }
    let who = host.call("axiowl_whoami", json!({}), json!({}));
    assert_eq!(who["result"]["isError"], true, "{who}");
    let took = start.elapsed();
    assert!(took < Duration::from_secs(15), "{took:?}");
    assert!(host.close());
}
