//! Wires the pipeline to the rest: targeted discovery, workers, the world a delivery runs in.

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::homes;
use crate::mcp_http;
use crate::own::Own;
use crate::pass::{self, PassOptions};
use crate::setup::{self, Setup};
use axiowl_discover::{Options, TranscriptReader, row_of};
use axiowl_lang::config::Config;
use axiowl_model::{Evidence, MessageId};
use axiowl_pipeline::edge::{LookError, Sighting, Target, TranscriptLook, TurnEnd};
use axiowl_pipeline::{
    Clock, EdgeTable, Ledger, Limits, Opening, PassSummary, Pipeline, Surroundings, TargetedPass,
    WorkerProcesses,
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
    let workers = WorkerProcesses::new(axiowl, &setup.state)?
        .with_args(setup::child_flags(&seen))
        .without_env(mcp_http::VARIABLE);
    let pass = LazyPass {
        common: setup.common.clone(),
        state: setup.state.clone(),
    };
    Pipeline::open_with(
        &setup.state,
        opening(setup),
        limits(&setup.config),
        Box::new(pass),
        Box::new(workers),
    )
    .map_err(|error| ledger_failure(&error))
}

/// The ledger of a state folder.
pub fn ledger(setup: &Setup) -> Result<Ledger, Failure> {
    Ledger::open_with(&setup.state, opening(setup)).map_err(|error| ledger_failure(&error))
}

/// A world file supplies the clock of everything that happens in it.
fn opening(setup: &Setup) -> Opening {
    let clock = if setup.world.is_fixture() {
        let then = setup.world.now();
        Clock::telling(move || then)
    } else {
        Clock::system()
    };
    Opening {
        clock,
        ..Opening::default()
    }
}

/// The edges of this build, for this node.
pub fn edges(setup: &Setup) -> Result<EdgeTable, Failure> {
    let table = EdgeTable::new(axiowl_providers::edges()).map_err(|two| Failure::caused(&two))?;
    Ok(table.on_node(setup.config.node.as_str()))
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
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let span = |millis: i64| Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    Limits {
        body_bytes: usize::try_from(configured.body.0).unwrap_or(usize::MAX),
        hops: count(configured.hops),
        pair_messages: count(configured.pair_per_minute),
        target_messages: count(configured.target_per_minute),
        rate_window: Duration::from_secs(60),
        expiry: span(configured.expires.0),
        delivery: span(configured.delivery.0),
        retention: span(config.retention.0),
        ..Limits::default()
    }
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
const CHILD_ENV: [&str; 34] = [
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
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "SystemRoot",
    "ComSpec",
    "PATHEXT",
    "TEMP",
    "TMP",
];

/// The `NAME=value` lines of an environment file. Blank lines and comments are left out, and
/// so are `export` and one pair of quotes around a value.
fn env_file(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let quoted = ['"', '\'']
            .into_iter()
            .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
        Some((name, quoted.unwrap_or(value)))
    })
}

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

    /// The file that config.yaml names for a provider's environment, and its text.
    fn env_file(&self, provider: &str) -> Option<(PathBuf, std::io::Result<String>)> {
        let configured = self.setup.config.providers.get(provider)?;
        let path = self.setup.folder(configured.env_file.as_ref()?);
        let text = std::fs::read_to_string(&path);
        Some((path, text))
    }

    /// What is wrong with that file, if anything. Nothing of its text is told.
    pub fn env_file_fault(&self, provider: &str) -> Option<(PathBuf, String)> {
        let (path, text) = self.env_file(provider)?;
        let text = match text {
            Ok(text) => text,
            Err(error) => return Some((path, format!("cannot be read: {error}"))),
        };
        let meant = text.lines().map(str::trim);
        let meant = meant.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let odd = meant.filter(|line| env_file(line).next().is_none()).count();
        match odd {
            0 => None,
            1 => Some((path, "a line of it is no `NAME=value`".into())),
            odd => Some((path, format!("{odd} lines of it are no `NAME=value`"))),
        }
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
        let Some(configured) = self.setup.config.providers.get(provider) else {
            return out;
        };
        let mut set = |name: &str, value: &str| {
            out.retain(|(known, _)| known != name);
            out.push((name.to_owned(), value.to_owned()));
        };
        match self.env_file(provider) {
            Some((_, Ok(text))) => env_file(&text).for_each(|(name, value)| set(name, value)),
            // Its provider will say what it lacks; this says why.
            Some((path, Err(error))) => {
                tracing::error!(path = %path.display(), %error, "env_file not read");
            }
            None => {}
        }
        for name in configured.env.iter().map(|name| name.value.as_str()) {
            if let Some(value) = self.own.var(name) {
                set(name, value);
            }
        }
        out
    }

    fn provider_home(&self, target: &Target) -> Option<PathBuf> {
        homes::folder(self.setup, &target.key.provider, &target.home)
    }

    fn experimental(&self, provider: &str) -> bool {
        let configured = self.setup.config.providers.get(provider);
        configured.is_some_and(|provider| provider.experimental)
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
    /// Finds the session anew for each message: where it stands may have changed since the last
    /// one, and a transcript that is not its own any more must not be asked.
    fn open(&self) -> Result<TranscriptReader<'a>, LookError> {
        let (setup, key) = (self.setup, &self.target.key);
        let unknown = |reason: &str| LookError {
            path: key.to_string(),
            reason: reason.into(),
        };
        let rule = setup
            .rules
            .get(&key.provider)
            .ok_or_else(|| unknown("no rule for its provider"))?;
        let most = setup.config.limits.live_store.0;
        let options = Options {
            node: key.node.clone(),
            home: self.target.home.clone(),
            copy_bytes: most,
            ..Options::default()
        };
        let world = homes::world(setup, &key.provider, &self.target.home)
            .ok_or_else(|| unknown("config.yaml does not name the home it stands in any more"))?;
        let found = row_of(rule, &world, &key.session, &options)
            .ok_or_else(|| unknown("the session is not in its provider's store"))?;
        TranscriptReader::of(rule, &world, &found, most).map_err(|why| unknown(&why.to_string()))
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
        let look = match reader.look(&message.to_string()) {
            Ok(look) => look,
            Err(error) => {
                // It may have moved; the next look finds it anew.
                *held = None;
                let reason = error.to_string();
                return Err(LookError { path, reason });
            }
        };
        let evidence = |place: axiowl_discover::Place| Evidence {
            kind: "transcript_record".into(),
            path: Some(place.path),
            offset: place.offset,
            row: place.row,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_file_is_read_as_shells_write_them() {
        let text = "# keys\n\nA=1\n export B_2 = two words \nC=\"x=y\"\nD='#'\nno\n2 E=x\nF=\n";
        let read: Vec<_> = env_file(text).collect();
        let expected = [
            ("A", "1"),
            ("B_2", "two words"),
            ("C", "x=y"),
            ("D", "#"),
            ("F", ""),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn limits_come_from_the_configuration_and_their_defaults_agree() {
        assert_eq!(limits(&Config::default()), Limits::default());
        let text = "limits: { hops: 3, target_per_minute: 4, delivery: 2m }\nretention: 7d\n";
        let config = Config::parse("config.yaml", text).unwrap();
        let expected = Limits {
            hops: 3,
            target_messages: 4,
            delivery: Duration::from_secs(120),
            retention: Duration::from_secs(7 * 86_400),
            ..Limits::default()
        };
        assert_eq!(limits(&config), expected);
    }
}
