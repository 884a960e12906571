//! The built binary on a real client's home, with the client's login in its configuration.

#![allow(dead_code, reason = "each test file uses the part it needs")]

use crate::program::Run;
use axiowl_test_support::ClientHome;
use serde_json::Value;
use std::process::{Command, Stdio};

/// Which variables each client's login stands in.
const CONFIG: &str = "providers:
  claude_code_cli:
    env: [ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC,
          DISABLE_AUTOUPDATER, DISABLE_TELEMETRY, DISABLE_ERROR_REPORTING, IS_SANDBOX]
  copilot_cli:
    env: [COPILOT_OFFLINE, COPILOT_PROVIDER_BASE_URL, COPILOT_PROVIDER_API_KEY, COPILOT_MODEL]
  gemini_cli:
    env: [GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL]
  opencode_cli:
    env: [OPENCODE_DISABLE_AUTOUPDATE, OPENCODE_DISABLE_MODELS_FETCH]
";

/// Runs the binary as the owner of a client's home.
pub fn axiowl(home: &ClientHome, arguments: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_axiowl"))
        .env_clear()
        .envs(home.env())
        .env("NO_COLOR", "1")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("axiowl runs");
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// AxiOwl on a client's home, with the client's login variables named in its configuration.
pub struct Owl<'a> {
    home: &'a ClientHome,
}

impl<'a> Owl<'a> {
    /// Names the login variables in the home's configuration.
    pub fn new(home: &'a ClientHome) -> Self {
        home.write(".config/axiowl/config.yaml", CONFIG)
            .expect("config");
        Self { home }
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        axiowl(self.home, arguments)
    }

    pub fn discover(&self) -> Vec<Value> {
        let run = self.run(&["discover", "all", "--json"]);
        assert_eq!(run.code, 0, "{run}");
        run.lines("discovered_agent")
    }

    /// Sends and waits for the end of the turn; the stages that were reached.
    pub fn send(&self, to: &str, body: &str) -> (Run, Vec<Value>) {
        let run = self.run(&[
            "send",
            "--to",
            to,
            "--body",
            body,
            "--wait",
            "turn",
            "--timeout",
            "120s",
            "--json",
        ]);
        let lines = run.lines("stage");
        (run, lines)
    }
}

/// The names of the stages that were reached.
pub fn stages(lines: &[Value]) -> Vec<&str> {
    lines
        .iter()
        .filter_map(|line| line["stage"].as_str())
        .collect()
}

/// The line that the evidence of a stage points at.
pub fn proven_line(home: &ClientHome, line: &Value) -> Value {
    let path = line["evidence"]["path"]
        .as_str()
        .unwrap_or_else(|| panic!("no path: {line}"));
    let offset =
        usize::try_from(line["evidence"]["offset"].as_u64().expect("an offset")).expect("in range");
    assert!(
        path.starts_with(home.path().to_str().expect("text")),
        "{path} is not in the client's home"
    );
    let bytes = std::fs::read(path).expect("the transcript");
    let end = bytes[offset..]
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(bytes.len(), |end| offset + end);
    serde_json::from_slice(&bytes[offset..end]).expect("a record")
}

/// The line of a stage that must have been reached.
pub fn stage<'l>(lines: &'l [Value], name: &str) -> &'l Value {
    let found = lines.iter().find(|line| line["stage"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {lines:?}"))
}

/// The row of a session that must have been discovered.
pub fn row<'r>(rows: &'r [Value], session: &str) -> &'r Value {
    let found = rows
        .iter()
        .find(|row| row["provider_session_id"] == session);
    found.unwrap_or_else(|| panic!("{session} is not discovered: {rows:?}"))
}
