//! Which sessions a case keeps.

use crate::exit::{Exit, Failure};
use axiowl_discover::{Found, Options, Report, rows_of};
use axiowl_lang::load::LoadedRule;
use axiowl_model::DiscoveredAgent;
use axiowl_sources::{Row, World};
use std::collections::{BTreeMap, BTreeSet};

/// Sessions of each sort, and in all, when none is named.
const EACH: usize = 2;
const ALL: usize = 12;

/// A session of the case.
pub struct Chosen {
    /// What discovery says about it.
    pub agent: DiscoveredAgent,
    /// Its id without the provider's prefix.
    pub bare: String,
    /// The row it was judged by.
    pub row: Row,
    /// The roots it was found under.
    pub roots: BTreeMap<String, String>,
}

/// The named sessions, or a few of each sort.
///
/// # Errors
/// When a name fits no session.
pub fn choose(
    loaded: &LoadedRule,
    world: &World,
    report: &Report,
    named: &[String],
    options: &Options,
) -> Result<Vec<Chosen>, Failure> {
    let mut wanted = BTreeSet::new();
    for name in named {
        let name = name.trim();
        let is_it = |agent: &&DiscoveredAgent| {
            agent.key.session == name
                || agent.key.bare_session() == name
                || agent.key.to_string() == name
                || agent.display_name.as_deref() == Some(name)
        };
        let fitting = report.agents.iter().filter(is_it);
        let before = wanted.len();
        wanted.extend(fitting.map(|agent| agent.key.session.clone()));
        if wanted.len() == before {
            return Err(
                Failure::new(Exit::NoTarget, format!("no session is called {name:?}"))
                    .hint("leave --session out to keep a few of each sort"),
            );
        }
    }
    if named.is_empty() {
        wanted = a_few(report);
    }
    let found = rows_of(loaded, world, &wanted, options).into_iter();
    Ok(found
        .map(|Found { agent, row, roots }| Chosen {
            bare: agent.key.bare_session().to_owned(),
            agent,
            row,
            roots,
        })
        .collect())
}

/// The newest of each sort: what decides is the same for all of a sort.
fn a_few(report: &Report) -> BTreeSet<String> {
    let mut agents: Vec<&DiscoveredAgent> = report.agents.iter().collect();
    agents.sort_by(|a, b| {
        b.last_seen_at
            .cmp(&a.last_seen_at)
            .then_with(|| a.key.cmp(&b.key))
    });
    let mut each: BTreeMap<String, usize> = BTreeMap::new();
    let mut out = BTreeSet::new();
    for agent in agents {
        let sort = format!(
            "{} {} {} {} {} {}",
            agent.kind,
            agent.status,
            agent.source,
            agent.has_enrollment_proof,
            agent.weak_name,
            agent.display_name.is_some()
        );
        let count = each.entry(sort).or_default();
        *count += 1;
        if *count <= EACH && out.len() < ALL {
            out.insert(agent.key.session.clone());
        }
    }
    out
}
