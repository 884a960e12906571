//! What a discovery said: rows by session, and issues by what they name.

use crate::home::Provider;
use crate::measured::Measured;
use crate::program::Run;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a discovery found.
pub struct Found {
    pub run: Run,
    pub cpu: std::time::Duration,
    /// Provider and bare session id, to the row.
    pub rows: BTreeMap<(String, String), Value>,
    /// Of all scopes: code, path (or nothing) and message.
    pub issues: Vec<(String, String, String)>,
}

impl Found {
    pub fn of(measured: Measured) -> Self {
        let Measured { run, cpu } = measured;
        let mut rows = BTreeMap::new();
        for row in run.lines("discovered_agent") {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            let session = text("provider_session_id");
            let bare = session.rsplit(':').next().unwrap_or_default().to_owned();
            let key = (text("provider"), bare);
            assert!(!rows.contains_key(&key), "twice: {key:?}\n{run}");
            rows.insert(key, row);
        }
        let mut issues = Vec::new();
        for summary in run.lines("discovery_summary") {
            for issue in summary["issues"].as_array().expect("issues") {
                let text = |key: &str| issue[key].as_str().unwrap_or_default().to_owned();
                issues.push((text("code"), text("path"), text("message")));
            }
        }
        Self {
            run,
            cpu,
            rows,
            issues,
        }
    }

    /// The row of a session.
    pub fn row(&self, provider: Provider, id: &str) -> Option<&Value> {
        self.rows.get(&(provider.key().to_owned(), id.to_owned()))
    }

    /// Whether there is a row, and one that may be sent to.
    pub fn sendable(&self, provider: Provider, id: &str) -> bool {
        self.row(provider, id)
            .is_some_and(|row| row["sendable"] == true)
    }

    /// The codes of the issues whose path has this in it.
    pub fn codes_at(&self, part: &str) -> Vec<&str> {
        let at = self
            .issues
            .iter()
            .filter(|(_, path, _)| path.contains(part));
        at.map(|(code, _, _)| code.as_str()).collect()
    }

    /// Says that something at a path is an issue of this code.
    #[track_caller]
    pub fn names(&self, part: &str, code: &str) {
        assert!(
            self.codes_at(part).contains(&code),
            "no `{code}` about {part}: {:#?}",
            self.issues
        );
    }
}
