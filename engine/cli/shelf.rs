//! Where rules stand on this machine, and whose scripts are trusted.

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::own::Own;
use crate::setup::{EMBEDDED, PREPARED};
use axiowl_lang::config::Config;
use axiowl_lang::layers::Sources;
use axiowl_registry::{create_private_dir, private_file_options};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The folders of every layer.
pub struct Shelf {
    user: PathBuf,
    packs: Vec<PathBuf>,
    disk: Option<PathBuf>,
    trusted: BTreeSet<String>,
}

impl Shelf {
    /// From the configuration and the options of one command.
    pub fn open(common: &Common, own: &Own, config: &Config) -> Self {
        let home = own.home();
        let below_home = |path: &str| match path.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => PathBuf::from(path),
        };
        let packs = config.packs.iter();
        let trust = Trust::of(own).read();
        Self {
            user: own.config_dir().join("rules"),
            packs: packs.map(|pack| below_home(&pack.value)).collect(),
            disk: common.rules.clone(),
            trusted: trust.into_iter().map(|given| given.hash).collect(),
        }
    }

    /// The user's own rules.
    pub fn user(&self) -> &Path {
        &self.user
    }

    /// The layers in force.
    pub fn sources(&self) -> Sources<'_> {
        Sources {
            built_in: EMBEDDED,
            prepared: PREPARED,
            packs: &self.packs,
            user: Some(&self.user),
            disk: self.disk.as_deref(),
            trusted: Some(&self.trusted),
        }
    }

    /// The rules of one folder; the layers below it give what they extend and share.
    pub fn of_folder<'s>(&'s self, dir: &'s Path) -> Sources<'s> {
        let own = same(dir, &self.user);
        Sources {
            disk: if own { None } else { Some(dir) },
            ..self.sources()
        }
    }

    /// The folders with rules that can be edited: `--rules`, else the user's own and `rules`
    /// here.
    pub fn folders(&self) -> Vec<PathBuf> {
        if let Some(dir) = &self.disk {
            return vec![dir.clone()];
        }
        let here = PathBuf::from("rules");
        let all = [self.user.clone(), here].into_iter();
        all.filter(|dir| dir.is_dir()).collect()
    }
}

fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The list of what the user trusts: one line a rule folder, the hash of its content first.
pub struct Trust {
    file: PathBuf,
}

/// A trust that was given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Given {
    /// The hash of the content.
    pub hash: String,
    /// The folder it was given for.
    pub folder: String,
}

impl Trust {
    /// The list of this user.
    pub fn of(own: &Own) -> Self {
        Self {
            file: own.config_dir().join("trusted"),
        }
    }

    /// What is trusted. A list that cannot be read trusts nothing.
    pub fn read(&self) -> BTreeSet<Given> {
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) => {
                if error.kind() != std::io::ErrorKind::NotFound {
                    anstream::eprintln!(
                        "warning: {}: {error}; nothing is trusted",
                        self.file.display()
                    );
                }
                return BTreeSet::new();
            }
        };
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        lines
            .map(|(hash, folder)| Given {
                hash: hash.to_owned(),
                folder: folder.to_owned(),
            })
            .collect()
    }

    /// Changes the list, one command after the other, and replaces it as a whole.
    ///
    /// # Errors
    /// When it cannot be locked or written; it is then as it was.
    pub fn update<T>(&self, change: impl FnOnce(&mut BTreeSet<Given>) -> T) -> Result<T, Failure> {
        let cannot = |error: std::io::Error| {
            Failure::new(Exit::Failed, format!("{}: {error}", self.file.display()))
        };
        let folder = self.file.parent().unwrap_or(Path::new("."));
        create_private_dir(folder).map_err(cannot)?;
        let mut options = private_file_options();
        options.write(true).create(true).truncate(false);
        // Held to the end of the function; the system frees it if this process dies.
        let guard = options.open(self.file.with_extension("lock"));
        let guard = guard.map_err(cannot)?;
        guard.lock().map_err(cannot)?;
        let mut trusted = self.read();
        let before = trusted.clone();
        let answer = change(&mut trusted);
        if trusted != before {
            let mut fresh = tempfile::NamedTempFile::new_in(folder).map_err(cannot)?;
            for Given { hash, folder } in &trusted {
                let folder = folder.replace(['\t', '\n'], " ");
                writeln!(fresh, "{hash}\t{folder}").map_err(cannot)?;
            }
            fresh.as_file().sync_all().map_err(cannot)?;
            fresh
                .persist(&self.file)
                .map_err(|error| cannot(error.error))?;
        }
        Ok(answer)
    }
}
