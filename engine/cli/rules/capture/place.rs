//! Where captured files lie in a case, and what the case calls the folders they came from.

use super::values::Values;
use axiowl_sources::World;
use axiowl_sources::survey::Survey;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The places of one case.
pub struct Place {
    out: PathBuf,
    /// The home, as it was.
    real_home: String,
    /// The home, as the case calls it.
    home: String,
    /// Roots outside the home: as they were, as the case calls them.
    roots: Vec<(String, String)>,
    /// The folder of AxiOwl's own files: as it was, as a case has it.
    state: Option<(String, String)>,
    captured: BTreeSet<String>,
}

impl Place {
    /// For a case folder. The name of the user becomes `dev`.
    pub fn new(out: &Path, world: &World, survey: &Survey, values: &mut Values) -> Self {
        let real_home = world.home().to_owned();
        let user = real_home.rsplit(['/', '\\']).next().unwrap_or_default();
        let one_word = !user.is_empty() && user.chars().all(|c| c.is_ascii_alphanumeric());
        if one_word && user != "root" {
            values.words.become_(user, "dev");
        }
        let home = values.words.text(&real_home);
        let outside = survey.roots.iter().filter(|root| !below(root, &real_home));
        let roots = outside
            .map(|root| (root.clone(), values.words.text(root)))
            .collect();
        let state = world.state().map(|old| {
            let new = format!("{}/.axiowl", home.trim_end_matches(['/', '\\']));
            (old.to_owned(), new)
        });
        Self {
            state,
            out: out.to_path_buf(),
            real_home,
            home,
            roots,
            captured: BTreeSet::new(),
        }
    }

    /// The home, as the case calls it.
    pub fn home(&self) -> &str {
        &self.home
    }

    /// What stands for what, for `world.yaml`.
    pub fn maps(&self) -> Vec<(String, String)> {
        let mut out = vec![(self.home.clone(), "home".to_owned())];
        let roots = self.roots.iter().enumerate();
        out.extend(roots.map(|(number, (_, new))| (new.clone(), format!("roots/{number}"))));
        out
    }

    /// Where a file goes, and what the case calls it; nothing for one outside every folder.
    pub fn of(&mut self, recorded: &str, values: &mut Values) -> Option<(PathBuf, String)> {
        let own = self.state.as_ref().filter(|(old, _)| below(recorded, old));
        let (folder, old, new) = match (own, below(recorded, &self.real_home)) {
            (Some((old, new)), _) => ("home/.axiowl".to_owned(), old, new),
            (None, true) => ("home".to_owned(), &self.real_home, &self.home),
            (None, false) => {
                let mut roots = self.roots.iter().enumerate();
                let (number, (old, new)) = roots.find(|(_, (old, _))| below(recorded, old))?;
                (format!("roots/{number}"), old, new)
            }
        };
        let rest = values.words.text(recorded.get(old.len()..)?);
        let called = format!("{new}{rest}");
        let mut path = self.out.join(folder);
        path.extend(rest.split(['/', '\\']).filter(|part| !part.is_empty()));
        self.captured.insert(recorded.to_owned());
        Some((path, called))
    }

    /// Whether a file of the real machine is in the case.
    pub fn holds(&self, recorded: &str) -> bool {
        self.captured.contains(recorded)
    }
}

fn below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
}
