//! Puts the crates together for one command: world, configuration, rules, registry, edges.

use crate::args::Common;
use crate::bounds;
use crate::exit::Failure;
use crate::faults;
use crate::ground::Ground;
use crate::own::Own;
use crate::shelf::Shelf;
use axiowl_lang::config::Config;
use axiowl_lang::layers::{self, RuleSet};
use axiowl_model::SessionKey;
use axiowl_pipeline::EvidenceLog;
use axiowl_registry::Registry;
use axiowl_sources::World;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

include!(concat!(env!("OUT_DIR"), "/embedded_rules.rs"));

/// Everything a command works with.
pub struct Setup {
    /// The examined machine.
    pub world: World,
    /// What the user configured.
    pub config: Config,
    /// The rules in force.
    pub rules: RuleSet,
    /// AxiOwl's state folder.
    pub state: PathBuf,
    /// The routing table.
    pub registry: Registry,
    /// Every decision with its reason.
    pub evidence: EvidenceLog,
    /// Options to hand on to children.
    pub common: Common,
    /// The folder of the user's configuration.
    pub config_dir: PathBuf,
    /// What the registry was begun with.
    pub ground: Option<Ground>,
    /// The environment of this process.
    own_env: BTreeMap<String, String>,
    /// The user's own home.
    user_home: PathBuf,
}

impl Setup {
    /// A folder as people write it: below their own home it starts with `~`. That of an examined
    /// home stays whole, since `~` would lead elsewhere.
    pub fn below_home<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let own = self.common.home.is_none() && self.common.world.is_none();
        let rest = own.then(|| {
            self.user_home
                .to_str()
                .and_then(|home| path.strip_prefix(home))
        });
        match rest.flatten() {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}").into(),
            _ => path.into(),
        }
    }

    /// Reads what rules may ask about the registry.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub fn know_registered(&mut self) -> Result<(), Failure> {
        self.world
            .set_registered(registered(&self.registry, &Known::All)?);
        Ok(())
    }

    /// A variable of this process's own environment, whatever the registry stands on; an empty
    /// one counts as unset.
    pub fn own_env(&self, name: &str) -> Option<&str> {
        let value = self.own_env.get(name).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    /// Whether the examined machine is this one, as this process's environment describes it.
    pub fn reads_own_env(&self) -> bool {
        self.common.home.is_none() && self.common.world.is_none()
    }

    /// Lets the registry's ground say where providers keep their stores.
    pub fn stand_on(&mut self, ground: Option<Ground>) {
        self.ground = ground;
        let own = self.reads_own_env();
        if let Some(ground) = self.ground.as_mut().filter(|_| own) {
            ground.knows(&self.rules);
            let mut env = self.own_env.clone();
            ground.lay(&mut env);
            self.world = self.world.with_env(env);
        }
    }

    /// This machine as this process's own environment describes it.
    pub fn own_world(&self) -> World {
        match self.reads_own_env() {
            true => self.world.with_env(self.own_env.clone()),
            false => self.world.clone(),
        }
    }

    /// The same with none of the variables that say where a provider keeps something.
    pub fn plain_world(&self) -> World {
        let mut env = self.own_env.clone();
        Ground::now(self, true).lay(&mut env);
        match self.reads_own_env() {
            true => self.world.with_env(env),
            false => self.world.clone(),
        }
    }

    /// A folder that config.yaml names, `~/` being the user's own home.
    pub fn folder(&self, written: &str) -> PathBuf {
        match written.strip_prefix("~/") {
            Some(rest) => self.user_home.join(rest),
            None => PathBuf::from(written),
        }
    }
}

/// Opens everything as this process's own environment says, whatever the registry stands on and
/// also when that cannot be read.
pub fn open_on_own_ground(common: &Common) -> Result<Setup, Failure> {
    let parts = parts(common, |own, config| {
        load_rules(common, own, config, |_| true)
    })?;
    open_on(common, parts, &Known::Nothing, None)
}

/// Opens everything, with every rule.
pub fn open(common: &Common) -> Result<Setup, Failure> {
    open_knowing(common, |_| true, &Known::All)
}

/// Opens everything but what rules may ask about the registry, which
/// [`Setup::know_registered`] adds: where nothing has changed, nobody asks.
pub fn open_unasked(common: &Common) -> Result<Setup, Failure> {
    open_knowing(common, |_| true, &Known::Nothing)
}

/// Opens everything for what needs no rule. None is read.
pub fn open_without_rules(common: &Common) -> Result<Setup, Failure> {
    let parts = parts(common, |_, _| RuleSet::default())?;
    let ground = parts.ground(common)?;
    open_on(common, parts, &Known::All, ground)
}

/// Opens what a delivery to one session needs: its provider's rule, and what the registry
/// knows about that session.
pub fn open_for(common: &Common, session: &SessionKey) -> Result<Setup, Failure> {
    let known = Known::Only(session.bare_session());
    open_knowing(common, |provider| provider == session.provider, &known)
}

/// Which rows of the registry rules may ask about.
enum Known<'a> {
    Nothing,
    All,
    Only(&'a str),
}

fn open_knowing(
    common: &Common,
    wanted: impl Fn(&str) -> bool,
    known: &Known<'_>,
) -> Result<Setup, Failure> {
    let parts = parts(common, |own, config| {
        load_rules(common, own, config, wanted)
    })?;
    let ground = parts.ground(common)?;
    open_on(common, parts, known, ground)
}

/// The parts as this process's environment gives them.
fn parts(common: &Common, rules: impl FnOnce(&Own, &Config) -> RuleSet) -> Result<Parts, Failure> {
    let own = Own::of_process()?;
    let config = own.config()?;
    let rules = rules(&own, &config);
    let world = own.world(common)?.with_executables(executables(&config));
    Ok(Parts {
        own,
        config,
        rules,
        world,
    })
}

/// Opens everything on a fixture folder: its `world.yaml` and the home beside it. Its sessions
/// are made up, so they have a state folder of their own like every other examined place.
pub fn open_fixture(common: &Common, fixture: &Path) -> Result<Setup, Failure> {
    let own = Own::of_process()?;
    let common = &Common {
        home: None,
        world: Some(fixture.join("world.yaml")),
        ..common.clone()
    };
    let config = Config::default();
    let rules = load_rules(common, &own, &config, |_| true);
    let spec = bounds::read_case(fixture)?;
    let world = World::fixture(fixture, &spec);
    let parts = Parts {
        own,
        config,
        rules,
        world,
    };
    let ground = parts.ground(common)?;
    open_on(common, parts, &Known::All, ground)
}

/// What a setup is put together from.
struct Parts {
    own: Own,
    config: Config,
    rules: RuleSet,
    world: World,
}

impl Parts {
    /// What the registry of a command stands on.
    fn ground(&self, common: &Common) -> Result<Option<Ground>, Failure> {
        Ground::of(&self.own.state(common)?)
    }
}

fn open_on(
    common: &Common,
    parts: Parts,
    known: &Known<'_>,
    ground: Option<Ground>,
) -> Result<Setup, Failure> {
    let Parts {
        own,
        config,
        rules,
        world,
    } = parts;
    let state = own.state(common)?;
    let registry = Registry::at(&state);
    let mut world = world
        .with_native(axiowl_providers::native_facts())
        .with_state(&state);
    // Only rules ask.
    if rules.iter().next().is_some() {
        world.set_registered(registered(&registry, known)?);
    }
    let evidence = EvidenceLog::at(&state);
    faults::report(&rules);
    let mut setup = Setup {
        world,
        config,
        rules,
        state,
        registry,
        evidence,
        common: common.clone(),
        config_dir: own.config_dir,
        ground: None,
        own_env: own.env,
        user_home: own.home,
    };
    setup.stand_on(ground);
    Ok(setup)
}

/// The options that make a child see the same world and state.
pub fn child_flags(common: &Common) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut push = |flag: &str, value: &Option<PathBuf>| {
        if let Some(value) = value {
            out.push(flag.into());
            out.push(
                std::path::absolute(value)
                    .unwrap_or_else(|_| value.clone())
                    .into(),
            );
        }
    };
    push("--home", &common.home);
    push("--state", &common.state);
    push("--world", &common.world);
    push("--rules", &common.rules);
    out
}

/// The rules in force, for these providers.
fn load_rules(
    common: &Common,
    own: &Own,
    config: &Config,
    wanted: impl Fn(&str) -> bool,
) -> RuleSet {
    let shelf = Shelf::open(common, own, config);
    layers::load_where(&shelf.sources(), wanted)
}

fn executables(config: &Config) -> BTreeMap<String, String> {
    config
        .executables
        .iter()
        .map(|(name, path)| (name.clone(), path.value.clone()))
        .collect()
}

/// Session ids that are in the registry, with the providers they are registered under.
fn registered(
    registry: &Registry,
    known: &Known<'_>,
) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut know = |key: &SessionKey| {
        let session = key.bare_session().to_owned();
        out.entry(session).or_default().push(key.provider.clone());
    };
    match known {
        Known::Nothing => {}
        Known::All => registry.each_key(know)?,
        Known::Only(session) => {
            let snapshot = registry.load_for(&[session])?;
            snapshot.agents().iter().for_each(|row| know(&row.key));
        }
    }
    Ok(out)
}
