//! What native code can say about Codex to the rules: whether the installed Codex can resume any
//! thread safely, and whether the desktop app owns one now.
//!
//! Discovery asks, so nothing here starts a program.

use crate::codex_ipc;
use crate::codex_store::{self, Store};
use crate::version::{self, Version};
use axiowl_sources::{FactQuery, NativeFacts, World};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// An installed Codex with one writer a thread and the queue: both from 0.149.0
/// (`providers/codex.md`, version table).
const WRITER_LOCKS_AND_QUEUE: &str = "codex_writer_locks_and_queue";
/// The desktop app says that it owns the thread (`providers/codex.md` C6).
const IPC_OWNER: &str = "codex_ipc_owner";
const NEEDED: Version = codex_store::QUEUE;

/// How long an answer about the installed program is used again: a discovery asks once a thread,
/// a server that runs for days must notice an update.
const FRESH: Duration = Duration::from_secs(2);

/// The native facts of this crate.
#[derive(Default)]
pub(crate) struct CodexFacts {
    installed: Mutex<Option<Known>>,
}

/// The last answer about the installed program.
struct Known {
    /// What it depends on: store, home, PATH.
    about: [String; 3],
    at: Instant,
    answer: Result<bool, String>,
}

impl CodexFacts {
    fn locks_and_queue(&self, world: &World, store: &Store) -> Result<bool, String> {
        let path = world.env("PATH").unwrap_or_default();
        let about = [store.below(""), world.home().to_owned(), path.to_owned()];
        let mut known = self
            .installed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known
            && known.about == about
            && known.at.elapsed() < FRESH
        {
            return known.answer.clone();
        }
        let answer = locks_and_queue(world, store);
        *known = Some(Known {
            about,
            at: Instant::now(),
            answer: answer.clone(),
        });
        answer
    }
}

impl NativeFacts for CodexFacts {
    fn names(&self) -> &'static [&'static str] {
        &[WRITER_LOCKS_AND_QUEUE, IPC_OWNER]
    }

    fn of_the_machine(&self, name: &str) -> bool {
        name == WRITER_LOCKS_AND_QUEUE
    }

    fn fact(&self, name: &str, query: &FactQuery<'_>) -> Result<bool, String> {
        let root = query
            .roots
            .get("codex")
            .map(String::as_str)
            .filter(|root| !root.is_empty());
        let store = || root.map(Store::at).ok_or("the rule names no root `codex`");
        match name {
            WRITER_LOCKS_AND_QUEUE => self.locks_and_queue(query.world, &store()?),
            IPC_OWNER => {
                let thread = query.session.rsplit(':').next().unwrap_or_default();
                codex_ipc::owns(query.world, &store()?.real(query.world), thread)
            }
            _ => Err(format!("nothing here answers `{name}`")),
        }
    }
}

fn locks_and_queue(world: &World, store: &Store) -> Result<bool, String> {
    let Some(program) = world.executable("codex") else {
        return Err("no `codex` is installed".into());
    };
    let path = world
        .real_path(&program)
        .unwrap_or_else(|| Path::new(&program).to_owned());
    if !path.exists() {
        return Err(format!("there is no program at {program}"));
    }
    match version::installed(&path, "codex", "@openai/codex") {
        Some(version) if version >= NEEDED => Ok(true),
        Some(version) => Err(format!(
            "the installed codex is {version}; {NEEDED} is needed"
        )),
        // An install that does not name its version has left its traces in the store.
        None => {
            let made = ["queue_1.sqlite", "thread-writer-locks"];
            let missing = made.iter().find(|name| !world.exists(&store.below(name)));
            match missing {
                None => Ok(true),
                Some(name) => Err(format!(
                    "the version of {program} is not known, and {} does not exist",
                    store.below(name)
                )),
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use axiowl_model::Timestamp;
    use axiowl_sources::Row;
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn ask(home: &Path, codex: Option<&Path>, name: &str) -> Result<bool, String> {
        let root = home.join(".codex").display().to_string();
        let roots = BTreeMap::from([("codex".to_owned(), root)]);
        let env = BTreeMap::from([("PATH".to_owned(), "/nowhere".to_owned())]);
        let mut world = World::real(home.into(), env, Timestamp::from_millis(0));
        if let Some(codex) = codex {
            let place = codex.display().to_string();
            world = world.with_executables(BTreeMap::from([("codex".to_owned(), place)]));
        }
        let (row, session) = (Row::new(), "x");
        CodexFacts::default().fact(
            name,
            &FactQuery {
                world: &world,
                roots: &roots,
                row: &row,
                session,
            },
        )
    }

    fn program(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // It would tell if anybody ran it.
        fs::write(path, "#!/bin/sh\ntouch \"$0.was-run\"\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn the_package_beside_the_program_tells_its_version_and_nothing_is_run() {
        let home = tempfile::tempdir().unwrap();
        let package = home.path().join("lib/node_modules/@openai/codex");
        let script = package.join("bin/codex.js");
        program(&script);
        let ask = |version: &str| {
            let text = format!(r#"{{"name":"@openai/codex","version":"{version}"}}"#);
            fs::write(package.join("package.json"), text).unwrap();
            ask(home.path(), Some(&script), WRITER_LOCKS_AND_QUEUE)
        };
        for version in ["0.149.0", "0.171.0", "0.150.0-linux-x64", "1.0.0"] {
            assert_eq!(ask(version), Ok(true), "{version}");
        }
        for version in ["0.148.9", "0.100.0"] {
            let why = ask(version).unwrap_err();
            assert!(why.contains(version) && why.contains("0.149.0"), "{why}");
        }
        assert!(!package.join("bin/codex.js.was-run").exists());
    }

    #[test]
    fn an_unknown_version_needs_both_traces_in_the_store() {
        let home = tempfile::tempdir().unwrap();
        let codex = home.path().join("bin/codex");
        program(&codex);
        let ask = || ask(home.path(), Some(&codex), WRITER_LOCKS_AND_QUEUE);
        assert!(ask().unwrap_err().contains("queue_1.sqlite"));
        fs::create_dir_all(home.path().join(".codex/thread-writer-locks")).unwrap();
        assert!(ask().unwrap_err().contains("queue_1.sqlite"));
        fs::write(home.path().join(".codex/queue_1.sqlite"), "").unwrap();
        assert_eq!(ask(), Ok(true));
    }

    #[test]
    fn no_program_and_unknown_names_are_no_with_a_reason() {
        let home = tempfile::tempdir().unwrap();
        let no = ask(home.path(), None, WRITER_LOCKS_AND_QUEUE).unwrap_err();
        assert!(
            no.contains("installed") || no.contains("needed") || no.contains("not known"),
            "{no}"
        );
        let gone = home.path().join("gone");
        assert!(ask(home.path(), Some(&gone), WRITER_LOCKS_AND_QUEUE).is_err());
        assert!(ask(home.path(), None, "something_else").is_err());
        assert!(
            ask(home.path(), None, IPC_OWNER).is_err(),
            "there is no socket"
        );
    }
}
