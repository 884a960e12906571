//! What the outcome of a run rests on: every file and folder that was looked at, in the state it
//! was in, and every answer the machine gave. Where all of it still stands, the same rules say
//! the same again, and nothing needs to be read.
//!
//! A state is taken before a file is read, so that what changes meanwhile is noticed the next
//! time. It must not know what any file means.

mod stamp;

use crate::facts::FactQuery;
use crate::{Row, World};
use serde::{Deserialize, Serialize};
use stamp::stamp;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub use stamp::Depth;

/// A file that changed so shortly before it was read may have changed again without a sign of
/// it: clocks of file systems tick slowly.
const RACY: i64 = 2_000;

/// Notes what a run sees.
#[derive(Debug, Default)]
pub struct Witness {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    paths: HashMap<PathBuf, (Depth, u64)>,
    answers: BTreeMap<Question, String>,
    /// Sessions, and whether they stood under this provider key in the registry.
    registered: BTreeSet<(String, String, bool)>,
    /// The newest change of a file that was read, milliseconds since the epoch.
    newest: i64,
    /// When a condition about the time turns, milliseconds since the epoch.
    until: Option<i64>,
    /// Why nothing may be concluded from what was noted.
    unsure: Option<&'static str>,
    /// What a part of the run saw that serves other runs as well.
    parts: Vec<Arc<Witness>>,
}

/// What the machine was asked besides its files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Question {
    Env(String),
    Executable(String),
    Lock(String),
    Process(u32, Option<String>),
    Fact(String, BTreeMap<String, String>),
}

/// Everything that a later run has to find again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Testimony {
    /// When it was taken, milliseconds since the epoch.
    taken: i64,
    until: Option<i64>,
    /// How each path was looked at, what was seen, and the path.
    paths: Vec<(Depth, u64, String)>,
    answers: Vec<(Question, String)>,
}

impl Witness {
    fn with(&self, note: impl FnOnce(&mut Seen)) {
        note(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Notes a path as it is now.
    pub(crate) fn path(&self, path: &Path, depth: Depth) {
        let metadata = std::fs::metadata(path).ok();
        self.seen_as(path, depth, metadata.as_ref());
    }

    /// Notes a path whose metadata, symlinks followed, is at hand; `None` when it is absent.
    pub(crate) fn seen_as(&self, path: &Path, depth: Depth, metadata: Option<&std::fs::Metadata>) {
        let seen = stamp(metadata, depth);
        self.with(|noted| {
            if depth == Depth::Content {
                noted.newest = noted.newest.max(stamp::newest(metadata));
            }
            match noted.paths.get(path) {
                None => drop(noted.paths.insert(path.to_path_buf(), (depth, seen))),
                Some((known, before)) if *known == depth => {
                    if *before != seen {
                        noted.unsure = Some("a file changed while it was read");
                    }
                }
                // The deeper look says all that the other one does.
                Some((known, _)) if *known < depth => {
                    noted.paths.insert(path.to_path_buf(), (depth, seen));
                }
                Some(_) => {}
            }
        });
    }

    fn answer(&self, question: Question, answer: String) {
        self.with(|noted| match noted.answers.get(&question) {
            None => drop(noted.answers.insert(question, answer)),
            Some(before) if *before == answer => {}
            Some(_) => noted.unsure = Some("an answer changed during the run"),
        });
    }

    pub(crate) fn env(&self, name: &str, value: Option<&str>) {
        self.answer(Question::Env(name.to_owned()), said(value));
    }

    pub(crate) fn executable(&self, name: &str, place: Option<&str>) {
        self.answer(Question::Executable(name.to_owned()), said(place));
    }

    pub(crate) fn lock(&self, recorded: &str, held: Option<bool>) {
        self.answer(Question::Lock(recorded.to_owned()), format!("{held:?}"));
    }

    pub(crate) fn process(&self, pid: u32, start: Option<&str>, alive: bool) {
        let question = Question::Process(pid, start.map(str::to_owned));
        self.answer(question, alive.to_string());
    }

    pub(crate) fn fact(
        &self,
        name: &str,
        roots: &BTreeMap<String, String>,
        answer: &Result<bool, String>,
    ) {
        let question = Question::Fact(name.to_owned(), roots.clone());
        self.answer(question, format!("{answer:?}"));
    }

    /// A condition asked whether a session stands under a provider key in the registry.
    pub fn registered(&self, session: &str, provider: &str, holds: bool) {
        self.with(|noted| {
            let asked = (session.to_owned(), provider.to_owned(), holds);
            noted.registered.insert(asked);
        });
    }

    /// A condition about the age of something turns at this time.
    pub fn turns_at(&self, millis: i64) {
        self.with(|noted| noted.until = Some(noted.until.map_or(millis, |u| u.min(millis))));
    }

    /// Something was asked that no later run can find again.
    pub fn unsure(&self, why: &'static str) {
        self.with(|noted| noted.unsure = Some(why));
    }

    /// Takes over what another witness saw, of whose part of the run this one makes use too.
    pub fn adopt(&self, part: Arc<Self>) {
        self.with(|noted| noted.parts.push(part));
    }

    /// Whether any condition asked about the registry.
    pub fn asks_registry(&self) -> bool {
        let noted = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        !noted.registered.is_empty() || noted.parts.iter().any(|part| part.asks_registry())
    }

    /// What was noted, if a later run can find it again. `registered` answers as the registry
    /// stands now; `now` is the clock at the end of the run, `started` at its start.
    ///
    /// # Errors
    /// Why there is no testimony.
    pub fn testimony(
        &self,
        started: i64,
        now: i64,
        registered: impl Fn(&str, &str) -> bool,
    ) -> Result<Testimony, &'static str> {
        let mut out = Testimony {
            taken: now,
            until: None,
            paths: Vec::new(),
            answers: Vec::new(),
        };
        self.testify(started, &registered, &mut out)?;
        // Neighbours are looked up one after the other; of two looks at a path the deeper one
        // says all that the other does.
        out.paths
            .sort_unstable_by(|a, b| a.2.cmp(&b.2).then_with(|| b.0.cmp(&a.0)));
        let changed = |pair: &[(Depth, u64, String)]| {
            let [(depth, seen, path), (other_depth, other_seen, other_path)] = pair else {
                return false;
            };
            path == other_path && depth == other_depth && seen != other_seen
        };
        if out.paths.windows(2).any(changed) {
            return Err("a file changed while it was read");
        }
        out.paths.dedup_by(|later, first| later.2 == first.2);
        out.answers.sort();
        out.answers.dedup();
        if out.answers.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err("an answer changed during the run");
        }
        Ok(out)
    }

    /// Adds what was noted to a testimony.
    fn testify(
        &self,
        started: i64,
        registered: &impl Fn(&str, &str) -> bool,
        out: &mut Testimony,
    ) -> Result<(), &'static str> {
        let noted = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = noted.unsure {
            return Err(why);
        }
        if noted.newest > started.saturating_sub(RACY) {
            return Err("something changed shortly before it was read");
        }
        let stands = |(session, provider, held): &(String, String, bool)| {
            registered(session, provider) == *held
        };
        if !noted.registered.iter().all(stands) {
            return Err("the registry now answers otherwise");
        }
        out.paths.reserve(noted.paths.len());
        for (path, (depth, seen)) in &noted.paths {
            let path = path.to_str().ok_or("a path is no text")?;
            out.paths.push((*depth, *seen, path.to_owned()));
        }
        let answers = noted.answers.iter();
        out.answers
            .extend(answers.map(|(question, answer)| (question.clone(), answer.clone())));
        out.until = [out.until, noted.until].into_iter().flatten().min();
        let mut parts = noted.parts.iter();
        parts.try_for_each(|part| part.testify(started, registered, out))
    }
}

impl Testimony {
    /// How many paths it rests on.
    pub fn paths(&self) -> usize {
        self.paths.len()
    }

    /// Whether everything is as it was.
    ///
    /// # Errors
    /// What is not, in a few words.
    pub fn holds(&self, world: &World) -> Result<(), String> {
        let now = world.now().as_millis();
        if now < self.taken {
            return Err("the clock went back".into());
        }
        if self.until.is_some_and(|until| now >= until) {
            return Err("time has passed".into());
        }
        for (question, answer) in &self.answers {
            if *answer != question.ask(world) {
                return Err(format!("another answer about {}", question.shown()));
            }
        }
        for (depth, seen, path) in &self.paths {
            let metadata = std::fs::metadata(path).ok();
            if stamp(metadata.as_ref(), *depth) != *seen {
                return Err(format!("{path} changed"));
            }
        }
        Ok(())
    }
}

impl Question {
    fn ask(&self, world: &World) -> String {
        match self {
            Self::Env(name) => said(world.env(name)),
            Self::Executable(name) => said(world.executable(name).as_deref()),
            Self::Lock(recorded) => format!("{:?}", world.lock_held(recorded)),
            Self::Process(pid, start) => world.pid_alive(*pid, start.as_deref()).to_string(),
            Self::Fact(name, roots) => {
                let query = FactQuery {
                    world,
                    roots,
                    row: &Row::new(),
                    session: "",
                };
                format!("{:?}", world.fact(name, &query))
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Env(name) => format!("the variable {name}"),
            Self::Executable(name) => format!("the program {name}"),
            Self::Lock(path) => format!("the lock {path}"),
            Self::Process(pid, _) => format!("the process {pid}"),
            Self::Fact(name, _) => format!("the fact {name}"),
        }
    }
}

/// An answer as it is kept. What a variable holds may be a secret, so that only a digest of it is.
fn said(value: Option<&str>) -> String {
    match value {
        None => String::new(),
        Some(value) => blake3::hash(value.as_bytes()).to_hex().to_string(),
    }
}

#[cfg(test)]
mod tests;
