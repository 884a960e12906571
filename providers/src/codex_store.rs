//! Where Codex keeps its threads (`providers/codex.md` A), and who has one of them open (C5).
//!
//! Reads only, and takes no lock: a probe that locked could make a real writer fail.

use crate::open_session::Receiver;
use crate::processes;
use crate::version::{self, Version};
use axiowl_pipeline::edge::EdgeContext;
use axiowl_sources::World;
use std::fs;
use std::path::{Path, PathBuf};

/// The first version with a queue that others can put messages into (version table).
pub(crate) const QUEUE: Version = Version::new(0, 149, 0);

/// Codex's folder and what lies in it.
pub(crate) struct Store {
    /// As the examined world writes it.
    root: String,
}

/// The file of a thread.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rollout {
    /// It can be resumed.
    Present(PathBuf),
    /// It was archived; Codex refuses to resume it (C1).
    Archived,
    /// There is none.
    Missing,
}

/// A process that has a thread open.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    /// What was seen.
    pub reason: String,
    /// What would let the thread go.
    pub remedy: String,
    /// The process, where it takes what is queued for the thread.
    pub owner: Option<Owner>,
    /// The process, where it is an app-server that another program started: an editor's, or the
    /// desktop app's.
    pub host: Option<Receiver>,
}

/// A process that has a thread open and takes what is queued for it (C3, C5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The process.
    pub receiver: Receiver,
    /// It is the daemon that terminals share.
    pub is_daemon: bool,
}

impl Store {
    /// The store a target lives in: `$CODEX_HOME`, else `~/.codex` (A).
    pub fn of(context: &EdgeContext<'_>) -> Self {
        let world = context.world;
        let root = match (&context.provider_home, world.env("CODEX_HOME")) {
            (Some(folder), _) => world.recorded(folder),
            (None, Some(folder)) => folder.to_owned(),
            (None, None) => format!("{}/.codex", world.home()),
        };
        Self { root }
    }

    /// The store in a folder.
    pub fn at(root: impl Into<String>) -> Self {
        Self { root: root.into() }
    }

    /// Where it really lies.
    pub fn real(&self, world: &World) -> PathBuf {
        world
            .real_path(&self.root)
            .unwrap_or_else(|| PathBuf::from(&self.root))
    }

    /// A file or folder below it, as recorded.
    pub fn below(&self, rest: &str) -> String {
        format!("{}/{rest}", self.root.trim_end_matches('/'))
    }

    /// The folder that `config.toml` names for Codex's databases, when it does (A).
    ///
    /// # Errors
    /// When the configuration cannot be understood.
    pub fn sqlite_home(&self, world: &World) -> Result<Option<String>, String> {
        let file = self.real(world).join("config.toml");
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", file.display())),
        };
        let config: toml::Table = text
            .parse()
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let folder = config.get("sqlite_home").and_then(|folder| folder.as_str());
        Ok(folder.map(|folder| self.named(world, folder)))
    }

    /// A folder that the configuration names: below the home behind a `~`, and else from
    /// Codex's own folder on, as Codex 0.171.0 takes them.
    fn named(&self, world: &World, folder: &str) -> String {
        match folder.strip_prefix('~') {
            Some("") => world.home().to_owned(),
            Some(rest) if rest.starts_with('/') => format!("{}{rest}", world.home()),
            _ if world.is_absolute(folder) => folder.to_owned(),
            _ => self.below(folder),
        }
    }

    /// The rollout of a thread: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl[.zst]`, or the
    /// same name below `archived_sessions` (A2).
    pub fn rollout(&self, world: &World, thread: &str) -> Rollout {
        let root = self.real(world);
        let mut folders = vec![root.join("sessions")];
        for _ in ["year", "month", "day"] {
            folders = folders.iter().flat_map(|folder| entries(folder)).collect();
        }
        if let Some(file) = folders.iter().find_map(|folder| of_thread(folder, thread)) {
            return Rollout::Present(file);
        }
        match of_thread(&root.join("archived_sessions"), thread) {
            Some(_) => Rollout::Archived,
            None => Rollout::Missing,
        }
    }

    fn lock(&self, thread: &str) -> String {
        self.below(&format!("thread-writer-locks/{thread}.lock"))
    }

    /// The process that holds a thread's writer lock now.
    pub fn holder(&self, world: &World, thread: &str) -> Option<u32> {
        let path = world.real_path(&self.lock(thread))?;
        processes::lock_owner(&path)
    }

    /// Who has a thread open for writing, if anybody.
    pub fn writer(&self, world: &World, thread: &str, rollout: &Path) -> Option<Writer> {
        let lock = self.lock(thread);
        match world.lock_held(&lock) {
            Some(true) => {
                let pid = self.holder(world, thread);
                let mut writer = Writer::of(pid, "holds its writer lock");
                writer.owner = pid.and_then(Owner::of);
                return Some(writer);
            }
            Some(false) => {}
            None => {
                return Some(Writer {
                    reason: format!("this system does not tell whether {lock} is held"),
                    remedy: "delivery to Codex threads works on Linux only so far".into(),
                    owner: None,
                    host: None,
                });
            }
        }
        // Versions up to 0.145 take no lock, also beside newer ones (codex.md, version table).
        let pid = processes::writer_of(rollout)?;
        Some(Writer::of(Some(pid), "writes its rollout"))
    }
}

impl Writer {
    fn of(pid: Option<u32>, does: &str) -> Self {
        let Some(pid) = pid else {
            return Self {
                reason: format!("another process {does}"),
                remedy: "close the Codex window it is open in and send again".into(),
                owner: None,
                host: None,
            };
        };
        let surface = Surface::of(&processes::command_line(pid));
        let (what, remedy) = match surface {
            Surface::Daemon => (
                "the shared Codex daemon".to_owned(),
                "the daemon lets a thread go 30 minutes after its last window; \
                 `codex app-server daemon stop` does so at once"
                    .to_owned(),
            ),
            Surface::Host => {
                let parent = processes::parent_of(pid).and_then(processes::name_of);
                let parent = parent.unwrap_or_else(|| "another program".into());
                let what = format!(
                    "an app-server started by {}",
                    axiowl_model::display_safe(&parent)
                );
                (
                    what,
                    "close the thread's window there, or that program, and send again".into(),
                )
            }
            Surface::Exec => (
                "`codex exec`".to_owned(),
                "send again when that run has ended".to_owned(),
            ),
            Surface::Terminal => (
                "a Codex terminal".to_owned(),
                "leave that terminal's thread and send again".to_owned(),
            ),
            Surface::Other => {
                let name = processes::name_of(pid).unwrap_or_default();
                let what = format!("`{}`", axiowl_model::display_safe(&name));
                (what, "close it and send again".to_owned())
            }
        };
        Self {
            reason: format!("it is open: process {pid}, {what}, {does}"),
            remedy,
            owner: None,
            host: Some(pid)
                .filter(|_| surface == Surface::Host)
                .and_then(Receiver::of),
        }
    }
}

impl Owner {
    /// A process that takes what is queued. `codex exec` destroys it (#41060), a Codex before
    /// the queue does not know of it, and of other programs nothing is known.
    fn of(pid: u32) -> Option<Self> {
        let surface = Surface::of(&processes::command_line(pid));
        let takes = matches!(surface, Surface::Daemon | Surface::Host | Surface::Terminal);
        let version = processes::program_of(pid)
            .and_then(|program| version::installed(&program, "codex", "@openai/codex"));
        if !takes || version.is_some_and(|version| version < QUEUE) {
            return None;
        }
        Some(Self {
            receiver: Receiver::of(pid)?,
            is_daemon: surface == Surface::Daemon,
        })
    }
}

/// What kind of Codex a process is, by its arguments (C5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surface {
    Daemon,
    Host,
    Exec,
    Terminal,
    Other,
}

impl Surface {
    fn of(arguments: &[String]) -> Self {
        let mut words = arguments.iter().map(String::as_str);
        let name = |word: Option<&str>| {
            let name = Path::new(word?).file_name()?.to_str()?;
            Some(name.to_owned())
        };
        let is_codex = |name: &str| ["codex", "codex.js", "codex.exe"].contains(&name);
        let first = name(words.next()).unwrap_or_default();
        // The program may come behind its interpreter; behind another one it is a mere word.
        let is_interpreter = ["node", "node.exe", "bun"].contains(&first.as_str());
        let runs_codex =
            is_codex(&first) || is_interpreter && name(words.next()).is_some_and(|n| is_codex(&n));
        if !runs_codex {
            return Self::Other;
        }
        let rest: Vec<&str> = words.collect();
        let listens = rest
            .iter()
            .any(|word| word.starts_with("unix://") || *word == "--listen");
        match rest
            .iter()
            .find(|word| ["app-server", "exec", "e"].contains(word))
        {
            Some(&"app-server") if listens => Self::Daemon,
            Some(&"app-server") => Self::Host,
            Some(_) => Self::Exec,
            None => Self::Terminal,
        }
    }
}

fn of_thread(folder: &Path, thread: &str) -> Option<PathBuf> {
    let ends = [format!("-{thread}.jsonl"), format!("-{thread}.jsonl.zst")];
    entries(folder).into_iter().find(|path| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        name.starts_with("rollout-") && ends.iter().any(|end| name.ends_with(end.as_str()))
    })
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_model::Timestamp;
    use std::collections::BTreeMap;

    #[test]
    fn surfaces_are_told_by_their_arguments() {
        for (line, surface) in [
            (
                "/p/bin/codex app-server --listen unix:// --x",
                Surface::Daemon,
            ),
            ("/p/bin/codex app-server", Surface::Host),
            ("node /p/bin/codex.js app-server", Surface::Host),
            ("codex -c a=b app-server", Surface::Host),
            ("/p/bin/codex exec resume --json x -", Surface::Exec),
            ("/p/bin/codex", Surface::Terminal),
            ("/p/bin/codex resume x", Surface::Terminal),
            ("tail -f rollout.jsonl", Surface::Other),
            ("vim codex", Surface::Other),
            ("node codex-notes.js codex", Surface::Other),
            ("", Surface::Other),
        ] {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(Surface::of(&arguments), surface, "{line}");
        }
    }

    #[test]
    fn a_rollout_is_found_compressed_too_and_an_archived_one_is_told_apart() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("sessions/2026/11/30");
        fs::create_dir_all(&day).unwrap();
        fs::create_dir_all(home.path().join("archived_sessions")).unwrap();
        let world = World::real(
            home.path().into(),
            BTreeMap::new(),
            Timestamp::from_millis(0),
        );
        let store = Store::at(home.path().to_string_lossy());
        let write = |path: &Path| fs::write(path, "").unwrap();
        write(&day.join("rollout-2026-11-30T10-00-00-aa.jsonl"));
        write(&day.join("rollout-2026-11-30T10-00-00-bb.jsonl.zst"));
        write(
            &home
                .path()
                .join("archived_sessions/rollout-2026-11-30T10-00-00-cc.jsonl"),
        );
        let found = store.rollout(&world, "aa");
        assert!(
            matches!(found, Rollout::Present(path) if path.ends_with("rollout-2026-11-30T10-00-00-aa.jsonl"))
        );
        assert!(matches!(store.rollout(&world, "bb"), Rollout::Present(_)));
        assert_eq!(store.rollout(&world, "cc"), Rollout::Archived);
        assert_eq!(store.rollout(&world, "dd"), Rollout::Missing);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_held_lock_and_an_open_rollout_both_mean_open() {
        let home = tempfile::tempdir().unwrap();
        let locks = home.path().join("thread-writer-locks");
        fs::create_dir_all(&locks).unwrap();
        let world = World::real(
            home.path().into(),
            BTreeMap::new(),
            Timestamp::from_millis(0),
        );
        let store = Store::at(home.path().to_string_lossy());
        let rollout = home.path().join("rollout-x-aa.jsonl");
        let me = std::process::id().to_string();
        let asked = || store.writer(&world, "aa", &rollout);
        {
            let _open = fs::File::create(&rollout).unwrap();
            let writer = asked().unwrap();
            assert!(writer.reason.contains(&me) && writer.reason.contains("writes its rollout"));
        }
        let lock = fs::File::create(locks.join("aa.lock")).unwrap();
        assert_eq!(
            asked(),
            None,
            "a lock file that nobody holds is a crash's leftover"
        );
        lock.lock().unwrap();
        let writer = asked().unwrap();
        assert!(
            writer.reason.contains(&me) && writer.reason.contains("lock"),
            "{writer:?}"
        );
        assert_eq!(store.writer(&world, "bb", &rollout), None);
    }
}
