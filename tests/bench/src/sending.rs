//! What a message costs: `send` until it is accepted, and the worker that delivers it, without
//! what the provider's own program takes.
//!
//! The home has two thousand Claude Code sessions and a registry that knows them all; the
//! program that resumes them is a few lines of shell that keep the transcript.

use crate::Failure;
use crate::measure::{Cost, Job, median};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const SESSIONS: usize = 2_000;
/// Records of a transcript, about 1 KB each.
const RECORDS: usize = 30;

/// Answers AxiOwl's questions, and puts a message into its session's transcript.
const PROGRAM: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "2.1.332 (Claude Code)"; exit 0; fi
if [ "$1 $2" = "auth status" ]; then echo '{"loggedIn":true}'; exit 0; fi
S=$3; T="$HOME/.claude/projects/-p/$S.jsonl"
IFS= read -r line || :; uuid=${line#*\"uuid\":\"}; uuid=${uuid%%\"*}
echo "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"$S\"}"
echo "{\"type\":\"user\",\"uuid\":\"$uuid\",\"isReplay\":true,\"session_id\":\"$S\"}"
echo "{\"type\":\"user\",\"uuid\":\"$uuid\",\"isSidechain\":false,\"sessionId\":\"$S\",\"message\":{\"role\":\"user\",\"content\":\"[AxiOwl $uuid]\"}}" >> "$T"
echo "{\"type\":\"assistant\",\"isSidechain\":false,\"isApiErrorMessage\":false,\"sessionId\":\"$S\",\"message\":{\"role\":\"assistant\",\"stop_reason\":\"end_turn\",\"content\":[]}}" >> "$T"
echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":1,\"session_id\":\"$S\",\"result\":\"fine\"}"
"#;

/// Sends to one session after the other, and delivers what was sent.
pub fn run(axiowl: &Path, rounds: usize) -> Result<String, Failure> {
    let own = tempfile::tempdir()?;
    let own = own.path();
    store(own)?;
    let job = |args: &[&str]| {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let program = axiowl;
        Job { program, args, own }.run()
    };
    job(&["discover", "claude-code-cli"])?;
    // The log of workers cannot be opened, so that none is started.
    let log = own.join("state/axiowl/worker.log");
    fs::create_dir_all(&log)?;
    let (mut start, mut send) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        start.push(job(&["--version"])?);
        let to = session(round * 37 % SESSIONS);
        send.push(job(&["send", "--to", &to, "--body", "hello"])?);
    }
    fs::remove_dir(&log)?;
    let (mut worker, mut program) = (Vec::new(), Vec::new());
    for (id, session) in messages(axiowl, own)? {
        worker.push(job(&["worker", "--message", &id])?);
        program.push(provider(own, &session)?);
    }
    for (id, session) in messages(axiowl, own)? {
        let path = own.join(format!(".claude/projects/-p/{session}.jsonl"));
        if !fs::read_to_string(path)?.contains(&format!("[AxiOwl {id}]")) {
            return Err(format!("message {id} did not arrive").into());
        }
    }
    let ms = |costs: &[Cost]| median(costs).cpu * 1e3;
    let mut out = String::new();
    writeln!(
        out,
        "{SESSIONS} sessions and registry rows, median of {rounds}, CPU of whole processes\n\n\
         | what | CPU ms | bar |\n|---|---|---|\n\
         | `--version` | {:.1} | |\n\
         | `send` until accepted | {:.1} | 20 |\n\
         | worker with the provider's program | {:.1} | |\n\
         | the program alone | {:.1} | |\n\
         | worker, per message | {:.1} | 30 |",
        ms(&start),
        ms(&send),
        ms(&worker),
        ms(&program),
        ms(&worker) - ms(&program)
    )?;
    Ok(out)
}

fn session(number: usize) -> String {
    format!("0190aaaa-0000-4000-8000-{number:012}")
}

/// The sessions, the program and the configuration.
fn store(own: &Path) -> Result<(), Failure> {
    let folder = own.join(".claude/projects/-p");
    let work = own.join("work");
    for path in [&folder, &work, &own.join("config/axiowl")] {
        fs::create_dir_all(path)?;
    }
    let words = "word ".repeat(150);
    for number in 0..SESSIONS {
        let id = session(number);
        let title = json!({ "type": "custom-title", "customTitle": format!("Agent {number}"), "sessionId": id });
        let mut text = format!("{title}\n");
        for record in 0..RECORDS {
            let kind = if record % 2 == 0 { "user" } else { "assistant" };
            let record = json!({
                "type": kind, "uuid": format!("0190bbbb-{record:04}-4000-8000-{number:012}"),
                "isSidechain": false, "sessionId": id, "cwd": work, "version": "2.1.332",
                "entrypoint": "cli", "timestamp": "2026-11-30T10:00:00.000Z",
                "message": { "role": kind, "content": words },
            });
            writeln!(text, "{record}")?;
        }
        fs::write(folder.join(format!("{id}.jsonl")), text)?;
    }
    let program = own.join("claude");
    // By a process that has ended when the program is run: one that is open for writing cannot be.
    let written = Command::new("/bin/sh")
        .args(["-c", "printf %s \"$1\" > \"$0\" && chmod +x \"$0\""])
        .arg(&program)
        .arg(PROGRAM)
        .status()?;
    if !written.success() {
        return Err("the program cannot be written".into());
    }
    let config = format!("executables: {{ claude: {} }}\n", program.display());
    fs::write(own.join("config/axiowl/config.yaml"), config)?;
    Ok(())
}

/// Id and session of every message.
fn messages(axiowl: &Path, own: &Path) -> Result<Vec<(String, String)>, Failure> {
    let listed = Command::new(axiowl)
        .args(["list", "messages", "--all", "--json"])
        .env("HOME", own)
        .env("XDG_STATE_HOME", own.join("state"))
        .env("XDG_CONFIG_HOME", own.join("config"))
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8(listed.stdout)?;
    let mut out = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line)?;
        let word = |key: &str| line[key].as_str().map(str::to_owned);
        if let (Some(id), Some(session)) = (word("message_id"), word("agent_id")) {
            let bare = session.rsplit(':').next().unwrap_or_default().to_owned();
            out.push((id, bare));
        }
    }
    Ok(out)
}

/// What the provider's program takes for a delivery: two questions before it, and its turn.
fn provider(own: &Path, session: &str) -> Result<Cost, Failure> {
    let program = own.join("claude");
    let job = |args: &[&str]| {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let program = &program;
        Job { program, args, own }.run()
    };
    let asked = [job(&["--version"])?, job(&["auth", "status"])?];
    let turn = job(&["-p", "--resume", session])?;
    Ok(Cost {
        cpu: asked.iter().map(|cost| cost.cpu).sum::<f64>() + turn.cpu,
        peak: turn.peak,
    })
}
