//! CPU time and memory of whole processes.

use crate::Failure;
use nix::sys::resource::{UsageWho, getrusage};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a process cost.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// User and system seconds.
    pub cpu: f64,
    /// Peak memory in MB (10^6 bytes).
    pub peak: f64,
}

/// Ends of a command that did its work: done, and (a dry run of `send`, where the provider's
/// program is not installed) found whom it is for and what is missing.
const ANSWERED: [i32; 2] = [0, 5];

/// Runs one command and says what it cost: seconds of CPU and bytes of memory. The system
/// adds up all children of a process, so each command gets a parent of its own.
pub fn one(command: &[OsString]) -> Result<String, Failure> {
    let (program, args) = command.split_first().ok_or("no command")?;
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
    let cpu = seconds(used.user_time()) + seconds(used.system_time());
    // Linux counts KiB.
    let bytes = used.max_rss() as f64 * 1024.0;
    if !status.code().is_some_and(|code| ANSWERED.contains(&code)) {
        return Err(format!("{command:?} ended with {status}").into());
    }
    Ok(format!("{cpu} {bytes}\n"))
}

/// A command to measure.
pub struct Job<'a> {
    pub program: &'a Path,
    pub args: Vec<String>,
    /// Folder for its own state and settings, so that nothing of the user is read.
    pub own: &'a Path,
}

impl Job<'_> {
    /// Runs it to its end and says what it cost.
    pub fn run(&self) -> Result<Cost, Failure> {
        let done = Command::new(std::env::current_exe()?)
            .arg("one")
            .arg("--")
            .arg(self.program)
            .args(&self.args)
            .env("HOME", self.own)
            .env("XDG_STATE_HOME", self.own.join("state"))
            .env("XDG_CONFIG_HOME", self.own.join("config"))
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        if !done.status.success() {
            return Err(format!("{:?} failed", self.args).into());
        }
        let text = String::from_utf8(done.stdout)?;
        let (cpu, bytes) = text.trim().split_once(' ').ok_or("no figures")?;
        Ok(Cost {
            cpu: cpu.parse()?,
            peak: bytes.parse::<f64>()? / 1e6,
        })
    }
}

/// The middle of some costs, each figure by itself.
pub fn median(costs: &[Cost]) -> Cost {
    let middle = |figure: fn(&Cost) -> f64| {
        let mut all: Vec<f64> = costs.iter().map(figure).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
    };
    Cost {
        cpu: middle(|c| c.cpu),
        peak: middle(|c| c.peak),
    }
}

/// Runs commands in turn, so that a machine that slows down slows all of them.
pub fn in_turn(
    jobs: &mut [&mut dyn FnMut() -> Result<Cost, Failure>],
    rounds: usize,
) -> Result<Vec<Cost>, Failure> {
    let mut costs = vec![Vec::new(); jobs.len()];
    for round in 0..=rounds {
        for (job, costs) in jobs.iter_mut().zip(&mut costs) {
            let cost = job()?;
            // The first round only warms up.
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    Ok(costs.iter().map(|c| median(c)).collect())
}
