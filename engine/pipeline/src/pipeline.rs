//! The pipeline as one value: the state it works on and the seams it was given. Commands and
//! the MCP server hold one and use nothing else to send, follow and care for messages.

use crate::evidence_log::EvidenceLog;
use crate::follow::{self, Followed, Until};
use crate::ledger::{Ledger, LedgerError, Opening};
use crate::limits::Limits;
use crate::pass::TargetedPass;
use crate::spawn::StartWorker;
use crate::worker::is_attended;
use axiowl_model::{MessageId, SessionKey, Stage, StageLine};
use axiowl_registry::Registry;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One path for every send.
pub struct Pipeline {
    state_root: PathBuf,
    ledger: Ledger,
    registry: Registry,
    log: EvidenceLog,
    limits: Limits,
    pass: Box<dyn TargetedPass>,
    starter: Box<dyn StartWorker>,
}

impl Pipeline {
    /// The pipeline of a state root.
    ///
    /// # Errors
    /// When the ledger cannot be opened.
    pub fn open(
        state_root: impl AsRef<Path>,
        limits: Limits,
        pass: Box<dyn TargetedPass>,
        starter: Box<dyn StartWorker>,
    ) -> Result<Self, LedgerError> {
        Self::open_with(state_root, Opening::default(), limits, pass, starter)
    }

    /// The same with a clock and a patience of one's own.
    ///
    /// # Errors
    /// When the ledger cannot be opened.
    pub fn open_with(
        state_root: impl AsRef<Path>,
        opening: Opening,
        limits: Limits,
        pass: Box<dyn TargetedPass>,
        starter: Box<dyn StartWorker>,
    ) -> Result<Self, LedgerError> {
        let state_root = state_root.as_ref();
        Ok(Self {
            state_root: state_root.to_owned(),
            ledger: Ledger::open_with(state_root, opening)?,
            registry: Registry::at(state_root),
            log: EvidenceLog::at(state_root),
            limits,
            pass,
            starter,
        })
    }

    /// The messages.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The registry that names are looked up in.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Where decisions are recorded.
    pub fn log(&self) -> &EvidenceLog {
        &self.log
    }

    /// The bounds in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn pass(&self) -> &dyn TargetedPass {
        &*self.pass
    }

    /// Waits until a message reaches a stage of the good path. Every stage line, also those
    /// from before, goes to `line`. Messages whose worker died are taken up again meanwhile.
    ///
    /// # Errors
    /// An unknown message, or the database.
    pub fn wait_for(
        &self,
        id: MessageId,
        wanted: Stage,
        timeout: Duration,
        line: impl FnMut(StageLine),
    ) -> Result<Followed, LedgerError> {
        self.wait(id, Until::Stage(wanted), timeout, line)
    }

    /// The same until nothing more comes by itself: its delivery is over, and it does not wait
    /// for one.
    ///
    /// # Errors
    /// An unknown message, or the database.
    pub fn follow(
        &self,
        id: MessageId,
        timeout: Duration,
        line: impl FnMut(StageLine),
    ) -> Result<Followed, LedgerError> {
        self.wait(id, Until::Rest, timeout, line)
    }

    fn wait(
        &self,
        id: MessageId,
        until: Until,
        timeout: Duration,
        mut line: impl FnMut(StageLine),
    ) -> Result<Followed, LedgerError> {
        let mut care = || {
            if let Err(error) = self.resume_abandoned() {
                tracing::warn!(%error, "abandoned messages not looked for");
            }
        };
        follow::wait(&self.ledger, id, until, timeout, &mut line, &mut care)
    }

    /// Starts workers for sessions that have messages and nobody who delivers them, and
    /// expires what waited too long. Returns the messages workers were started for.
    ///
    /// # Errors
    /// The database.
    pub fn resume_abandoned(&self) -> Result<Vec<MessageId>, LedgerError> {
        self.resume(None)
    }

    pub(crate) fn care_for_others(&self, but: &SessionKey) {
        if let Err(error) = self.resume(Some(but)) {
            tracing::warn!(%error, "abandoned messages not looked for");
        }
    }

    fn resume(&self, but: Option<&SessionKey>) -> Result<Vec<MessageId>, LedgerError> {
        for id in self.ledger.expire_overdue()? {
            self.log
                .record("stage", json!({"message_id": id, "stage": Stage::Expired}));
        }
        let mut resumed = Vec::new();
        for (key, id) in self.ledger.pending_sessions()? {
            if but == Some(&key) {
                continue;
            }
            match is_attended(&self.state_root, &key) {
                Ok(true) => {}
                Ok(false) if self.start_worker(id).is_ok() => resumed.push(id),
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "session not looked at"),
            }
        }
        Ok(resumed)
    }

    /// Sees to it that a worker comes for a message that was just accepted: the one that waits
    /// for its session already, or a new one. Returns why there is none.
    pub(crate) fn have_served(&self, id: MessageId, key: &SessionKey) -> Option<String> {
        match is_attended(&self.state_root, key) {
            // It begins after this message was accepted, and so will find it.
            Ok(true) => {
                self.log.record("worker_waits", json!({"message_id": id}));
                None
            }
            Ok(false) => self.start_worker(id).err().map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    pub(crate) fn start_worker(&self, id: MessageId) -> io::Result<()> {
        let result = self.starter.start(id);
        match &result {
            Ok(()) => self.log.record("worker_spawned", json!({"message_id": id})),
            Err(error) => {
                let fields = json!({"message_id": id, "reason": error.to_string()});
                self.log.record("worker_not_spawned", fields);
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_may_share_it_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Pipeline>();
    }
}
