//! An edited rule, wherever it lies, loaded as if it stood in the user's layer.

use super::short;
use crate::exit::{Exit, Failure};
use crate::shelf::Shelf;
use axiowl_lang::diag::Diagnostic;
use axiowl_lang::layers;
use axiowl_lang::load::{Layer, LoadedRule, RuleFolder};
use axiowl_lang::stack::Stack;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Loads the rule of a file or folder for a provider.
///
/// # Errors
/// When it cannot be read or is broken; its mistakes have been shown.
pub fn load(path: &Path, provider: &str, shelf: &Shelf) -> Result<Arc<LoadedRule>, Failure> {
    let file = short(&file(path)?);
    let cannot = |diagnostics: &[Diagnostic]| {
        for diagnostic in diagnostics {
            anstream::eprintln!("{}", diagnostic.coloured());
        }
        Failure::new(Exit::Failed, format!("{} cannot be used", file.display()))
    };
    let folder = RuleFolder::read_file(&file, provider, Layer::User)
        .map_err(|diagnostic| cannot(&[diagnostic]))?;
    let sources = shelf.sources();
    let stack = Stack::open(&sources).with(folder);
    let set = layers::load_stack(&stack, sources.trusted, |name| name == provider);
    let problems = set.problems().iter().filter(|p| p.provider == provider);
    let broken: Vec<Diagnostic> = problems.flat_map(|p| p.diagnostics.clone()).collect();
    if broken.iter().any(Diagnostic::is_error) {
        return Err(cannot(&broken));
    }
    set.get(provider)
        .cloned()
        .ok_or_else(|| Failure::new(Exit::Failed, format!("{} is no rule", file.display())))
}

/// The rule file that a path means.
pub fn file(path: &Path) -> Result<PathBuf, Failure> {
    let path = std::path::absolute(path)?;
    Ok(match path.is_dir() {
        true => path.join("rule.yaml"),
        false => path,
    })
}
