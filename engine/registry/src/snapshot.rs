//! The rows of the registry at one moment, in memory. Touches no file.

use crate::RegistryError;
use crate::merge::{self, MergeOptions, MergeReport};
use crate::table::Table;
use axiowl_model::{AgentRecord, DiscoveredAgent, Issue, SessionKey, codes};
use std::path::Path;

/// What [`crate::Registry::load`] read.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub(crate) table: Table,
    pub(crate) issues: Vec<Issue>,
}

impl Snapshot {
    /// Reads the bytes of a registry file; `path` is what errors and issues call it.
    ///
    /// # Errors
    /// When the bytes do not begin with a registry header. A damaged line is an issue.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, RegistryError> {
        match Table::parse(bytes) {
            Ok(table) => Ok(Self::of(path, table)),
            Err(problem) => Err(RegistryError::ForeignHeader {
                path: path.to_owned(),
                problem,
            }),
        }
    }

    pub(crate) fn of(path: &Path, table: Table) -> Self {
        let path = path.display().to_string();
        let issues = table.damaged.iter().map(|line| {
            let message = format!("this line is no row: {}", line.problem);
            Issue::new(codes::REGISTRY_LINE, message)
                .at(path.clone())
                .line(line.line)
        });
        let issues = issues.collect();
        Self { table, issues }
    }

    /// The rows as a registry file holds them.
    pub fn to_tsv(&self) -> String {
        self.table.render()
    }

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
