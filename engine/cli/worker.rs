//! The hidden `axiowl worker`: a detached process that delivers one session's messages.

use crate::args::{Common, Worker as Arguments};
use crate::exit::{Exit, Failure, Outcome};
use crate::ground;
use crate::office::{self, Office};
use crate::setup::{self, Setup};
use axiowl_pipeline::{Ledger, Worker, WorkerError};

/// Delivers a message and whatever else waits for its session.
pub fn run(arguments: &Arguments, common: &Common) -> Outcome {
    let id = office::message_id(&arguments.message)?;
    let (setup, ledger) = open(id, common)?;
    with(&setup, &ledger, |worker| worker.run(id))?;
    Ok(Exit::Done)
}

/// Opens what dealing with one message needs: the ledger, and its target's rule and no other.
pub fn open(id: axiowl_model::MessageId, common: &Common) -> Result<(Setup, Ledger), Failure> {
    let ledger = office::ledger(&setup::open_without_rules(common)?)?;
    let message = ledger
        .message(id)
        .map_err(|error| office::ledger_failure(&error))?;
    let setup = setup::open_for(common, &message.target.key)?;
    Ok((setup, ledger))
}

/// Lets a worker of this command do something.
pub fn with<T>(
    setup: &Setup,
    ledger: &Ledger,
    work: impl FnOnce(&Worker<'_>) -> Result<T, WorkerError>,
) -> Result<T, Failure> {
    ground::hold(setup)?;
    let office = Office::new(setup)?;
    let edges = office::edges(setup)?;
    let limits = office::limits(&setup.config);
    let worker = Worker {
        state_root: &setup.state,
        ledger,
        log: &setup.evidence,
        edges: &edges,
        surroundings: &office,
        limits: &limits,
    };
    work(&worker).map_err(|error| {
        let mut failure = Failure::caused(&error);
        failure.hint = match &error {
            WorkerError::Ledger(error) => error.hint(),
            WorkerError::UnderWay { message } => Some(format!(
                "`axiowl message {message} --follow` shows how it goes"
            )),
            _ => None,
        };
        failure
    })
}
