//! What one scope of discovery says about a case of a rule, or about a home made by a test.

use super::{Axiowl, ROOT, Run};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

/// What one scope said: its sessions by their bare id, and its summary.
pub struct Scope {
    /// Bare id to row.
    pub rows: BTreeMap<String, Value>,
    /// The summary line.
    pub summary: Value,
    run: Run,
}

impl Scope {
    /// What a run said.
    pub fn of(run: Run) -> Self {
        assert_eq!(run.code, 0, "{run}");
        let rows = run.lines("discovered_agent").into_iter().map(|row| {
            let session = row["provider_session_id"].as_str().expect("an id");
            let bare = session.rsplit(':').next().expect("a part").to_owned();
            (bare, row)
        });
        Self {
            rows: rows.collect(),
            summary: run.lines("discovery_summary").remove(0),
            run,
        }
    }

    /// The row of a session.
    pub fn row(&self, session: &str) -> &Value {
        let row = self.rows.get(session);
        row.unwrap_or_else(|| panic!("there is no row {session}\n{}", self.run))
    }

    /// Title, kind, status, whether it can be sent to, and the rung that decided.
    pub fn says(&self, session: &str) -> (Option<&str>, &str, &str, bool, &str) {
        let row = self.row(session);
        let text = |key: &str| row[key].as_str().expect("text");
        (
            row["display_name"].as_str(),
            text("kind"),
            text("status"),
            row["sendable"] == true,
            text("source"),
        )
    }

    /// Why a session is no target.
    pub fn error(&self, session: &str) -> &str {
        self.row(session)["last_error"].as_str().unwrap_or_default()
    }

    /// The ids of the sessions that can be sent to.
    pub fn targets(&self) -> Vec<&str> {
        let rows = self.rows.iter();
        rows.filter(|(_, row)| row["sendable"] == true && row["has_enrollment_proof"] == true)
            .map(|(session, _)| session.as_str())
            .collect()
    }

    /// Whether a sentence of the row's evidence has these words in it.
    pub fn evidence(&self, session: &str, words: &str) -> bool {
        let list = self.row(session)["evidence"].as_array().expect("a list");
        list.iter()
            .filter_map(Value::as_str)
            .any(|sentence| sentence.contains(words))
    }

    /// The codes of the issues.
    pub fn issues(&self) -> Vec<&str> {
        let issues = self.summary["issues"].as_array().expect("a list");
        issues
            .iter()
            .filter_map(|issue| issue["code"].as_str())
            .collect()
    }

    /// Whether a text stands anywhere in what was printed.
    pub fn mentions(&self, text: &str) -> bool {
        self.run.stdout.contains(text) || self.run.stderr.contains(text)
    }
}

/// Discovers a case of a rule, once for all tests.
pub fn case(provider: &'static str, case: &'static str) -> &'static Scope {
    type Cases = Mutex<HashMap<(&'static str, &'static str), &'static Scope>>;
    static CASES: LazyLock<Cases> = LazyLock::new(Cases::default);
    let mut cases = CASES.lock().unwrap_or_else(PoisonError::into_inner);
    cases.entry((provider, case)).or_insert_with(|| {
        let folder = Path::new(ROOT).join(format!("rules/{provider}/fixtures/{case}"));
        let scope = provider.replace('_', "-");
        let folder = folder.to_str().expect("text");
        let run = Axiowl::new().run(&["discover", &scope, "--json", "--fixture", folder]);
        Box::leak(Box::new(Scope::of(run)))
    })
}

/// Discovers one scope of the user's own home, as on a real machine.
pub fn at_home(axiowl: &Axiowl, scope: &str) -> Scope {
    Scope::of(axiowl.run(&["discover", scope, "--json"]))
}

/// Everything below a folder, with its bytes.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("folder") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                out.insert(path.clone(), std::fs::read(&path).expect("bytes"));
            }
        }
    }
    out
}

/// A database file made from a case's SQL text.
pub fn database(sql: &Path, at: &Path) -> rusqlite::Connection {
    std::fs::create_dir_all(at.parent().expect("a folder")).expect("folder");
    let connection = rusqlite::Connection::open(at).expect("database");
    let text = std::fs::read_to_string(sql).expect("sql");
    connection.execute_batch(&text).expect("the SQL runs");
    connection
}
