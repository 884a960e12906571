//! Everything a rule may know of the machine besides its sources.
//!
//! A world is this machine, another home on it, or a recorded one in a fixture.
//! Rules and readers speak of paths *as recorded* (`/home/dev/x`); only this module
//! knows where such a path really lies. It must not know what any file means.

mod executable;
mod paths;
mod process;

use crate::facts::{FactQuery, NativeFacts};
use crate::file::DATABASE_TEXT;
use crate::witness::{Depth, Witness};
use axiowl_lang::world_spec::{Platform, WorldSpec};
use axiowl_model::Timestamp;
use paths::{Paths, plain};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Variables of this machine that still count when another home is examined: they say
/// where programs lie and how to write, never where a provider keeps its files.
const HOMELESS: [&str; 7] = [
    "PATH",
    "PATHEXT",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "SYSTEMROOT",
];

/// The examined machine: file system, clock, environment, processes, executables.
#[derive(Clone)]
pub struct World {
    now: Timestamp,
    platform: Platform,
    home: String,
    env: BTreeMap<String, String>,
    paths: Paths,
    executables: BTreeMap<String, String>,
    registered: BTreeMap<String, Vec<String>>,
    /// AxiOwl's own folder, as recorded.
    state: Option<String>,
    /// A further home of a provider, which stands for its roots.
    provider_home: Option<String>,
    native: Option<Arc<dyn NativeFacts>>,
    /// What a fixture recorded; without it, this machine is asked.
    recorded: Option<Recorded>,
    /// Notes what a run sees of it.
    witness: Option<Arc<Witness>>,
}

/// The part of a fixture's description that is asked for after the world is built.
#[derive(Clone)]
struct Recorded {
    spec: Arc<WorldSpec>,
    /// Where the description lies.
    folder: PathBuf,
    dirs: BTreeSet<String>,
    locks: BTreeSet<String>,
}

impl World {
    /// This machine as the environment of the process shows it.
    pub fn real(home: PathBuf, env: BTreeMap<String, String>, now: Timestamp) -> Self {
        Self {
            now,
            platform: here(),
            home: home.to_string_lossy().into_owned(),
            env,
            paths: Paths::Same,
            executables: BTreeMap::new(),
            registered: BTreeMap::new(),
            state: None,
            provider_home: None,
            native: None,
            recorded: None,
            witness: None,
        }
    }

    /// Another home folder on this machine (`--home DIR`).
    ///
    /// Of `env`, which is the process's, only what finds programs and sets the locale is
    /// kept: no XDG and no provider variable leads out of that home.
    pub fn other_home(dir: PathBuf, env: &BTreeMap<String, String>, now: Timestamp) -> Self {
        let kept = HOMELESS.iter().filter_map(|name| env.get_key_value(*name));
        let mut env: BTreeMap<_, _> = kept.map(|(k, v)| (k.clone(), v.clone())).collect();
        let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        env.insert(home.into(), dir.to_string_lossy().into_owned());
        Self::real(dir, env, now)
    }

    /// A recorded machine: `spec` and the folders beside it in `base_dir`.
    ///
    /// Recorded paths lead into the mapped folders, and nothing outside them exists.
    pub fn fixture(base_dir: &Path, spec: &WorldSpec) -> Self {
        let real = |below: &String| base_dir.join(below);
        let pairs = spec
            .maps
            .iter()
            .map(|(recorded, below)| (recorded.clone(), real(below)));
        let plain_set = |list: &[String]| list.iter().map(|path| plain(path).into()).collect();
        Self {
            now: spec.now,
            platform: spec.platform,
            home: plain(&spec.home).to_owned(),
            env: spec.env.clone(),
            paths: Paths::mapped(pairs),
            executables: spec.executables.clone(),
            registered: spec.registered.clone(),
            state: Some(plain(&spec.state_folder()).to_owned()),
            provider_home: None,
            native: None,
            recorded: Some(Recorded {
                spec: Arc::new(spec.clone()),
                folder: base_dir.to_path_buf(),
                dirs: plain_set(&spec.dirs),
                locks: plain_set(&spec.locks),
            }),
            witness: None,
        }
    }

    /// Adds the facts that native code can establish. A fixture's own answers stay the
    /// only ones in a fixture.
    pub fn with_native(mut self, native: Arc<dyn NativeFacts>) -> Self {
        self.native = Some(native);
        self
    }

    /// Programs whose place the user configured; they go before any search.
    pub fn with_executables(mut self, paths: BTreeMap<String, String>) -> Self {
        self.executables.extend(paths);
        self
    }

    /// The folder of AxiOwl's own files on this machine. A fixture has its own.
    pub fn with_state(mut self, dir: &Path) -> Self {
        if !self.is_fixture() {
            self.state = Some(dir.to_string_lossy().into_owned());
        }
        self
    }

    /// The same machine as seen by a provider that lives in another folder: every root that
    /// its rule's `home` names is that folder.
    pub fn at_provider_home(&self, folder: impl Into<String>) -> Self {
        Self {
            provider_home: Some(folder.into()),
            ..self.clone()
        }
    }

    /// The same machine, with another environment.
    pub fn with_env(&self, env: BTreeMap<String, String>) -> Self {
        Self {
            env,
            ..self.clone()
        }
    }

    /// The same machine, with somebody who notes what is seen of it.
    pub fn witnessed(&self, witness: Arc<Witness>) -> Self {
        Self {
            witness: Some(witness),
            ..self.clone()
        }
    }

    /// Whoever notes what is seen.
    pub fn witness(&self) -> Option<&Witness> {
        self.witness.as_deref()
    }

    /// Notes a path as it is now.
    pub(crate) fn note_path(&self, real: &Path, depth: Depth) {
        if let Some(witness) = &self.witness {
            witness.path(real, depth);
        }
    }

    /// Which provider keys each session id stands under in the registry.
    pub fn set_registered(&mut self, sessions: BTreeMap<String, Vec<String>>) {
        self.registered = sessions;
    }

    /// The clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether a time, in milliseconds since the epoch, lies at most so many milliseconds back.
    pub fn is_newer(&self, at: i64, span: i64) -> bool {
        let newer = self.now.as_millis().saturating_sub(at) <= span;
        if let (true, Some(witness)) = (newer, &self.witness) {
            witness.turns_at(at.saturating_add(span).saturating_add(1));
        }
        newer
    }

    /// The system that paths and variables follow.
    pub fn platform(&self) -> Platform {
        self.platform
    }

    /// The home folder, as recorded.
    pub fn home(&self) -> &str {
        &self.home
    }

    /// AxiOwl's own folder, as recorded; the root `{state}` of every rule.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The folder that stands for the roots of a rule's `home`.
    pub fn provider_home(&self) -> Option<&str> {
        self.provider_home.as_deref()
    }

    /// When a file of a fixture was last changed, in milliseconds since the epoch: as its
    /// description says, else at the moment its clock stands at. A checkout's own times mean
    /// nothing. `None` on this machine, where the file says it.
    pub fn recorded_mtime(&self, recorded: &str) -> Option<i64> {
        let known = self.recorded.as_ref()?;
        let written = known.spec.mtimes.get(recorded).copied();
        Some(written.unwrap_or(self.now).as_millis())
    }

    /// An environment variable; an empty one counts as unset.
    pub fn env(&self, name: &str) -> Option<&str> {
        let value = self.env.get(name).map(String::as_str);
        let value = value.filter(|value| !value.is_empty());
        if let Some(witness) = &self.witness {
            witness.env(name, value);
        }
        value
    }

    /// Whether this is a recorded machine.
    pub fn is_fixture(&self) -> bool {
        self.recorded.is_some()
    }

    /// Where a recorded path really lies; `None` for a relative path, and in a fixture
    /// for one outside the mapped folders.
    pub fn real_path(&self, recorded: &str) -> Option<PathBuf> {
        self.paths.real(recorded)
    }

    /// Whether a recorded path is absolute, on the system it was recorded on.
    pub fn is_absolute(&self, recorded: &str) -> bool {
        let drive = |text: &str| text.as_bytes().get(1) == Some(&b':');
        recorded.starts_with(['/', '\\']) || (self.platform == Platform::Windows && drive(recorded))
    }

    /// A real path as the examined world writes it.
    pub fn recorded(&self, real: &Path) -> String {
        self.paths.recorded(real)
    }

    /// Whether a real path, symlinks resolved, belongs to the examined world at all.
    pub(crate) fn contains(&self, canonical: &Path) -> bool {
        self.paths.contain(canonical)
    }

    /// Whether a file or folder of that recorded path exists; in a fixture, also a database
    /// that is kept as text.
    pub fn exists(&self, recorded: &str) -> bool {
        self.looked_at(recorded).is_some()
            || self.has_dir(recorded)
            || self.is_fixture() && self.is_kept_as_text(recorded)
    }

    fn is_kept_as_text(&self, recorded: &str) -> bool {
        let text = self.real_path(&format!("{}{DATABASE_TEXT}", plain(recorded)));
        text.is_some_and(|path| path.is_file())
    }

    /// Whether a folder of that recorded path exists; in a fixture, also one that only the
    /// description lists.
    pub fn dir_exists(&self, recorded: &str) -> bool {
        self.has_dir(recorded)
            || self
                .looked_at(recorded)
                .is_some_and(|metadata| metadata.is_dir())
    }

    /// What a path is, symlinks followed; `None` when nothing is there.
    fn looked_at(&self, recorded: &str) -> Option<Metadata> {
        let path = self.real_path(recorded)?;
        let metadata = path.metadata().ok();
        if let Some(witness) = &self.witness {
            witness.seen_as(&path, Depth::Kind, metadata.as_ref());
        }
        metadata
    }

    fn has_dir(&self, recorded: &str) -> bool {
        let listed = self.recorded.as_ref().map(|r| &r.dirs);
        listed.is_some_and(|dirs| dirs.contains(plain(recorded)))
    }

    /// Where a program lies: configured, on PATH, or in a folder of a version manager. A
    /// fixture has only those it lists.
    pub fn executable(&self, name: &str) -> Option<String> {
        let place = self.place_of(name);
        if let Some(witness) = &self.witness {
            witness.executable(name, place.as_deref());
        }
        place
    }

    fn place_of(&self, name: &str) -> Option<String> {
        if let Some(known) = self.executables.get(name) {
            return Some(known.clone());
        }
        if self.is_fixture() {
            return None;
        }
        let found = executable::find(name, Path::new(&self.home), &self.env);
        found.map(|path| path.to_string_lossy().into_owned())
    }

    /// The file in which a fixture keeps what a command printed.
    pub(crate) fn recorded_output(&self, command: &str) -> Option<PathBuf> {
        let known = self.recorded.as_ref()?;
        let name = Path::new(known.spec.commands.get(command)?);
        let plain = name
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        plain.then(|| known.folder.join(name))
    }

    /// Whether another process holds a lock on that recorded file. Looking takes no lock;
    /// `None` where the platform cannot tell without taking one.
    pub fn lock_held(&self, recorded: &str) -> Option<bool> {
        let held = match &self.recorded {
            Some(known) => Some(known.locks.contains(plain(recorded))),
            None => match self.real_path(recorded) {
                Some(path) => process::lock_held(&path),
                None => Some(false),
            },
        };
        if let Some(witness) = &self.witness {
            witness.lock(recorded, held);
        }
        held
    }

    /// Whether a process runs, and with `start` (as the provider records it; on Linux field
    /// 22 of `/proc/<pid>/stat`) whether it is still the same one.
    pub fn pid_alive(&self, pid: u32, start: Option<&str>) -> bool {
        let alive = match &self.recorded {
            Some(known) => {
                let living = known.spec.pids.get(&pid);
                living.is_some_and(|its| start.is_none_or(|start| its.0 == start))
            }
            None => process::pid_alive(pid, start),
        };
        if let Some(witness) = &self.witness {
            witness.process(pid, start, alive);
        }
        alive
    }

    /// What a native fact says about a row; the error says why it cannot be known, which
    /// counts as no.
    pub fn fact(&self, name: &str, query: &FactQuery) -> Result<bool, String> {
        if let Some(known) = &self.recorded {
            let bare = query.session.rsplit(':').next().unwrap_or_default();
            let answer = known.spec.facts.get(name);
            return answer
                .map(|answer| answer.holds(query.session) || answer.holds(bare))
                .ok_or_else(|| format!("the recorded world has no answer for `{name}`"));
        }
        let Some(native) = (self.native.as_deref()).filter(|native| native.names().contains(&name))
        else {
            return Err(format!("nothing here answers `{name}`"));
        };
        let answer = native.fact(name, query);
        match &self.witness {
            Some(witness) if native.of_the_machine(name) => {
                witness.fact(name, query.roots, &answer);
            }
            Some(witness) => witness.unsure("a fact was asked about a session"),
            None => {}
        }
        answer
    }

    /// The provider keys under which a session stands in the registry.
    pub fn registered_as(&self, session: &str) -> Vec<String> {
        self.registered.get(session).cloned().unwrap_or_default()
    }
}

fn here() -> Platform {
    if cfg!(windows) {
        Platform::Windows
    } else if cfg!(target_os = "macos") {
        Platform::Macos
    } else {
        Platform::Linux
    }
}

#[cfg(test)]
mod tests;
