//! A home with sound sessions of five providers, among which a test puts what is not sound.

use crate::found::Found;
use crate::measured::Measured;
use crate::program::{Axiowl, Run};
use crate::untouched::untouched;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A provider of which every test has sound sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    Claude,
    Codex,
    OpenCode,
    Copilot,
    Gemini,
}

pub const ALL: [Provider; 5] = [
    Provider::Claude,
    Provider::Codex,
    Provider::OpenCode,
    Provider::Copilot,
    Provider::Gemini,
];

impl Provider {
    /// As rows name it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Claude => "claude_code_cli",
            Self::Codex => "codex",
            Self::OpenCode => "opencode_cli",
            Self::Copilot => "copilot_cli",
            Self::Gemini => "gemini_cli",
        }
    }
}

/// The id of a session.
pub fn id(provider: Provider, number: usize) -> String {
    match provider {
        Provider::OpenCode => format!("ses_{number:026}"),
        other => format!("{:08x}-0000-4000-8000-00000000000{}", number, other as u8),
    }
}

/// When everything happened.
pub const STAMP: &str = "2026-11-20T10:00:00.000Z";
const STAMP_MS: i64 = 1_795_168_800_000;

/// A temporary home. AxiOwl's own state lies beside it, so that nothing in it may change.
pub struct Home {
    pub axiowl: Axiowl,
    good: Vec<(Provider, usize)>,
}

impl Home {
    /// A home with three sound sessions of each provider.
    pub fn new() -> Self {
        // Copilot sessions are targets only where a headless login is set.
        let axiowl = Axiowl::new().with_env("COPILOT_GITHUB_TOKEN", "set");
        std::fs::create_dir_all(axiowl.path("home/work")).expect("folder");
        let mut home = Self {
            axiowl,
            good: Vec::new(),
        };
        for number in 1..=3 {
            for provider in ALL {
                home.add(provider, number);
                home.good.push((provider, number));
            }
        }
        home
    }

    /// A path below the home.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.axiowl.home().join(relative)
    }

    /// Writes a file below the home.
    pub fn write(&self, relative: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        self.axiowl.write(&format!("home/{relative}"), bytes);
        self.path(relative)
    }

    /// The folder all sessions work in.
    pub fn cwd(&self) -> String {
        self.path("work").display().to_string()
    }

    /// The name of a sound session.
    pub fn name(provider: Provider, number: usize) -> String {
        format!("{} {number}", provider.key())
    }

    /// Where the file lies that most of a session's row comes from.
    pub fn file(&self, provider: Provider, number: usize) -> String {
        let id = id(provider, number);
        match provider {
            Provider::Claude => format!(".claude/projects/{}/{id}.jsonl", slug(&self.cwd())),
            Provider::Codex => {
                format!(".codex/sessions/2026/11/20/rollout-2026-11-20T10-00-00-{id}.jsonl")
            }
            Provider::OpenCode => ".local/share/opencode/opencode.db".into(),
            Provider::Copilot => format!(".copilot/session-state/{id}/events.jsonl"),
            Provider::Gemini => format!(
                ".gemini/tmp/work/chats/session-2026-11-20T10-00-{}.jsonl",
                &id[..8]
            ),
        }
    }

    /// The lines of a session's file.
    pub fn lines(&self, provider: Provider, number: usize) -> Vec<Value> {
        let id = id(provider, number);
        let name = Self::name(provider, number);
        let cwd = self.cwd();
        let said = |kind: &str, uuid: usize, message: Value| {
            json!({"isSidechain": false, "type": kind, "message": message, "cwd": cwd,
                "uuid": format!("00000000-0000-4000-8000-{uuid:012}"), "timestamp": STAMP,
                "entrypoint": "cli", "sessionId": id, "version": "2.1.332"})
        };
        match provider {
            Provider::Claude => vec![
                said("user", 1, json!({"role": "user", "content": "Look at it"})),
                said(
                    "assistant",
                    2,
                    json!({"role": "assistant", "content": [{"type": "text", "text": "Done"}]}),
                ),
                json!({"type": "custom-title", "customTitle": name, "sessionId": id}),
            ],
            Provider::Codex => vec![
                json!({"timestamp": STAMP, "type": "session_meta", "payload": {"id": id,
                    "timestamp": STAMP, "cwd": cwd, "originator": "Codex Desktop",
                    "cli_version": "0.171.0", "source": "vscode", "thread_source": "user",
                    "model_provider": "openai"}}),
                json!({"timestamp": STAMP, "type": "event_msg",
                    "payload": {"type": "user_message", "message": name}}),
            ],
            Provider::OpenCode => Vec::new(),
            Provider::Copilot => vec![
                json!({"type": "session.start", "data": {"sessionId": id, "version": 1,
                    "producer": "copilot-agent", "copilotVersion": "1.0.102", "startTime": STAMP,
                    "context": {"cwd": cwd}}, "id": "a", "timestamp": STAMP}),
                json!({"type": "user.message", "data": {"content": "Look at it",
                    "messageId": "b"}, "id": "b", "timestamp": STAMP}),
                json!({"type": "assistant.message", "data": {"messageId": "c",
                    "content": "Done", "toolRequests": []}, "id": "c", "timestamp": STAMP}),
            ],
            Provider::Gemini => vec![
                json!({"sessionId": id, "projectHash": "0".repeat(64), "startTime": STAMP,
                    "lastUpdated": STAMP, "kind": "main"}),
                json!({"id": "u", "timestamp": STAMP, "type": "user",
                    "content": [{"text": "Look at it"}]}),
                json!({"id": "g", "timestamp": STAMP, "type": "gemini", "content": "Done"}),
                json!({"$set": {"lastUpdated": STAMP, "summary": name}}),
            ],
        }
    }

    /// Adds a sound session with everything that belongs to it.
    pub fn add(&self, provider: Provider, number: usize) {
        let mut text = String::new();
        for line in self.lines(provider, number) {
            text.push_str(&format!("{line}\n"));
        }
        self.put(provider, number, text);
    }

    /// Adds a session whose file holds these bytes instead.
    pub fn put(&self, provider: Provider, number: usize, bytes: impl AsRef<[u8]>) -> String {
        let file = self.file(provider, number);
        let (id, name, cwd) = (
            id(provider, number),
            Self::name(provider, number),
            self.cwd(),
        );
        match provider {
            Provider::Claude => {}
            Provider::Codex => {
                let rollout = self.path(&file).display().to_string();
                let db = self.codex();
                db.execute(
                    "INSERT INTO threads(id, rollout_path, cwd, source, title, archived,
                       updated_at, updated_at_ms, name, preview, originator, thread_source,
                       cli_version, model_provider)
                     VALUES(?1, ?2, ?3, 'vscode', ?4, 0, ?5, ?6, ?4, ?4, 'Codex Desktop', 'user',
                       '0.171.0', 'openai')",
                    rusqlite::params![id, rollout, cwd, name, STAMP_MS / 1_000, STAMP_MS],
                )
                .expect("insert");
                self.pin(&db);
            }
            Provider::OpenCode => {
                insert_opencode(&self.opencode(), &id, &cwd, &name);
                return file;
            }
            Provider::Copilot => {
                let about = format!(
                    "id: {id}\ncwd: {cwd}\nclient_name: github/cli\nname: {name}\n\
                     user_named: true\ncreated_at: {STAMP}\nupdated_at: {STAMP}\n"
                );
                self.write(
                    &format!(".copilot/session-state/{id}/workspace.yaml"),
                    about,
                );
            }
            Provider::Gemini => {
                let projects = json!({"projects": {&cwd: "work"}});
                self.write(".gemini/projects.json", projects.to_string());
                self.write(".gemini/tmp/work/.project_root", &cwd);
                let settings = json!({"general": {"sessionRetention": {"enabled": false}}});
                self.write(".gemini/settings.json", settings.to_string());
            }
        }
        self.write(&file, bytes);
        file
    }

    /// Opens Codex's store as its owner, made when it is not there.
    pub fn codex(&self) -> rusqlite::Connection {
        let db = self.database(".codex/state_5.sqlite");
        db.execute_batch(
            "CREATE TABLE IF NOT EXISTS threads(id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL,
               cwd TEXT, source TEXT, title TEXT, archived INTEGER NOT NULL, updated_at INTEGER,
               updated_at_ms INTEGER, recency_at_ms INTEGER, name TEXT, preview TEXT,
               originator TEXT, thread_source TEXT, cli_version TEXT, model_provider TEXT,
               agent_nickname TEXT, attached_thread_parent_id TEXT)",
        )
        .expect("schema");
        db
    }

    /// Every thread is pinned in the desktop app, which makes it a target.
    fn pin(&self, db: &rusqlite::Connection) {
        let mut all = db.prepare("SELECT id FROM threads").expect("statement");
        let ids = all.query_map([], |row| row.get::<_, String>(0));
        let ids: Result<Vec<String>, _> = ids.expect("rows").collect();
        let global = json!({"pinned-thread-ids": ids.expect("ids")});
        self.write(".codex/.codex-global-state.json", global.to_string());
    }

    /// Opens OpenCode's store as its owner, made when it is not there.
    pub fn opencode(&self) -> rusqlite::Connection {
        let db = self.database(".local/share/opencode/opencode.db");
        db.execute_batch(
            "CREATE TABLE IF NOT EXISTS session(id text PRIMARY KEY, project_id text NOT NULL,
               parent_id text, directory text NOT NULL, title text NOT NULL, version text NOT NULL,
               revert text, agent text, time_created integer NOT NULL,
               time_updated integer NOT NULL, time_archived integer);
             CREATE TABLE IF NOT EXISTS message(id text PRIMARY KEY, session_id text NOT NULL,
               time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
             CREATE TABLE IF NOT EXISTS part(id text PRIMARY KEY, message_id text NOT NULL,
               session_id text NOT NULL, time_created integer NOT NULL,
               time_updated integer NOT NULL, data text NOT NULL)",
        )
        .expect("schema");
        db
    }

    fn database(&self, relative: &str) -> rusqlite::Connection {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        rusqlite::Connection::open(path).expect("database")
    }

    /// The command, with its state beside the home.
    pub fn command(&self, arguments: &[&str]) -> std::process::Command {
        let state = self.axiowl.path("state");
        let mut all = vec!["--state", state.to_str().expect("text")];
        all.extend(arguments);
        self.axiowl.command(&all)
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Run {
        Measured::of(&self.command(arguments)).run
    }

    /// Discovers everything. The home may be written to meanwhile.
    pub fn discover_while_written(&self) -> Found {
        let found = Found::of(Measured::of(&self.command(&["discover", "all", "--json"])));
        assert_eq!(found.run.code, 0, "{}", found.run);
        found
    }

    /// Discovers everything, and sees that nothing in the home is touched.
    pub fn discover(&self) -> Found {
        untouched(&self.axiowl.home(), || self.discover_while_written())
    }

    /// The same, and every sound session is there, with its name, as a target.
    #[track_caller]
    pub fn discover_sound(&self) -> Found {
        let found = self.discover();
        self.sound(&found);
        found
    }

    /// Says that every sound session was found.
    #[track_caller]
    pub fn sound(&self, found: &Found) {
        for (provider, number) in &self.good {
            self.is_sound(found, *provider, *number);
        }
    }

    /// Says that one session was found with its name, as a target.
    #[track_caller]
    pub fn is_sound(&self, found: &Found, provider: Provider, number: usize) {
        let id = id(provider, number);
        let Some(row) = found.row(provider, &id) else {
            panic!("{provider:?} {number} is lost\n{}", found.run);
        };
        let name = Self::name(provider, number);
        assert_eq!(row["display_name"], name.as_str(), "{row}");
        assert_eq!(row["sendable"], true, "{row}");
    }
}

/// Adds a session with a message to OpenCode's store.
pub fn insert_opencode(db: &rusqlite::Connection, id: &str, cwd: &str, title: &str) {
    db.execute(
        "INSERT INTO session VALUES(?1, 'p', NULL, ?2, ?3, '1.18.34', NULL, 'build', ?4, ?4, NULL)",
        rusqlite::params![id, cwd, title, STAMP_MS],
    )
    .expect("session");
    db.execute(
        "INSERT INTO message VALUES(?1, ?2, ?3, ?3, ?4)",
        rusqlite::params![
            format!("msg_{id}"),
            id,
            STAMP_MS,
            json!({"role": "user"}).to_string()
        ],
    )
    .expect("message");
}

/// The name of a project's folder: everything but letters and digits is a dash.
fn slug(path: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    path.chars().map(keep).collect()
}

/// Makes a link below a home.
pub fn link(target: impl AsRef<Path>, at: &Path) {
    std::fs::create_dir_all(at.parent().expect("a folder")).expect("folder");
    std::os::unix::fs::symlink(target, at).expect("link");
}

#[test]
fn a_sound_home_is_found_whole_without_an_issue() {
    let home = Home::new();
    let found = home.discover_sound();
    assert_eq!(found.rows.len(), 15, "{}", found.run);
    assert!(found.issues.is_empty(), "{:?}", found.issues);
}
