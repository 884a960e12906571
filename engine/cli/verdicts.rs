//! How well each rule fitted when it last ran: one small file a provider in the state folder,
//! so that `rules list` can say it without reading any provider's files.

use axiowl_lang::load::LoadedRule;
use axiowl_model::{Timestamp, Verdict};
use axiowl_registry::{create_private_dir, private_file_options};
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The outcome of a run, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last {
    /// How well the rule fitted.
    pub verdict: Verdict,
    /// Whether any of the provider's folders existed.
    pub present: bool,
    /// When.
    pub at: Timestamp,
    /// The rule it was.
    pub digest: String,
    /// What was not understood, in a line; empty when there was nothing.
    pub line: String,
}

/// Keeps the outcome of a run.
///
/// # Errors
/// When it cannot be written; the one before is then still there.
pub fn keep(state: &Path, provider: &str, last: &Last) -> io::Result<()> {
    let file = path(state, provider);
    let folder = file.parent().unwrap_or(state);
    create_private_dir(folder)?;
    // A name of its own for each process: the last rename wins, and no half file is read.
    let fresh = file.with_extension(format!("{}.new", std::process::id()));
    let mut options = private_file_options();
    options.write(true).create(true).truncate(true);
    let mut out = options.open(&fresh)?;
    out.write_all(serde_json::to_string(last)?.as_bytes())?;
    std::fs::rename(&fresh, &file)
}

/// The outcome of the last run of a provider's rule; none when there was none, or when it
/// cannot be read: then the next run writes it anew.
pub fn last(state: &Path, provider: &str) -> Option<Last> {
    let text = std::fs::read_to_string(path(state, provider)).ok()?;
    serde_json::from_str(&text).ok()
}

fn path(state: &Path, provider: &str) -> PathBuf {
    let name: String = provider
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    state.join("verdicts").join(format!("{name}.json"))
}

/// What was not understood, and for a rule that does not fit, where to start mending it: with
/// the command that keeps a case of it, in the rule that holds the sources.
pub fn way_out(verdict: Verdict, line: &str, rule: &LoadedRule) -> String {
    match verdict {
        Verdict::Drift | Verdict::Blind => {
            let holder = rule.sources_holder();
            format!("{line}; to mend it, start with: axiowl rules capture {holder}")
        }
        Verdict::Verified | Verdict::UnverifiedVersion => line.to_owned(),
    }
}

/// The verdict of a rule that may have changed since: what it says about the rule of now.
pub fn shown(last: Option<&Last>, rule: &LoadedRule) -> String {
    match last {
        None => "-".into(),
        Some(last) if !last.present => "not here".into(),
        Some(last) if last.digest != rule.digest => format!("{} (older rule)", last.verdict),
        Some(last) => last.verdict.to_string(),
    }
}
