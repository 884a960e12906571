//! `axiowl demo`: the whole path once, in a temporary home, with nothing installed.
//!
//! Everything it shows is done by the same commands a person would type, as
//! children of this program: discovery, list, send, the worker, the MCP server.

pub mod agent;
mod home;

use crate::args::{Common, Demo};
use crate::exit::{Exit, Failure, Outcome};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs the demonstration.
pub fn run(arguments: &Demo) -> Outcome {
    let folder = tempfile::Builder::new().prefix("axiowl-demo-").tempdir()?;
    let root = folder.path().canonicalize()?;
    let stage = Stage {
        home: root.join("home"),
        state: root.join("state"),
    };
    home::build(&stage.home)?;
    say("1  A temporary home with sample sessions of Codex and Claude Code, and an echo agent");
    crate::output::say!("   {}", stage.home.display());

    say("2  axiowl discover all");
    let told = stage.run(&["discover", "all"])?;
    let is_absent = |line: &str| line.contains("  not here: ");
    show(&told, |line| {
        let word = line.trim_start();
        let counts = ["found", "enrolled", "evidence", "verdict"];
        let told = counts.iter().any(|count| word.starts_with(count)) || !line.starts_with(' ');
        told && !is_absent(line)
    });
    let absent = told.lines().filter(|line| is_absent(line)).count();
    crate::output::say!("   … and {absent} providers that are not here");

    say("3  axiowl list agents");
    show(&stage.run(&["list", "agents"])?, |_| true);

    say("4  axiowl send --to Echo --body \"Are you there?\" --wait reply");
    let sent = stage.run(&[
        "send",
        "--to",
        "Echo",
        "--body",
        "Are you there?",
        "--wait",
        "reply",
        "--json",
    ])?;
    let lines: Vec<Value> = sent
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    for line in lines
        .iter()
        .filter(|line| line["schema"] == "axiowl.stage/1")
    {
        let evidence = &line["evidence"];
        let place = evidence["path"].as_str().map_or(String::new(), |path| {
            format!(
                " in {}",
                Path::new(path)
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
            )
        });
        let kind = evidence["kind"]
            .as_str()
            .unwrap_or_default()
            .replace('_', " ");
        crate::output::say!(
            "   {:<20} {kind}{place}",
            line["stage"].as_str().unwrap_or_default()
        );
    }

    say("5  The answer, over MCP, from the session its transcript proves");
    let replied = lines.iter().any(|line| line["stage"] == "replied");
    let reply = lines.iter().find(|line| line["schema"] == "axiowl.reply/1");
    let Some(reply) = reply.filter(|_| replied) else {
        return Err(Failure::new(Exit::Failed, "no reply came").detail(sent));
    };
    crate::output::say!(
        "   from {:?} ({}, {}): {}",
        reply["from"].as_str().unwrap_or_default(),
        reply["provider"].as_str().unwrap_or_default(),
        reply["proof"].as_str().unwrap_or_default(),
        reply["body"].as_str().unwrap_or_default(),
    );

    say("6  The receipt: axiowl message <id> --follow");
    let id = reply["reply_to"].as_str().unwrap_or_default().to_owned();
    show(&stage.run(&["message", &id, "--follow"])?, |_| true);
    if arguments.keep {
        let kept = folder.keep();
        let kept = kept.display();
        crate::output::say!("\nKept in {kept}\nLook around in it with:");
        // It may have been built and not be installed.
        let axiowl = std::env::current_exe()?;
        let axiowl = axiowl.display();
        crate::output::say!("{axiowl} --home {kept}/home --state {kept}/state list agents");
    }
    crate::output::say!("\nThe demo is complete.");
    Ok(Exit::Done)
}

/// One message to the echo agent in a home of its own, and the stages it reached.
pub fn loopback() -> Result<Vec<String>, Failure> {
    let folder = tempfile::Builder::new().prefix("axiowl-echo-").tempdir()?;
    let root = folder.path().canonicalize()?;
    let stage = Stage {
        home: root.join("home"),
        state: root.join("state"),
    };
    home::build(&stage.home)?;
    stage.run(&["discover", "echo"])?;
    let body = "Are you there?";
    let sent = stage.run(&[
        "send",
        "--to",
        "Echo",
        "--body",
        body,
        "--wait",
        "reply",
        "--timeout",
        "20s",
        "--json",
    ]);
    // A wait that ends too early failed as a command; how far it got is told all the same.
    let told = match sent {
        Ok(told) => told,
        Err(failure) => stage
            .run(&["list", "messages", "--json"])
            .map_err(|_| failure)?,
    };
    let lines = told
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let stages = lines.filter_map(|line| line["stage"].as_str().map(str::to_owned));
    Ok(stages.collect())
}

fn say(text: &str) {
    crate::output::say!("\n{text}");
}

fn show(text: &str, keep: impl Fn(&str) -> bool) {
    for line in text.lines().filter(|line| keep(line)) {
        crate::output::say!("   {line}");
    }
}

/// Where the demonstration plays.
struct Stage {
    home: PathBuf,
    state: PathBuf,
}

impl Stage {
    /// Runs one command on the demo's home; its failure is the demo's.
    fn run(&self, arguments: &[&str]) -> Result<String, Failure> {
        let common = Common {
            home: Some(self.home.clone()),
            state: Some(self.state.clone()),
            world: None,
            rules: None,
        };
        let output = Command::new(std::env::current_exe()?)
            .args(crate::setup::child_flags(&common))
            .args(arguments)
            .env_remove("AXIOWL_RULES")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Failure::new(
                Exit::Failed,
                format!("axiowl {} failed", arguments.join(" ")),
            )
            .detail(said));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
