//! A scanner of the same stores, written by hand for exactly these formats: what discovery
//! costs when nothing is data.
//!
//! It reads what AxiOwl reads of each store (database rows, whether a transcript is there,
//! the same heads and tails) and decides title and kind the same way, with no rules, no
//! evidence and no registry.

use crate::Failure;
use memchr::memmem::Finder;
use rayon::prelude::*;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A session, as far as a list needs it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Session {
    pub provider: &'static str,
    pub id: String,
    pub title: String,
    pub cwd: String,
    pub target: bool,
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = if self.target { "target" } else { "-" };
        let Self {
            provider,
            id,
            title,
            cwd,
            ..
        } = self;
        writeln!(f, "{provider}\t{id}\t{target}\t{title}\t{cwd}")
    }
}

/// Every session below a home, sorted.
pub fn scan(home: &Path) -> Result<Vec<Session>, Failure> {
    let mut all = codex(home)?;
    all.extend(claude(home)?);
    all.extend(opencode(home)?);
    all.extend(copilot(home)?);
    all.extend(gemini(home)?);
    all.sort_unstable();
    Ok(all)
}

fn codex(home: &Path) -> Result<Vec<Session>, Failure> {
    let root = home.join(".codex");
    let mut names: HashMap<String, String> = HashMap::new();
    for line in fs::read_to_string(root.join("session_index.jsonl"))?.lines() {
        let line: Value = serde_json::from_str(line)?;
        if let (Some(id), Some(name)) = (line["id"].as_str(), line["thread_name"].as_str()) {
            names.insert(id.to_owned(), name.to_owned());
        }
    }
    let global: Value =
        serde_json::from_str(&fs::read_to_string(root.join(".codex-global-state.json"))?)?;
    // At rest, so that no file beside it comes and goes.
    let store = root.join("state_5.sqlite");
    let db = Connection::open_with_flags(
        format!("file:{}?immutable=1", store.display()),
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
    )?;
    let mut query = db.prepare(
        "SELECT id, rollout_path, cwd, source, title, archived, name, originator, thread_source
         FROM threads",
    )?;
    let mut rows = query.query([])?;
    let mut out = Vec::new();
    let mut folders: BTreeMap<String, bool> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let path: String = row.get(1)?;
        let cwd: String = row.get(2)?;
        let title: String = row.get(4)?;
        let archived: bool = row.get(5)?;
        let name: Option<String> = row.get(6)?;
        let originator: String = row.get(7)?;
        let subagent: String = row.get(8)?;
        let there = *folders
            .entry(cwd.clone())
            .or_insert_with(|| Path::new(&cwd).is_dir());
        let desktop = originator == "Codex Desktop";
        let pinned = || {
            let list = global["pinned-thread-ids"].as_array();
            list.is_some_and(|ids| ids.iter().any(|p| p == id.as_str()))
        };
        let kept = Path::new(&path).is_file();
        let target = !archived && subagent != "subagent" && there && kept && (!desktop || pinned());
        out.push(Session {
            provider: if desktop { "codex" } else { "codex_cli" },
            title: name.or_else(|| names.get(&id).cloned()).unwrap_or(title),
            id,
            cwd,
            target,
        });
    }
    Ok(out)
}

fn claude(home: &Path) -> Result<Vec<Session>, Failure> {
    let files = below(&home.join(".claude/projects"), 1, "jsonl")?;
    let probes = Finders::new(&[
        "\"customTitle\"",
        "\"aiTitle\"",
        "\"lastPrompt\"",
        "\"user\"",
    ]);
    let read = |path: &PathBuf| -> Result<Session, Failure> {
        let (head, tail) = windows(path, 64 << 10)?;
        let mut found: BTreeMap<&str, String> = BTreeMap::new();
        for (kind, pointer) in [(0, "/customTitle"), (1, "/aiTitle"), (2, "/lastPrompt")] {
            let last = probes
                .last(kind, &tail)
                .or_else(|| probes.last(kind, &head));
            if let Some(text) = last.and_then(|record| text_at(&record, pointer)) {
                found.insert(pointer, text);
            }
        }
        let first = probes.first(3, &head, |record| record["type"] == "user");
        let prompt = first.as_ref().and_then(|r| text_at(r, "/message/content"));
        let cwd = first.as_ref().and_then(|r| text_at(r, "/cwd"));
        let cwd = cwd.unwrap_or_default();
        let title = found
            .remove("/customTitle")
            .or_else(|| found.remove("/aiTitle"))
            .or(prompt)
            .or_else(|| found.remove("/lastPrompt"))
            .unwrap_or_default();
        Ok(Session {
            provider: "claude_code_cli",
            id: stem(path),
            target: Path::new(&cwd).is_dir(),
            title,
            cwd,
        })
    };
    files.par_iter().map(read).collect()
}

fn opencode(home: &Path) -> Result<Vec<Session>, Failure> {
    let store = home.join(".local/share/opencode/opencode.db");
    // The program that owns the store may write at any time: read a copy.
    let copies = tempfile::tempdir()?;
    let copy = copies.path().join("opencode.db");
    fs::copy(&store, &copy)?;
    let wal = store.with_extension("db-wal");
    if wal.exists() {
        fs::copy(&wal, copies.path().join("opencode.db-wal"))?;
    }
    let db = Connection::open(&copy)?;
    let mut said: HashMap<String, i64> = HashMap::new();
    let mut query = db.prepare("SELECT session_id, count(*) FROM message GROUP BY session_id")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        said.insert(row.get(0)?, row.get(1)?);
    }
    let mut query =
        db.prepare("SELECT id, parent_id, directory, title, revert, time_archived FROM session")?;
    let mut rows = query.query([])?;
    let mut out = Vec::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let parent: Option<String> = row.get(1)?;
        let cwd: String = row.get(2)?;
        let revert: Option<String> = row.get(4)?;
        let archived: Option<i64> = row.get(5)?;
        let open = parent.is_none() && revert.is_none() && archived.is_none();
        out.push(Session {
            provider: "opencode_cli",
            target: open && said.contains_key(&id) && Path::new(&cwd).is_dir(),
            id,
            title: row.get(3)?,
            cwd,
        });
    }
    Ok(out)
}

fn copilot(home: &Path) -> Result<Vec<Session>, Failure> {
    let root = home.join(".copilot/session-state");
    let folders: Vec<PathBuf> = entries(&root)?;
    let probes = Finders::new(&["\"user.message\"", "\"assistant.message\""]);
    let read = |folder: &PathBuf| -> Result<Session, Failure> {
        let text = fs::read_to_string(folder.join("workspace.yaml"))?;
        let value = |key: &str| {
            let lines = text.lines().filter_map(|line| line.split_once(": "));
            let mut lines = lines.filter(|(k, _)| *k == key);
            lines.next().map(|(_, v)| v.to_owned()).unwrap_or_default()
        };
        let (head, tail) = windows(&folder.join("events.jsonl"), 16 << 10)?;
        let prompt = probes.first(0, &head, |record| record["type"] == "user.message");
        let answered = probes.last(1, &tail).is_some();
        // Without a login in the environment no session of this provider is a target.
        let login = std::env::var_os("COPILOT_GITHUB_TOKEN").is_some();
        Ok(Session {
            provider: "copilot_cli",
            id: stem(folder),
            title: value("name"),
            cwd: value("cwd"),
            target: login && (prompt.is_some() || answered),
        })
    };
    folders.par_iter().map(read).collect()
}

fn gemini(home: &Path) -> Result<Vec<Session>, Failure> {
    let root = home.join(".gemini");
    let registry: Value = serde_json::from_str(&fs::read_to_string(root.join("projects.json"))?)?;
    let settings: Value = serde_json::from_str(&fs::read_to_string(root.join("settings.json"))?)?;
    let kept = settings["general"]["sessionRetention"]["enabled"] == false;
    let folders: HashMap<&str, &str> = registry["projects"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(cwd, slug)| Some((slug.as_str()?, cwd.as_str())))
        .collect();
    let mut files = Vec::new();
    for project in entries(&root.join("tmp"))? {
        let slug = stem(&project);
        let chats = entries(&project.join("chats")).unwrap_or_default();
        files.extend(chats.into_iter().map(|path| (slug.clone(), path)));
    }
    let probes = Finders::new(&["\"summary\"", "\"type\":\"user\""]);
    let read = |(slug, path): &(String, PathBuf)| -> Result<Session, Failure> {
        let (head, tail) = windows(path, 64 << 10)?;
        let first: Value = match head.split(|b| *b == b'\n').next() {
            Some(line) => serde_json::from_slice(line)?,
            None => Value::Null,
        };
        let last = probes.last(0, &tail).or_else(|| probes.last(0, &head));
        let summary = last.and_then(|record| text_at(&record, "/$set/summary"));
        let prompt = probes.first(1, &head, |record| record["type"] == "user");
        let cwd = folders.get(slug.as_str()).copied().unwrap_or_default();
        Ok(Session {
            provider: "gemini_cli",
            id: text_at(&first, "/sessionId").unwrap_or_default(),
            title: summary
                .or_else(|| prompt.and_then(|r| text_at(&r, "/content/0/text")))
                .unwrap_or_default(),
            target: kept && Path::new(cwd).is_dir(),
            cwd: cwd.to_owned(),
        })
    };
    files.par_iter().map(read).collect()
}

/// Byte probes, built once.
struct Finders(Vec<Finder<'static>>);

impl Finders {
    fn new(probes: &[&'static str]) -> Self {
        Self(probes.iter().map(|p| Finder::new(p.as_bytes())).collect())
    }

    /// The first record with a probe that fits.
    fn first(&self, probe: usize, text: &[u8], fits: impl Fn(&Value) -> bool) -> Option<Value> {
        let hits = self.0[probe].find_iter(text);
        hits.filter_map(|at| record(text, at)).find(|r| fits(r))
    }

    /// The last record with a probe.
    fn last(&self, probe: usize, text: &[u8]) -> Option<Value> {
        let last = memchr::memmem::rfind(text, self.0[probe].needle())?;
        record(text, last)
    }
}

/// The line around a byte.
fn record(text: &[u8], at: usize) -> Option<Value> {
    let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |n| n + 1);
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n);
    serde_json::from_slice(&text[start..end]).ok()
}

fn text_at(record: &Value, pointer: &str) -> Option<String> {
    record.pointer(pointer)?.as_str().map(str::to_owned)
}

/// The first and the last bytes of a file; the last ones are empty where the first are all.
fn windows(path: &Path, size: u64) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut head = Vec::new();
    (&mut file).take(size).read_to_end(&mut head)?;
    let mut tail = Vec::new();
    if length > size {
        file.seek(SeekFrom::Start(length.saturating_sub(size).max(size)))?;
        (&mut file).take(size).read_to_end(&mut tail)?;
    }
    Ok((head, tail))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder)? {
        out.push(entry?.path());
    }
    Ok(out)
}

/// Files of an ending, so many folders down.
fn below(folder: &Path, depth: usize, ending: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut out = Vec::new();
    for path in entries(folder)? {
        if depth > 0 && path.is_dir() {
            out.extend(below(&path, depth - 1, ending)?);
        } else if depth == 0 && path.extension().is_some_and(|e| e == ending) {
            out.push(path);
        }
    }
    Ok(out)
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}
