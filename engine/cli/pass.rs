//! One scope of discovery: find, merge, write down every decision.

use crate::exit::{Exit, Failure};
use crate::homes;
use crate::setup::Setup;
use axiowl_discover::{Options, Readings, Report};
use axiowl_lang::load::LoadedRule;
use axiowl_lang::rule::Prune;
use axiowl_model::{AgentRecord, Decision, DiscoverySummary, Timestamp, Verdict};
use axiowl_registry::{MergeOptions, MergeReport, Snapshot};
use axiowl_sources::timings::timed;
use axiowl_sources::{Cancel, Timings, Witness};
use std::sync::Arc;
use std::time::SystemTime;

/// What one scope found and what became of it.
pub struct Pass {
    /// What discovery said.
    pub report: Report,
    /// What the registry did.
    pub merged: MergeReport,
    /// Both in numbers.
    pub summary: DiscoverySummary,
    /// Of a dry run, where they are wanted: the rows of the registry as they would be.
    pub after: Vec<AgentRecord>,
}

/// How a pass is made.
#[derive(Debug, Clone, Default)]
pub struct PassOptions {
    /// Only this session.
    pub target: Option<String>,
    /// Change nothing.
    pub dry_run: bool,
    /// Of a dry run: also say what the rows of the registry would be.
    pub with_after: bool,
    /// Of a dry run: a registry that cannot be read counts as empty, since somebody else tells it.
    pub unread_registry: bool,
    /// Scan whole files.
    pub deep: bool,
    /// Let `command` sources run their programs.
    pub allow_commands: bool,
    /// Ends the pass early; nothing is merged then.
    pub cancel: Cancel,
    /// Notes what the pass sees of the machine.
    pub witness: Option<Arc<Witness>>,
    /// Measures the stages of the pass.
    pub timings: Option<Arc<Timings>>,
    /// What the passes of one command read, where it makes several.
    pub readings: Option<Arc<Readings>>,
}

/// Runs one rule and merges what it found at once.
pub fn run(setup: &Setup, rule: &LoadedRule, options: &PassOptions) -> Result<Pass, Failure> {
    let node = setup.config.node.as_str().to_owned();
    let discovery = Options {
        target: options.target.clone(),
        deep: options.deep,
        node: node.clone(),
        copy_bytes: setup.config.limits.live_store.0,
        allow_commands: options.allow_commands || commands(setup, rule),
        cancel: options.cancel.clone(),
        timings: options.timings.clone(),
        readings: options.readings.clone(),
        ..Options::default()
    };
    let world = match &options.witness {
        Some(witness) => setup.world.witnessed(Arc::clone(witness)),
        None => setup.world.clone(),
    };
    let report = homes::discover_all(setup, &world, rule, &discovery)?;
    if options.cancel.is_cancelled() {
        let scope = rule.rule.scope_word();
        let message = format!("ended before all of {scope} was read; nothing of it was changed");
        return Err(Failure::new(Exit::Failed, message));
    }
    let now = if setup.world.is_fixture() {
        setup.world.now()
    } else {
        Timestamp::from(SystemTime::now())
    };
    let merge_options = merging(rule, &report, now);
    let timings = options.timings.as_deref();
    let merge = || -> Result<(MergeReport, Vec<AgentRecord>), Failure> {
        if options.dry_run && !options.with_after {
            return match setup.registry.would_merge(&report.agents, &merge_options) {
                Err(_) if options.unread_registry => {
                    let merged = Snapshot::default().merge(&report.agents, &merge_options);
                    Ok((merged, Vec::new()))
                }
                merged => Ok((merged?, Vec::new())),
            };
        }
        if options.dry_run {
            let mut rows = setup.registry.load()?;
            let merged = rows.merge(&report.agents, &merge_options);
            return Ok((merged, rows.into_agents()));
        }
        let merged = setup.registry.merge(&report.agents, &merge_options)?;
        Ok((merged, Vec::new()))
    };
    let rows = report.agents.len();
    let (merged, after) = timed(timings, || "merge".into(), merge, |_| rows)?;
    let mut issues = report.issues.clone();
    issues.extend(merged.issues.iter().cloned());
    let summary = DiscoverySummary {
        provider: report.provider.clone(),
        node_id: node,
        found: report.agents.len(),
        enrolled: merged.enrolled,
        updated: merged.updated,
        skipped: merged.skipped,
        evidence: merged.evidence,
        pruned: merged.pruned.len(),
        issues,
        verdict: report.verdict,
        registry: setup.registry.path().display().to_string(),
    };
    if !options.dry_run {
        let write = || write_down(setup, &report, &merged, options);
        timed(timings, || "write down".into(), write, |()| rows);
    }
    Ok(Pass {
        report,
        merged,
        summary,
        after,
    })
}

/// How the report of a rule is merged.
pub fn merging(rule: &LoadedRule, report: &Report, now: Timestamp) -> MergeOptions {
    // A report that is empty because nothing was understood says nothing about absence.
    let empty_without_reason =
        report.agents.is_empty() && matches!(report.verdict, Verdict::Drift | Verdict::Blind);
    MergeOptions {
        provider: report.provider.clone(),
        node: report.node.clone(),
        // The report is about every home of the provider.
        home: None,
        now,
        targeted: report.targeted,
        prune: rule.rule.prune == Prune::Unproven,
        complete: report.complete && !empty_without_reason,
    }
}

/// Whether config.yaml lets the commands of a rule run.
fn commands(setup: &Setup, rule: &LoadedRule) -> bool {
    let configured = setup.config.providers.get(&rule.rule.provider.value);
    configured.is_some_and(|provider| provider.commands)
}

/// One evidence line a decision.
fn write_down(setup: &Setup, report: &Report, merged: &MergeReport, options: &PassOptions) {
    let names = [
        "agent_id", "decision", "reason", "source", "status", "kind", "target",
    ];
    let target = options.target.as_deref();
    let decided = merged.decisions.iter().filter_map(|decided| {
        let agent = report.agents.get(decided.index)?;
        Some([
            Some(agent.key.to_string().into()),
            Some(decided.decision.as_str().into()),
            Some(decided.reason.as_str().into()),
            Some(agent.source.as_str().into()),
            Some(agent.status.as_str().into()),
            Some(agent.kind.as_str().into()),
            target.map(Into::into),
        ])
    });
    setup
        .evidence
        .record_all("discovery_decision", names, decided);
}

/// The decision and reason about each row of the report, in its order.
pub fn decisions(pass: &Pass) -> Vec<(Decision, String)> {
    let mut out = vec![(Decision::Skipped, String::new()); pass.report.agents.len()];
    for decided in &pass.merged.decisions {
        if let Some(slot) = out.get_mut(decided.index) {
            *slot = (decided.decision, decided.reason.clone());
        }
    }
    out
}
