//! The rule an override was made of, kept in its folder `base`, so that `rules diff` can tell
//! what an update changed from what the user changed.

use crate::exit::Failure;
use axiowl_lang::load::{Layer, RuleFolder};
use std::path::Path;

/// The folder's name.
const FOLDER: &str = "base";

/// Keeps a rule beside an override of it, in place of the one that was kept before.
///
/// # Errors
/// When it cannot be written.
pub fn keep(dir: &Path, folder: &RuleFolder) -> Result<(), Failure> {
    let base = dir.join(FOLDER);
    if base.is_dir() {
        std::fs::remove_dir_all(&base)?;
    }
    std::fs::create_dir_all(&base)?;
    std::fs::write(base.join("rule.yaml"), &folder.rule)?;
    for (name, text) in &folder.scripts {
        std::fs::write(base.join(name), text)?;
    }
    Ok(())
}

/// The rule that was kept.
pub fn kept(dir: &Path, provider: &str) -> Option<RuleFolder> {
    let file = dir.join(FOLDER).join("rule.yaml");
    RuleFolder::read_file(&file, provider, Layer::BuiltIn).ok()
}
