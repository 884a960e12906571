//! `axiowl` alone: what is there, what is under way, what to do next.

use crate::args::Common;
use crate::exit::{Exit, Outcome};
use crate::office;
use crate::setup;

/// Shows status.
pub fn run(common: &Common) -> Outcome {
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
    let providers: std::collections::BTreeSet<&str> = snapshot
        .agents()
        .iter()
        .map(|row| row.key.provider.as_str())
        .collect();
    crate::output::say!("providers seen      {}", providers.len());
    crate::output::say!("sessions known      {known}");
    crate::output::say!("agents sendable     {targets}");
    crate::output::say!("messages in flight  {}", in_flight.len());
    if !resumed.is_empty() {
        crate::output::say!("deliveries resumed  {}", resumed.len());
    }
    crate::output::say!("state               {}", setup.state.display());
    let next = if known == 0 {
        "axiowl discover all"
    } else if targets == 0 {
        "axiowl list agents --all"
    } else {
        "axiowl send --to \"<name>\" --body \"<text>\" --wait seen"
    };
    crate::output::say!("next                {next}");
    Ok(Exit::Done)
}
