//! Which rule is in force for each provider: built-in, packs, the user's own.
//!
//! A folder in a higher layer replaces the whole rule of a lower one. A broken one costs
//! itself only: its errors are kept, and the next lower layer is used.

use crate::codes;
use crate::diag::{Diagnostic, Severity, SourceText};
use crate::folder::{Layer, RuleFolder};
use crate::load::{self, LoadedRule};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where rules may come from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sources<'a> {
    /// Files compiled into the program: provider, file name, text.
    pub built_in: &'a [(&'a str, &'a str, &'a str)],
    /// Pack folders, in the order of the configuration; a later one overrides an earlier one.
    pub packs: &'a [PathBuf],
    /// The user's `rules` folder; may be absent.
    pub user: Option<&'a Path>,
    /// A folder of rules to use in place of every other layer (`--rules DIR`).
    pub disk: Option<&'a Path>,
}

/// The rules in force.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    rules: BTreeMap<String, Arc<LoadedRule>>,
    problems: Vec<Problem>,
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
}

/// Loads the rules of every provider.
pub fn load_all(sources: &Sources) -> RuleSet {
    load_where(sources, |_| true)
}

/// Loads the rules of the providers that `wanted` says yes to.
pub fn load_where(sources: &Sources, wanted: impl Fn(&str) -> bool) -> RuleSet {
    let mut set = RuleSet::default();
    let layers = gather(sources, &mut set.problems);
    let providers: BTreeSet<&str> = layers
        .iter()
        .flat_map(|layer| layer.by_provider.keys().map(String::as_str))
        .filter(|provider| wanted(provider))
        .collect();
    for provider in providers {
        if let Some(loaded) = best(provider, &layers, &mut set.problems) {
            set.rules.insert(provider.to_owned(), Arc::new(loaded));
        }
    }
    check_scopes(&mut set);
    set
}

/// The folders of one layer by provider; an unreadable one keeps its place.
struct Folders {
    layer: Layer,
    by_provider: BTreeMap<String, Result<RuleFolder, Diagnostic>>,
}

impl Folders {
    fn of(layer: Layer) -> Self {
        Self {
            layer,
            by_provider: BTreeMap::new(),
        }
    }

    fn good(&self, provider: &str) -> Option<&RuleFolder> {
        self.by_provider.get(provider)?.as_ref().ok()
    }
}

/// Every layer, the lowest first.
fn gather(sources: &Sources, problems: &mut Vec<Problem>) -> Vec<Folders> {
    if let Some(disk) = sources.disk {
        return vec![from_disk(disk, Layer::Disk, true, problems)];
    }
    let mut layers = vec![built_in(sources.built_in)];
    for pack in sources.packs {
        let name = pack.file_name().unwrap_or_default().to_string_lossy();
        let layer = Layer::Pack(name.into_owned());
        layers.push(from_disk(pack, layer, true, problems));
    }
    if let Some(user) = sources.user {
        layers.push(from_disk(user, Layer::User, false, problems));
    }
    layers
}

fn built_in(files: &[(&str, &str, &str)]) -> Folders {
    let mut out = Folders::of(Layer::BuiltIn);
    for (provider, file, text) in files {
        if *file == "rule.yaml" {
            let shown = format!("rules/{provider}");
            let folder = RuleFolder::new(provider, Layer::BuiltIn, &shown, text);
            out.by_provider.insert((*provider).to_owned(), Ok(folder));
        }
    }
    for (provider, file, text) in files {
        if let Some(Ok(folder)) = out.by_provider.get_mut(*provider)
            && file.ends_with(".rhai")
        {
            folder
                .scripts
                .insert((*file).to_owned(), (*text).to_owned());
        }
    }
    out
}

fn from_disk(dir: &Path, layer: Layer, must_exist: bool, problems: &mut Vec<Problem>) -> Folders {
    let mut out = Folders::of(layer);
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !must_exist => return out,
        Err(error) => {
            let shown = dir.to_string_lossy();
            let message = format!("the rules in {shown} cannot be listed: {error}");
            problems.push(Problem {
                provider: String::new(),
                layer: out.layer.clone(),
                diagnostics: vec![
                    Diagnostic::error(codes::UNREADABLE, message)
                        .at(&SourceText::new(&shown, ""), 0..0, "")
                        .help("give the folder back, or take it out of the configuration"),
                ],
                instead: None,
            });
            return out;
        }
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !name.starts_with('.') {
            let folder = RuleFolder::read(&path, out.layer.clone());
            out.by_provider.insert(name.into_owned(), folder);
        }
    }
    out
}

/// The rule of the highest layer that has a good one.
fn best(provider: &str, layers: &[Folders], problems: &mut Vec<Problem>) -> Option<LoadedRule> {
    let mut broken: Vec<(Layer, Vec<Diagnostic>)> = Vec::new();
    let mut found = None;
    for folders in layers.iter().rev() {
        let (loaded, errors) = match folders.by_provider.get(provider) {
            None => continue,
            Some(Err(diagnostic)) => (None, vec![diagnostic.clone()]),
            Some(Ok(folder)) => with_shared(folder, layers),
        };
        if !errors.is_empty() {
            broken.push((folders.layer.clone(), errors));
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

/// Loads a folder with the shared rule that is in force, so that an override mends every
/// surface of a store. Where the two do not fit, with the shared rule of a lower layer; the
/// errors of the misfit are given all the same.
fn with_shared(folder: &RuleFolder, layers: &[Folders]) -> (Option<LoadedRule>, Vec<Diagnostic>) {
    let shared: Vec<&RuleFolder> = match load::shared_name(folder) {
        Some(name) => layers.iter().rev().filter_map(|l| l.good(&name)).collect(),
        None => Vec::new(),
    };
    let mut errors = match load::load(folder, &|_| shared.first().copied()) {
        Ok(loaded) => return (Some(loaded), Vec::new()),
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
    (loaded, errors)
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
