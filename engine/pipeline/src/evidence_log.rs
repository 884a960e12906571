//! `evidence.log`: one JSON line for every decision, with its reason. Discovery, merge,
//! resolution and delivery all write here. It must never hold a body, a secret or an
//! environment; callers give ids, names, counts and reasons, and what looks like a secret in
//! them is taken out here.
//!
//! A log that cannot be written costs no message: the problem goes to `tracing`.

use crate::crash;
use crate::redact::redact;
use axiowl_model::Timestamp;
use axiowl_registry::{create_private_dir, private_file_options};
use serde::{Serialize, Serializer};
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

/// The fields of every line.
const FIXED: [&str; 4] = ["schema", "at", "pid", "event"];

/// Lines are written in pieces of about this size.
const WRITE_BYTES: usize = 64 * 1024;

/// One line: the time, the process and the event first, which no field can replace.
#[derive(Serialize)]
struct Line<'l, F> {
    schema: &'static str,
    at: &'l str,
    pid: u32,
    event: &'l str,
    #[serde(flatten)]
    fields: F,
}

/// The fields of a line, without secrets.
fn fields(given: Value) -> Map<String, Value> {
    let mut fields = match given {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        value => Map::from_iter([("value".to_owned(), value)]),
    };
    for name in FIXED {
        fields.shift_remove(name);
    }
    fields.values_mut().for_each(take_out_secrets);
    fields
}

/// What one of many lines says: a text for each name they share, null where there is none.
pub type Texts<'t, const N: usize> = [Option<Cow<'t, str>>; N];

/// The texts of a line, without secrets. Lines of one kind mostly say the same in most fields:
/// `clean` holds what was last found clean in each.
struct Said<'l, const N: usize> {
    names: &'l [&'static str; N],
    texts: Texts<'l, N>,
}

impl<'l, const N: usize> Said<'l, N> {
    fn new(names: &'l [&'static str; N], texts: Texts<'l, N>, clean: &mut [String; N]) -> Self {
        let known = |(text, clean): (Option<Cow<'l, str>>, &mut String)| {
            let text = text?;
            if *text == **clean {
                return Some(text);
            }
            if let Cow::Owned(cleaned) = redact(&text) {
                return Some(Cow::Owned(cleaned));
            }
            clean.clear();
            clean.push_str(&text);
            Some(text)
        };
        let mut clean = clean.iter_mut();
        let texts = texts.map(|text| clean.next().and_then(|clean| known((text, clean))));
        Self { names, texts }
    }
}

impl<const N: usize> Serialize for Said<'_, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let texts = self.texts.iter().map(Option::as_deref);
        serializer.collect_map(self.names.iter().zip(texts))
    }
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
    pub fn record(&self, event: &str, given: Value) {
        self.append_all(event, std::iter::once_with(|| fields(given)));
    }

    /// Appends a line for each of several decisions of one kind, in one go: a discovery of
    /// thousands of sessions opens the file once. They say a text, or nothing, for each name.
    pub fn record_all<'t, const N: usize>(
        &self,
        event: &str,
        names: [&'static str; N],
        decisions: impl IntoIterator<Item = Texts<'t, N>>,
    ) {
        debug_assert!(FIXED.iter().all(|fixed| !names.contains(fixed)));
        let mut clean: [String; N] = std::array::from_fn(|_| String::new());
        let decisions = decisions.into_iter();
        self.append_all(
            event,
            decisions.map(|texts| Said::new(&names, texts, &mut clean)),
        );
    }

    fn append_all<F: Serialize>(&self, event: &str, lines: impl Iterator<Item = F>) {
        crash::point("before a decision is written down");
        let at = Timestamp::from(SystemTime::now()).to_string();
        if let Err(error) = self.append(event, &at, lines) {
            tracing::warn!(path = %self.path.display(), %error, event, "evidence not recorded");
        }
    }

    fn append<F: Serialize>(
        &self,
        event: &str,
        at: &str,
        lines: impl Iterator<Item = F>,
    ) -> io::Result<()> {
        let mut pending = Vec::new();
        let mut file = None;
        for fields in lines {
            let start = pending.len();
            let line = Line {
                schema: "axiowl.evidence/1",
                at,
                pid: std::process::id(),
                event,
                fields,
            };
            serde_json::to_writer(&mut pending, &line)?;
            pending.push(b'\n');
            if start > 0 && pending.len() > WRITE_BYTES {
                self.write(&mut file, &pending[..start])?;
                pending.drain(..start);
            }
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
    fn many_lines_of_one_kind_say_texts_without_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let log = EvidenceLog::at(dir.path());
        let secret = "sk-ant-api03-0123456789abcdefgh";
        let line = |a: &str| [Some(Cow::Owned(a.to_owned())), None];
        let told = [
            "one",
            "one",
            secret,
            "one",
            &format!("key {secret}"),
            secret,
        ]
        .map(line);
        log.record_all("a", ["x", "y"], told);
        let lines = lines(log.path());
        let said: Vec<_> = lines
            .iter()
            .map(|line| line["x"].as_str().unwrap())
            .collect();
        let expected = [
            "one",
            "one",
            "[redacted]",
            "one",
            "key [redacted]",
            "[redacted]",
        ];
        assert_eq!(said, expected);
        assert!(
            lines
                .iter()
                .all(|line| line["y"].is_null() && line["event"] == "a")
        );
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert!(
            text.starts_with(r#"{"schema":"axiowl.evidence/1","at":""#),
            "{text}"
        );
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
