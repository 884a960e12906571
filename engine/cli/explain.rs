//! `axiowl explain`: the whole chain for one session, from files to the route a send would take.

use crate::args::{Common, Explain};
use crate::exit::{Exit, Failure, Outcome};
use crate::homes;
use crate::output;
use crate::send;
use crate::setup::{self, Setup};
use axiowl_discover::{Options, explain};
use axiowl_lang::load::LoadedRule;
use axiowl_model::{DiscoveredAgent, display_safe};
use axiowl_pipeline::edge::Target;
use axiowl_registry::{Lookup, Resolution};
use serde_json::json;

/// Explains every session a text fits.
pub fn run(arguments: &Explain, common: &Common) -> Outcome {
    let setup = setup::open(common)?;
    let rules: Vec<&LoadedRule> = setup.rules.iter().map(|rule| &**rule).collect();
    show(&setup, &rules, arguments.target.trim(), arguments.json)
}

/// Explains every session that a text fits, under these rules.
pub fn show(setup: &Setup, rules: &[&LoadedRule], text: &str, json: bool) -> Outcome {
    let snapshot = setup.registry.load()?;
    let resolved = snapshot.resolve(text, Lookup::default());
    // The registry knows names that a file does not show any more.
    let (targets, near) = match &resolved {
        Resolution::Found { row, also, .. } => (
            std::iter::once(*row)
                .chain(also.iter().copied())
                .map(|row| row.key.clone())
                .collect(),
            Vec::new(),
        ),
        Resolution::Ambiguous(rows) => {
            (rows.iter().map(|row| row.key.clone()).collect(), Vec::new())
        }
        Resolution::Miss { near } => (Vec::new(), near.clone()),
    };
    let meant = |agent: &DiscoveredAgent| {
        targets.contains(&agent.key)
            || agent.display_name.as_deref() == Some(text)
            || agent.key.session == text
            || agent.key.bare_session() == text
            || agent.key.to_string() == text
    };
    let mut found = Vec::new();
    for rule in rules.iter().copied() {
        let look = |deep_only: Vec<String>| {
            let options = Options {
                trace: true,
                deep: !deep_only.is_empty(),
                deep_only,
                node: setup.config.node.as_str().into(),
                copy_bytes: setup.config.limits.live_store.0,
                ..Options::default()
            };
            let report = homes::discover_all(setup, &setup.world, rule, &options)?;
            Ok(report.agents.into_iter().filter(&meant).collect::<Vec<_>>())
        };
        // First as discovery reads; then the whole of the files of what was found, and of no other.
        let looked = look(Vec::new()).and_then(|agents| {
            let ids: Vec<String> = agents
                .iter()
                .map(|agent| agent.key.bare_session().to_owned())
                .collect();
            if ids.is_empty() {
                Ok(agents)
            } else {
                look(ids)
            }
        });
        match looked {
            Ok(agents) => found.extend(agents),
            // The homes of one provider say nothing about the sessions of another.
            Err(failure) => {
                let failure: Failure = failure;
                anstream::eprintln!("{}: {failure}", rule.rule.provider.value);
            }
        }
    }
    if found.is_empty() && targets.is_empty() {
        let mut failure = Failure::new(Exit::NoTarget, format!("nothing is called {text:?}"));
        if !near.is_empty() {
            failure.hint = Some(format!("near: {}", near.join(", ")));
        }
        return Err(failure);
    }
    for agent in &found {
        one(setup, agent, json)?;
    }
    for key in targets
        .iter()
        .filter(|key| found.iter().all(|agent| agent.key != **key))
    {
        if let Some(row) = snapshot.get(key) {
            if json {
                output::json_line(
                    "explanation",
                    json!({ "registry": output::agent(row), "found": false }),
                );
            } else {
                crate::output::say!("{}  {key}", display_safe(&row.display_name));
                crate::output::say!(
                    "  only in the registry (source {}): no provider file shows it now",
                    row.source
                );
            }
        }
    }
    Ok(Exit::Done)
}

fn one(setup: &Setup, agent: &DiscoveredAgent, json: bool) -> Result<(), Failure> {
    let target = Target {
        key: agent.key.clone(),
        display_name: agent.display_name.clone().unwrap_or_default(),
        cwd: agent.cwd.clone().unwrap_or_default(),
        home: agent.home.clone(),
    };
    let liveness = send::liveness(setup, &target)?;
    let row = setup.registry.load()?.get(&agent.key).cloned();
    if json {
        let mut fields = output::discovered_agent(agent, "", &agent.reason);
        fields["steps"] = json!(agent.trace);
        send::describe(&mut fields, &liveness);
        fields["registry"] = row.as_ref().map_or(serde_json::Value::Null, output::agent);
        output::json_line("explanation", fields);
        return Ok(());
    }
    let deliverable = axiowl_providers::serves(&agent.key.provider);
    crate::output::say_part!("{}", explain::chain(agent, deliverable));
    let (state, detail) = send::words(&liveness);
    crate::output::say!("  now       {state}: {}", display_safe(&detail));
    match row {
        Some(row) if row.is_target() => crate::output::say!(
            "  registry  a target, as {:?}",
            display_safe(&row.display_name)
        ),
        Some(row) => crate::output::say!(
            "  registry  known, no target: {}",
            display_safe(&row.last_error)
        ),
        None => crate::output::say!("  registry  not in it; run `axiowl discover all`"),
    }
    Ok(())
}
