//! The folders of every layer, read and with patches applied, before any rule is loaded.
//!
//! It knows which layer stands above which; what a rule means it does not know.

use crate::codes;
use crate::diag::{Diagnostic, SourceText};
use crate::folder::{Layer, RuleFolder};
use crate::layers::{Problem, Sources};
use crate::patch;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// All layers, the lowest first.
#[derive(Debug, Default)]
pub struct Stack {
    layers: Vec<Folders>,
    /// Layers before this one only give what patches extend and rules share.
    active: usize,
    problems: Vec<Problem>,
}

/// The folders of one layer by provider; an unreadable one keeps its place.
#[derive(Debug)]
struct Folders {
    layer: Layer,
    by_provider: BTreeMap<String, Result<RuleFolder, Vec<Diagnostic>>>,
}

/// A layer that has a folder for a provider.
#[derive(Debug, Clone, Copy)]
pub struct Holder<'s> {
    /// The layer.
    pub layer: &'s Layer,
    /// The folder, or why it cannot be used.
    pub folder: Result<&'s RuleFolder, &'s [Diagnostic]>,
}

impl Stack {
    /// Reads every layer.
    pub fn open(sources: &Sources) -> Self {
        let mut stack = Self::default();
        stack
            .layers
            .push(built_in(sources.built_in, sources.prepared));
        for pack in sources.packs {
            let name = pack.file_name().unwrap_or_default().to_string_lossy();
            let layer = Layer::Pack(name.into_owned());
            stack.add(pack, layer, true);
        }
        match (sources.disk, sources.user) {
            (Some(disk), _) => {
                // What is wrong with layers that do not count is nobody's business here.
                stack.problems.clear();
                stack.active = stack.layers.len();
                stack.add(disk, Layer::Disk, true);
            }
            (None, Some(user)) => stack.add(user, Layer::User, false),
            (None, None) => {}
        }
        stack.apply_patches();
        stack
    }

    /// The same layers with one more rule of the user, in place of the user's own.
    pub fn with(mut self, folder: RuleFolder) -> Self {
        let provider = folder.provider.clone();
        let top = self.layers.iter_mut().rev();
        let mut top = top.filter(|l| matches!(l.layer, Layer::User | Layer::Disk));
        match top.next() {
            Some(layer) => {
                layer.by_provider.insert(provider, Ok(folder));
            }
            None => {
                let mut layer = Folders::of(Layer::User);
                layer.by_provider.insert(provider, Ok(folder));
                self.layers.push(layer);
            }
        }
        self.apply_patches();
        self
    }

    /// The providers that any layer has a folder for.
    pub fn providers(&self) -> BTreeSet<&str> {
        let layers = self.layers.iter().skip(self.active);
        layers
            .flat_map(|layer| layer.by_provider.keys().map(String::as_str))
            .collect()
    }

    /// The layers that have a folder for a provider, the lowest first.
    pub fn holders(&self, provider: &str) -> Vec<Holder<'_>> {
        let layers = self.layers.iter().skip(self.active);
        layers.filter_map(|layer| layer.holder(provider)).collect()
    }

    /// The folder of the built-in rule, whether it counts here or not.
    pub fn built_in(&self, provider: &str) -> Option<&RuleFolder> {
        self.layers.first()?.good(provider)
    }

    /// The folders of a provider that can be used, the highest first.
    pub(crate) fn good(&self, provider: &str) -> Vec<&RuleFolder> {
        let layers = self.layers.iter().rev();
        layers.filter_map(|layer| layer.good(provider)).collect()
    }

    /// Layers that could not be listed.
    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    fn add(&mut self, dir: &Path, layer: Layer, must_exist: bool) {
        let folders = from_disk(dir, layer, must_exist, &mut self.problems);
        self.layers.push(folders);
    }

    /// Applies the patches of each layer to the rules of those below.
    fn apply_patches(&mut self) {
        for at in 1..self.layers.len() {
            let (below, rest) = self.layers.split_at_mut(at);
            let Some(layer) = rest.first_mut() else {
                continue;
            };
            for (provider, entry) in &mut layer.by_provider {
                let Ok(folder) = entry.as_ref() else { continue };
                if folder.patched.is_some() || !patch::is_patch(&folder.rule) {
                    continue;
                }
                let with_rule = below.iter().filter(|l| l.good(provider).is_some());
                let bases: Vec<String> = with_rule.map(|l| patch::base_word(&l.layer)).collect();
                let find = |word: &str| {
                    let called = below.iter().rev();
                    let mut called = called.filter(|l| patch::base_word(&l.layer) == word);
                    called.find_map(|l| l.good(provider))
                };
                *entry = patch::apply(folder, &find, &bases);
            }
        }
    }
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

    fn holder(&self, provider: &str) -> Option<Holder<'_>> {
        let folder = self.by_provider.get(provider)?;
        Some(Holder {
            layer: &self.layer,
            folder: folder.as_ref().map_err(Vec::as_slice),
        })
    }
}

fn built_in(files: &[(&str, &str, &str)], prepared: &[(&str, &'static [u8])]) -> Folders {
    let mut out = Folders::of(Layer::BuiltIn);
    for (provider, file, text) in files {
        if *file == "rule.yaml" {
            let shown = format!("rules/{provider}");
            let prepared = prepared.iter().find(|(of, _)| of == provider);
            let folder = RuleFolder {
                prepared: prepared.map(|(_, bytes)| (*bytes).into()),
                ..RuleFolder::new(provider, Layer::BuiltIn, &shown, text)
            };
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
        if path.is_dir() && !name.starts_with('.') && !holds_only_fixtures(&path) {
            let folder = RuleFolder::read(&path, out.layer.clone());
            let folder = folder.map_err(|diagnostic| vec![diagnostic]);
            out.by_provider.insert(name.into_owned(), folder);
        }
    }
    out
}

/// Captured cases for a rule that is not overridden (yet) are no override.
fn holds_only_fixtures(dir: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return false;
    };
    let mut names = entries.flatten().map(|entry| entry.file_name()).peekable();
    names.peek().is_some() && names.all(|name| name == "fixtures")
}
