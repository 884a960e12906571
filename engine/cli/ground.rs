//! The ground a state folder stands on: the home, the variables that say where providers keep
//! their stores, the user's configuration and the rules, as they were when the registry was begun.
//!
//! A registry is about one machine as one person sees it. Whoever starts a command, a model's
//! shell among them, may set any variable, and could lead a delivery or a proof to a store of its
//! own making. So the variables of the ground count and not those of the command; where home,
//! configuration or rules are others, nothing is delivered, proven or merged. Further folders of a
//! provider are named in config.yaml (`homes`).

use crate::exit::{Exit, Failure};
use crate::own::read_file;
use crate::setup::{self, Setup};
use axiowl_lang::layers::RuleSet;
use axiowl_lang::load::LoadedRule;
use axiowl_lang::template::Piece;
use axiowl_model::display_safe;
use axiowl_registry::create_private_dir;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Below the state folder.
const FILE: &str = "ground.json";
const CONFIGURATION: &str = "configuration";
const MEND: &str = "`axiowl registry ground` shows what it is, and `--set` makes it what is seen now; `--state` has \
                    a registry of its own";
const UNREADABLE: &str =
    "`axiowl registry ground --set` writes it anew; what is no file has to be moved away first";

/// What a registry was begun with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ground {
    /// The home whose stores are read.
    pub home: String,
    /// The file that describes the machine, where one was given.
    pub world: Option<String>,
    /// The folder of the user's configuration.
    pub config: String,
    /// The folder of the rules, where one was given.
    pub rules: Option<String>,
    /// Each variable that says where a provider keeps something; those that were not set, too.
    pub env: BTreeMap<String, Option<String>>,
}

impl Ground {
    /// What a state folder stands on; `None` where nothing was begun yet.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(state: &Path) -> Result<Option<Self>, Failure> {
        let path = state.join(FILE);
        let wrong = |why: String| {
            let message = format!("{}: {why}", path.display());
            Failure::new(Exit::Failed, message).hint(UNREADABLE)
        };
        match read_file(&path) {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|error| wrong(error.to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(wrong(error.to_string())),
        }
    }

    /// What is seen now. `plain` leaves out what variables say.
    pub fn now(setup: &Setup, plain: bool) -> Self {
        let written = |path: &Path| settled(path).to_string_lossy().into_owned();
        let value = |name: &String| {
            let value = setup.own_env(name).filter(|_| !plain);
            (name.clone(), value.map(str::to_owned))
        };
        let names = variables(setup.rules.iter().map(AsRef::as_ref));
        Self {
            home: match setup.world.is_fixture() {
                true => setup.world.home().to_owned(),
                false => written(Path::new(setup.world.home())),
            },
            world: setup.common.world.as_deref().map(written),
            config: written(&setup.config_dir),
            rules: setup.common.rules.as_deref().map(written),
            env: match setup.reads_own_env() {
                true => names.iter().map(value).collect(),
                false => BTreeMap::new(),
            },
        }
    }

    /// What is elsewhere now than it was, in words.
    fn differs(&self, now: &Self) -> Option<String> {
        let shown = |folder: &Option<String>| match folder {
            Some(folder) => display_safe(folder),
            None => "none".into(),
        };
        let of = |text: &String| Some(text.clone());
        let pairs = [
            ("home", of(&self.home), of(&now.home)),
            ("world file", self.world.clone(), now.world.clone()),
            ("rules folder", self.rules.clone(), now.rules.clone()),
            (CONFIGURATION, of(&self.config), of(&now.config)),
        ];
        // A folder that is not there configures nothing.
        let is_there = |folder: &Option<String>| folder.as_deref().is_some_and(is_folder);
        // Links may have been made or turned since.
        let place = |folder: &Option<String>| folder.as_deref().map(|text| settled(text.as_ref()));
        let differ = |(what, then, now): &(&str, Option<String>, Option<String>)| {
            place(then) != place(now) && (*what != CONFIGURATION || is_there(now))
        };
        let (what, then, now) = pairs.into_iter().find(differ)?;
        Some(format!(
            "this registry was begun with the {what} {}, and here it is {}",
            shown(&then),
            shown(&now)
        ))
    }

    /// Takes in variables that rules have come to name since; they were not set.
    pub fn knows(&mut self, rules: &RuleSet) {
        for name in variables(rules.iter().map(AsRef::as_ref)) {
            self.env.entry(name).or_insert(None);
        }
    }

    /// Puts the variables of the ground in the place of those that are set.
    pub fn lay(&self, env: &mut BTreeMap<String, String>) {
        for (name, value) in &self.env {
            match value {
                Some(value) => env.insert(name.clone(), value.clone()),
                None => env.remove(name),
            };
        }
    }

    /// The variables that this command has set otherwise, in words.
    pub fn laid_over(&self, own: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let shown = |value: &Option<String>| match value {
            Some(value) => display_safe(value),
            None => "not set".into(),
        };
        let differing = self.env.iter().filter_map(|(name, value)| {
            let now = own(name);
            (now != *value).then(|| format!("{name} is {}, and here {}", shown(value), shown(&now)))
        });
        differing.collect()
    }

    /// Writes it, in the place of what is there where that is wanted.
    fn write(&self, state: &Path, anew: bool) -> io::Result<()> {
        create_private_dir(state)?;
        let mut file = tempfile::NamedTempFile::new_in(state)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.as_file().sync_all()?;
        let path = state.join(FILE);
        match anew {
            true => file.persist(path).map(drop).map_err(|error| error.error),
            // Of two that begin at once, the first counts.
            false => match file.persist_noclobber(path) {
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                done => done.map(drop).map_err(|error| error.error),
            },
        }
    }
}

/// A path with the links of what exists of it resolved.
fn settled(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (Err(_), Some(parent), Some(name)) => settled(parent).join(name),
        (Err(_), ..) => path.to_path_buf(),
    }
}

fn is_folder(path: &str) -> bool {
    Path::new(path).is_dir()
}

/// The variables in the folders that rules read below.
fn variables<'r>(rules: impl Iterator<Item = &'r LoadedRule>) -> BTreeSet<String> {
    let roots = rules.flat_map(|rule| rule.rule.roots.values());
    let folders = roots.flat_map(|root| root.iter());
    let pieces = folders.flat_map(|folder| folder.pieces());
    let named = pieces.filter_map(|piece| match piece {
        Piece::Variable(name) => Some(name.clone()),
        Piece::Text(_) | Piece::Field(_) => None,
    });
    // The home is a word of its own.
    named.filter(|name| name != "HOME").collect()
}

/// The variables that this command has set otherwise than the registry stands on, in words.
pub fn overlaid(setup: &Setup) -> Vec<String> {
    match &setup.ground {
        Some(ground) if setup.reads_own_env() => {
            ground.laid_over(|name| setup.own_env(name).map(str::to_owned))
        }
        _ => Vec::new(),
    }
}

/// Refuses what would deliver, prove or merge on another ground.
///
/// # Errors
/// What is elsewhere, and what to do.
pub fn hold(setup: &Setup) -> Result<(), Failure> {
    let Some(ground) = &setup.ground else {
        return Ok(());
    };
    match ground.differs(&Ground::now(setup, true)) {
        None => Ok(()),
        Some(why) => Err(Failure::new(Exit::Failed, why).hint(MEND)),
    }
}

/// The same, and begins where nothing was begun yet.
///
/// # Errors
/// As [`hold`], and when the state folder cannot be written.
pub fn begin(setup: &mut Setup) -> Result<(), Failure> {
    if setup.ground.is_none() {
        write(setup, false, false)?;
        // Of two that begin at once, one stands on the other's.
        setup.stand_on(Ground::of(&setup.state)?);
    }
    hold(setup)
}

/// Begins with the places that no variable names.
///
/// # Errors
/// When the state folder cannot be written, or somebody has begun otherwise meanwhile.
pub fn begin_plain(setup: &Setup) -> Result<(), Failure> {
    write(setup, true, false)?;
    let plain = Ground::now(setup, true);
    match Ground::of(&setup.state)? {
        Some(ground) if ground.env == plain.env && ground.differs(&plain).is_none() => Ok(()),
        _ => {
            let message = "the registry was begun by somebody else meanwhile";
            Err(Failure::new(Exit::Failed, message).hint("make the call again"))
        }
    }
}

/// Makes what is seen now the ground.
///
/// # Errors
/// When the state folder cannot be written.
pub fn set(setup: &Setup) -> Result<Ground, Failure> {
    write(setup, false, true)?;
    Ok(Ground::now(setup, false))
}

fn write(setup: &Setup, plain: bool, anew: bool) -> Result<(), Failure> {
    // Which variables there are, the rules say.
    let whole;
    let setup = match setup.rules.iter().next() {
        Some(_) => setup,
        None => {
            whole = setup::open(&setup.common)?;
            &whole
        }
    };
    let ground = Ground::now(setup, plain);
    ground.write(&setup.state, anew).map_err(|error| {
        let path = setup.state.join(FILE);
        Failure::new(Exit::Failed, format!("{}: {error}", path.display()))
    })
}
