//! What is odd about the table as it stands. Reports and changes nothing.

use crate::Snapshot;
use crate::alias::agent_form;
use crate::name::{is_clean_name, looks_like_session};
use axiowl_model::{AgentRecord, Issue, codes};
use std::collections::{BTreeMap, HashMap};

/// The answer of [`Snapshot::check`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// Rows that were read.
    pub rows: usize,
    /// Rows in the visible list.
    pub targets: usize,
    /// Lines that were not.
    pub damaged: Vec<Issue>,
    /// Names that several targets of one node have.
    pub shared_names: Vec<SharedName>,
    /// Aliases that are the current name or the session id of another row. They never win
    /// over it, so they lead nowhere: refused in effect.
    pub refused_aliases: Vec<Issue>,
    /// The `agent_id` of targets whose only name is an id.
    pub unnamed: Vec<String>,
}

impl CheckReport {
    /// True when nothing needs a person. Shared names are no fault.
    pub fn is_clean(&self) -> bool {
        self.damaged.is_empty() && self.refused_aliases.is_empty()
    }
}

/// A name that a strict lookup would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedName {
    /// The display name.
    pub name: String,
    /// The `agent_id` of each row, the one a lookup takes first.
    pub agents: Vec<String>,
}

impl Snapshot {
    /// Looks for damaged lines, shared names and aliases that lead nowhere.
    pub fn check(&self) -> CheckReport {
        let rows = self.agents();
        let mut named: BTreeMap<(&str, &str), Vec<&AgentRecord>> = BTreeMap::new();
        let mut unnamed = Vec::new();
        for row in self.targets() {
            if is_clean_name(&row.display_name, &row.key) {
                let name = (row.display_name.trim(), row.key.node.as_str());
                named.entry(name).or_default().push(row);
            } else {
                unnamed.push(row.agent_id());
            }
        }
        let shared = named.into_iter().filter(|(_, rows)| rows.len() > 1);
        let shared_names = shared.map(|((name, _), mut rows)| {
            rows.sort_by(|a, b| crate::lookup::better_first(a, b));
            let agents = rows.iter().map(|row| row.agent_id()).collect();
            SharedName {
                name: name.to_owned(),
                agents,
            }
        });
        CheckReport {
            rows: rows.len(),
            targets: self.targets().count(),
            damaged: self.issues().to_vec(),
            shared_names: shared_names.collect(),
            refused_aliases: shadowed(rows),
            unnamed,
        }
    }
}

fn shadowed(rows: &[AgentRecord]) -> Vec<Issue> {
    let mut owners: HashMap<&str, (usize, &str)> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        if is_clean_name(&row.display_name, &row.key) {
            owners
                .entry(row.display_name.trim())
                .or_insert((at, "the display name"));
        }
        owners.insert(&row.key.session, (at, "the session id"));
    }
    let mut issues = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        for alias in row.aliases.iter().filter(|alias| !is_own(row, alias)) {
            let Some((owner, how)) = owners.get(alias.trim()) else {
                continue;
            };
            if *owner != at {
                let (row, owner) = (row.agent_id(), rows[*owner].agent_id());
                let message = format!("alias `{alias}` of `{row}` is {how} of `{owner}`");
                issues.push(Issue::new(codes::ALIAS_REFUSED, message));
            }
        }
    }
    issues
}

/// An alias that follows from the row itself may coincide.
fn is_own(row: &AgentRecord, alias: &str) -> bool {
    let alias = alias.trim();
    alias == row.display_name.trim()
        || agent_form(&row.display_name).is_some_and(|form| form == alias)
        || alias == row.key.session
        || alias == row.key.bare_session()
        || (looks_like_session(alias) && alias.ends_with(row.key.bare_session()))
}
