//! The seam to discovery: one targeted look for somebody the registry does not know (well
//! enough). The pipeline decides when; how it is done is the command line's business.

use axiowl_model::DiscoverySummary;
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

impl fmt::Display for PassSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(failure) = &self.failure {
            write!(f, "targeted discovery failed: {failure}; ")?;
        } else {
            let found: usize = self.scopes.iter().map(|scope| scope.found).sum();
            let scopes = self.scopes.len();
            write!(
                f,
                "targeted discovery found {found} that fit in {scopes} scopes; "
            )?;
            for scope in &self.scopes {
                let (provider, found) = (&scope.provider, scope.found);
                let (enrolled, evidence) = (scope.enrolled, scope.evidence);
                if found > 0 || !scope.issues.is_empty() {
                    write!(
                        f,
                        "{provider}: {found} found, {enrolled} enrolled, {evidence} evidence"
                    )?;
                    if let Some(issue) = scope.issues.first() {
                        let more = scope.issues.len() - 1;
                        write!(f, ", {}: {}", issue.code, issue.message)?;
                        if more > 0 {
                            write!(f, " (and {more} more)")?;
                        }
                    }
                    f.write_str("; ")?;
                }
            }
        }
        f.write_str(&self.remote)
    }
}
