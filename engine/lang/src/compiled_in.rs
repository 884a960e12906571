//! The quick way to a rule that is compiled into the program.
//!
//! Tests load every such rule with all checks, so that a command, which reads them at every
//! start, need not: what the build read ahead of time is taken, no places are looked up, nothing
//! is linted, and patterns and policies are built when they are first asked. Where anything is
//! unexpected, the ordinary way is gone.

use crate::at;
use crate::folder::{self, Layer, RuleFolder};
use crate::load::{LoadedRule, RuleFile};
use crate::policy::CompiledPolicy;
use crate::prepared;
use crate::rule::Rule;
use crate::shares;
use crate::yaml;

/// Loads a compiled-in rule whose shared rule, if any, is compiled in too.
pub(crate) fn load<'f>(
    folder: &RuleFolder,
    sibling: &dyn Fn(&str) -> Option<&'f RuleFolder>,
) -> Option<LoadedRule> {
    let mut rule = read(folder, 0)?;
    let mut files = vec![file(folder)];
    let mut made_of = folder.made_of();
    let mut scripts = folder;
    let shared = match rule.shares.clone() {
        None => None,
        Some(name) => {
            let from = sibling(&name)?;
            let given = read(from, 1).filter(|given| given.shares.is_none())?;
            if rule.policy.is_none() && given.policy.is_some() {
                scripts = from;
            }
            shares::fill(&mut rule, given);
            files.push(file(from));
            made_of.extend(from.made_of());
            Some(from)
        }
    };
    let mut policy = None;
    let mut policy_home = None;
    if let Some(named) = &rule.policy {
        let (source, holder) = scripts.script_source(named.as_str())?;
        let number = u16::try_from(files.len()).ok()?;
        policy = Some(CompiledPolicy::known_good(&source, number));
        policy_home = Some((holder.layer.clone(), holder.hash()));
        files.push(RuleFile {
            name: source.name.to_string(),
            text: source.text.to_string(),
            layer: holder.layer.clone(),
            origins: None,
        });
    }
    let script = policy.as_ref().map_or("", |policy| policy.text.as_str());
    let texts = [folder.rule.as_str(), script];
    let shared = shared.map(|from| from.rule.as_str());
    Some(LoadedRule {
        digest: folder::digest(texts.into_iter().chain(shared)),
        rule,
        policy,
        files,
        layer: Layer::BuiltIn,
        warnings: Vec::new(),
        patched: None,
        policy_home,
        made_of,
        withheld: Vec::new(),
    })
}

/// The rule of a folder alone.
pub(crate) fn read(folder: &RuleFolder, number: u16) -> Option<Rule> {
    let ordinary =
        folder.layer != Layer::BuiltIn || folder.patched.is_some() || folder.origins.is_some();
    if ordinary {
        return None;
    }
    let prepared = folder.prepared.as_deref();
    prepared
        .and_then(|prepared| prepared::read(prepared, &folder.rule, number))
        .or_else(|| at::of_known_good(|| yaml::read(&folder.rule, number)).ok())
}

fn file(folder: &RuleFolder) -> RuleFile {
    let main = folder.main();
    RuleFile {
        name: main.name.to_string(),
        text: main.text.to_string(),
        layer: folder.layer.clone(),
        origins: None,
    }
}
