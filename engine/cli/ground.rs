//! Which folders a state folder has been told about: where its providers' stores are, and where
//! the rules that read them stand. A process that asks as a session may set any variable, and
//! with one lead the server to a store or to rules of its own making; what that server reads there
//! proves nothing about the sessions of this registry.
//!
//! Noted by commands that a person runs, and by whatever comes first where nothing is known yet.

use crate::homes;
use crate::setup::Setup;
use axiowl_lang::load::{Layer, LoadedRule};
use axiowl_model::display_safe;
use axiowl_registry::{create_private_dir, private_file_options};
use axiowl_sources::home_folders;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Below the state folder: one line a folder, what it is of first.
const FILE: &str = "ground.tsv";
/// What is no provider's: the user's configuration, and the rules given with `--rules`.
const CONFIG: &str = "#config";
const RULES: &str = "#rules";
/// No rules were given.
const NONE: &str = "-";

/// The folders that are known.
pub struct Ground {
    known: BTreeMap<String, BTreeSet<String>>,
}

/// Whether what is seen now may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adding {
    /// A person's own command: it is where they want it.
    Always,
    /// Only where nothing is known.
    First,
}

impl Ground {
    /// What a state folder knows.
    ///
    /// # Errors
    /// When it cannot be read; nothing is proven then.
    pub fn of(state: &Path) -> Result<Self, String> {
        let path = state.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (of, folder) in text.lines().filter_map(|line| line.split_once('\t')) {
            let folders = known.entry(of.to_owned()).or_default();
            folders.insert(folder.to_owned());
        }
        Ok(Self { known })
    }

    /// Whether a provider is read here as it was for the registry: in the same folders, by rules
    /// that stand where they stood.
    ///
    /// # Errors
    /// Says what is elsewhere, and how to make it known.
    pub fn holds(&self, setup: &Setup, provider: &str) -> Result<(), String> {
        let rule = setup.rules.get(provider).ok_or("its rule is gone")?;
        for (of, folder) in seen(setup, rule) {
            let own_rules = rule.layer != Layer::BuiltIn;
            let of_rules = of == CONFIG || of == RULES;
            let stranger = |known: &BTreeSet<String>| !known.contains(&folder);
            if self.known.get(&of).is_some_and(stranger) && (own_rules || !of_rules) {
                let what = if of_rules { "the rules" } else { "the store" };
                return Err(format!(
                    "{what} of {provider} that this server reads, {}, are not those of this \
                     registry; if they are yours, run `axiowl discover {provider}` once with the \
                     same variables and options",
                    display_safe(&folder)
                ));
            }
        }
        Ok(())
    }
}

/// Notes the folders that a provider is read in.
///
/// # Errors
/// When the state folder cannot be read or written.
pub fn note(setup: &Setup, rule: &LoadedRule, adding: Adding) -> Result<(), String> {
    let ground = Ground::of(&setup.state)?;
    let mut lines = String::new();
    for (of, folder) in seen(setup, rule) {
        let known = ground.known.get(&of);
        let wanted = match (known, adding) {
            (None, _) => true,
            (Some(known), Adding::Always) => !known.contains(&folder),
            (Some(_), Adding::First) => false,
        };
        if wanted {
            lines.push_str(&format!("{of}\t{folder}\n"));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let path = setup.state.join(FILE);
    let append = || {
        create_private_dir(&setup.state)?;
        let mut options = private_file_options();
        // One write at the end of the file: of several processes none cuts another's lines.
        let mut file = options.append(true).create(true).open(&path)?;
        file.write_all(lines.as_bytes())
    };
    append().map_err(|error| format!("{}: {error}", path.display()))
}

/// The folders of a rule and its provider, as they are seen now.
fn seen(setup: &Setup, rule: &LoadedRule) -> Vec<(String, String)> {
    let provider = &rule.rule.provider.value;
    let written = |path: &Path| {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        path.to_string_lossy().replace(['\t', '\n'], " ")
    };
    let rules = setup.common.rules.as_deref().map(written);
    let mut out = vec![
        (CONFIG.to_owned(), written(&setup.config_dir)),
        (RULES.to_owned(), rules.unwrap_or_else(|| NONE.to_owned())),
    ];
    let homes = homes::of(setup, &setup.world, rule).unwrap_or_default();
    let folders: BTreeSet<PathBuf> = homes
        .iter()
        .flat_map(|home| home_folders(&rule.rule, &home.world))
        .collect();
    out.extend(
        folders
            .iter()
            .map(|folder| (provider.clone(), written(folder))),
    );
    out
}
