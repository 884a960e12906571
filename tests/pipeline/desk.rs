//! A home with Claude Code sessions, and a stand-in for the program that resumes them. What it
//! does with a message is a few lines of shell.

use crate::program::{Axiowl, Run};
use axiowl_test_support::poll;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Notes how it was started, answers questions, reads the message, and then does what it is
/// told. It knows `$uuid` (the message), `$SESSION`, `$T` (its transcript) and `$H` (the home).
const CLAUDE: &str = r#"#!/bin/sh
H=$HOME
if [ "$1" = --version ]; then echo "2.1.332 (Claude Code)"; exit 0; fi
if [ "$1 $2" = "auth status" ]; then echo '{"loggedIn":true}'; exit 0; fi
SESSION=$3
T="$H/.claude/projects/-p/$SESSION.jsonl"
IFS= read -r line; printf '%s\n' "$line" >> "$H/input"
uuid=${line#*\"uuid\":\"}; uuid=${uuid%%\"*}
init() { echo "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"$SESSION\"}"; }
echo_back() { echo "{\"type\":\"user\",\"uuid\":\"$uuid\",\"isReplay\":true,\"session_id\":\"$SESSION\"}"; }
record() { echo "{\"type\":\"user\",\"uuid\":\"$uuid\",\"isSidechain\":false,\"sessionId\":\"$SESSION\",\"message\":{\"role\":\"user\",\"content\":\"[AxiOwl $uuid]\"}}" >> "${1:-$T}"; }
end() { echo "{\"type\":\"assistant\",\"isSidechain\":false,\"isApiErrorMessage\":${1:-false},\"sessionId\":\"$SESSION\",\"message\":{\"role\":\"assistant\",\"stop_reason\":\"end_turn\",\"content\":[]}}" >> "$T"; }
result() { echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":${1:-false},\"num_turns\":1,\"session_id\":\"${2:-$SESSION}\",\"result\":\"fine\"}"; }
good() { init; echo_back; record; end; result; }
"#;

/// A home and the stand-in.
pub struct Desk {
    pub axiowl: Axiowl,
}

impl Desk {
    /// Nobody is there yet; whoever comes takes messages as it should.
    pub fn new() -> Self {
        let axiowl = Axiowl::new();
        for folder in [".claude/sessions", ".claude/projects/-p", "work"] {
            std::fs::create_dir_all(axiowl.home().join(folder)).expect("folder");
        }
        let desk = Self { axiowl };
        desk.configure("");
        desk.claude("good");
        desk
    }

    /// A desk with sessions of those names, which discovery has enrolled.
    pub fn with(names: &[&str]) -> Self {
        let desk = Self::new();
        for (number, name) in names.iter().enumerate() {
            desk.session(name, number);
        }
        desk.discover();
        desk
    }

    /// The id of the session with that number.
    pub fn id(number: usize) -> String {
        format!("0190aaaa-0000-4000-8000-{number:012}")
    }

    /// Writes the transcript of a session.
    pub fn session(&self, name: &str, number: usize) {
        let (id, cwd) = (Self::id(number), self.axiowl.home().join("work"));
        let title = json!({ "type": "custom-title", "customTitle": name, "sessionId": id });
        let first = json!({
            "type": "user", "uuid": Self::id(number + 1_000_000), "isSidechain": false,
            "sessionId": id, "cwd": cwd, "version": "2.1.332", "entrypoint": "cli",
            "message": { "role": "user", "content": "hello" },
        });
        std::fs::write(self.transcript(number), format!("{title}\n{first}\n")).expect("session");
    }

    pub fn transcript(&self, number: usize) -> PathBuf {
        let below = format!(".claude/projects/-p/{}.jsonl", Self::id(number));
        self.axiowl.home().join(below)
    }

    /// How often a message stands in a session's transcript.
    pub fn copies(&self, number: usize, message: &str) -> usize {
        let text = std::fs::read_to_string(self.transcript(number)).expect("transcript");
        text.matches(&format!("\"uuid\":\"{message}\"")).count()
    }

    /// The configuration: further keys beside the stand-in's place.
    pub fn configure(&self, more: &str) {
        let claude = self.axiowl.path("claude");
        self.axiowl.write(
            "home/.config/axiowl/config.yaml",
            format!("executables: {{ claude: {} }}\n{more}", claude.display()),
        );
    }

    /// Installs the stand-in.
    pub fn claude(&self, does: &str) {
        self.install(&format!("{CLAUDE}{does}\n"));
    }

    /// Installs a program as the stand-in.
    pub fn install(&self, script: &str) {
        // By another process: a file that this one has open for writing, even in a child that
        // another test has just forked, cannot be run.
        let mut writer = Command::new("/bin/sh")
            .args([
                "-c",
                "cat > \"$0.new\" && chmod +x \"$0.new\" && mv \"$0.new\" \"$0\"",
            ])
            .arg(self.axiowl.path("claude"))
            .stdin(Stdio::piped())
            .spawn()
            .expect("sh runs");
        let mut input = writer.stdin.take().expect("stdin");
        input.write_all(script.as_bytes()).expect("script");
        drop(input);
        assert!(writer.wait().expect("wait").success());
    }

    pub fn discover(&self) {
        let run = self.axiowl.run(&["discover", "claude-code-cli"]);
        assert_eq!(run.code, 0, "{run}");
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        self.axiowl.run(arguments)
    }

    /// Sends as JSON, with further arguments.
    pub fn send(&self, to: &str, more: &[&str]) -> Run {
        self.run(&[&["send", "--to", to, "--body", "hello", "--json"], more].concat())
    }

    /// Sends and waits for the end of the turn; the run, and the message's id.
    pub fn deliver(&self, to: &str) -> (Run, String) {
        let run = self.send(to, &["--wait", "turn", "--timeout", "60s"]);
        let id = message_id(&run);
        (run, id)
    }

    /// Sends while no worker can be started: their log cannot be opened. It waits afterwards.
    pub fn send_and_leave(&self, to: &str) -> String {
        let log = self.state("worker.log");
        if log.is_file() {
            std::fs::remove_file(&log).expect("log");
        }
        std::fs::create_dir_all(&log).expect("folder");
        let run = self.send(to, &[]);
        std::fs::remove_dir(&log).expect("folder");
        assert_eq!(run.code, 0, "{run}");
        message_id(&run)
    }

    /// A path in the state folder.
    pub fn state(&self, below: &str) -> PathBuf {
        self.axiowl.home().join(".axiowl").join(below)
    }

    /// Moves every time of the ledger: what was written looks as if the clock had jumped since.
    pub fn shift(&self, millis: i64) {
        let db = rusqlite::Connection::open(self.state("messages.db")).expect("database");
        let sql = format!(
            "UPDATE messages SET created_at = created_at + {millis}, expires_at = expires_at + {millis};
             UPDATE stages SET at = at + {millis};
             UPDATE deliveries SET began_at = began_at + {millis}, ended_at = ended_at + {millis},
               lease_expires_at = lease_expires_at + {millis};"
        );
        db.execute_batch(&sql).expect("sql");
    }

    /// The ledger's stages of a message.
    pub fn stages(&self, message: &str) -> Vec<Value> {
        self.run(&["message", message, "--json"]).lines("stage")
    }

    pub fn stage_words(&self, message: &str) -> Vec<String> {
        words(&self.stages(message))
    }

    /// Waits until the last stage of a message is one of these.
    pub fn until(&self, message: &str, stages: &[&str]) -> Vec<Value> {
        let mut last = Vec::new();
        let came = poll(Duration::from_secs(60), || {
            last = self.stages(message);
            let word = last.last().map(|line| line["stage"].clone());
            word.is_some_and(|word| stages.iter().any(|stage| word == *stage))
                .then_some(())
        });
        assert!(came.is_some(), "never {stages:?}: {last:?}");
        last
    }

    /// Processes that were started with this desk's folder in their command line.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let folder = self.axiowl.path("").display().to_string();
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter_map(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            line.contains(&folder).then_some((pid, line))
        })
        .collect()
    }

    /// Waits until nothing that was started here runs any more.
    pub fn quiet(&self) {
        let mut left = Vec::new();
        let quiet = poll(Duration::from_secs(60), || {
            left = self.processes();
            left.is_empty().then_some(())
        });
        assert!(quiet.is_some(), "still running: {left:?}");
    }
}

/// The id in the first line of a send.
pub fn message_id(run: &Run) -> String {
    let lines = run.lines("stage");
    let id = lines.first().and_then(|line| line["message_id"].as_str());
    id.unwrap_or_else(|| panic!("no message: {run}")).to_owned()
}

pub fn words(lines: &[Value]) -> Vec<String> {
    lines
        .iter()
        .filter_map(|line| line["stage"].as_str().map(str::to_owned))
        .collect()
}
