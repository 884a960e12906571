//! What the MCP server costs until its host has it ready: a host starts one for each session, so
//! a person pays for it many times.

use crate::Failure;
use crate::measure::{Cost, median};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Greets a server in each way, again and again.
pub fn run(axiowl: &Path, rounds: usize) -> Result<String, Failure> {
    let own = tempfile::tempdir()?;
    let mut out = String::from(
        "median, CPU of the whole process\n\n\
         | `axiowl mcp` until | CPU ms when ready | CPU ms to its end | peak MB when ready |\n\
         |---|---|---|---|\n",
    );
    for (greeting, name) in [("initialize", "initialized"), ("discover", "discovered")] {
        let (mut ready, mut whole) = (Vec::new(), Vec::new());
        for round in 0..=rounds {
            let figures = greet(axiowl, greeting, own.path())?;
            // The first round only warms up.
            if round > 0 {
                ready.push(figures.0);
                whole.push(figures.1);
            }
        }
        let (ready, whole) = (median(&ready), median(&whole));
        writeln!(
            out,
            "| {name} | {:.1} | {:.1} | {:.1} |",
            ready.cpu * 1e3,
            whole.cpu * 1e3,
            ready.peak
        )?;
    }
    writeln!(out, "| bar | 10 | | 12 |")?;
    Ok(out)
}

/// One server, in a parent of its own: the system adds up all children of a process.
fn greet(axiowl: &Path, greeting: &str, own: &Path) -> Result<(Cost, Cost), Failure> {
    let done = Command::new(std::env::current_exe()?)
        .args(["greet", greeting])
        .arg(axiowl)
        .env("HOME", own)
        .env("XDG_STATE_HOME", own.join("state"))
        .env("XDG_CONFIG_HOME", own.join("config"))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8(done.stdout)?;
    let figures: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    match figures?.as_slice() {
        [ready, peak, whole] => {
            let cost = |cpu: f64| Cost {
                cpu,
                peak: peak / 1e6,
            };
            Ok((cost(*ready), cost(*whole)))
        }
        _ => Err("a server could not be greeted".into()),
    }
}

/// Starts a server, greets it, and prints seconds of CPU and bytes of memory when it is ready,
/// and seconds of CPU when it has ended.
pub fn one(axiowl: &OsString, greeting: &str) -> Result<String, Failure> {
    let mut child = Command::new(axiowl)
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().ok_or("no input")?;
    let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
    writeln!(input, "{}", message(greeting))?;
    let mut line = String::new();
    output.read_line(&mut line)?;
    let answer: Value = serde_json::from_str(&line)?;
    if answer.get("result").is_none() {
        return Err(format!("not greeted: {line}").into());
    }
    let pid = child.id();
    let (ready, peak) = (running(pid)?, peak(pid)?);
    drop(input);
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("the server ended with {status}").into());
    }
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
    let whole = seconds(used.user_time()) + seconds(used.system_time());
    Ok(format!("{ready} {peak} {whole}\n"))
}

fn message(greeting: &str) -> Value {
    let client = json!({ "name": "some-host", "version": "1" });
    if greeting == "initialize" {
        return json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client } });
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": client,
        "io.modelcontextprotocol/clientCapabilities": {} } } })
}

/// Seconds of CPU so far: of every thread there is, in nanoseconds.
fn running(pid: u32) -> Result<f64, Failure> {
    let mut all = 0.0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        let spent = text.split_whitespace().next().ok_or("no figures")?;
        all += spent.parse::<f64>()? / 1e9;
    }
    Ok(all)
}

/// The most memory it had at once.
fn peak(pid: u32) -> Result<f64, Failure> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    Ok(kib.ok_or("no VmHWM")?.parse::<f64>()? * 1024.0)
}
