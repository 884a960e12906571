//! Which rule is in force for each provider: built-in, packs, the user's own.
//!
//! A folder in a higher layer replaces the whole rule of a lower one, or patches it. A broken
//! one costs itself only: its errors are kept, and the next lower layer is used.

use crate::codes;
use crate::diag::{Diagnostic, Severity, SourceText};
use crate::folder::{Layer, RuleFolder};
use crate::load::{self, LoadedRule};
use crate::stack::Stack;
use crate::tree::Tree;
use crate::{trust, widen};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where rules may come from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sources<'a> {
    /// Files compiled into the program: provider, file name, text.
    pub built_in: &'a [(&'a str, &'a str, &'a str)],
    /// What [`crate::prepared`] made of their rules: provider, bytes.
    pub prepared: &'a [(&'a str, &'static [u8])],
    /// Pack folders, in the order of the configuration; a later one overrides an earlier one.
    pub packs: &'a [PathBuf],
    /// The user's `rules` folder; may be absent.
    pub user: Option<&'a Path>,
    /// A folder of rules to use in place of every other layer (`--rules DIR`). The other
    /// layers still give what its patches extend and its rules share.
    pub disk: Option<&'a Path>,
    /// Hashes of rule folders whose executable parts the user trusts.
    pub trusted: Option<&'a BTreeSet<String>>,
}

/// The rules in force.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    rules: BTreeMap<String, Arc<LoadedRule>>,
    problems: Vec<Problem>,
    notices: Vec<Diagnostic>,
}

/// A rule that could not be used as it is.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Provider, empty where a whole layer could not be read.
    pub provider: String,
    /// The layer with the problem.
    pub layer: Layer,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// The layer that is used instead; none when the provider has no rule now.
    pub instead: Option<Layer>,
}

impl RuleSet {
    /// The rule of a provider.
    pub fn get(&self, provider: &str) -> Option<&Arc<LoadedRule>> {
        self.rules.get(provider)
    }

    /// The rule that answers to `discover <word>`; a provider key is understood too.
    pub fn by_scope(&self, word: &str) -> Option<&Arc<LoadedRule>> {
        self.iter()
            .find(|loaded| loaded.rule.scope_word() == word)
            .or_else(|| self.get(word))
    }

    /// Every rule, by provider key.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<LoadedRule>> {
        self.rules.values()
    }

    /// The words of `discover <scope>`, by provider key.
    pub fn scopes(&self) -> impl Iterator<Item = String> {
        self.iter().map(|loaded| loaded.rule.scope_word())
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Everything that is wrong with any layer; say it loudly.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What a user of the rules has to know though nothing is broken: parts that are not
    /// trusted and do not run, patches of a rule that has changed.
    pub fn notices(&self) -> &[Diagnostic] {
        &self.notices
    }
}

/// Loads the rules of every provider.
pub fn load_all(sources: &Sources) -> RuleSet {
    load_where(sources, |_| true)
}

/// Loads the rules of the providers that `wanted` says yes to.
pub fn load_where(sources: &Sources, wanted: impl Fn(&str) -> bool) -> RuleSet {
    load_stack(&Stack::open(sources), sources.trusted, wanted)
}

/// Loads rules out of layers that are open already.
pub fn load_stack(
    stack: &Stack,
    trusted: Option<&BTreeSet<String>>,
    wanted: impl Fn(&str) -> bool,
) -> RuleSet {
    let mut set = RuleSet {
        problems: stack.problems().to_vec(),
        ..RuleSet::default()
    };
    for provider in stack.providers().into_iter().filter(|p| wanted(p)) {
        if let Some(mut loaded) = best(provider, stack, &mut set.problems) {
            // What is compiled in may run, wherever a copy of it stands.
            let may_run = |hash: &str| {
                trusted.is_some_and(|known| known.contains(hash))
                    || stack.built_in(provider).is_some_and(|f| f.hash() == hash)
            };
            trust::withhold(&mut loaded, &may_run);
            let kept = loaded.withheld.iter();
            set.notices.extend(kept.map(|w| trust::notice(&loaded, w)));
            let drift = loaded
                .warnings
                .iter()
                .filter(|d| d.code == codes::PATCH_DRIFT);
            set.notices.extend(drift.cloned());
            set.rules.insert(provider.to_owned(), Arc::new(loaded));
        }
    }
    check_scopes(&mut set);
    set
}

/// The rule of the highest layer that has a good one.
fn best(provider: &str, stack: &Stack, problems: &mut Vec<Problem>) -> Option<LoadedRule> {
    let mut broken: Vec<(Layer, Vec<Diagnostic>)> = Vec::new();
    let mut found = None;
    for holder in stack.holders(provider).into_iter().rev() {
        let (loaded, errors) = match holder.folder {
            Err(diagnostics) => (None, diagnostics.to_vec()),
            Ok(folder) => with_shared(folder, stack),
        };
        if !errors.is_empty() {
            broken.push((holder.layer.clone(), errors));
        }
        if loaded.is_some() {
            found = loaded;
            break;
        }
    }
    let instead = found.as_ref().map(|loaded| loaded.layer.clone());
    problems.extend(broken.into_iter().map(|(layer, diagnostics)| Problem {
        provider: provider.to_owned(),
        layer,
        diagnostics,
        instead: instead.clone(),
    }));
    found
}

/// Loads the rule of one folder of the layers, with what it shares; for looking at a layer
/// that is not in force.
pub fn load_folder(folder: &RuleFolder, stack: &Stack) -> Result<LoadedRule, Vec<Diagnostic>> {
    match with_shared(folder, stack) {
        (Some(loaded), _) => Ok(loaded),
        (None, errors) => Err(errors),
    }
}

/// Loads a folder with the shared rule that is in force, so that an override mends every
/// surface of a store. Where the two do not fit, with the shared rule of a lower layer; the
/// errors of the misfit are given all the same.
fn with_shared(folder: &RuleFolder, stack: &Stack) -> (Option<LoadedRule>, Vec<Diagnostic>) {
    let shared: Vec<&RuleFolder> = match load::shared_name(folder) {
        Some(name) => stack.good(&name),
        None => Vec::new(),
    };
    let mut errors = match load::load(folder, &|_| shared.first().copied()) {
        Ok(loaded) => return (Some(compared(loaded, folder, stack)), Vec::new()),
        Err(errors) => errors,
    };
    let lower = shared.iter().skip(1);
    let loaded = lower
        .filter_map(|other| load::load(folder, &|_| Some(*other)).ok())
        .next();
    if loaded.is_some() {
        errors
            .iter_mut()
            .for_each(|e| e.severity = Severity::Warning);
    }
    let loaded = loaded.map(|loaded| compared(loaded, folder, stack));
    (loaded, errors)
}

/// A patched rule says where it lets in more than the rule it changes.
fn compared(mut loaded: LoadedRule, folder: &RuleFolder, stack: &Stack) -> LoadedRule {
    if let Some(patched) = &folder.patched
        && let (Some(base), _) = with_shared(&patched.base, stack)
    {
        loaded.warnings.extend(widen::warnings(&base, &loaded));
        loaded.warnings.sort_by_key(Diagnostic::order);
    }
    loaded
}

/// Two rules that answer to one word: the first keeps it.
fn check_scopes(set: &mut RuleSet) {
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    for (provider, loaded) in &set.rules {
        let word = loaded.rule.scope_word();
        if let Some(holder) = taken.get(&word) {
            let message = format!("the scope `{word}` belongs to the rule of `{holder}`");
            let file = &loaded.files[0];
            let tree = Tree::of(&file.text);
            let at = tree.value(&["scope"]).or_else(|| tree.value(&["provider"]));
            let file = SourceText::new(&file.name, &file.text);
            set.problems.push(Problem {
                provider: provider.clone(),
                layer: loaded.layer.clone(),
                diagnostics: vec![
                    Diagnostic::error(codes::SCOPE_TAKEN, message)
                        .at(&file, at.unwrap_or(0..0), "taken")
                        .help("give this rule another `scope`"),
                ],
                instead: Some(loaded.layer.clone()),
            });
        } else {
            taken.insert(word, provider.clone());
        }
    }
}
