//! `axiowl explain`: the whole chain for one session, from files to the route a send would take.

use crate::args::{Common, Explain};
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::send;
use crate::setup::{self, Setup};
use axiowl_discover::{Options, discover, explain};
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
    let mut found = Vec::new();
    for rule in rules {
        let options = Options {
            trace: true,
            deep: true,
            node: setup.config.node.as_str().into(),
            ..Options::default()
        };
        let report = discover(rule, &setup.world, &options);
        found.extend(report.agents.into_iter().filter(|agent| {
            targets.contains(&agent.key)
                || agent.display_name.as_deref() == Some(text)
                || agent.key.session == text
                || agent.key.bare_session() == text
                || agent.key.to_string() == text
        }));
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
                anstream::println!("{}  {key}", display_safe(&row.display_name));
                anstream::println!(
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
    let (state, detail) = send::words(&send::liveness(setup, &target)?);
    let row = setup.registry.load()?.get(&agent.key).cloned();
    if json {
        let mut fields = output::discovered_agent(agent, "", &agent.reason);
        fields["steps"] = json!(agent.trace);
        fields["liveness"] = state.into();
        fields["route"] = detail.into();
        fields["registry"] = row.as_ref().map_or(serde_json::Value::Null, output::agent);
        output::json_line("explanation", fields);
        return Ok(());
    }
    anstream::print!("{}", explain::chain(agent));
    anstream::println!("  now       {state}: {}", display_safe(&detail));
    match row {
        Some(row) if row.is_target() => anstream::println!(
            "  registry  a target, as {:?}",
            display_safe(&row.display_name)
        ),
        Some(row) => anstream::println!(
            "  registry  known, no target: {}",
            display_safe(&row.last_error)
        ),
        None => anstream::println!("  registry  not in it; run `axiowl discover all`"),
    }
    Ok(())
}
