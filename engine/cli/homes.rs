//! Further homes of a provider, as configured: two of one provider must not be one folder, for
//! their sessions would be found twice. Who reads the homes is not known here.

use crate::exit::{Exit, Failure};
use axiowl_lang::config::Config;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Refuses two homes of one provider that are the same folder once links are followed.
pub fn check(config: &Config, home: &Path) -> Result<(), Failure> {
    for (provider, homes) in &config.homes {
        let mut seen: BTreeMap<PathBuf, &str> = BTreeMap::new();
        for entry in homes {
            let folder = resolved(&entry.path.value, home);
            if let Some(first) = seen.insert(folder.clone(), &entry.id.value) {
                let message = format!(
                    "the homes `{first}` and `{}` of {provider} are one folder: {}",
                    entry.id.value,
                    folder.display()
                );
                return Err(Failure::new(Exit::Failed, message).hint(
                    "leave one of them out of config.yaml: its sessions would be found twice",
                ));
            }
        }
    }
    Ok(())
}

/// With `~` filled in and links followed; a folder that is not there is taken as written.
fn resolved(path: &str, home: &Path) -> PathBuf {
    let path = match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(path),
    };
    std::fs::canonicalize(&path).unwrap_or(path)
}
