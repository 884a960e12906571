//! What reading the stores met with: files that cannot be read, damaged ones, stores that are
//! locked or too large. Whether the rules understand what stands in them is not judged here.

use super::finding::{Findings, Level};
use axiowl_model::{Issue, codes};
use serde_json::json;
use std::collections::BTreeMap;

/// What one pass over a provider's stores met with.
pub struct Reading {
    pub provider: String,
    /// The word `discover` takes.
    pub scope: String,
    pub sessions: usize,
    pub issues: Vec<Issue>,
}

/// Codes that speak of a store; the others speak of rules or of sessions.
const OF_STORES: [&str; 8] = [
    codes::UNREADABLE,
    codes::DAMAGED,
    codes::CAP,
    codes::OUTSIDE_ROOTS,
    codes::BUSY,
    codes::TOO_LARGE_LIVE,
    codes::MIRROR_TOO_LARGE,
    codes::UNSUPPORTED_STORE,
];

/// Says how each provider's stores could be read.
pub fn look(readings: &[Reading], findings: &mut Findings) {
    for reading in readings {
        let mut kinds: BTreeMap<&str, Vec<&Issue>> = BTreeMap::new();
        for issue in &reading.issues {
            if OF_STORES.contains(&issue.code.as_str()) {
                kinds.entry(&issue.code).or_default().push(issue);
            }
        }
        if kinds.is_empty() {
            let sessions = reading.sessions;
            let end = if sessions == 1 { "" } else { "s" };
            let text = format!("read; {sessions} session{end}");
            findings.add(Level::Ok, &subject(reading), &text, "");
        }
        for (code, issues) in kinds {
            tell(reading, code, &issues, findings);
        }
    }
}

fn subject(reading: &Reading) -> String {
    format!("{} store", reading.provider)
}

/// One kind of trouble: its first case, how many there are, and what to do.
fn tell(reading: &Reading, code: &str, issues: &[&Issue], findings: &mut Findings) {
    let Some(first) = issues.first() else {
        return;
    };
    let more = match issues.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let text = format!("{}{more}", crate::output::issue(first));
    let all = format!("axiowl discover {} lists each", reading.scope);
    let hint = match code {
        codes::UNREADABLE => format!("let your user read it; {all}"),
        codes::DAMAGED => format!("only what is damaged is left out; {all}"),
        codes::BUSY => "run this again; close the client if it keeps happening".to_owned(),
        codes::CAP | codes::TOO_LARGE_LIVE | codes::MIRROR_TOO_LARGE => {
            format!("raise the limit that is named under `limits` in config.yaml; {all}")
        }
        codes::UNSUPPORTED_STORE => format!("a newer AxiOwl may know it; {all}"),
        _ => all,
    };
    findings.add_with(
        Level::Attention,
        &subject(reading),
        &text,
        &hint,
        json!({ "code": code, "count": issues.len(), "path": first.path }),
    );
}
