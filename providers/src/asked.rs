//! What a program says of its own version when it is asked; the one thing a provider's program
//! is ever started for besides a delivery.

use crate::child::{Next, Program, Running};
use crate::environment::Environment;
use axiowl_pipeline::edge::EdgeContext;
use std::path::Path;
use std::time::{Duration, Instant};

/// Nobody says a version in more bytes than this.
const CAP: usize = 64 * 1024;
/// Nor in more lines.
const LINES: usize = 1000;

/// Runs a program with the arguments that make it say its version, for `patience` at most; what
/// hangs is ended with everything it started.
///
/// # Errors
/// Why there is no version: it cannot be started, hangs, fails, or names none.
pub fn version_of(
    context: &EdgeContext<'_>,
    program: &Path,
    arguments: &[&str],
    patience: Duration,
) -> Result<String, String> {
    let mut environment = Environment::of(context);
    environment.add_folder_of(program);
    let folder = std::env::temp_dir();
    let started = Running::start(&Program {
        file: program,
        arguments: arguments.iter().map(Into::into).collect(),
        folder: &folder,
        environment: environment.into_variables(),
        output_cap: CAP,
    });
    let mut running = started.map_err(|error| error.to_string())?;
    running.close_input();
    let until = Instant::now() + patience;
    let mut found = None;
    let mut lines = 0;
    loop {
        match running.next(until) {
            Next::Line(line) if lines < LINES => {
                lines += 1;
                found = found.or_else(|| version_in(&line));
            }
            Next::End => break,
            Next::Quiet => return Err(format!("it says nothing within {} s", patience.as_secs())),
            Next::Line(_) | Next::Flooded => return Err("it prints without end".into()),
        }
    }
    let ending = running.finish(until.saturating_duration_since(Instant::now()));
    if !ending.is_success() {
        return Err(ending.told());
    }
    found.ok_or_else(|| "it names none".into())
}

/// The first word of a line that is three numbers, with what follows them.
fn version_in(line: &str) -> Option<String> {
    let words = line.split(|c: char| c.is_whitespace() || "(),/".contains(c));
    let words = words.map(|word| word.trim_end_matches('.'));
    let words = words.map(|word| word.strip_prefix('v').unwrap_or(word));
    let mut versions = words.filter(|word| crate::version::Version::parse(word).is_some());
    versions.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_their_version_among_other_words() {
        for (line, version) in [
            ("codex-cli 0.171.0", Some("0.171.0")),
            ("2.1.332 (Claude Code)", Some("2.1.332")),
            ("1.18.34", Some("1.18.34")),
            ("GitHub Copilot CLI 1.0.102.", Some("1.0.102")),
            ("grok v0.1.2-beta.3 linux", Some("0.1.2-beta.3")),
            ("no version here", None),
        ] {
            assert_eq!(version_in(line).as_deref(), version, "{line}");
        }
    }
}
