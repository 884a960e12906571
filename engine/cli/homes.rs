//! The homes of a provider: the default one, and those that config.yaml adds. Each is a source
//! of its own, with an id that its rows remember.

use crate::exit::{Exit, Failure};
use crate::setup::Setup;
use axiowl_discover::{Options, Report, discover};
use axiowl_lang::config::Home;
use axiowl_lang::load::LoadedRule;
use axiowl_sources::{World, home_folders};
use std::path::PathBuf;

/// A home of a provider, and the machine as seen from it.
pub struct ProviderHome {
    /// Its id; empty for the default home.
    pub id: String,
    /// The machine, with the home in place of the provider's own folder.
    pub world: World,
}

impl ProviderHome {
    /// The default one.
    pub fn default_of(setup: &Setup) -> Self {
        Self {
            id: String::new(),
            world: setup.world.clone(),
        }
    }
}

/// The home that this process's own variables name, where config.yaml has it; else the default
/// one.
pub fn named(setup: &Setup, rule: &LoadedRule) -> ProviderHome {
    let default = ProviderHome::default_of(setup);
    let configured = configured(setup, &rule.rule.provider.value);
    if configured.is_empty() {
        return default;
    }
    let own = home_folders(&rule.rule, &setup.own_world());
    let [own] = own.as_slice() else {
        return default;
    };
    let is_own = |home: &&Home| {
        let folder = setup.folder(&home.path.value);
        folder.canonicalize().is_ok_and(|folder| folder == *own)
    };
    match configured.iter().find(is_own) {
        Some(home) => ProviderHome {
            id: home.id.value.clone(),
            world: setup
                .world
                .at_provider_home(setup.folder(&home.path.value).to_string_lossy()),
        },
        None => default,
    }
}

/// Every home of a rule's provider, the default one first.
///
/// # Errors
/// When two of them are one folder, however it is written: one session would be two.
pub fn of(setup: &Setup, world: &World, rule: &LoadedRule) -> Result<Vec<ProviderHome>, Failure> {
    let configured = configured(setup, &rule.rule.provider.value);
    let mut out = vec![ProviderHome {
        id: String::new(),
        world: world.clone(),
    }];
    if configured.is_empty() {
        return Ok(out);
    }
    let mut folders: Vec<(String, PathBuf)> = home_folders(&rule.rule, world)
        .into_iter()
        .map(|folder| (String::new(), folder))
        .collect();
    for home in configured {
        let folder = setup.folder(&home.path.value);
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        if let Some((other, _)) = folders.iter().find(|(_, known)| *known == real) {
            return Err(twice(rule, other, home, &real));
        }
        folders.push((home.id.value.clone(), real));
        out.push(ProviderHome {
            id: home.id.value.clone(),
            world: world.at_provider_home(folder.to_string_lossy()),
        });
    }
    Ok(out)
}

/// The machine as seen from one home of a provider; `None` when there is no such home any more.
pub fn world(setup: &Setup, provider: &str, id: &str) -> Option<World> {
    if id.is_empty() {
        return Some(setup.world.clone());
    }
    let folder = folder(setup, provider, id)?;
    Some(setup.world.at_provider_home(folder.to_string_lossy()))
}

/// The folder of a home that config.yaml names.
pub fn folder(setup: &Setup, provider: &str, id: &str) -> Option<PathBuf> {
    let home = configured(setup, provider)
        .iter()
        .find(|home| home.id.value == id)?;
    Some(setup.folder(&home.path.value))
}

/// Runs a rule over every home of its provider, as one report.
pub fn discover_all(
    setup: &Setup,
    world: &World,
    rule: &LoadedRule,
    options: &Options,
) -> Result<Report, Failure> {
    let mut report: Option<Report> = None;
    for home in of(setup, world, rule)? {
        let options = Options {
            home: home.id,
            ..options.clone()
        };
        let one = discover(rule, &home.world, &options);
        match &mut report {
            Some(report) => report.absorb(one),
            None => report = Some(one),
        }
    }
    report.ok_or_else(|| Failure::new(Exit::Failed, "the provider has no home"))
}

/// The homes in config.yaml. They are folders of this user on this machine, so an examined
/// home has none of them.
fn configured<'s>(setup: &'s Setup, provider: &str) -> &'s [Home] {
    match setup.common.home.is_some() || setup.world.is_fixture() {
        true => &[],
        false => setup.config.homes.get(provider).map_or(&[], Vec::as_slice),
    }
}

fn twice(rule: &LoadedRule, other: &str, home: &Home, real: &std::path::Path) -> Failure {
    let other = match other {
        "" => "the default home".to_owned(),
        id => format!("the home `{id}`"),
    };
    let message = format!(
        "the home `{}` of `{}` is the same folder as {other}: both lead to {}",
        home.id.value,
        rule.rule.provider.value,
        real.display()
    );
    Failure::new(Exit::Failed, message)
        .hint("each folder is one source: remove one of them from `homes` in config.yaml")
}
