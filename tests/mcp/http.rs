//! MCP over HTTP: who may connect at all, and that a call is proven by the process at the other
//! end of its own connection, by nothing that the server inherited and by no token.

use crate::host::Who;
use crate::program::Axiowl;
use crate::web::{TOKEN, Web, request, serving};
use crate::{claude, copilot};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn listing() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} })
}

#[test]
fn without_its_token_a_server_does_not_start_or_does_not_answer() {
    let axiowl = Axiowl::new();
    let refused = |axiowl: &Axiowl, more: &[&str], part: &str| {
        let run = axiowl.run(&[&["mcp", "--http", "127.0.0.1:0"], more].concat());
        assert_eq!(run.code, 2, "{run}");
        assert!(
            run.stderr.contains(part) && !run.stderr.contains("6f1c2d"),
            "{run}"
        );
    };
    refused(&axiowl, &[], "openssl rand");
    let path = axiowl.path("token").display().to_string();
    let file = ["--token-file", path.as_str()];
    refused(&axiowl, &file, "token");
    serving(&axiowl);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("mode");
    refused(&axiowl, &file, "chmod 600");
    axiowl.write("token", &TOKEN[1..]);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("mode");
    refused(&axiowl, &file, "fewer than 32");
    let weak = Axiowl::new().with_env("AXIOWL_MCP_TOKEN", &TOKEN[1..]);
    refused(&weak, &[], "fewer than 32");
    // Everybody on the network could knock at the door otherwise.
    let owned = Axiowl::new().with_env("AXIOWL_MCP_TOKEN", TOKEN);
    let run = owned.run(&["mcp", "--http", "0.0.0.0:0"]);
    assert!(
        run.code != 0 && run.stderr.contains("no loopback address"),
        "{run}"
    );

    let web = Web::serving(owned.command(&["mcp", "--http", "127.0.0.1:0"]));
    assert!(web.post(&listing(), "").status != 401);
    let body = listing().to_string();
    let long = format!("Authorization: Bearer {TOKEN}{}\r\n", "0".repeat(8));
    let wrong = TOKEN.replace('6', "7");
    for header in [
        String::new(),
        "Authorization: Bearer\r\n".into(),
        format!("Authorization: Basic {TOKEN}\r\n"),
        format!("Authorization: Bearer {wrong}\r\n"),
        format!("X-Token: {TOKEN}\r\n"),
        long,
    ] {
        let answer = web.raw(&request(&web.address, &body, &header));
        assert_eq!(answer.status, 401, "{header}{answer:?}");
        assert!(
            answer.headers.contains("www-authenticate: bearer"),
            "{answer:?}"
        );
        assert!(!answer.body.contains("axiowl_"), "{answer:?}");
    }
}

#[test]
fn pages_other_names_and_other_paths_are_turned_away() {
    let axiowl = Axiowl::new();
    let web = Web::of(&axiowl);
    let origin = web.post(&listing(), "Origin: http://example.org\r\n");
    assert_eq!(origin.status, 403, "{origin:?}");
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let body = listing().to_string();
    // A name that an attacker made point at this machine.
    let named = web.raw(&request("rebound.example.org", &body, &bearer));
    assert_eq!(named.status, 403, "{named:?}");
    let elsewhere = request(&web.address, &body, &bearer).replace("/mcp ", "/ ");
    assert_eq!(web.raw(&elsewhere).status, 404);
}

#[test]
fn both_lifecycles_are_served_and_the_token_proves_no_session() {
    let axiowl = Axiowl::new();
    let web = Web::of(&axiowl);
    let session = web.session("claude-code");
    let tools = session.request("tools/list", json!({}));
    assert_eq!(
        tools["result"]["tools"].as_array().map(Vec::len),
        Some(5),
        "{tools}"
    );
    session
        .whoami(json!({}))
        .refused_for("claudecode~1toolUseId");
    web.session("some-host")
        .whoami(json!({}))
        .refused_for("no rule knows");

    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "claude-code", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let modern = |method: &str, name: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        let message = json!({ "jsonrpc": "2.0", "id": 3, "method": method, "params": params });
        let named = match name {
            "" => String::new(),
            name => format!("Mcp-Name: {name}\r\n"),
        };
        let headers =
            format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{named}");
        web.post(&message, &headers).message()
    };
    let found = modern("server/discover", "", json!({}));
    assert!(
        found["result"]["instructions"]
            .to_string()
            .contains("axiowl_"),
        "{found}"
    );
    let call = json!({ "name": "axiowl_whoami", "arguments": {} });
    Who::of(&modern("tools/call", "axiowl_whoami", call)).refused_for("claudecode~1toolUseId");
    // Nothing of the secret is kept anywhere but in its own file.
    let state =
        std::fs::read_to_string(axiowl.path("home/.axiowl/evidence.log")).expect("evidence");
    assert!(
        state.contains("caller_refused") && !state.contains(TOKEN),
        "{state}"
    );
    let shown = std::fs::read(format!("/proc/{}/cmdline", web.pid())).expect("arguments");
    assert!(!String::from_utf8_lossy(&shown).contains(TOKEN));
}

#[test]
fn the_process_at_the_other_end_is_the_host_and_the_servers_own_parents_are_not() {
    let scene = claude::Scene::new();
    scene.calls(claude::ONE);
    let web = Web::of(&scene.0);
    let session = web.session("claude-code");
    session
        .whoami(claude::meta(claude::CALL))
        .refused_for("no process of Claude Code");
    scene.opened(claude::ONE);
    let who = session.whoami(claude::meta(claude::CALL));
    assert_eq!(
        who.session(),
        format!("claude_code_cli:session:{}", claude::ONE)
    );
    // This test's own process is at the other end, and it has another session open.
    scene.opened(claude::TWO);
    session
        .whoami(claude::meta(claude::CALL))
        .refused_for("sender_identity_conflict");

    let axiowl = copilot::scene().with_env("COPILOT_AGENT_SESSION_ID", copilot::TWO);
    copilot::lock(&axiowl, copilot::ONE, std::process::id());
    let web = Web::of(&axiowl);
    let session = web.session("copilot-cli");
    // Somebody else's variable: the server was not started for this call.
    let who = session.whoami(copilot::hooked(&axiowl, copilot::ONE));
    assert_eq!(
        who.session(),
        format!("copilot_cli:session:{}", copilot::ONE)
    );
    session
        .whoami(copilot::hooked(&axiowl, copilot::TWO))
        .refused_for("is not open in process");
}

#[test]
fn a_process_that_only_knows_the_token_and_the_call_does_not_speak_for_the_session() {
    let axiowl = copilot::scene();
    copilot::lock(&axiowl, copilot::ONE, std::process::id());
    let web = Web::of(&axiowl);
    let session = web.session("copilot-cli");
    let meta = copilot::hooked(&axiowl, copilot::ONE);
    assert!(matches!(session.whoami(meta.clone()), Who::Proven(_)));
    // The same session of the protocol and the same words, from a process that is no child of
    // the host: a stranger's, and one that several processes share.
    let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call",
        "params": { "name": "axiowl_whoami", "arguments": {}, "_meta": meta } });
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n{}", session.headers);
    let message = request(&web.address, &call.to_string(), &bearer);
    let orphan = stranger(&web, &message, "setsid");
    assert!(orphan.contains("refused: "), "{orphan}");
    let shared = stranger(&web, &message, "cat");
    assert!(shared.contains("processes hold the other end"), "{shared}");
}

#[test]
fn another_users_process_is_refused_although_it_has_the_token() {
    if !may_become_others() {
        return;
    }
    let axiowl = copilot::scene();
    copilot::lock(&axiowl, copilot::ONE, std::process::id());
    let web = Web::of(&axiowl);
    let session = web.session("copilot-cli");
    let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
        "name": "axiowl_whoami", "arguments": {}, "_meta": copilot::hooked(&axiowl, copilot::ONE) } });
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n{}", session.headers);
    let message = request(&web.address, &call.to_string(), &bearer);
    let answer = stranger(&web, &message, "user");
    assert!(answer.contains("runs as another user"), "{answer}");
}

/// Whether this test may become somebody else; says so where it may not.
pub fn may_become_others() -> bool {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;
    let may = std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    if !may {
        let line = b"skipped: only the administrator can run a process as another user\n";
        // Through the handle, since the test runner swallows what the print macros write.
        std::io::stderr().write_all(line).expect("standard error");
    }
    may
}

/// Sends a request from another process and gives what came back.
fn stranger(web: &Web, request: &str, how: &str) -> String {
    let port = web.address.rsplit(':').next().expect("a port");
    let read = "while IFS= read -r -u 3 line; do printf '%s\\n' \"$line\"; done";
    let read = if how == "cat" { "cat <&3" } else { read };
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/$1 && printf %s \"$2\" >&3 && {read}");
    let mut command = Command::new("bash");
    command.args(["-c", &script, "bash", port, request]);
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    match how {
        "user" => drop(command.uid(65534)),
        // Its parent is gone when it speaks, so it descends from this test no more.
        "setsid" => {
            let inner = format!("{script}; echo over");
            command = Command::new("bash");
            let outer = "( setsid bash -c \"$0\" bash \"$1\" \"$2\" ) & disown; exit 0";
            command.args(["-c", outer, &inner, port, request]);
            command.stdin(Stdio::null());
        }
        _ => {}
    }
    let output = command.output().expect("bash runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_signal_ends_the_server_and_what_it_waits_for() {
    let axiowl = Axiowl::new();
    let web = Web::of(&axiowl);
    drop(web.session("some-host"));
    let start = Instant::now();
    let signal = Command::new("kill")
        .args(["-TERM", &web.pid().to_string()])
        .status();
    assert!(signal.expect("kill runs").success());
    assert!(web.ended(), "ended well");
    assert!(start.elapsed() < Duration::from_secs(20));
}
