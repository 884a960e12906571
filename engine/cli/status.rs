//! `axiowl` alone: what is there, what is under way, what to do next.

use crate::args::Common;
use crate::exit::{Exit, Outcome};
use crate::office;
use crate::output::{json_line, say};
use crate::setup;
use axiowl_model::Timestamp;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::SystemTime;

/// Shows status.
pub fn run(common: &Common, as_json: bool) -> Outcome {
    let setup = setup::open(common)?;
    let snapshot = setup.registry.load()?;
    let pipeline = office::pipeline(&setup)?;
    let resumed = pipeline
        .resume_abandoned()
        .map_err(|error| office::ledger_failure(&error))?;
    let in_flight = pipeline
        .ledger()
        .in_flight()
        .map_err(|error| office::ledger_failure(&error))?;
    let known = snapshot.agents().len();
    let targets = snapshot.targets().count();
    // Provider: sessions known, of these targets, the newest sight of one.
    let mut providers: BTreeMap<&str, (usize, usize, Option<Timestamp>)> = BTreeMap::new();
    for row in snapshot.agents() {
        let entry = providers.entry(row.key.provider.as_str()).or_default();
        entry.0 += 1;
        entry.1 += usize::from(row.is_target());
        entry.2 = entry.2.max(row.last_seen_at);
    }
    let next = if known == 0 {
        "axiowl discover all"
    } else if targets == 0 {
        "axiowl list agents --all"
    } else {
        "axiowl send --to \"<name>\" --body \"<text>\" --wait seen"
    };
    if as_json {
        let providers: Vec<_> = providers
            .iter()
            .map(|(provider, (known, targets, seen))| {
                json!({ "provider": provider, "known": known, "sendable": targets, "last_seen_at": seen })
            })
            .collect();
        json_line(
            "status",
            json!({
                "providers": providers, "known": known, "sendable": targets,
                "in_flight": in_flight.len(), "resumed": resumed.len(),
                "state": setup.state, "next": next,
            }),
        );
        return Ok(Exit::Done);
    }
    if !providers.is_empty() {
        let now = Timestamp::from(SystemTime::now());
        let cells: Vec<Vec<String>> = providers
            .iter()
            .map(|(provider, (known, targets, seen))| {
                let ago = crate::output::ago(*seen, now);
                vec![
                    (*provider).to_owned(),
                    known.to_string(),
                    targets.to_string(),
                    ago,
                ]
            })
            .collect();
        crate::output::table(&["PROVIDER", "SESSIONS", "SENDABLE", "SEEN"], &cells);
        say!();
    }
    say!("providers seen      {}", providers.len());
    say!("sessions known      {known}");
    say!("agents sendable     {targets}");
    say!("messages in flight  {}", in_flight.len());
    if !resumed.is_empty() {
        say!("deliveries resumed  {}", resumed.len());
    }
    say!("state               {}", setup.state.display());
    say!("next                {next}");
    Ok(Exit::Done)
}
