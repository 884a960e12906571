//! The rows of the registry at one moment, in memory. Touches no file.

use crate::merge::{self, MergeOptions, MergeReport};
use crate::table::Table;
use axiowl_model::{AgentRecord, DiscoveredAgent, Issue, SessionKey};

/// What [`crate::Registry::load`] read.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) table: Table,
    pub(crate) issues: Vec<Issue>,
}

impl Snapshot {
    /// Every row, in the order of the file.
    pub fn agents(&self) -> &[AgentRecord] {
        &self.table.rows
    }

    /// The rows that can be sent to: enabled and sendable.
    pub fn targets(&self) -> impl Iterator<Item = &AgentRecord> {
        self.table.rows.iter().filter(|row| row.is_target())
    }

    /// The row with that identity.
    pub fn get(&self, key: &SessionKey) -> Option<&AgentRecord> {
        self.table.rows.iter().find(|row| row.key == *key)
    }

    /// One issue for each line that could not be read.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// The rows themselves.
    pub fn into_agents(self) -> Vec<AgentRecord> {
        self.table.rows
    }

    /// Merges a report into these rows only: what [`crate::Registry::merge`] would do, for
    /// dry runs.
    pub fn merge(&mut self, report: &[DiscoveredAgent], options: &MergeOptions) -> MergeReport {
        let merged = merge::merge(&mut self.table.rows, report, options);
        self.table.sort();
        merged
    }
}
