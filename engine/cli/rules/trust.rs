//! `axiowl rules trust`: lets the scripts and commands of a folder run, as they are now.

use super::{rule_folders, short};
use crate::exit::{Exit, Failure, Outcome};
use crate::setup::Own;
use crate::shelf::Trust;
use axiowl_lang::load::{Layer, RuleFolder};
use axiowl_lang::trust;
use axiowl_model::display_safe;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Trusts a rule folder or a folder of rule folders, takes the trust back, or lists it.
pub fn run(folder: Option<&Path>, revoke: bool, list: bool) -> Outcome {
    let trust = Trust::of(&Own::of_process()?);
    let mut trusted = trust.read();
    let folder = match folder {
        Some(folder) => folder,
        None if list => {
            for (digest, folder) in &trusted {
                crate::output::say!("{digest}  {}", display_safe(folder));
            }
            if trusted.is_empty() {
                crate::output::say!("nothing is trusted");
            }
            return Ok(Exit::Done);
        }
        None => {
            return Err(Failure::new(Exit::Usage, "no folder was named")
                .hint("`axiowl rules trust DIR`, or `--list`"));
        }
    };
    if revoke {
        return take_back(folder, &trust, trusted);
    }
    let folders = match folder.join("rule.yaml").is_file() {
        true => vec![folder.to_path_buf()],
        false => rule_folders(folder)?,
    };
    if folders.is_empty() {
        return Err(Failure::new(
            Exit::Failed,
            format!("{} holds no rules", folder.display()),
        ));
    }
    let mut changed = 0;
    for dir in folders {
        let dir = std::path::absolute(dir)?;
        let read = RuleFolder::read(&dir, Layer::User).map_err(|diagnostic| {
            anstream::eprintln!("{}", diagnostic.coloured());
            Failure::new(Exit::Failed, format!("{} cannot be read", dir.display()))
        })?;
        let digest = read.digest();
        let shown = display_safe(&short(&dir).display().to_string());
        let parts = trust::parts(&read);
        if parts.is_empty() {
            crate::output::say!("{shown}: nothing in it can run");
            continue;
        }
        trusted.insert(digest.clone(), dir.display().to_string());
        changed += 1;
        crate::output::say!("{shown} {digest}: trusted, as it is now");
        for part in parts {
            crate::output::say!("  may run {}", display_safe(&part));
        }
    }
    if changed > 0 {
        trust.write(&trusted)?;
    }
    Ok(Exit::Done)
}

/// Takes back whatever was trusted of a folder, as it is now or as it once was, and also when
/// it is gone; or what one digest of the list stands for.
fn take_back(folder: &Path, trust: &Trust, mut trusted: BTreeMap<String, String>) -> Outcome {
    let named = folder.to_str().filter(|text| trusted.contains_key(*text));
    let today = digests_now(folder);
    let place = settled(&std::path::absolute(folder)?);
    let given_here = |recorded: &str| {
        let recorded = settled(Path::new(recorded));
        recorded == place || recorded.parent() == Some(&place)
    };
    let gone: Vec<String> = trusted
        .iter()
        .filter(|(digest, recorded)| {
            named == Some(digest.as_str()) || today.contains(digest) || given_here(recorded)
        })
        .map(|(digest, _)| digest.clone())
        .collect();
    for digest in &gone {
        let recorded = trusted.remove(digest).unwrap_or_default();
        let shown = short(Path::new(&recorded)).display().to_string();
        crate::output::say!("{} {digest}: no longer trusted", display_safe(&shown));
    }
    if gone.is_empty() {
        let shown = display_safe(&folder.display().to_string());
        crate::output::say!("{shown}: nothing of it was trusted");
        return Ok(Exit::Done);
    }
    trust.write(&trusted)?;
    Ok(Exit::Done)
}

/// The digests of the rules in a folder as they are now. What cannot be read has none; its
/// trust is found by the path it was given for.
fn digests_now(folder: &Path) -> Vec<String> {
    let folders = match folder.join("rule.yaml").is_file() {
        true => vec![folder.to_path_buf()],
        false => rule_folders(folder).unwrap_or_default(),
    };
    let read = |dir: &PathBuf| RuleFolder::read(dir, Layer::User).ok();
    folders
        .iter()
        .filter_map(read)
        .map(|read| read.digest())
        .collect()
}

/// A path with the links of what still exists of it resolved.
fn settled(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => settled(parent).join(name),
        _ => path.to_path_buf(),
    }
}
