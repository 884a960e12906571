//! What of a rule can run, and whether it may.
//!
//! A policy script of a pack and a command of any rule that is not built in were written by
//! somebody else. They run only when the user has trusted exactly this content. What is kept
//! from running never helps a session to be enrolled: whatever it could have barred is barred.

use crate::codes;
use crate::diag::{Diagnostic, SourceText};
use crate::folder::{Layer, RuleFolder};
use crate::load::LoadedRule;
use std::collections::BTreeSet;

/// A part of a rule that can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executable {
    /// `policy.rhai`, or the name of a source of kind `command`.
    pub name: String,
    /// What it is, in words.
    pub what: String,
    /// The layer it stands in.
    pub layer: Layer,
    /// The digest of the folder it stands in.
    pub digest: String,
}

/// A part that is not trusted, and is therefore not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// The part.
    pub part: Executable,
    /// Why nothing of the rule may be enrolled without it; nothing where it bars nobody.
    pub bars: Option<String>,
}

/// The parts of a rule that can run.
pub fn executables(loaded: &LoadedRule) -> Vec<Executable> {
    let mut out = Vec::new();
    if let (Some(policy), Some((layer, digest))) = (&loaded.policy, &loaded.policy_home) {
        let name = loaded.files.get(usize::from(policy.file));
        let name = name.map_or("", |file| file.name.as_str());
        out.push(Executable {
            name: name.rsplit('/').next().unwrap_or(name).to_owned(),
            what: format!("the policy script {name}"),
            layer: layer.clone(),
            digest: digest.clone(),
        });
    }
    out
}

/// The parts of a folder that can run, in words, for a person who is asked to trust them.
pub fn parts(folder: &RuleFolder) -> Vec<String> {
    let scripts = folder.scripts.iter();
    scripts
        .map(|(name, text)| format!("the script {name}, {} lines", text.lines().count()))
        .collect()
}

/// Whether a part may run only when it was trusted.
fn needs_trust(part: &Executable) -> bool {
    matches!(part.layer, Layer::Pack(_))
}

/// Keeps back what may not run. `trusted` holds the digests the user trusts.
pub(crate) fn withhold(loaded: &mut LoadedRule, trusted: Option<&BTreeSet<String>>) {
    let known = |part: &Executable| trusted.is_some_and(|known| known.contains(&part.digest));
    let parts = executables(loaded);
    let kept = parts.into_iter().filter(|p| needs_trust(p) && !known(p));
    loaded.withheld = kept
        .map(|part| Withheld {
            bars: Some(format!(
                "{} is not trusted and does not run, and it decides who may be enrolled",
                part.what
            )),
            part,
        })
        .collect();
    if loaded
        .withheld
        .iter()
        .any(|w| w.part.name.ends_with(".rhai"))
    {
        loaded.policy = None;
    }
}

/// Says aloud what is kept back.
pub fn notice(loaded: &LoadedRule, withheld: &Withheld) -> Diagnostic {
    let file = loaded.files.first();
    let file = file.map_or(SourceText::new("", ""), |f| {
        SourceText::new(&f.name, &f.text)
    });
    let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let message = match &withheld.bars {
        Some(_) => format!(
            "{} is not trusted: it is not run, and nothing of `{}` is enrolled",
            withheld.part.what, loaded.rule.provider.value
        ),
        None => format!("{} is not trusted: it is not run", withheld.part.what),
    };
    let span = loaded.rule.policy.as_ref().map_or(0..0, |p| p.span.range());
    Diagnostic::warning(codes::UNTRUSTED, message)
        .at(&file, span, "not run")
        .help(format!("read it, then: `axiowl rules trust {folder}`"))
}
