//! How far a message would get now, without asking any model: a real one through AxiOwl's own
//! echo agent in a temporary home, and for each provider the door of its newest target.

use super::finding::{Findings, Level};
use crate::demo;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::send;
use crate::setup::Setup;
use axiowl_model::{AgentRecord, display_safe};
use axiowl_pipeline::edge::{Liveness, Target};
use serde_json::json;

/// Tries the doors of providers.
pub fn look(
    setup: &Setup,
    wanted: &dyn Fn(&str) -> bool,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let Ok(snapshot) = setup.registry.load() else {
        return Ok(());
    };
    let mut providers: Vec<&str> = snapshot
        .targets()
        .map(|row| row.key.provider.as_str())
        .collect();
    providers.sort_unstable();
    providers.dedup();
    for provider in providers.into_iter().filter(|provider| wanted(provider)) {
        let rows = snapshot
            .targets()
            .filter(|row| row.key.provider == provider);
        if let Some(row) = rows.max_by_key(|row| row.last_seen_at) {
            door(setup, row, findings)?;
        }
    }
    Ok(())
}

/// A message to the built-in agent: ledger, worker, edge, transcript, MCP server and reply.
pub fn echo(findings: &mut Findings) {
    let progress = Progress::show("sending a message to the built-in agent");
    let reached = demo::loopback();
    drop(progress);
    match reached {
        Err(failure) => {
            let text = format!("the loopback could not start: {}", failure.message);
            findings.add_with(
                Level::Broken,
                "echo",
                &text,
                "axiowl demo --keep shows where",
                json!({ "stage": null }),
            );
        }
        Ok(stages) => {
            let last = stages.last().cloned().unwrap_or_default();
            if stages.iter().any(|stage| stage == "replied") {
                let text = "a message to the built-in agent was answered over MCP";
                findings.add_with(
                    Level::Ok,
                    "echo",
                    text,
                    "",
                    json!({ "stage": "replied", "stages": stages }),
                );
            } else {
                let text = format!("a message to the built-in agent stopped at {last}");
                findings.add_with(
                    Level::Broken,
                    "echo",
                    &text,
                    "axiowl demo --keep shows where",
                    json!({ "stage": last, "stages": stages }),
                );
            }
        }
    }
}

/// Where a message to one target would stop: the first stage it would not reach.
fn door(setup: &Setup, row: &AgentRecord, findings: &mut Findings) -> Result<(), Failure> {
    let target = Target {
        key: row.key.clone(),
        display_name: row.display_name.clone(),
        cwd: row.cwd.clone(),
        home: row.home.clone(),
    };
    let name = display_safe(&row.display_name);
    let subject = row.key.provider.as_str();
    let at = |stage: &str| json!({ "agent_id": row.agent_id(), "stage": stage });
    match send::liveness(setup, &target)? {
        Liveness::Idle { route } => {
            let text = format!(
                "{name:?} is idle: {route}. What follows needs its model, so it is not tried"
            );
            findings.add_with(Level::Ok, subject, &text, "", at("submitted"));
        }
        Liveness::Door { route } => {
            let text = format!(
                "{name:?} is open with a door: {route}. What follows needs its model, so it is not tried"
            );
            findings.add_with(Level::Ok, subject, &text, "", at("submitted"));
        }
        Liveness::Closed { reason, remedy } => {
            let text = format!("{name:?} would stop at refused: {reason}");
            findings.add_with(Level::Note, subject, &text, &remedy, at("refused"));
        }
        Liveness::Unavailable { reason } => {
            let text = format!("{name:?} would stop at refused: {reason}");
            let hint = format!("axiowl explain {:?}", row.display_name);
            findings.add_with(Level::Attention, subject, &text, &hint, at("refused"));
        }
    }
    Ok(())
}
