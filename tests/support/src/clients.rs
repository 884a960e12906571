//! The pinned real clients, installed from npm once for each lock file.
//!
//! Knows how to get the programs, not how to use them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::child;
use crate::skip::{Skip, program};

const PACKAGE: &str = include_str!("../clients/package.json");
const LOCK: &str = include_str!("../clients/package-lock.json");
/// The older versions are the packages of one system themselves: their wrappers name packages of
/// other systems that npm's mirrors do not all have.
const OLDER_PACKAGE: &str = include_str!("../clients/older/package.json");
const OLDER_LOCK: &str = include_str!("../clients/older/package-lock.json");
/// About 1.6 GB come over the wire.
const INSTALL_DEADLINE: Duration = Duration::from_secs(20 * 60);
/// Another folder for the installed clients.
const FOLDER: &str = "AXIOWL_CLIENTS_DIR";

/// Where the real clients are installed.
#[derive(Debug, Clone)]
pub struct Clients {
    modules: PathBuf,
    older: bool,
}

impl Clients {
    /// Installs the clients unless an earlier run did, and checks that all are there.
    ///
    /// The folder is `$AXIOWL_CLIENTS_DIR`, else `real-clients` in the target folder; below it one
    /// folder a lock file. Safe to call from many tests and processes at once.
    ///
    /// # Errors
    /// A [`Skip`] where npm is missing or the install fails.
    pub fn ensure() -> Result<Self, Skip> {
        static ENSURED: OnceLock<Result<Clients, Skip>> = OnceLock::new();
        ENSURED
            .get_or_init(|| Self::install_into(&cache_folder(), || program("npm")))
            .clone()
    }

    /// One clearly older version of Claude Code, Codex, Copilot CLI and OpenCode, installed the
    /// same way beside the others.
    ///
    /// # Errors
    /// As [`Self::ensure`].
    pub fn ensure_older() -> Result<Self, Skip> {
        static ENSURED: OnceLock<Result<Clients, Skip>> = OnceLock::new();
        ENSURED
            .get_or_init(|| {
                let folder = Pins::OLDER.ensure()?;
                Self::at(&folder, true)
            })
            .clone()
    }

    fn install_into(
        cache: &Path,
        npm: impl FnOnce() -> Result<PathBuf, Skip>,
    ) -> Result<Self, Skip> {
        Self::at(&Pins::CLIENTS.install_into(cache, npm)?, false)
    }

    fn at(folder: &Path, older: bool) -> Result<Self, Skip> {
        let clients = Self {
            modules: folder.join("node_modules"),
            older,
        };
        let mut programs = vec![
            clients.claude(),
            clients.codex(),
            clients.copilot(),
            clients.opencode(),
        ];
        if !older {
            programs.extend([clients.gemini(), clients.node()]);
        }
        match programs.iter().find(|file| !file.is_file()) {
            None => Ok(clients),
            Some(file) => Err(Skip::new(format!(
                "{} is missing; remove {} to install again",
                file.display(),
                folder.display()
            ))),
        }
    }

    /// Claude Code's executable.
    pub fn claude(&self) -> PathBuf {
        match self.older {
            true => self
                .package("@anthropic-ai/claude-code-linux-x64")
                .join("claude"),
            false => self.bin_folder().join("claude"),
        }
    }

    /// Codex's executable: npm's Node wrapper, which runs the native binary as its child; of
    /// the older one the native binary itself.
    pub fn codex(&self) -> PathBuf {
        match self.older {
            true => self
                .package("@openai/codex-linux-x64")
                .join("vendor/x86_64-unknown-linux-musl/bin/codex"),
            false => self.bin_folder().join("codex"),
        }
    }

    /// Copilot CLI's executable: a Node script that starts the native binary; of the older one
    /// the native binary itself.
    pub fn copilot(&self) -> PathBuf {
        match self.older {
            true => self.package("@github/copilot-linux-x64").join("copilot"),
            false => self.bin_folder().join("copilot"),
        }
    }

    /// Gemini CLI's executable, a Node script.
    pub fn gemini(&self) -> PathBuf {
        self.bin_folder().join("gemini")
    }

    /// OpenCode's executable. Its package for this system is pinned itself: the one that picks
    /// a package by system names some that npm does not have.
    pub fn opencode(&self) -> PathBuf {
        self.package("opencode-linux-x64").join("bin/opencode")
    }

    /// Node 24, for clients that are scripts.
    pub fn node(&self) -> PathBuf {
        self.bin_folder().join("node")
    }

    /// The folder of all executables that npm links there.
    pub fn bin_folder(&self) -> PathBuf {
        self.modules.join(".bin")
    }

    /// The folders of the executables, for PATH.
    pub fn path_folders(&self) -> Vec<PathBuf> {
        let of = |program: PathBuf| program.parent().map(Path::to_owned);
        let mut folders: Vec<PathBuf> = match self.older {
            true => [self.claude(), self.codex(), self.copilot()]
                .into_iter()
                .filter_map(of)
                .collect(),
            false => vec![self.bin_folder()],
        };
        folders.extend(of(self.opencode()));
        folders
    }

    /// The version of an installed package, such as `@openai/codex`, without the name of a
    /// system; of the older clients those of this system's packages.
    pub fn version(&self, package: &str) -> Option<String> {
        let system = match self.older && !package.ends_with("-linux-x64") {
            true => "-linux-x64",
            false => "",
        };
        let file = self.package(&format!("{package}{system}/package.json"));
        let text = fs::read_to_string(file).ok()?;
        let description: serde_json::Value = serde_json::from_str(&text).ok()?;
        let version = description["version"].as_str()?;
        Some(version.trim_end_matches("-linux-x64").to_owned())
    }

    /// The folder of an installed package, such as `@openai/codex`.
    pub fn package(&self, name: &str) -> PathBuf {
        self.modules.join(name)
    }
}

/// Packages of npm, pinned: the texts of `package.json` and `package-lock.json`.
#[derive(Debug, Clone, Copy)]
pub struct Pins<'a> {
    /// `package.json`.
    pub package: &'a str,
    /// `package-lock.json`.
    pub lock: &'a str,
}

impl Pins<'_> {
    const CLIENTS: Self = Pins {
        package: PACKAGE,
        lock: LOCK,
    };
    const OLDER: Self = Pins {
        package: OLDER_PACKAGE,
        lock: OLDER_LOCK,
    };

    /// The folder they are installed in, beside the real clients, unless an earlier run did.
    ///
    /// # Errors
    /// A [`Skip`] where npm is missing or the install fails.
    pub fn ensure(&self) -> Result<PathBuf, Skip> {
        self.install_into(&cache_folder(), || program("npm"))
    }

    fn install_into(
        &self,
        cache: &Path,
        npm: impl FnOnce() -> Result<PathBuf, Skip>,
    ) -> Result<PathBuf, Skip> {
        let folder = cache.join(self.folder_name());
        if !folder.is_dir() {
            fs::create_dir_all(cache).map_err(|error| broken(cache, &error))?;
            // Held until the end of the function; the system frees it if this process dies.
            let guard = File::create(cache.join(".lock")).map_err(|error| broken(cache, &error))?;
            guard.lock().map_err(|error| broken(cache, &error))?;
            if !folder.is_dir() {
                self.install(&npm()?, cache, &folder)?;
            }
        }
        Ok(folder)
    }

    /// Other pins are another folder, so that a branch with older pins finds its own.
    fn folder_name(&self) -> String {
        let Self { package, lock } = self;
        let hash = blake3::hash(format!("{package}\n{lock}").as_bytes());
        hash.to_hex().chars().take(16).collect()
    }

    /// Installs beside the final folder and renames, so that a half install is never found.
    fn install(&self, npm: &Path, cache: &Path, folder: &Path) -> Result<(), Skip> {
        let fresh = tempfile::Builder::new()
            .prefix(".installing-")
            .tempdir_in(cache)
            .map_err(|error| broken(cache, &error))?;
        for (name, text) in [
            ("package.json", self.package),
            ("package-lock.json", self.lock),
        ] {
            let path = fresh.path().join(name);
            fs::write(&path, text).map_err(|error| broken(&path, &error))?;
        }
        let mut command = Command::new(npm);
        command.current_dir(fresh.path());
        command.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
        child::run(&mut command, "", INSTALL_DEADLINE)
            .and_then(child::Finished::success)
            .map_err(|error| Skip::new(format!("npm could not install the clients: {error}")))?;
        let fresh = fresh.keep();
        fs::rename(&fresh, folder).map_err(|error| broken(folder, &error))
    }
}

fn broken(path: &Path, error: &std::io::Error) -> Skip {
    Skip::new(format!("{}: {error}", path.display()))
}

fn cache_folder() -> PathBuf {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return PathBuf::from(folder);
    }
    // A test binary lies below the target folder, which cargo marks with a tag file.
    let program = std::env::current_exe().unwrap_or_default();
    let target = program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file());
    let fallback = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    target
        .map_or_else(fallback, Path::to_owned)
        .join("real-clients")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pins_are_exact_and_name_no_host() {
        for (pins, count) in [(Pins::CLIENTS, 6), (Pins::OLDER, 4)] {
            let Pins { package, lock } = pins;
            let described: serde_json::Value = serde_json::from_str(package).expect("JSON");
            let kinds = ["dependencies", "optionalDependencies"].map(|kind| &described[kind]);
            let pins: Vec<_> = kinds
                .iter()
                .filter_map(|pins| pins.as_object())
                .flatten()
                .collect();
            for (name, version) in &pins {
                let version = version.as_str().expect("a version");
                // Codex publishes each system's package as a version of its own.
                let number = version.trim_start_matches("npm:@openai/codex@");
                let exact = number
                    .trim_end_matches("-linux-x64")
                    .split('.')
                    .all(|part| part.bytes().all(|b| b.is_ascii_digit()));
                assert!(exact, "{name} {version}");
                assert!(
                    lock.contains(&format!("\"{name}\": \"{version}\"")),
                    "{name} {version}"
                );
            }
            assert_eq!(pins.len(), count);
            assert!(!lock.contains("://") && !package.contains("://"));
        }
    }

    #[test]
    fn a_failed_install_leaves_nothing_that_looks_installed() {
        let cache = tempfile::tempdir().expect("a folder");
        for npm in [program("false"), Err(Skip::new("npm is not installed"))] {
            let skip = Clients::install_into(cache.path(), || npm).expect_err("no clients");
            assert!(skip.reason.contains("npm"), "{skip}");
            let left = fs::read_dir(cache.path()).expect("the folder").flatten();
            let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
            assert_eq!(left, [".lock"]);
        }
    }

    #[test]
    fn an_installed_folder_that_lacks_a_client_says_how_to_repair_it() {
        let cache = tempfile::tempdir().expect("a folder");
        let folder = cache.path().join(Pins::CLIENTS.folder_name());
        fs::create_dir_all(folder.join("node_modules/.bin")).expect("a folder");
        let skip = Clients::install_into(cache.path(), || unreachable!("nothing to install"))
            .expect_err("no clients");
        assert!(skip.reason.contains("claude is missing"), "{skip}");
        assert!(
            skip.reason.contains(&folder.display().to_string()),
            "{skip}"
        );
    }
}
