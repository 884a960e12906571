//! Finds the folders a rule reads below.
//!
//! The first candidate whose variables are set and whose folder exists is the root. A
//! candidate made of variables alone decides even when its folder is missing, and one that
//! starts with a variable rules out the default folders behind it: a provider told to live
//! there does not live in its default folder. A root with `every` is each candidate that
//! exists. AxiOwl's own folder is a root of every rule. It must not read any file.

use crate::World;
use crate::witness::Depth;
use axiowl_lang::rule::{RootRule, Rule};
use axiowl_lang::source::STATE_ROOT;
use axiowl_lang::template::{Piece, Template};
use axiowl_model::{Issue, codes};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What sources read below: one folder, or several where the rule says `every`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Root {
    /// At least one, in the rule's order.
    folders: Vec<Folder>,
}

/// A folder of a root.
#[derive(Debug, Clone, Default)]
pub(crate) struct Folder {
    /// As recorded.
    pub recorded: String,
    /// Where it really lies, when it exists.
    pub place: Option<Place>,
}

impl Root {
    /// The first folder, which stands for the root wherever it is named alone.
    pub fn recorded(&self) -> &str {
        self.folders.first().map_or("", |folder| &folder.recorded)
    }

    /// Every folder, whether it exists or not.
    pub fn folders(&self) -> &[Folder] {
        &self.folders
    }

    /// The folders that exist.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.folders
            .iter()
            .filter_map(|folder| folder.place.as_ref())
    }

    /// Whether any of its folders exists.
    pub fn exists(&self) -> bool {
        self.places().next().is_some()
    }
}

/// An existing root folder.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// As the world maps it; hits below it are recorded in the same words.
    pub real: PathBuf,
    /// With symlinks resolved; nothing may lie outside it.
    pub canonical: PathBuf,
}

/// Resolves every root of a rule. Roots may stand in other roots' candidates.
pub(crate) fn resolve(rule: &Rule, world: &World) -> (BTreeMap<String, Root>, Vec<Issue>) {
    let mut roots = BTreeMap::new();
    let mut issues = Vec::new();
    if let Some(recorded) = world.state() {
        let recorded = recorded.to_owned();
        // Whoever searches it notes that it is there: to most rules it means nothing.
        let place = found(&recorded, world);
        let folders = vec![Folder { recorded, place }];
        roots.insert(STATE_ROOT.to_owned(), Root { folders });
    }
    // Each round settles at least one root; what is left then names itself in a circle.
    loop {
        let before = roots.len();
        for (name, candidates) in &rule.roots {
            let waits = || {
                let named = candidates.iter().flat_map(|c| c.fields());
                named
                    .into_iter()
                    .any(|f| f != name && rule.roots.contains_key(f) && !roots.contains_key(f))
            };
            if roots.contains_key(name) || waits() {
                continue;
            }
            let chosen = match world.provider_home().filter(|_| rule.is_home(name)) {
                Some(folder) => given(name, folder, world, &mut issues),
                None => choose(name, candidates, &roots, world, &mut issues),
            };
            roots.insert(name.clone(), chosen);
        }
        if roots.len() == before {
            return (roots, issues);
        }
    }
}

/// The real folders of the roots that a home of the provider stands for, symlinks resolved;
/// those that exist.
pub fn home_folders(rule: &Rule, world: &World) -> Vec<PathBuf> {
    let (roots, _) = resolve(rule, world);
    let homes = roots.into_iter().filter(|(name, _)| rule.is_home(name));
    let mut out: Vec<PathBuf> = homes
        .flat_map(|(_, root)| root.folders)
        .filter_map(|folder| folder.place.map(|place| place.canonical))
        .collect();
    out.sort();
    out.dedup();
    out
}

/// The root that a configured home is.
fn given(name: &str, folder: &str, world: &World, issues: &mut Vec<Issue>) -> Root {
    let recorded = folder.to_owned();
    let place = place(&recorded, world);
    if place.is_none() {
        let message = format!(
            "root `{name}`: `homes` in config.yaml names this folder, and it does not exist"
        );
        issues.push(Issue::new(codes::ROOT_MISSING, message).at(&recorded));
    }
    Root {
        folders: vec![Folder { recorded, place }],
    }
}

fn choose(
    name: &str,
    candidates: &RootRule,
    roots: &BTreeMap<String, Root>,
    world: &World,
    issues: &mut Vec<Issue>,
) -> Root {
    let mut first = None;
    let mut folders: Vec<Folder> = Vec::new();
    let mut told = false;
    for candidate in candidates.iter() {
        let led = matches!(candidate.pieces().first(), Some(Piece::Variable(_)));
        if told && !led && !candidates.every {
            continue;
        }
        let Some(recorded) = fill(candidate, roots, world) else {
            continue;
        };
        let place = place(&recorded, world);
        let decides = candidate
            .pieces()
            .iter()
            .all(|piece| matches!(piece, Piece::Variable(_)));
        if place.is_none() {
            // A relative value means nothing (XDG says so for its own variables).
            told |= led && world.is_absolute(&recorded);
            first.get_or_insert(recorded.clone());
            if !decides {
                continue;
            }
            let text = candidate.as_str();
            let message = format!("root `{name}`: {text} names this folder, and it does not exist");
            issues.push(Issue::new(codes::ROOT_MISSING, message).at(&recorded));
        }
        // Two candidates may lead to one folder, and it holds each session once.
        let known = |place: &Place| {
            let places = folders.iter().filter_map(|folder| folder.place.as_ref());
            places
                .into_iter()
                .any(|other| other.canonical == place.canonical)
        };
        if !place.as_ref().is_some_and(known) {
            folders.push(Folder { recorded, place });
        }
        if !candidates.every {
            break;
        }
    }
    // A folder that exists stands for the root before one that does not.
    folders.sort_by_key(|folder| folder.place.is_none());
    if folders.is_empty() {
        folders.push(Folder {
            recorded: first.unwrap_or_default(),
            place: None,
        });
    }
    Root { folders }
}

/// The candidate as a recorded path; `None` while a variable in it is not set.
fn fill(candidate: &Template, roots: &BTreeMap<String, Root>, world: &World) -> Option<String> {
    let filled = candidate.fill(
        |name| roots.get(name).map(|root| Cow::Borrowed(root.recorded())),
        |name| world.env(name).map(Cow::Borrowed),
    )?;
    let path = match filled.strip_prefix('~') {
        Some("") => world.home().to_owned(),
        Some(rest) if rest.starts_with(['/', '\\']) => format!("{}{rest}", world.home()),
        _ => filled,
    };
    let cut = path.trim_end_matches('/');
    Some(if cut.is_empty() { path } else { cut.to_owned() })
}

fn place(recorded: &str, world: &World) -> Option<Place> {
    let real = world.real_path(recorded)?;
    world.note_path(&real, Depth::Identity);
    found(recorded, world)
}

fn found(recorded: &str, world: &World) -> Option<Place> {
    let real = world.real_path(recorded)?;
    let canonical = real.canonicalize().ok()?;
    let inside = canonical.is_dir() && world.contains(&canonical);
    inside.then_some(Place { real, canonical })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_model::Timestamp;

    fn resolved(
        home: &std::path::Path,
        env: &[(&str, &str)],
        roots: &str,
    ) -> (Vec<String>, Vec<Issue>) {
        let text = format!("axiowl: 1\nprovider: p\ntitle: t\nroots:\n{roots}");
        let rule: Rule = serde_yaml::from_str(&text).unwrap();
        let env = env
            .iter()
            .map(|(k, v)| (k.to_string(), v.to_string()))
            .collect();
        let world = World::real(home.to_path_buf(), env, Timestamp::from_millis(0));
        let (roots, issues) = resolve(&rule, &world);
        let home = home.to_str().unwrap();
        let folder = |folder: &Folder| {
            let exists = if folder.place.is_some() { "" } else { "?" };
            format!("{}{exists}", folder.recorded.replace(home, "~"))
        };
        let show = |(name, root): (&String, &Root)| {
            let folders: Vec<String> = root.folders().iter().map(folder).collect();
            format!("{name}={}", folders.join(","))
        };
        (roots.iter().map(show).collect(), issues)
    }

    #[test]
    fn variables_decide_and_folders_that_exist_win() {
        let home = tempfile::tempdir().unwrap();
        let made = home.path().join(".p");
        std::fs::create_dir_all(made.join("db")).unwrap();
        let one = "  a: [\"${P_HOME}\", \"${P_HOME}/x\", ~/.none, ~/.p]\n";
        let two = format!("{one}  b: [\"${{B}}\", \"{{a}}/db\"]\n");

        assert_eq!(resolved(home.path(), &[], one).0, ["a=~/.p"]);
        assert_eq!(resolved(home.path(), &[], &two).0, ["a=~/.p", "b=~/.p/db"]);
        let (roots, issues) = resolved(home.path(), &[("P_HOME", "/no/such")], one);
        assert_eq!(roots, ["a=/no/such?"]);
        assert_eq!(issues.len(), 1);
        assert_eq!(issues[0].code, codes::ROOT_MISSING);
        assert_eq!(issues[0].path.as_deref(), Some("/no/such"));

        let below = "  a: [\"${P_HOME}/p\", \"${P_HOME}/q\", ~/.p]\n";
        let set = |value: &str| resolved(home.path(), &[("P_HOME", value)], below);
        assert_eq!(set("/no/such"), (vec!["a=/no/such/p?".to_owned()], vec![]));
        assert_eq!(set("relative").0, ["a=~/.p"]);
        std::fs::create_dir_all(home.path().join("told/q")).unwrap();
        let told = home.path().join("told");
        assert_eq!(set(told.to_str().unwrap()).0, ["a=~/told/q"]);

        let made = format!("{}/", made.to_str().unwrap());
        let (roots, issues) = resolved(home.path(), &[("P_HOME", &made)], one);
        assert_eq!((roots, issues.len()), (vec!["a=~/.p".to_owned()], 0));
    }

    #[test]
    fn no_candidate_means_the_first_one_missing_and_circles_end() {
        let home = tempfile::tempdir().unwrap();
        let (roots, issues) = resolved(home.path(), &[], "  a: [~/.x, ~/.y]\n");
        assert_eq!((roots, issues.len()), (vec!["a=~/.x?".to_owned()], 0));
        let circle = "  a: \"{b}/x\"\n  b: \"{a}/y\"\n  c: \"${UNSET}/z\"\n";
        let (roots, _) = resolved(home.path(), &[], circle);
        assert_eq!(roots, ["c=?"]);
    }

    #[test]
    fn every_folder_that_exists_counts_once() {
        let home = tempfile::tempdir().unwrap();
        for folder in [".config/A", ".config/B"] {
            std::fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let roots = "  a: { every: [\"${CONFIG}/A\", ~/.config/A, ~/.none, ~/.config/B] }\n";
        let config = home.path().join(".config");
        let env = [("CONFIG", config.to_str().unwrap())];
        assert_eq!(
            resolved(home.path(), &env, roots).0,
            ["a=~/.config/A,~/.config/B"]
        );
        assert_eq!(
            resolved(home.path(), &[], roots).0,
            ["a=~/.config/A,~/.config/B"]
        );
        let none = "  a: { every: [~/.none, ~/.neither] }\n";
        assert_eq!(resolved(home.path(), &[], none).0, ["a=~/.none?"]);
    }

    #[test]
    fn a_missing_folder_that_a_variable_names_is_reported_beside_those_that_exist() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join(".p")).unwrap();
        let roots = "  a: { every: [\"${P}\", ~/.p] }\n";
        let (roots, issues) = resolved(home.path(), &[("P", "/no/such")], roots);
        assert_eq!(roots, ["a=~/.p,/no/such?"]);
        assert_eq!(issues[0].code, codes::ROOT_MISSING);
    }
}
