//! A fixture case: a recorded world, the run over it, and what is expected of it.

use crate::bounds;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::pass;
use axiowl_discover::coverage::Coverage;
use axiowl_discover::{Options, discover};
use axiowl_lang::load::LoadedRule;
use axiowl_model::{Decision, codes};
use axiowl_registry::Registry;
use axiowl_sources::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A case folder of a rule.
pub struct Case {
    /// The folder's name.
    pub name: String,
    /// Where it is.
    pub dir: PathBuf,
}

impl Case {
    /// Where the expectation stands.
    pub fn expected(&self) -> PathBuf {
        self.dir.join("expected.json")
    }
}

/// The cases of a rule folder, by name.
pub fn find(rule: &Path) -> Vec<Case> {
    let Ok(entries) = std::fs::read_dir(rule.join("fixtures")) else {
        return Vec::new();
    };
    let mut out: Vec<Case> = entries
        .filter_map(|entry| {
            let dir = entry.ok()?.path();
            let name = dir.file_name()?.to_string_lossy().into_owned();
            dir.join("world.yaml")
                .is_file()
                .then_some(Case { name, dir })
        })
        .collect();
    out.sort_by(|a, b| a.name.cmp(&b.name));
    out
}

/// Runs a rule over a case: the same code as `discover`, with a registry of its own.
pub fn run(
    rule: &LoadedRule,
    case: &Case,
    coverage: Option<&Arc<Coverage>>,
) -> Result<Value, Failure> {
    let spec = bounds::read_case(&case.dir)?;
    let target = spec.target.clone();
    let mut world = World::fixture(&case.dir, &spec).with_native(axiowl_providers::native_facts());
    let state = tempfile::tempdir()?;
    let registry = Registry::at(state.path());
    start_registry(&registry, &case.dir.join("registry.tsv"))?;
    let mut registered: BTreeMap<String, Vec<String>> = spec.registered.clone();
    for row in registry.load()?.agents() {
        registered
            .entry(row.key.bare_session().to_owned())
            .or_default()
            .push(row.key.provider.clone());
    }
    world.set_registered(registered);
    let report = discover(
        rule,
        &world,
        &Options {
            target,
            coverage: coverage.cloned(),
            ..Options::default()
        },
    );
    let merged = registry.merge(&report.agents, &pass::merging(rule, &report, world.now()))?;
    let mut decisions = vec![(Decision::Skipped, String::new()); report.agents.len()];
    for decided in &merged.decisions {
        if let Some(slot) = decisions.get_mut(decided.index) {
            *slot = (decided.decision, decided.reason.clone());
        }
    }
    let rows: Vec<Value> = report
        .agents
        .iter()
        .zip(&decisions)
        .map(|(agent, (decision, reason))| {
            let mut row = output::discovered_agent(agent, decision.as_str(), reason);
            row["weak_name"] = agent.weak_name.into();
            row["aliases"] = json!(agent.aliases);
            row
        })
        .collect();
    let mut after: Vec<Value> = registry
        .load()?
        .agents()
        .iter()
        .map(output::agent)
        .collect();
    after.sort_by_key(|row| row["agent_id"].as_str().unwrap_or_default().to_owned());
    let mut issues = report.issues.clone();
    issues.extend(merged.issues);
    Ok(json!({
        "rows": rows,
        "left_out": report.dropped,
        "issues": issues,
        "verdict": report.verdict,
        "registry": after,
    }))
}

/// A case may start from a registry; the file is copied, never written.
fn start_registry(registry: &Registry, start: &Path) -> Result<(), Failure> {
    if !start.is_file() {
        return Ok(());
    }
    if let Some(folder) = registry.path().parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::copy(start, registry.path())?;
    Ok(())
}

/// A run that found nothing, left nothing out and did not see that there is nothing proves nothing
/// about the rule.
pub fn is_vacuous(outcome: &Value) -> bool {
    let empty = |key: &str| match &outcome[key] {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => true,
    };
    let issues = outcome["issues"].as_array();
    let unused = issues.is_some_and(|all| all.iter().any(|issue| issue["code"] == codes::NOT_USED));
    empty("rows") && empty("left_out") && !unused
}

/// What is expected of a case; `None` when nothing is written down yet.
pub fn expectation(case: &Case) -> Result<Option<Value>, Failure> {
    let path = case.expected();
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| Failure::new(Exit::Failed, format!("{}: {error}", path.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::new(
            Exit::Failed,
            format!("{}: {error}", path.display()),
        )),
    }
}
