//! The hidden `axiowl worker`: a detached process that delivers one session's messages.

use crate::args::{Common, Worker as Arguments};
use crate::exit::{Exit, Failure, Outcome};
use crate::office::{self, Office};
use crate::setup;
use axiowl_pipeline::{Ledger, Worker};

/// Delivers a message and whatever else waits for its session.
pub fn run(arguments: &Arguments, common: &Common) -> Outcome {
    let id = office::message_id(&arguments.message)?;
    let setup = setup::open(common)?;
    let office = Office::new(&setup)?;
    let ledger = Ledger::open(&setup.state).map_err(|error| office::ledger_failure(&error))?;
    let edges = office::edges(&setup);
    let limits = office::limits(&setup.config);
    let worker = Worker {
        state_root: &setup.state,
        ledger: &ledger,
        log: &setup.evidence,
        edges: &edges,
        surroundings: &office,
        limits: &limits,
    };
    worker.run(id).map_err(|error| Failure::caused(&error))?;
    Ok(Exit::Done)
}
