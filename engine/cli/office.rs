//! Wires the pipeline to the rest: targeted discovery, workers, the world a delivery runs in.

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::homes;
use crate::pass::{self, PassOptions};
use crate::setup::{self, Own, Setup};
use axiowl_discover::{Options, TranscriptReader, row_of};
use axiowl_lang::config::Config;
use axiowl_model::{Evidence, MessageId};
use axiowl_pipeline::edge::{LookError, Sighting, Target, TranscriptLook, TurnEnd};
use axiowl_pipeline::{
    EdgeTable, Limits, PassSummary, Pipeline, Surroundings, TargetedPass, WorkerProcesses,
};
use axiowl_sources::World;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The pipeline of a state folder. Rules are read only when a name is not known: a send to a
/// known session needs none.
pub fn pipeline(setup: &Setup) -> Result<Pipeline, Failure> {
    let axiowl = std::env::current_exe()?;
    // The state folder is given by the worker's own option; the others make it see the same world.
    let mut seen = setup.common.clone();
    seen.state = None;
    let workers = WorkerProcesses::new(axiowl, &setup.state)?.with_args(setup::child_flags(&seen));
    let pass = LazyPass {
        common: setup.common.clone(),
        state: setup.state.clone(),
    };
    Pipeline::open(
        &setup.state,
        limits(&setup.config),
        Box::new(pass),
        Box::new(workers),
    )
    .map_err(|error| ledger_failure(&error))
}

/// The edges of this build, for this node.
pub fn edges(setup: &Setup) -> EdgeTable {
    EdgeTable::new(axiowl_providers::edges()).on_node(setup.config.node.as_str())
}

/// A ledger error with its hint.
pub fn ledger_failure(error: &axiowl_pipeline::LedgerError) -> Failure {
    let mut failure = Failure::caused(error);
    failure.hint = error.hint();
    failure
}

/// The limits in force.
pub fn limits(config: &Config) -> Limits {
    let configured = &config.limits;
    let mut limits = Limits::default();
    limits.body_bytes = usize::try_from(configured.body.0).unwrap_or(usize::MAX);
    limits.hops = usize::try_from(configured.hops).unwrap_or(usize::MAX);
    limits.pair_messages = usize::try_from(configured.pair_per_minute).unwrap_or(usize::MAX);
    limits.expiry = Duration::from_millis(u64::try_from(configured.expires.0).unwrap_or(0));
    limits
}

/// Discovery for one name, over every local provider, made only when it is asked for.
struct LazyPass {
    common: Common,
    state: PathBuf,
}

impl LazyPass {
    fn run(&self, text: &str) -> PassSummary {
        let mut common = self.common.clone();
        common.state = Some(self.state.clone());
        let setup = match setup::open(&common) {
            Ok(setup) => setup,
            Err(failure) => return PassSummary::failed(failure.message),
        };
        let options = PassOptions {
            target: Some(text.to_owned()),
            ..PassOptions::default()
        };
        let mut scopes = Vec::new();
        for rule in setup.rules.iter() {
            match pass::run(&setup, rule, &options) {
                Ok(pass) => scopes.push(pass.summary),
                Err(failure) => return PassSummary::failed(failure.message),
            }
        }
        PassSummary::local(scopes)
    }
}

impl TargetedPass for LazyPass {
    fn sender(&self, text: &str) -> PassSummary {
        self.run(text)
    }

    fn target(&self, text: &str) -> PassSummary {
        self.run(text)
    }
}

/// Variables a provider's child may see beside those the configuration names.
const CHILD_ENV: [&str; 31] = [
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "CODEX_HOME",
    "CLAUDE_CONFIG_DIR",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
];

/// What a delivery finds around it.
pub struct Office<'a> {
    setup: &'a Setup,
    own: Own,
    axiowl: PathBuf,
}

impl<'a> Office<'a> {
    /// For one command.
    pub fn new(setup: &'a Setup) -> Result<Self, Failure> {
        Ok(Self {
            setup,
            own: Own::of_process()?,
            axiowl: std::env::current_exe()?,
        })
    }
}

impl Surroundings for Office<'_> {
    fn world(&self) -> &World {
        &self.setup.world
    }

    fn axiowl(&self) -> &Path {
        &self.axiowl
    }

    fn child_env(&self, provider: &str) -> Vec<(String, String)> {
        let world = &self.setup.world;
        let mut out: Vec<(String, String)> = CHILD_ENV
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), world.env(name)?.to_owned())))
            .collect();
        out.extend(self.own.locale());
        if let Some(configured) = self.setup.config.providers.get(provider) {
            for name in configured.env.iter().map(|name| name.value.as_str()) {
                if let Some(value) = self.own.var(name) {
                    out.retain(|(known, _)| known != name);
                    out.push((name.to_owned(), value.to_owned()));
                }
            }
        }
        out
    }

    fn provider_home(&self, target: &Target) -> Option<PathBuf> {
        homes::folder(self.setup, &target.key.provider, &target.home)
    }

    fn transcript(&self, target: &Target) -> Box<dyn TranscriptLook + '_> {
        Box::new(Look {
            setup: self.setup,
            target: target.clone(),
            reader: RefCell::new(None),
        })
    }
}

/// A look into a target's transcript, by its provider's rule.
struct Look<'a> {
    setup: &'a Setup,
    target: Target,
    reader: RefCell<Option<(MessageId, TranscriptReader<'a>)>>,
}

impl<'a> Look<'a> {
    fn open(&self) -> Result<TranscriptReader<'a>, LookError> {
        let key = &self.target.key;
        let unknown = |reason: &str| LookError {
            path: key.to_string(),
            reason: reason.into(),
        };
        let rule = self
            .setup
            .rules
            .get(&key.provider)
            .ok_or_else(|| unknown("no rule for its provider"))?;
        let options = Options {
            node: key.node.clone(),
            home: self.target.home.clone(),
            copy_bytes: self.setup.config.limits.live_store.0,
            ..Options::default()
        };
        let world = homes::world(self.setup, &key.provider, &self.target.home)
            .ok_or_else(|| unknown("config.yaml does not name the home it stands in any more"))?;
        let found = row_of(rule, &world, &key.session, &options)
            .ok_or_else(|| unknown("the session is not in its provider's store"))?;
        TranscriptReader::of_row(rule, &world, &found.row, &found.roots)
            .ok_or_else(|| unknown("its rule describes no transcript"))
    }
}

impl TranscriptLook for Look<'_> {
    fn look(&self, message: MessageId) -> Result<Sighting, LookError> {
        let mut held = self.reader.borrow_mut();
        if held.as_ref().is_none_or(|(of, _)| *of != message) {
            *held = Some((message, self.open()?));
        }
        let Some((_, reader)) = held.as_mut() else {
            return Ok(Sighting::default());
        };
        let path = reader.path().to_owned();
        let look = reader
            .look(&message.to_string())
            .map_err(|error| LookError {
                path,
                reason: error.to_string(),
            })?;
        let evidence = |place: axiowl_discover::Place| Evidence {
            kind: "transcript_record".into(),
            path: Some(place.path),
            offset: Some(place.offset),
            row: None,
            detail: place.id,
        };
        Ok(Sighting {
            message: look.message.map(evidence),
            turn: look.end.map(|end| TurnEnd {
                completed: end.completed,
                evidence: evidence(end.place),
            }),
        })
    }
}

/// Reads an id from the command line.
pub fn message_id(text: &str) -> Result<MessageId, Failure> {
    text.parse().map_err(|_| {
        Failure::new(Exit::Usage, format!("`{text}` is no message id"))
            .hint("`axiowl list messages` shows the ids")
    })
}
