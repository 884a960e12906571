//! The user's own environment: where configuration and state live whatever is examined, and the
//! machine as a command sees it. It must not know rules, nor what a registry was begun with.

use crate::args::Common;
use crate::exit::{Exit, Failure};
use axiowl_lang::config::Config;
use axiowl_lang::world_spec::WorldSpec;
use axiowl_model::Timestamp;
use axiowl_registry::{Platform, state_root};
use axiowl_sources::World;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::new(Exit::Usage, format!("{}: {error}", path.display())))
}

/// Reads a regular file; opening a pipe would wait for somebody to write into it.
pub fn read_file(path: &Path) -> std::io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "it is no regular file",
        ));
    }
    std::fs::read_to_string(path)
}

/// Reads a world file that the user named.
fn read_world(path: &Path) -> Result<WorldSpec, Failure> {
    read_world_text(path).map(|(spec, _)| spec)
}

/// Reads a world file, with its text.
pub fn read_world_text(path: &Path) -> Result<(WorldSpec, String), Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(Exit::Usage, format!("{name}: {error}")))?;
    let spec = WorldSpec::parse(&name, &text).map_err(|diagnostic| {
        anstream::eprintln!("{}", diagnostic.coloured());
        Failure::new(Exit::Usage, format!("{name} is no world file"))
    })?;
    Ok((spec, text))
}

/// The user's own environment: where configuration and state live whatever is examined.
pub struct Own {
    /// Its variables; those that are no text are left out.
    pub env: BTreeMap<String, String>,
    /// The user's home.
    pub home: PathBuf,
    /// The folder of the user's configuration.
    pub config_dir: PathBuf,
}

impl Own {
    /// From the process's environment; variables that are no text are left out.
    pub fn of_process() -> Result<Self, Failure> {
        let texts = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let env: BTreeMap<String, String> = std::env::vars_os().filter_map(texts).collect();
        let home = std::env::home_dir()
            .filter(|home| home.is_absolute())
            .ok_or_else(|| {
                Failure::new(Exit::Failed, "no home folder is known")
                    .hint("set HOME to an absolute path")
            })?;
        let base = if cfg!(windows) {
            env.get("APPDATA")
        } else {
            env.get("XDG_CONFIG_HOME")
        };
        let base = base.map(PathBuf::from).filter(|dir| dir.is_absolute());
        let config_dir = match (base, cfg!(windows)) {
            (Some(base), true) => base.join("AxiOwl"),
            (Some(base), false) => base.join("axiowl"),
            (None, true) => home.join("AppData").join("Roaming").join("AxiOwl"),
            (None, false) => home.join(".config").join("axiowl"),
        };
        Ok(Self {
            env,
            home,
            config_dir,
        })
    }

    /// One variable of the user's environment.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str)
    }

    /// The locale variables that are set.
    pub fn locale(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let all = self.env.iter().filter(|(name, _)| name.starts_with("LC_"));
        all.map(|(name, value)| (name.clone(), value.clone()))
    }

    /// The user's home folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The folder of the user's configuration.
    pub fn config_dir(&self) -> &Path {
        &self.config_dir
    }

    /// `config.yaml`, or its defaults when there is none.
    pub fn config(&self) -> Result<Config, Failure> {
        let path = self.config_dir.join("config.yaml");
        let name = path.display().to_string();
        let text = match read_file(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Config::default());
            }
            Err(error) => return Err(Failure::new(Exit::Failed, format!("{name}: {error}"))),
        };
        let config = Config::parse(&name, &text).map_err(|diagnostics| {
            for diagnostic in &diagnostics {
                anstream::eprintln!("{}", diagnostic.coloured());
            }
            Failure::new(Exit::Failed, format!("{name} cannot be used"))
        })?;
        Ok(config)
    }

    fn root(&self) -> PathBuf {
        state_root(
            &|name| self.env.get(name).cloned(),
            &self.home,
            Platform::current(),
        )
    }

    /// The state folder of a command.
    pub fn state(&self, common: &Common) -> Result<PathBuf, Failure> {
        match &common.state {
            Some(dir) => absolute(dir),
            None => self.state_for(common),
        }
    }

    /// State of an examined home lies under the user's own, never in the examined tree.
    fn state_for(&self, common: &Common) -> Result<PathBuf, Failure> {
        let examined = common.home.as_deref().or(common.world.as_deref());
        Ok(match examined {
            None => self.root(),
            // One home has one state folder, however its path is written.
            Some(examined) => {
                let path = absolute(examined)?;
                let real = path.canonicalize().unwrap_or(path);
                self.root().join("homes").join(folder_name(&real))
            }
        })
    }

    /// The machine that a command examines.
    pub fn world(&self, common: &Common) -> Result<World, Failure> {
        let now = Timestamp::from(SystemTime::now());
        let home = common.home.as_deref().map(absolute).transpose()?;
        if let Some(home) = &home
            && !home.is_dir()
        {
            return Err(Failure::new(
                Exit::Usage,
                format!("{} is no folder", home.display()),
            ));
        }
        Ok(match (&common.world, home) {
            (Some(file), home) => {
                let mut spec = read_world(file)?;
                // The examined home stands where the world file says the home was.
                if let Some(home) = home {
                    spec.maps
                        .insert(spec.home.clone(), home.display().to_string());
                }
                World::fixture(file.parent().unwrap_or(Path::new(".")), &spec)
            }
            (None, Some(home)) => World::other_home(home, &self.env, now),
            (None, None) => World::real(self.home.clone(), self.env.clone(), now),
        })
    }
}

/// A folder name for an examined path: readable, and different for different paths.
fn folder_name(path: &Path) -> String {
    let text = path.display().to_string();
    let digest = blake3::hash(text.as_bytes()).to_hex();
    let digest = &digest[..8];
    let tail: String = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '.' {
                c
            } else {
                '-'
            }
        })
        .take(40)
        .collect();
    format!("{tail}-{digest}")
}
