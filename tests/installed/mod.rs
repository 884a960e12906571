//! AxiOwl's server in the real clients' own configuration, and what the evidence log says of
//! those that called it.

#![allow(dead_code, reason = "each test file uses the part it needs")]

pub mod agent;
pub mod scene;

use axiowl_test_support::{ClientHome, Finished};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

const AXIOWL: &str = env!("CARGO_BIN_EXE_axiowl");
/// How long a client may wait for a tool that waits for an answer, in seconds.
const PATIENCE: u32 = 180;
/// A turn that asks another client takes as long as both of them, on a machine that is busy.
const TURN: Duration = Duration::from_secs(360);

/// The server in every client's own configuration, Copilot's hook, and the variables that a
/// resumed client needs: a server gets little of its host's environment, so they are in a file.
pub fn install(home: &ClientHome) {
    let providers = ["claude_code_cli", "copilot_cli", "opencode_cli"];
    let lines = providers.map(|provider| format!("  {provider}: {{ env_file: ~/login.env }}\n"));
    let config = format!("providers:\n{}", lines.concat());
    home.write(".config/axiowl/config.yaml", &config)
        .expect("config");
    let variables: String = home
        .env()
        .iter()
        .filter(|(name, _)| !["HOME", "PATH"].contains(&name.as_str()))
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect();
    home.write("login.env", &variables).expect("variables");

    change(home, ".claude.json", |claude| {
        claude["mcpServers"] = json!({ "axiowl": { "type": "stdio", "command": AXIOWL, "args": ["mcp"], "alwaysLoad": true } });
    });
    change(home, ".config/opencode/opencode.json", |opencode| {
        opencode["mcp"] = json!({ "axiowl": { "type": "local", "command": [AXIOWL, "mcp"], "enabled": true, "timeout": PATIENCE * 1000 } });
    });
    let path = home.path().join(".codex/config.toml");
    let text = std::fs::read_to_string(&path).expect("codex's configuration");
    // Whether Copilot can be sent to depends on its login, so whoever looks has to see that.
    let login: String = home
        .env()
        .iter()
        .filter(|(name, _)| name.starts_with("COPILOT_"))
        .map(|(name, value)| format!("{name} = {value:?}\n"))
        .collect();
    let server = format!(
        "\n[mcp_servers.axiowl]\ncommand = {AXIOWL:?}\nargs = [\"mcp\"]\ntool_timeout_sec = {PATIENCE}\nstartup_timeout_sec = 60\n\
         [mcp_servers.axiowl.env]\n{login}"
    );
    std::fs::write(&path, text + server.as_str()).expect("codex's configuration");

    let copilot = json!({ "mcpServers": { "axiowl": {
        "type": "local", "command": AXIOWL, "args": ["mcp"], "tools": ["*"], "timeout": PATIENCE * 1000 } } });
    home.write(".copilot/mcp-config.json", &copilot.to_string())
        .expect("copilot's configuration");
    let hook = json!({ "version": 1, "hooks": { "preMcpToolCall": [
        { "type": "command", "bash": format!("{AXIOWL} hook copilot"), "timeoutSec": 30 } ] } });
    home.write(".copilot/hooks/axiowl.json", &hook.to_string())
        .expect("copilot's hook");
}

/// Changes a JSON document of the home.
fn change(home: &ClientHome, below: &str, with: impl FnOnce(&mut Value)) {
    let path = home.path().join(below);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    with(&mut document);
    std::fs::write(&path, document.to_string()).expect("written");
}

/// The evidence log's lines about callers.
pub fn callers(home: &ClientHome, event: &str) -> Vec<Value> {
    let log = home.path().join(".axiowl/evidence.log");
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["event"] == event).collect()
}

/// A turn of a client, which may wait for one of another client.
pub fn turn(
    home: &ClientHome,
    program: impl AsRef<OsStr>,
    arguments: &[&str],
    cwd: &Path,
    prompt: &str,
) -> Finished {
    let run = home.run_within(TURN, program, arguments, cwd, prompt);
    run.and_then(|finished| finished.success())
        .unwrap_or_else(|error| {
            let log = home.path().join(".axiowl/evidence.log");
            let log = std::fs::read_to_string(log).unwrap_or_default();
            panic!("no turn: {error}\n{log}")
        })
}

/// A headless turn of Claude Code, with our tools allowed; the session's id.
pub fn claude(home: &ClientHome, name: &str, prompt: &str, cwd: &Path) -> String {
    let arguments = [
        "-p",
        "--name",
        name,
        "--output-format",
        "json",
        "--allowedTools",
        "mcp__axiowl",
        "Agent",
    ];
    let run = turn(home, home.clients().claude(), &arguments, cwd, prompt);
    let answer = run.json_lines();
    let session = answer.iter().find_map(|line| line["session_id"].as_str());
    session.expect("a session").to_owned()
}

/// A headless turn of a Codex thread that is there.
pub fn codex(home: &ClientHome, thread: &str, prompt: &str, cwd: &Path) {
    let arguments = [
        "exec",
        "--json",
        "--skip-git-repo-check",
        "resume",
        thread,
        "-",
    ];
    turn(home, home.clients().codex(), &arguments, cwd, prompt);
}

/// A headless turn of Copilot CLI, with our tools allowed; the session's id.
pub fn copilot(home: &ClientHome, name: &str, prompt: &str, cwd: &Path) -> String {
    let arguments = [
        "--name",
        name,
        "--allow-tool=axiowl",
        "--output-format",
        "json",
        "--no-auto-update",
    ];
    let run = turn(home, home.clients().copilot(), &arguments, cwd, prompt);
    let events = run.json_lines();
    let result = events.iter().rfind(|event| event["type"] == "result");
    let session = result.and_then(|result| result["sessionId"].as_str());
    session.expect("a session").to_owned()
}

/// A headless turn of a new OpenCode session; the session's id.
pub fn opencode(home: &ClientHome, title: &str, prompt: &str, cwd: &Path) -> String {
    home.opencode_session(title, prompt, cwd)
        .expect("a session")
}
