//! `axiowl registry`: changes a person makes by hand.

use crate::args::{Common, Registry as Arguments, RegistryChange};
use crate::exit::{Exit, Failure, Outcome};
use crate::ground;
use crate::office;
use crate::setup::{self, Setup};
use axiowl_lang::nearest::suggest;
use axiowl_model::{SessionKey, Timestamp, display_safe};
use axiowl_registry::{Edited, NewAgent};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::SystemTime;

/// Changes one row, or checks the table.
pub fn run(arguments: &Arguments, common: &Common) -> Outcome {
    if let RegistryChange::Ground { set } = arguments.change {
        return stands(set, common);
    }
    let mut setup = setup::open_without_rules(common)?;
    match &arguments.change {
        RegistryChange::Check => {}
        _ => ground::begin(&mut setup)?,
    }
    let registry = &setup.registry;
    if let RegistryChange::AddAgent { provider, .. } = &arguments.change {
        known(provider, &setup)?;
    }
    let now = Timestamp::from(SystemTime::now());
    let edited = match &arguments.change {
        RegistryChange::AddAgent {
            provider,
            session,
            name,
            alias,
            cwd,
            not_sendable,
        } => registry.add_agent(&NewAgent {
            key: SessionKey {
                provider: provider.clone(),
                node: setup.config.node.as_str().into(),
                session: session.clone(),
            },
            display_name: name.clone(),
            aliases: alias.clone(),
            sendable: !not_sendable,
            home: String::new(),
            cwd: cwd.clone(),
            now,
        })?,
        RegistryChange::Rename { target, name } => registry.rename(target, None, name)?,
        RegistryChange::Alias {
            target,
            alias,
            remove: false,
        } => registry.add_alias(target, None, alias)?,
        RegistryChange::Alias {
            target,
            alias,
            remove: true,
        } => registry.remove_alias(target, None, alias)?,
        RegistryChange::Enable { target } => registry.set_enabled(target, None, true)?,
        RegistryChange::Disable { target } => registry.set_enabled(target, None, false)?,
        RegistryChange::Remove { target } => registry.remove(target, None)?,
        RegistryChange::Check | RegistryChange::Ground { .. } => return check(registry),
    };
    show(&edited);
    Ok(Exit::Done)
}

/// Shows what the registry stands on, or makes it what is seen now.
fn stands(set: bool, common: &Common) -> Outcome {
    let setup = match set {
        true => {
            let setup = setup::open_on_own_ground(common)?;
            let ground = ground::set(&setup)?;
            setup.evidence.record("ground_set", json!(ground));
            setup::open_without_rules(common)?
        }
        false => setup::open_without_rules(common)?,
    };
    let Some(ground) = &setup.ground else {
        crate::output::say!("nothing was begun yet; `axiowl discover` does");
        return Ok(Exit::Done);
    };
    let mut lines = vec![("home", ground.home.clone())];
    lines.extend(ground.world.clone().map(|file| ("world file", file)));
    lines.push(("configuration", ground.config.clone()));
    lines.extend(ground.rules.clone().map(|folder| ("rules", folder)));
    for (what, folder) in lines {
        crate::output::say!("{what:<14} {}", display_safe(&folder));
    }
    let width = ground.env.keys().map(String::len).max().unwrap_or(0);
    for (name, value) in ground.env.iter() {
        let value = value.as_deref().unwrap_or("not set");
        let name = display_safe(name);
        crate::output::say!("{name:<width$} {}", display_safe(value));
    }
    // What is set here otherwise counts for nothing, and whoever looks may wonder.
    for line in ground::overlaid(&setup) {
        anstream::eprintln!("note: {line}; `--set` makes it what is seen here");
    }
    Ok(Exit::Done)
}

/// A row of a provider that nobody knows could never be sent to nor discovered: it is a slip.
fn known(provider: &str, setup: &Setup) -> Result<(), Failure> {
    let edges = office::edges(setup)?;
    if edges.knows(provider) {
        return Ok(());
    }
    // Somebody's own rule may bring a provider of its own.
    let all = setup::open(&setup.common)?;
    if all.rules.get(provider).is_some() {
        return Ok(());
    }
    let mut known: BTreeSet<&str> = edges.providers().collect();
    known.extend(all.rules.iter().map(|loaded| loaded.rule.provider.as_str()));
    let hint = suggest(provider, known, "providers");
    let message = format!("there is no provider `{}`", display_safe(provider));
    Err(Failure::new(Exit::Usage, message).hint(hint))
}

fn show(edited: &Edited) {
    let row = &edited.row;
    crate::output::say!(
        "{}  {:?}",
        display_safe(&row.agent_id()),
        display_safe(&row.display_name)
    );
    for issue in &edited.issues {
        anstream::eprintln!("warning: {}", crate::output::issue(issue));
    }
}

fn check(registry: &axiowl_registry::Registry) -> Outcome {
    let report = registry.load()?.check();
    for issue in report.damaged.iter().chain(&report.refused_aliases) {
        crate::output::say!("{}", crate::output::issue(issue));
    }
    for shared in &report.shared_names {
        crate::output::say!(
            "{:?} is the name of {}",
            display_safe(&shared.name),
            shared.agents.join(", ")
        );
    }
    for agent in &report.unnamed {
        crate::output::say!("{agent} has no name but its id");
    }
    if report.is_clean() {
        crate::output::say!("the registry is clean");
    }
    Ok(if report.is_clean() {
        Exit::Done
    } else {
        Exit::Failed
    })
}
