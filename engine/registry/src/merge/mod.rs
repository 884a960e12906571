//! How the report of one discovery changes the table. Pure: rows and report in, rows and
//! decisions out; the same report twice, or in another order, gives the same table.
//!
//! Nothing here knows what a provider's files mean. A row becomes a target only by the
//! proof that discovery names, and stops being one only by what discovery saw.

mod absent;
mod group;
mod row;

pub use row::is_proven;

use crate::alias::{self, Claim};
use crate::name::identity_gap;
use axiowl_model::{
    AgentRecord, Decision, DiscoveredAgent, Issue, SessionKey, Timestamp, codes, is_blank_name,
};
use std::collections::{BTreeMap, HashMap};

/// What the report covers and how far its word goes.
#[derive(Debug, Clone)]
pub struct MergeOptions {
    /// The provider that was discovered; rows of another one are skipped.
    pub provider: String,
    /// The node it was discovered on.
    pub node: String,
    /// The provider home the report covers; `None` when it covers all of them.
    pub home: Option<String>,
    /// The time of the discovery.
    pub now: Timestamp,
    /// The discovery looked for one target; what it did not list may well exist.
    pub targeted: bool,
    /// Rows that a complete, untargeted report does not list are removed, not just switched
    /// off.
    pub prune: bool,
    /// Every source was read. Without that, nothing is removed and no row loses trust.
    pub complete: bool,
}

/// What a merge did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeReport {
    /// One for each row of the report, in its order.
    pub decisions: Vec<RowDecision>,
    /// How many are new targets.
    pub enrolled: usize,
    /// How many refreshed a row.
    pub updated: usize,
    /// How many lack identity.
    pub skipped: usize,
    /// How many are no targets.
    pub evidence: usize,
    /// Rows removed because the report did not list them.
    pub pruned: Vec<SessionKey>,
    /// Rows that were sendable and are not now, by what was seen or by absence; each
    /// row's `last_error` says why.
    pub demoted: Vec<SessionKey>,
    /// What went wrong, sorted.
    pub issues: Vec<Issue>,
}

/// What became of one row of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowDecision {
    /// Its place in the report.
    pub index: usize,
    /// What was done.
    pub decision: Decision,
    /// Why, in one line.
    pub reason: String,
}

/// Merges a report into rows.
pub(crate) fn merge(
    rows: &mut Vec<AgentRecord>,
    report: &[DiscoveredAgent],
    options: &MergeOptions,
) -> MergeReport {
    let mut out = MergeReport::default();
    let mut nameless = Vec::new();
    let groups = sort_out(report, options, &mut out);

    let mut places: HashMap<&SessionKey, usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        if let Some((key, _)) = groups.get_key_value(&row.key) {
            places.insert(key, at);
        }
    }
    let trusted: Vec<bool> = rows.iter().map(|row| row.sendable).collect();
    let mut claims = Vec::new();
    for (key, group) in &groups {
        let place = places.get(key).copied();
        let Some(place) = place.or_else(|| group::enter(rows, report, group, options)) else {
            nameless.extend(group);
            continue;
        };
        let old = place < trusted.len();
        let settled = group::settle(&mut rows[place], old, report, group, options);
        for (index, decision, reason) in settled.decisions {
            out.decide(index, decision, reason);
        }
        out.issues.extend(settled.issues);
        let given = settled
            .speaker
            .map_or(&[][..], |index| &report[index].guarded_aliases);
        let given = given
            .iter()
            .map(|alias| alias.trim())
            .filter(|alias| !is_blank_name(alias));
        claims.extend(given.map(|alias| Claim {
            by: rows[place].key.clone(),
            alias: alias.to_owned(),
        }));
    }
    skip_nameless(report, &nameless, &mut out);
    let lost = trusted
        .iter()
        .zip(rows.iter())
        .filter(|(was, row)| **was && !row.sendable);
    out.demoted = lost.map(|(_, row)| row.key.clone()).collect();

    if options.complete && !options.targeted {
        absent::settle(rows, |key| groups.contains_key(key), options, &mut out);
    }
    if !claims.is_empty() {
        for (claim, problem) in alias::settle(rows, claims) {
            let Claim { by, alias } = claim;
            let message = format!("alias `{alias}` of `{by}` is refused: {problem}");
            out.issues.push(Issue::new(codes::ALIAS_REFUSED, message));
        }
    }
    out.decisions.sort_by_key(|decision| decision.index);
    out.issues.sort();
    out
}

/// The rows of the report by identity, in the order of identities. Those without a full one
/// are skipped here.
fn sort_out<'r>(
    report: &'r [DiscoveredAgent],
    options: &MergeOptions,
    out: &mut MergeReport,
) -> BTreeMap<&'r SessionKey, Vec<usize>> {
    let mut groups: BTreeMap<&SessionKey, Vec<usize>> = BTreeMap::new();
    for (index, found) in report.iter().enumerate() {
        let key = &found.key;
        let foreign = key.provider != options.provider || key.node != options.node;
        let gap = identity_gap(key).map(str::to_owned).or_else(|| {
            let scope = || format!("it is not of {}:{}", options.provider, options.node);
            foreign.then(scope)
        });
        match gap {
            None => groups.entry(key).or_default().push(index),
            Some(gap) => {
                let message = format!("the row `{key}` is skipped: {gap}");
                out.issues
                    .push(Issue::new(codes::INCOMPLETE_IDENTITY, message));
                out.decide(index, Decision::Skipped, gap);
            }
        }
    }
    groups
}

/// New rows nobody has named. One issue for all: a provider may hold hundreds.
fn skip_nameless(report: &[DiscoveredAgent], nameless: &[usize], out: &mut MergeReport) {
    for index in nameless {
        out.decide(*index, Decision::Skipped, "there is no display name".into());
    }
    let mut keys: Vec<String> = nameless
        .iter()
        .map(|at| report[*at].key.to_string())
        .collect();
    keys.sort();
    keys.dedup();
    let Some(first) = keys.first() else { return };
    let message = match keys.len() {
        1 => format!("the row `{first}` is skipped: there is no display name"),
        n => format!("{n} rows are skipped, `{first}` first: there is no display name"),
    };
    out.issues
        .push(Issue::new(codes::INCOMPLETE_IDENTITY, message));
}

impl MergeReport {
    fn decide(&mut self, index: usize, decision: Decision, reason: String) {
        match decision {
            Decision::Enrolled => self.enrolled += 1,
            Decision::Updated => self.updated += 1,
            Decision::Skipped => self.skipped += 1,
            Decision::Evidence => self.evidence += 1,
        }
        self.decisions.push(RowDecision {
            index,
            decision,
            reason,
        });
    }
}

impl crate::Registry {
    /// Merges the report of one discovery into the table, under the lock: what other
    /// processes wrote since is kept. Lines that could not be read are among the issues.
    ///
    /// A report that is empty because nothing was understood must not be called complete:
    /// it would take every row of the provider with it.
    ///
    /// # Errors
    /// When the table cannot be locked, read or replaced; it is then as it was.
    pub fn merge(
        &self,
        report: &[DiscoveredAgent],
        options: &MergeOptions,
    ) -> Result<MergeReport, crate::RegistryError> {
        let (mut merged, damaged) = match self.reach(report, options)? {
            Reach::Nothing => return Ok(MergeReport::default()),
            Reach::Own => self.update_of(&options.provider, |rows| merge(rows, report, options))?,
            Reach::All => self.update(|table| Ok(merge(&mut table.rows, report, options)))?,
        };
        merged.issues.extend(damaged);
        merged.issues.sort();
        Ok(merged)
    }

    /// What [`crate::Registry::merge`] would do, leaving the table as it is.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn would_merge(
        &self,
        report: &[DiscoveredAgent],
        options: &MergeOptions,
    ) -> Result<MergeReport, crate::RegistryError> {
        match self.reach(report, options)? {
            Reach::Nothing => Ok(MergeReport::default()),
            Reach::Own => {
                self.would_update_of(&options.provider, |rows| merge(rows, report, options))
            }
            Reach::All => Ok(self.load()?.merge(report, options)),
        }
    }

    /// Which rows a report may change or ask about.
    fn reach(
        &self,
        report: &[DiscoveredAgent],
        options: &MergeOptions,
    ) -> Result<Reach, crate::RegistryError> {
        // Most providers are on no given machine, and reading a big table for each costs more
        // than finding out.
        if report.is_empty() && !self.mentions(&options.provider)? {
            return Ok(Reach::Nothing);
        }
        let mut texts = report.iter().flat_map(|found| &found.guarded_aliases);
        Ok(match texts.any(|alias| !is_blank_name(alias.trim())) {
            // A free text must lead to no other row of the whole table.
            true => Reach::All,
            false => Reach::Own,
        })
    }
}

/// The rows that a merge has to do with.
enum Reach {
    /// None: the report is empty, and so is the table as to its provider.
    Nothing,
    /// Those of its provider.
    Own,
    /// Those of every provider.
    All,
}

#[cfg(test)]
mod law_tests;
#[cfg(test)]
mod name_tests;
#[cfg(test)]
mod proof_tests;
#[cfg(test)]
mod scope_tests;
