//! Rows from what a provider's own program prints, where the user allows it to run.
//!
//! Off unless the run says otherwise: files can almost always stand for a listing, and
//! several listings change what they list. No shell, no input, few variables, a deadline, a
//! limit on the output, a process group that is ended as a whole. In a fixture nothing
//! runs; its recorded output is read. It must not know what the output means.

use crate::document::{Form, elements, take, value};
use crate::read::{Context, Outcome, Table};
use crate::report::Report;
use crate::{Name, Row, World};
use axiowl_lang::source::Command as Rule;
use axiowl_model::{Issue, codes};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Variables a program sees: what finds programs and files, and how to write. Nothing that
/// belongs to a session of any provider.
const ENV: [&str; 24] = [
    "HOME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "SYSTEMROOT",
    "PATH",
    "PATHEXT",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TZ",
    "LANG",
    "LC_ALL",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// How often it is looked whether a child has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// Reads what one command prints.
pub(crate) fn read(name: &str, rule: &Rule, context: &Context<'_>) -> Outcome {
    if let Some(witness) = context.world.witness() {
        witness.unsure("a program may say something else every time");
    }
    let mut report = Report::default();
    let mut table = Table::default();
    let shown = shown(rule);
    match output(rule, context) {
        Ok(output) => rows(rule, &output, &shown, &mut table, &mut report),
        Err(Unrun::NotAllowed) => {
            let message = format!(
                "source `{name}`: `{shown}` was not run: programs run in discovery only with \
                 `--allow-commands` or `commands: true` in config.yaml"
            );
            report.issue(Issue::new(codes::COMMAND_OFF, message));
        }
        Err(Unrun::NotInstalled) => {
            let message = format!("source `{name}`: `{shown}` was not run: it is not installed");
            report.issue(Issue::new(codes::COMMAND_OFF, message));
        }
        Err(unrun) => {
            let (code, why) = unrun.words(rule);
            let message = format!("source `{name}`: `{shown}` {why}");
            report.gap(Issue::new(code, message));
        }
    }
    Outcome { table, report }
}

fn shown(rule: &Rule) -> String {
    let words: Vec<&str> = rule.argv.iter().map(|word| word.as_str()).collect();
    words.join(" ")
}

fn rows(rule: &Rule, output: &[u8], shown: &str, table: &mut Table, report: &mut Report) {
    // A program that has nothing to list may print nothing at all.
    if output.trim_ascii().is_empty() {
        return;
    }
    let document = match value(output, Form::Json) {
        Ok(document) => document,
        Err((line, what)) => {
            let message = format!("the output of `{shown}` is no JSON: {what}");
            let issue = Issue::new(codes::DAMAGED, message);
            return report.gap(Issue { line, ..issue });
        }
    };
    let mut own = Row::new();
    let known = take(&rule.fields, &document, &mut own);
    match &rule.each {
        None if known => table.rows.push(own.clone()),
        None => report.strange(shown, 0, "none of the fields is in its output"),
        Some(each) => {
            let plain = |(_, value): &(Name, &Value)| !value.is_array() && !value.is_object();
            let fields = own.iter().filter(plain);
            let base = fields.map(|(name, value)| (name, value.clone())).collect();
            match elements(each, &document, &base) {
                Some(rows) => table.rows.extend(rows),
                None => report.strange(shown, 0, "no list is in its output"),
            }
        }
    }
    table.doc = Some(own);
}

/// Why there is no output.
enum Unrun {
    NotAllowed,
    NotInstalled,
    NotRecorded,
    TooLong,
    TooMuch,
    Failed(ExitStatus),
    Io(io::Error),
}

impl From<io::Error> for Unrun {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Unrun {
    fn words(self, rule: &Rule) -> (&'static str, String) {
        match self {
            Self::NotAllowed => (codes::COMMAND_OFF, "may not run".into()),
            Self::NotInstalled => (codes::COMMAND_OFF, "is not installed".into()),
            Self::NotRecorded => {
                let why = "has no recorded output: name a file under `commands` in world.yaml";
                (codes::UNREADABLE, why.into())
            }
            Self::TooLong => {
                let why = format!("was ended: it ran longer than {} ms", rule.deadline.0);
                (codes::CAP, why)
            }
            Self::TooMuch => {
                let why = format!(
                    "printed more than {} bytes; nothing of it was used",
                    rule.max_bytes.0
                );
                (codes::CAP, why)
            }
            Self::Failed(status) => (codes::UNREADABLE, format!("failed: {status}")),
            Self::Io(error) => (codes::UNREADABLE, format!("could not be run: {error}")),
        }
    }
}

fn output(rule: &Rule, context: &Context<'_>) -> Result<Vec<u8>, Unrun> {
    let world = context.world;
    let Some((program, arguments)) = rule.argv.split_first() else {
        return Err(Unrun::NotInstalled);
    };
    if world.is_fixture() {
        let file = world
            .recorded_output(&shown(rule))
            .ok_or(Unrun::NotRecorded)?;
        let mut out = Vec::new();
        File::open(file)?
            .take(rule.max_bytes.0.saturating_add(1))
            .read_to_end(&mut out)?;
        return match out.len() as u64 > rule.max_bytes.0 {
            true => Err(Unrun::TooMuch),
            false => Ok(out),
        };
    }
    if !context.options.allow_commands {
        return Err(Unrun::NotAllowed);
    }
    let path = world.executable(program).ok_or(Unrun::NotInstalled)?;
    let mut command = Command::new(path);
    command
        .args(arguments.iter().map(|word| word.as_str()))
        .env_clear()
        .envs(environment(world))
        .current_dir(world.home())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let deadline = Duration::from_millis(u64::try_from(rule.deadline.0).unwrap_or(0));
    run(command.spawn()?, deadline, rule.max_bytes.0)
}

fn environment(world: &World) -> impl Iterator<Item = (&'static str, &str)> {
    ENV.iter()
        .filter_map(|name| Some((*name, world.env(name)?)))
}

/// The output of a child that ends well, in time and within the limit.
fn run(mut child: Child, deadline: Duration, most: u64) -> Result<Vec<u8>, Unrun> {
    let end = Instant::now() + deadline;
    let stdout = child.stdout.take();
    let (send, output) = mpsc::channel();
    // Not waited for: a child of the child may hold the pipe for as long as it likes.
    std::thread::spawn(move || {
        let mut out = Vec::new();
        let read = stdout.map_or(Ok(0), |stdout| {
            stdout.take(most.saturating_add(1)).read_to_end(&mut out)
        });
        // Nobody listens any more where the deadline has passed.
        let _ = send.send(read.map(|_| out));
    });
    let outcome = (|| {
        let left = end.saturating_duration_since(Instant::now());
        let out = output.recv_timeout(left).map_err(|_| Unrun::TooLong)??;
        if out.len() as u64 > most {
            return Err(Unrun::TooMuch);
        }
        let status = ended(&mut child, end)?;
        match status.success() {
            true => Ok(out),
            false => Err(Unrun::Failed(status)),
        }
    })();
    if outcome.is_err() {
        end_group(&child);
        // Where it has ended by itself there is nothing to end.
        let _ = child.kill();
    }
    child.wait()?;
    outcome
}

/// How a child that has closed its output ends.
fn ended(child: &mut Child, end: Instant) -> Result<ExitStatus, Unrun> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > end {
            return Err(Unrun::TooLong);
        }
        // The standard library cannot wait for a child until a moment.
        std::thread::park_timeout(PAUSE);
    }
}

/// Ends whatever a child started in its group, and the child.
#[cfg(unix)]
fn end_group(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // A group that is gone already is what is wanted.
    let _ = leader.map(|leader| kill_process_group(leader, Signal::KILL));
}

#[cfg(not(unix))]
fn end_group(_child: &Child) {}

#[cfg(test)]
mod tests;
