//! What of a rule can run, and whether it may.
//!
//! A policy script of a pack and a command of any rule that is not built in were written by
//! somebody else, or in haste. They run only when the user has trusted exactly this content.
//! What is kept from running never helps a session to be enrolled: whatever it could have
//! barred is barred.

use crate::codes;
use crate::diag::{Diagnostic, SourceText};
use crate::folder::{Layer, RuleFolder};
use crate::guard::guards;
use crate::load::LoadedRule;
use crate::rule::Rule;
use crate::source::{Command, Source};
use crate::tree::Tree;

/// A part of a rule that can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executable {
    /// What sort of part it is.
    pub kind: ExecutableKind,
    /// What it is, in words.
    pub what: String,
    /// The layer it stands in.
    pub layer: Layer,
    /// The hash of the folder it stands in.
    pub hash: String,
}

/// What sort of part can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecutableKind {
    /// A policy script.
    Policy,
    /// A source of kind `command`, by its name.
    Command(String),
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
    if let (Some(policy), Some((layer, hash))) = (&loaded.policy, &loaded.policy_home) {
        let name = loaded.files.get(usize::from(policy.file));
        let name = name.map_or("", |file| file.name.as_str());
        out.push(Executable {
            kind: ExecutableKind::Policy,
            what: format!("the policy script {name}"),
            layer: layer.clone(),
            hash: hash.clone(),
        });
    }
    for (name, source) in &loaded.rule.sources {
        let Source::Command(command) = source else {
            continue;
        };
        let (layer, hash) = home(loaded, command);
        out.push(Executable {
            kind: ExecutableKind::Command(name.clone()),
            what: format!("the command `{}` of `{name}`", argv(command)),
            layer,
            hash,
        });
    }
    out
}

fn argv(command: &Command) -> String {
    let words: Vec<&str> = command.argv.iter().map(|word| word.as_str()).collect();
    words.join(" ")
}

/// The folder a command stands in: of several layers that wrote its words, the highest.
fn home(loaded: &LoadedRule, command: &Command) -> (Layer, String) {
    let written = command.argv.iter().filter_map(|word| {
        let file = loaded.files.get(usize::from(word.span.file))?;
        Some(file.line_of(word.span.start as usize).layer)
    });
    let layer = written.max().unwrap_or(Layer::User);
    let made_of = loaded.made_of.iter().find(|(of, _)| *of == layer);
    let hash = made_of.map_or(String::new(), |(_, hash)| hash.clone());
    (layer, hash)
}

/// The parts of a folder that can run, in words, for a person who is asked to trust them.
pub fn parts(folder: &RuleFolder) -> Vec<String> {
    let scripts = folder.scripts.iter();
    let mut out: Vec<String> = scripts
        .map(|(name, text)| format!("the script {name}, {} lines", text.lines().count()))
        .collect();
    let tree = Tree::of(&folder.rule);
    let sources = tree.node_at(&["sources"]);
    for (name, source) in sources.map_or(&[][..], |sources| tree.entries(sources)) {
        let Some((_, command)) = tree.entry_of(*source, "command") else {
            continue;
        };
        let argv = tree.entry_of(command, "argv").map(|(_, argv)| argv);
        let words = argv.map_or(&[][..], |argv| tree.items(argv)).iter();
        let words: Vec<&str> = words.map(|word| tree.text_of(*word)).collect();
        let name = tree.text_of(*name);
        out.push(format!("the command `{}` of `{name}`", words.join(" ")));
    }
    let overrides = tree.node_at(&["override"]);
    for (path, value) in overrides.map_or(&[][..], |node| tree.entries(node)) {
        let path = tree.text_of(*path);
        let brought = || folder.rule[tree.span(*value)].contains("command");
        if path.contains("command") || (path.starts_with("sources") && brought()) {
            out.push(format!("what it changes at `{path}`"));
        }
    }
    out
}

/// Whether a part may run only when it was trusted.
fn needs_trust(part: &Executable) -> bool {
    match part.kind {
        ExecutableKind::Policy => matches!(part.layer, Layer::Pack(_)),
        ExecutableKind::Command(_) => part.layer != Layer::BuiltIn,
    }
}

/// Keeps back what may not run. `trusted` says whether the user trusts a hash.
pub(crate) fn withhold(loaded: &mut LoadedRule, trusted: &dyn Fn(&str) -> bool) {
    let parts = executables(loaded).into_iter();
    let kept = parts.filter(|part| needs_trust(part) && !trusted(&part.hash));
    loaded.withheld = kept
        .map(|part| Withheld {
            bars: bars(&loaded.rule, &part),
            part,
        })
        .collect();
    let policy = |w: &Withheld| w.part.kind == ExecutableKind::Policy;
    if loaded.withheld.iter().any(policy) {
        loaded.policy = None;
    }
}

/// Why nothing may be enrolled without a part: it may keep sessions out.
fn bars(rule: &Rule, part: &Executable) -> Option<String> {
    let decides = match &part.kind {
        ExecutableKind::Policy => true,
        ExecutableKind::Command(name) => {
            let mut read = guards(rule).into_iter().flat_map(|guard| guard.any_of);
            read.any(|(source, _)| source == *name)
        }
    };
    decides.then(|| {
        format!(
            "{} is not trusted and does not run, and it decides who may be enrolled",
            part.what
        )
    })
}

impl LoadedRule {
    /// Whether its commands may run, as far as trust goes.
    pub fn commands_trusted(&self) -> bool {
        let command = |w: &Withheld| matches!(w.part.kind, ExecutableKind::Command(_));
        !self.withheld.iter().any(command)
    }
}

/// Says aloud what is kept back.
pub fn notice(loaded: &LoadedRule, withheld: &Withheld) -> Diagnostic {
    let what = &withheld.part.what;
    let message = match &withheld.bars {
        Some(_) => format!(
            "{what} is not trusted: it is not run, and nothing of `{}` is enrolled",
            loaded.rule.provider.value
        ),
        None => format!("{what} is not trusted: it is not run"),
    };
    let span = match &withheld.part.kind {
        ExecutableKind::Policy => loaded.rule.policy.as_ref().map(|policy| policy.span),
        ExecutableKind::Command(name) => match loaded.rule.sources.get(name) {
            Some(Source::Command(command)) => command.argv.first().map(|word| word.span),
            _ => None,
        },
    };
    let place = span.and_then(|span| loaded.source_of(span));
    let (file, at) = place.unwrap_or_else(|| (SourceText::new("", ""), 0..0));
    let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    Diagnostic::warning(codes::UNTRUSTED, message)
        .at(&file, at, "not run")
        .help(format!("read it, then: `axiowl rules trust {folder}`"))
}
