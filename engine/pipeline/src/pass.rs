//! The seam to discovery: one targeted look for somebody the registry does not know (well
//! enough). The pipeline decides when; how it is done is the command line's business.

use axiowl_model::{DiscoverySummary, clip};
use serde::Serialize;
use std::fmt;

/// What is said about nodes other than this one (conformance C343).
pub const REMOTE_OUT_OF_SCOPE: &str = "remote discovery is out of scope";

/// Runs discovery over local providers for one text and merges what it proves into the
/// registry. Called at most once for the sender and once for the target of a send.
pub trait TargetedPass: Send + Sync {
    /// Looks for a sender.
    fn sender(&self, text: &str) -> PassSummary;

    /// Looks for a target.
    fn target(&self, text: &str) -> PassSummary;
}

/// What a targeted pass looked at and found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PassSummary {
    /// One summary a scope.
    pub scopes: Vec<DiscoverySummary>,
    /// Why the pass as a whole did not work, if it did not.
    pub failure: Option<String>,
    /// What is said about other nodes.
    pub remote: String,
}

impl PassSummary {
    /// The summary of a pass over local scopes.
    pub fn local(scopes: Vec<DiscoverySummary>) -> Self {
        Self {
            scopes,
            failure: None,
            remote: REMOTE_OUT_OF_SCOPE.into(),
        }
    }

    /// A pass that could not be made.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self {
            failure: Some(reason.into()),
            ..Self::local(Vec::new())
        }
    }
}

impl PassSummary {
    /// A few short lines for people: how much was looked at, where something fits, how many
    /// problems there were and the first of them. The rest is in the fields.
    pub fn lines(&self) -> Vec<String> {
        const SCOPES: usize = 3;
        const ISSUE_CHARS: usize = 160;
        let mut out = Vec::new();
        if let Some(failure) = &self.failure {
            out.push(format!("targeted discovery failed: {failure}"));
        } else {
            let found: usize = self.scopes.iter().map(|scope| scope.found).sum();
            let scopes = self.scopes.len();
            out.push(format!(
                "targeted discovery found {found} that fit in {scopes} scopes"
            ));
        }
        let with_rows: Vec<_> = self.scopes.iter().filter(|scope| scope.found > 0).collect();
        out.extend(with_rows.iter().take(SCOPES).map(|scope| {
            let (provider, found) = (&scope.provider, scope.found);
            let (enrolled, evidence) = (scope.enrolled, scope.evidence);
            format!("{provider}: {found} found, {enrolled} enrolled, {evidence} evidence")
        }));
        if with_rows.len() > SCOPES {
            out.push(format!("and {} scopes more", with_rows.len() - SCOPES));
        }
        let mut issues = self
            .scopes
            .iter()
            .flat_map(|scope| scope.issues.iter().map(|issue| (&scope.provider, issue)));
        if let Some((provider, issue)) = issues.next() {
            let more = match issues.count() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let message = clip(&issue.message, ISSUE_CHARS);
            out.push(format!("{provider}: {}: {message}{more}", issue.code));
        }
        out.push(self.remote.clone());
        out
    }
}

impl fmt::Display for PassSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_model::{Issue, Verdict};

    #[test]
    fn many_scopes_with_many_issues_are_a_few_short_lines() {
        let scope = |number: usize| DiscoverySummary {
            provider: format!("provider_{number}"),
            node_id: "local".into(),
            found: number % 2,
            enrolled: 0,
            updated: 0,
            skipped: 0,
            evidence: number % 2,
            pruned: 0,
            issues: vec![Issue::new("damaged", "x".repeat(1000)); 3],
            verdict: Verdict::Verified,
            registry: String::new(),
        };
        let summary = PassSummary::local((0..13).map(scope).collect());
        let lines = summary.lines();
        assert!(lines.len() <= 7, "{lines:#?}");
        assert!(lines.iter().all(|line| line.len() < 220), "{lines:#?}");
        assert_eq!(lines[0], "targeted discovery found 6 that fit in 13 scopes");
        assert_eq!(lines[1], "provider_1: 1 found, 0 enrolled, 1 evidence");
        assert_eq!(lines[4], "and 3 scopes more");
        assert!(
            lines[5].starts_with("provider_0: damaged: xxx"),
            "{}",
            lines[5]
        );
        assert!(lines[5].ends_with(" (and 38 more)"), "{}", lines[5]);
        assert_eq!(lines[6], REMOTE_OUT_OF_SCOPE);
    }
}
