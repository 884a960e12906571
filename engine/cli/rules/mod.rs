//! `axiowl rules`: look at rules, check them, test them, try them on real data, change them.

mod accept;
pub mod args;
mod base;
mod capture;
mod case;
mod changes;
mod check;
mod coverage;
mod edited;
mod effect;
mod eject;
mod fix;
mod junit;
mod lines;
mod list;
mod sarif;
mod scaffold;
mod show;
mod sql;
mod test;
mod trial;
mod trust;
mod upgrade;
mod watch;

use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use crate::own::Own;
use crate::setup;
use crate::shelf::Shelf;
use args::{Action, Rules};
use axiowl_lang::nearest::suggest;
use std::path::{Path, PathBuf};

/// The JSON Schema of rules; a test of the language keeps it what the types say.
const RULE_SCHEMA: &str = include_str!("../../../rules/rule.schema.json");
/// That of patches.
const PATCH_SCHEMA: &str = include_str!("../../../rules/patch.schema.json");

/// Does one thing with rules.
pub fn run(arguments: &Rules, common: &Common) -> Outcome {
    match &arguments.action {
        Action::List { json } => list::run(common, *json),
        Action::Show {
            provider,
            effective,
            json,
        } => show::run(provider, *effective, *json, common),
        Action::Check(arguments) => check::run(arguments, common),
        Action::Test(arguments) => test::run(arguments, common),
        Action::Try(arguments) => trial::run(arguments, common),
        Action::Schema { patch } => {
            let schema = match patch {
                true => PATCH_SCHEMA,
                false => RULE_SCHEMA,
            };
            crate::output::say!("{}", schema.trim_end());
            Ok(Exit::Done)
        }
        Action::Explain {
            provider,
            session,
            rule,
            json,
        } => explain(provider, session, rule.as_deref(), *json, common),
        Action::New { provider, out } => scaffold::run(provider, out.as_deref(), common),
        Action::Eject {
            provider,
            patch,
            out,
        } => eject::run(provider, *patch, out.as_deref(), common),
        Action::Diff {
            provider,
            accept,
            json,
        } => upgrade::run(provider, *accept, *json, common),
        Action::Trust {
            folder,
            revoke,
            list,
        } => trust::run(folder.as_deref(), *revoke, *list),
        Action::Capture(arguments) => capture::run(arguments, common),
    }
}

/// Explains a session under an edited rule, or the one in force.
fn explain(
    provider: &str,
    session: &str,
    rule: Option<&Path>,
    json: bool,
    common: &Common,
) -> Outcome {
    let setup = setup::open(common)?;
    let rule = match rule {
        Some(path) => edited::load(path, provider, &shelf(common)?)?,
        None => setup.rules.get(provider).cloned().ok_or_else(|| {
            let known = setup.rules.iter().map(|r| r.rule.provider.value.clone());
            no_rule(provider, known)
        })?,
    };
    crate::explain::show(&setup, &[&rule], session.trim(), json)
}

/// The shelf of one command.
fn shelf(common: &Common) -> Result<Shelf, Failure> {
    let own = Own::of_process()?;
    let config = own.config()?;
    Ok(Shelf::open(common, &own, &config))
}

/// Rule folders (those with a `rule.yaml`) below a folder of rules, sorted.
fn rule_folders(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.join("rule.yaml").is_file() {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

/// A path below the current folder as a person would type it.
fn short(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    match path.strip_prefix(&here) {
        Ok(rest) if !rest.as_os_str().is_empty() => rest.to_path_buf(),
        _ => path.to_path_buf(),
    }
}

/// Says that no layer has a rule for a provider.
fn no_rule(provider: &str, known: impl IntoIterator<Item = String>) -> Failure {
    let known: Vec<String> = known.into_iter().collect();
    Failure::new(Exit::Usage, format!("there is no rule for `{provider}`")).hint(suggest(
        provider,
        known.iter().map(String::as_str),
        "providers",
    ))
}
