//! `axiowl rules trust`: lets the scripts and commands of a folder run, as they are now.

use super::{rule_folders, short};
use crate::exit::{Exit, Failure, Outcome};
use crate::own::Own;
use crate::shelf::{Given, Trust};
use axiowl_lang::load::{Layer, RuleFolder};
use axiowl_lang::trust;
use axiowl_model::display_safe;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Trusts a rule folder or a folder of rule folders, takes the trust back, or lists it.
pub fn run(folder: Option<&Path>, revoke: bool, list: bool) -> Outcome {
    let trust = Trust::of(&Own::of_process()?);
    let folder = match folder {
        Some(folder) => folder,
        None if list => {
            let trusted = trust.read();
            for Given { hash, folder } in &trusted {
                crate::output::say!("{}  {}", shown(hash), display_safe(folder));
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
        return take_back(folder, &trust);
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
    let mut given = Vec::new();
    let mut told = Vec::new();
    for dir in folders {
        let dir = std::path::absolute(dir)?;
        let read = RuleFolder::read(&dir, Layer::User).map_err(|diagnostic| {
            anstream::eprintln!("{}", diagnostic.coloured());
            Failure::new(Exit::Failed, format!("{} cannot be read", dir.display()))
        })?;
        let name = display_safe(&short(&dir).display().to_string());
        let parts = trust::parts(&read);
        if parts.is_empty() {
            told.push(format!("{name}: nothing in it can run"));
            continue;
        }
        told.push(format!("{name} {}: trusted, as it is now", read.digest()));
        told.extend(
            parts
                .iter()
                .map(|part| format!("  may run {}", display_safe(part))),
        );
        given.push(Given {
            hash: read.hash(),
            folder: dir.display().to_string(),
        });
    }
    trust.update(|trusted| trusted.extend(given))?;
    // Said when it holds.
    for line in told {
        crate::output::say!("{line}");
    }
    Ok(Exit::Done)
}

/// A hash as people see it.
fn shown(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// Takes back whatever was trusted of a folder, as it is now or as it once was, and also when
/// it is gone; or what a digest of the list stands for. Content that is trusted for another
/// folder too is no longer trusted there either: it is the content that runs.
fn take_back(folder: &Path, trust: &Trust) -> Outcome {
    let digest = folder.to_str().filter(|text| text.len() >= 12);
    let today = hashes_now(folder);
    let place = settled(&std::path::absolute(folder)?);
    let given_here = |recorded: &str| {
        let recorded = settled(Path::new(recorded));
        recorded == place || recorded.parent() == Some(&place)
    };
    let gone = trust.update(|trusted| {
        let meant: BTreeSet<String> = trusted
            .iter()
            .filter(|given| {
                digest.is_some_and(|digest| given.hash.starts_with(digest))
                    || today.contains(&given.hash)
                    || given_here(&given.folder)
            })
            .map(|given| given.hash.clone())
            .collect();
        let all = std::mem::take(trusted).into_iter();
        let (gone, left): (Vec<Given>, _) = all.partition(|given| meant.contains(&given.hash));
        *trusted = left.into_iter().collect();
        gone
    })?;
    for given in &gone {
        let recorded = short(Path::new(&given.folder)).display().to_string();
        crate::output::say!(
            "{} {}: no longer trusted",
            display_safe(&recorded),
            shown(&given.hash)
        );
    }
    match gone.is_empty() {
        false => Ok(Exit::Done),
        true => {
            let name = display_safe(&folder.display().to_string());
            Err(
                Failure::new(Exit::Failed, format!("nothing of {name} was trusted"))
                    .hint("`axiowl rules trust --list` shows what is"),
            )
        }
    }
}

/// The hashes of the rules in a folder as they are now. What cannot be read has none; its
/// trust is found by the path it was given for.
fn hashes_now(folder: &Path) -> Vec<String> {
    let folders = match folder.join("rule.yaml").is_file() {
        true => vec![folder.to_path_buf()],
        false => rule_folders(folder).unwrap_or_default(),
    };
    let read = |dir: &PathBuf| RuleFolder::read(dir, Layer::User).ok();
    folders
        .iter()
        .filter_map(read)
        .map(|read| read.hash())
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
