//! `evidence.log`: one JSON line for every decision, with its reason. Discovery, merge,
//! resolution and delivery all write here. It must never hold a body, a secret or an
//! environment; callers give ids, names, counts and reasons, and what looks like a secret in
//! them is taken out here.
//!
//! A log that cannot be written costs no message: the problem goes to `tracing`.

use crate::redact::redact;
use axiowl_model::Timestamp;
use axiowl_registry::{create_private_dir, private_file_options};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The log is turned over when it has this many bytes.
const ROTATE_AT: u64 = 16 * 1024 * 1024;
/// Older logs that stay: `evidence.log.1` and `evidence.log.2`.
const KEPT: u32 = 2;

/// The evidence log of one state root. Cheap to make; holds no file open, so that another
/// process may turn the log over at any time.
#[derive(Debug, Clone)]
pub struct EvidenceLog {
    path: PathBuf,
    rotate_at: u64,
}

/// Lines are written in pieces of about this size.
const WRITE_BYTES: usize = 64 * 1024;

fn line(event: &str, at: &str, fields: Value) -> Map<String, Value> {
    let mut line = Map::new();
    line.insert("schema".into(), "axiowl.evidence/1".into());
    line.insert("at".into(), at.into());
    line.insert("pid".into(), std::process::id().into());
    line.insert("event".into(), event.into());
    match fields {
        Value::Object(fields) => {
            for (name, mut value) in fields {
                take_out_secrets(&mut value);
                line.entry(name).or_insert(value);
            }
        }
        Value::Null => {}
        mut value => {
            take_out_secrets(&mut value);
            line.insert("value".into(), value);
        }
    }
    line
}

fn take_out_secrets(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(cleaned) = redact(text) {
                *text = cleaned;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(take_out_secrets),
        Value::Object(fields) => fields.values_mut().for_each(take_out_secrets),
        _ => {}
    }
}

impl EvidenceLog {
    /// The log of a state root. Nothing needs to exist yet.
    pub fn at(state_root: impl AsRef<Path>) -> Self {
        Self {
            path: state_root.as_ref().join("evidence.log"),
            rotate_at: ROTATE_AT,
        }
    }

    /// The log's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one line: time, process, event, and the fields when they are an object (any
    /// other value becomes the field `value`).
    pub fn record(&self, event: &str, fields: Value) {
        self.record_all(event, [fields]);
    }

    /// Appends a line for each of several decisions of one kind, in one go: a discovery of
    /// thousands of sessions opens the file once.
    pub fn record_all(&self, event: &str, decisions: impl IntoIterator<Item = Value>) {
        let at = Timestamp::from(SystemTime::now()).to_string();
        if let Err(error) = self.append(event, &at, decisions) {
            tracing::warn!(path = %self.path.display(), %error, event, "evidence not recorded");
        }
    }

    fn append(
        &self,
        event: &str,
        at: &str,
        decisions: impl IntoIterator<Item = Value>,
    ) -> io::Result<()> {
        let mut pending = Vec::new();
        let mut file = None;
        for fields in decisions {
            let mut bytes = serde_json::to_vec(&line(event, at, fields))?;
            bytes.push(b'\n');
            if !pending.is_empty() && pending.len() + bytes.len() > WRITE_BYTES {
                self.write(&mut file, &pending)?;
                pending.clear();
            }
            pending.append(&mut bytes);
        }
        if pending.is_empty() {
            return Ok(());
        }
        self.write(&mut file, &pending)
    }

    /// One write on an appending file: lines of several processes do not mix.
    fn write(&self, file: &mut Option<File>, bytes: &[u8]) -> io::Result<()> {
        let mut open = match file.take() {
            Some(open) => open,
            None => self.open()?,
        };
        if open.metadata()?.len() >= self.rotate_at {
            drop(open);
            self.rotate()?;
            open = self.open()?;
        }
        file.insert(open).write_all(bytes)
    }

    fn open(&self) -> io::Result<File> {
        let open = || {
            private_file_options()
                .create(true)
                .append(true)
                .open(&self.path)
        };
        match (open(), self.path.parent()) {
            (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
                create_private_dir(folder)?;
                open()
            }
            (result, _) => result,
        }
    }

    fn rotate(&self) -> io::Result<()> {
        let lock = private_file_options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.path.with_extension("log.lock"))?;
        if lock.try_lock().is_err() {
            // Somebody else is at it; this line may go to either file.
            return Ok(());
        }
        // Whoever held the lock before has turned it over already.
        match std::fs::metadata(&self.path) {
            Ok(now) if now.len() >= self.rotate_at => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        for n in (1..KEPT).rev() {
            rename_if_there(&self.numbered(n), &self.numbered(n + 1))?;
        }
        rename_if_there(&self.path, &self.numbered(1))
    }

    fn numbered(&self, n: u32) -> PathBuf {
        self.path.with_extension(format!("log.{n}"))
    }
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[test]
    fn lines_carry_time_event_and_fields_and_fields_cannot_replace_them() {
        let dir = tempfile::tempdir().unwrap();
        let log = EvidenceLog::at(dir.path().join("new"));
        log.record("a", json!({"event": "forged", "x": 1}));
        log.record("b", json!("text"));
        let lines = lines(log.path());
        assert_eq!(lines[0]["event"], "a");
        assert_eq!(lines[0]["x"], 1);
        assert_eq!(lines[1]["value"], "text");
        assert!(lines[1]["at"].as_str().unwrap().ends_with('Z'));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(log.path()), 0o600);
            assert_eq!(mode(log.path().parent().unwrap()), 0o700);
        }
    }

    #[test]
    fn no_secret_gets_in_however_deep_it_lies() {
        let dir = tempfile::tempdir().unwrap();
        let log = EvidenceLog::at(dir.path());
        let secret = "sk-ant-api03-0123456789abcdefgh";
        log.record("a", json!({"x": [{"y": format!("key {secret}")}], "n": 1}));
        log.record("b", json!(secret));
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert!(!text.contains(secret), "{text}");
        assert_eq!(lines(log.path())[0]["x"][0]["y"], "key [redacted]");
    }

    #[test]
    fn a_full_log_is_turned_over_and_two_old_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let log = EvidenceLog {
            rotate_at: 200,
            ..EvidenceLog::at(dir.path())
        };
        for i in 0..40 {
            log.record("n", json!({ "i": i }));
        }
        let mut names: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.ends_with(".lock"))
            .collect();
        names.sort();
        assert_eq!(names, ["evidence.log", "evidence.log.1", "evidence.log.2"]);
        let newest = lines(log.path());
        assert_eq!(newest.last().unwrap()["i"], 39);
        let older = lines(&log.numbered(1));
        let first = newest[0]["i"].as_i64().unwrap();
        assert_eq!(older.last().unwrap()["i"].as_i64().unwrap(), first - 1);
    }

    #[test]
    fn many_writers_lose_and_mix_no_line() {
        let dir = tempfile::tempdir().unwrap();
        let log = EvidenceLog {
            rotate_at: 20_000,
            ..EvidenceLog::at(dir.path())
        };
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let log = &log;
                scope.spawn(move || {
                    for i in 0..50 {
                        log.record("n", json!({"writer": writer, "i": i}));
                    }
                });
            }
        });
        let all: usize = [log.path().to_owned(), log.numbered(1), log.numbered(2)]
            .iter()
            .map(|p| lines(p).len())
            .sum();
        assert_eq!(all, 400);
    }

    #[test]
    fn a_log_that_cannot_be_written_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        EvidenceLog::at(dir.path().join("file/under")).record("a", Value::Null);
    }
}
