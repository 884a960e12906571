//! Markers: what a provider's hook saw of a call, left for the server that receives it.
//!
//! A hook knows the session and the call's arguments, the server only the arguments. The hook
//! leaves the digest of the call with the session's id in a private folder; the server takes the
//! one fresh marker with the digest of the call it has got. A marker is used once, lasts seconds,
//! and holds nothing of what was said.
//!
//! Knows no provider: each hook family has a name.

use axiowl_registry::{create_private_dir, private_file_options};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long a marker counts. A hook runs right before its call.
pub const FRESH: Duration = Duration::from_secs(10);
/// Below the state folder.
const FOLDER: &str = "hooks";
/// A marker is a short line.
const LARGEST: u64 = 4 * 1024;
/// More markers than this are no work of hooks.
const MOST: usize = 4096;

/// The digest of a call: its tool and arguments, in whatever order the arguments are written.
/// The name under which the host knows the server is not part of it, since the server does not
/// know that name.
pub fn digest(tool: &str, arguments: &Value) -> String {
    let call = json!([tool, canonical(arguments)]);
    blake3::hash(call.to_string().as_bytes()).to_hex()[..32].to_owned()
}

/// The same value with the keys of every mapping in order. A key without a value is the same as
/// no such key: hosts fill them in or leave them out.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<_> = fields.keys().collect();
            names.sort();
            let kept = names.into_iter().filter(|name| !fields[*name].is_null());
            let sorted: Map<_, _> = kept
                .map(|name| (name.clone(), canonical(&fields[name])))
                .collect();
            Value::Object(sorted)
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Number(number) => match number.as_f64() {
            // 1 and 1.0 are one number to the hosts' JSON.
            Some(real) if real.fract() == 0.0 && real.abs() < 9e15 => json!(real as i64),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

/// What a hook saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// [`digest`] of the call.
    pub digest: String,
    /// The session, as the provider names it.
    pub session: String,
    /// The provider's id of the call. Several hooks of one call leave one marker.
    pub call: Option<String>,
    /// The processes that the hook descends from: the host that ran it is one of them.
    pub hosts: Vec<Process>,
}

/// A process: its number and when it started, as the system counts it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Tells it from a later one of that number.
    pub start: Option<String>,
}

/// Why no marker names the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoMarker {
    /// None is there.
    #[error("no hook announced this call in the last {} seconds", FRESH.as_secs())]
    None,
    /// Another process ran the hook than the one that calls.
    #[error("the hook that announced this call was not run by the process that makes it")]
    Elsewhere,
    /// Two sessions made the same call at once.
    #[error("two sessions announced the very same call at once")]
    Several,
    /// Somebody else could have left it.
    #[error("the marker of this call belongs to another user")]
    Foreign,
}

/// The markers of one hook family.
#[derive(Debug, Clone)]
pub struct Markers {
    folder: PathBuf,
}

impl Markers {
    /// Below a state folder, of the hooks with that name.
    pub fn at(state: &Path, hook: &str) -> Self {
        Self {
            folder: state.join(FOLDER).join(hook),
        }
    }

    /// Leaves a marker.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    pub fn leave(&self, marker: &Marker, now: SystemTime) -> io::Result<()> {
        create_private_dir(&self.folder)?;
        self.sweep(now);
        let line = json!({
            "session": marker.session, "at": millis(now), "hosts": marker.hosts,
        });
        // The same call announced by two hooks is one marker; without an id it cannot be told.
        let own = match &marker.call {
            Some(call) => {
                let both = format!("{}\0{call}", marker.session);
                blake3::hash(both.as_bytes()).to_hex()[..16].to_owned()
            }
            None => axiowl_model::RunId::new().to_string(),
        };
        let unfinished = self
            .folder
            .join(format!(".{}.new", axiowl_model::RunId::new()));
        let mut file = private_file_options()
            .write(true)
            .create_new(true)
            .open(&unfinished)?;
        file.write_all(line.to_string().as_bytes())?;
        drop(file);
        fs::rename(
            &unfinished,
            self.folder.join(format!("{}-{own}.json", marker.digest)),
        )
    }

    /// Takes the marker of a call: the session that made it. `hosts` are the processes one of
    /// which has to have run the hook; of none nothing is asked.
    ///
    /// # Errors
    /// No fresh one, or more than one session's.
    pub fn take(
        &self,
        digest: &str,
        hosts: &[Process],
        now: SystemTime,
    ) -> Result<String, NoMarker> {
        let mut fresh: Vec<(PathBuf, String, u64)> = Vec::new();
        let mut elsewhere = false;
        for path in self.files(|name| name.starts_with(digest)) {
            match read(&path, now) {
                // Of another host it stays where it is, for that host's own call.
                Read::Fresh(line) if !line.is_of(hosts) => elsewhere = true,
                Read::Fresh(line) => fresh.push((path, line.session, line.at)),
                Read::Foreign => return Err(NoMarker::Foreign),
                Read::Useless => {}
            }
        }
        fresh.sort_by(|a, b| (a.2, &a.0).cmp(&(b.2, &b.0)));
        let sessions = fresh.iter().map(|(_, session, _)| session);
        let Some(session) = sessions.clone().next() else {
            return Err(match elsewhere {
                true => NoMarker::Elsewhere,
                false => NoMarker::None,
            });
        };
        if sessions.clone().any(|other| other != session) {
            // None of them may be taken later either: which call it belongs to stays unknown.
            for (path, _, _) in &fresh {
                let _ = fs::remove_file(path);
            }
            return Err(NoMarker::Several);
        }
        // Whoever removes it has it: of two that want the same one, one fails.
        for (path, session, _) in &fresh {
            if fs::remove_file(path).is_ok() {
                return Ok(session.clone());
            }
        }
        Err(NoMarker::None)
    }

    /// Removes markers whose time is over.
    fn sweep(&self, now: SystemTime) {
        for path in self.files(|_| true) {
            if matches!(read(&path, now), Read::Useless) {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn files(&self, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let named = entries.filter(|entry| {
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            name.ends_with(".json") && wanted(name)
        });
        named.take(MOST).map(|entry| entry.path()).collect()
    }
}

/// What stands in a marker's file.
#[derive(Deserialize)]
struct Line {
    session: String,
    at: u64,
    #[serde(default)]
    hosts: Vec<Process>,
}

impl Line {
    fn is_of(&self, hosts: &[Process]) -> bool {
        hosts.is_empty() || self.hosts.iter().any(|host| hosts.contains(host))
    }
}

enum Read {
    Fresh(Line),
    Foreign,
    Useless,
}

fn read(path: &Path, now: SystemTime) -> Read {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return Read::Useless;
    };
    if !meta.is_file() || meta.len() > LARGEST {
        return Read::Useless;
    }
    let content = fs::read_to_string(path).unwrap_or_default();
    let Ok(line) = serde_json::from_str::<Line>(&content) else {
        return Read::Useless;
    };
    let age = i128::from(millis(now)) - i128::from(line.at);
    // A clock that was set back makes a marker look new; a little of that is no lie.
    let fresh = (-1_000..=FRESH.as_millis() as i128).contains(&age);
    match (fresh, is_own(path, &meta)) {
        (false, _) => Read::Useless,
        (true, false) => Read::Foreign,
        (true, true) => Read::Fresh(line),
    }
}

/// Whether a file belongs to whoever owns the folder it lies in, and the folder is closed to
/// others.
#[cfg(unix)]
fn is_own(path: &Path, file: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
    folder.is_some_and(|folder| folder.uid() == file.uid() && folder.mode() & 0o022 == 0)
}

#[cfg(not(unix))]
fn is_own(_path: &Path, _file: &fs::Metadata) -> bool {
    true
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests;
