//! Bounds of a fixture case: what its `world.yaml` names lies among the rules it belongs to.
//!
//! A case may come from a stranger, and running it must read nothing of this machine but the
//! case. It knows nothing of what is in the files.

use crate::exit::{Exit, Failure};
use axiowl_lang::world_spec::{self, WorldSpec};
use std::path::{Component, Path, PathBuf};

/// Reads the world of a case folder, and refuses one that leads out of its rules.
///
/// # Errors
/// When there is no such file, it is no world file, or what it names lies elsewhere.
pub fn read_case(case: &Path) -> Result<WorldSpec, Failure> {
    let file = case.join("world.yaml");
    let (spec, text) = crate::own::read_world_text(&file)?;
    let bounds = Bounds::of(case)?;
    let maps = spec.maps.iter().map(|(key, to)| ("maps", key, to));
    let commands = spec.commands.iter().map(|(key, to)| ("commands", key, to));
    for (part, key, target) in maps.chain(commands) {
        if bounds.hold(target) {
            continue;
        }
        let message = format!("`{part}` leads `{key}` out of the rules, to `{target}`");
        let help = "name a folder of this case, or of another rule beside this one; only \
                    `--world FILE` may lead elsewhere";
        let name = file.display().to_string();
        let diagnostic = world_spec::objection(&name, &text, &[part, key], message, help);
        anstream::eprintln!("{}", diagnostic.coloured());
        return Err(Failure::new(
            Exit::Usage,
            format!("{name}: `{part}` `{key}` leads out of the rules"),
        ));
    }
    if !bounds.hold("registry.tsv") {
        let message = format!("{}: its registry.tsv lies elsewhere", case.display());
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok(spec)
}

/// Where the files of a case may lie.
struct Bounds {
    /// The case, links resolved.
    case: PathBuf,
    /// The folder that holds its rule's folder and those of the siblings; none for a case that
    /// stands by itself.
    rules: Option<PathBuf>,
}

impl Bounds {
    fn of(case: &Path) -> Result<Self, Failure> {
        let case = case
            .canonicalize()
            .map_err(|error| Failure::new(Exit::Usage, format!("{}: {error}", case.display())))?;
        let fixtures = case.parent().filter(|dir| dir.ends_with("fixtures"));
        let rule = fixtures.and_then(Path::parent);
        let rule = rule.filter(|rule| rule.join("rule.yaml").is_file());
        let rules = rule.and_then(Path::parent).map(Path::to_path_buf);
        Ok(Self { case, rules })
    }

    /// Whether a path that the case names lies in it, or in a rule folder beside its own.
    fn hold(&self, named: &str) -> bool {
        let Some(real) = resolved(&self.case, Path::new(named)) else {
            return false;
        };
        if real.starts_with(&self.case) {
            return true;
        }
        let Some(rules) = &self.rules else {
            return false;
        };
        let sibling = real.strip_prefix(rules).ok();
        let sibling = sibling.and_then(|below| below.components().next());
        sibling.is_some_and(|name| rules.join(name).join("rule.yaml").is_file())
    }
}

/// Where a path leads from a folder without links in its own path. What does not exist is
/// taken as it is written; `None` for a link whose end does not exist.
fn resolved(from: &Path, path: &Path) -> Option<PathBuf> {
    let mut out = from.to_path_buf();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => {
                out.push(part);
                match out.canonicalize() {
                    Ok(real) => out = real,
                    Err(_) if out.is_symlink() => return None,
                    Err(_) => {}
                }
            }
        }
    }
    Some(out)
}
