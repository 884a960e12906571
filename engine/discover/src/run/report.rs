//! What a run says: sessions, what was left out, how well the rule fits.

use super::demands::optional;
use super::{Judgement, Options, is_target};
use crate::assemble::NO_SESSION_ID;
use crate::drift;
use crate::gaps::Gaps;
use axiowl_lang::load::LoadedRule;
use axiowl_model::{DiscoveredAgent, Issue, Verdict, codes};
use axiowl_sources::World;
use std::collections::BTreeMap;

/// What was read from one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceCount {
    /// Files its patterns matched.
    pub files_matched: usize,
    /// Files opened.
    pub files_read: usize,
    /// Rows they gave.
    pub rows: usize,
}

/// The outcome of one rule over one world.
#[derive(Debug, Clone)]
pub struct Report {
    /// Provider key.
    pub provider: String,
    /// Node.
    pub node: String,
    /// Sessions, ordered by id.
    pub agents: Vec<DiscoveredAgent>,
    /// Rows that do not belong to this surface, by reason.
    pub dropped: BTreeMap<String, usize>,
    /// What went wrong, in a fixed order.
    pub issues: Vec<Issue>,
    /// How well the rule fits.
    pub verdict: Verdict,
    /// What was not understood, in numbers.
    pub gaps: Gaps,
    /// Everything could be read: absence means something.
    pub complete: bool,
    /// The run looked for one session.
    pub targeted: bool,
    /// What each source gave.
    pub sources: BTreeMap<String, SourceCount>,
    /// Whether any of the rule's roots exists.
    pub present: bool,
}

impl Report {
    /// The report of a rule of which nothing has changed: in numbers, without the sessions.
    pub fn of_before(
        provider: &str,
        node: &str,
        dropped: BTreeMap<String, usize>,
        verdict: Verdict,
    ) -> Self {
        Self {
            provider: provider.to_owned(),
            node: node.to_owned(),
            agents: Vec::new(),
            dropped,
            issues: Vec::new(),
            verdict,
            gaps: Gaps::default(),
            complete: true,
            targeted: false,
            sources: BTreeMap::new(),
            present: true,
        }
    }
}

/// Makes the report of what was judged.
pub(super) fn report(
    loaded: &LoadedRule,
    world: &World,
    options: &Options,
    judgement: Judgement,
) -> Report {
    let Judgement {
        tables,
        candidates,
        dropped,
        mut issues,
        untested,
        unjudged,
        withheld,
    } = judgement;
    let rule = &loaded.rule;
    let missing: Vec<String> = tables
        .tables
        .iter()
        .flat_map(|(name, table)| {
            table
                .missing_columns
                .iter()
                .map(move |column| (name, column))
        })
        .filter(|(name, column)| !optional(loaded, name, column))
        .map(|(name, column)| format!("{name}.{column}"))
        .collect();
    let without_id = dropped.get(NO_SESSION_ID).copied().unwrap_or(0);
    let mut fit = drift::judge(&drift::Seen {
        loaded,
        world,
        tables: &tables,
        missing,
        untested: &untested,
        agents: candidates.iter().map(|c| &c.judged.agent).collect(),
        dropped: &dropped,
        without_id,
        unjudged,
        withheld,
        failed: issues.iter().any(|i| i.code == codes::POLICY_FAILED),
    });
    let mut agents: Vec<DiscoveredAgent> = candidates.into_iter().map(|c| c.judged.agent).collect();
    if let Some(target) = &options.target {
        agents.retain(|agent| is_target(agent, target));
    }
    // They are of one provider and one node, and large: only their ids are compared and moved.
    agents.sort_by_cached_key(|agent| agent.key.session.clone());
    issues.append(&mut fit.issues);
    issues.extend(tables.issues.iter().cloned());
    issues.sort();
    issues.dedup();
    Report {
        provider: rule.provider.value.clone(),
        node: options.node.clone(),
        agents,
        dropped,
        issues,
        verdict: fit.verdict,
        gaps: std::mem::take(&mut fit.gaps),
        complete: !fit.lost
            && unjudged == 0
            && tables.tables.values().all(|table| !table.incomplete),
        targeted: options.target.is_some(),
        present: tables.unread_root_exists || tables.tables.values().any(|table| table.root_exists),
        sources: tables
            .tables
            .iter()
            .map(|(name, table)| {
                let count = SourceCount {
                    files_matched: table.files_matched,
                    files_read: table.files_read,
                    rows: table.rows.len(),
                };
                (name.clone(), count)
            })
            .collect(),
    }
}
