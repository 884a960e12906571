//! `axiowl rules trust`: lets the scripts and commands of a folder run, as they are now.

use super::{rule_folders, short};
use crate::exit::{Exit, Failure, Outcome};
use crate::setup::Own;
use crate::shelf::Trust;
use axiowl_lang::load::{Layer, RuleFolder};
use axiowl_lang::trust;
use axiowl_model::display_safe;
use std::path::Path;

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
        match revoke {
            true => {
                let had = trusted.remove(&digest).is_some();
                changed += usize::from(had);
                let word = if had {
                    "no longer trusted"
                } else {
                    "was not trusted"
                };
                crate::output::say!("{shown} {digest}: {word}");
            }
            false => {
                trusted.insert(digest.clone(), dir.display().to_string());
                changed += 1;
                crate::output::say!("{shown} {digest}: trusted, as it is now");
                for part in parts {
                    crate::output::say!("  may run {}", display_safe(&part));
                }
            }
        }
    }
    if changed > 0 {
        trust.write(&trusted)?;
    }
    Ok(Exit::Done)
}
