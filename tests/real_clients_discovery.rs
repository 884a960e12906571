//! Real OpenCode and Gemini CLI sessions, made by the clients from npm: what discovery says of
//! them has to be what the client itself was told. Only the model is simulated.

mod program;

use axiowl_test_support::child::{self, Running};
use axiowl_test_support::{ClientHome, Clients, MockModel, or_skip};
use program::Run;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One run of a client takes seconds; machines are slow and busy.
const DEADLINE: Duration = Duration::from_secs(180);

/// What AxiOwl says of a scope: rows by their bare session id, and the summary.
fn discover(home: &ClientHome, scope: &str) -> (BTreeMap<String, Value>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_axiowl"))
        .env_clear()
        .envs(home.env())
        .args(["discover", scope, "--json"])
        .stdin(Stdio::null())
        .output()
        .expect("axiowl runs");
    let run = Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    assert_eq!(run.code, 0, "{run}");
    let rows = run.lines("discovered_agent").into_iter().map(|row| {
        let session = row["provider_session_id"].as_str().expect("an id");
        let bare = session.rsplit(':').next().expect("a part").to_owned();
        (bare, row)
    });
    (rows.collect(), run.lines("discovery_summary").remove(0))
}

/// Title, kind, status and whether it can be sent to.
fn says(rows: &BTreeMap<String, Value>, session: &str) -> (String, String, String, bool) {
    let row = rows
        .get(session)
        .unwrap_or_else(|| panic!("{session} was not found: {rows:#?}"));
    let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    (
        text("display_name"),
        text("kind"),
        text("status"),
        row["sendable"] == true && ["enrolled", "updated"].contains(&text("decision").as_str()),
    )
}

fn expect(title: &str, kind: &str, status: &str, target: bool) -> (String, String, String, bool) {
    (title.into(), kind.into(), status.into(), target)
}

/// OpenCode in a home of its own (`providers/opencode-gemini.md` B).
struct OpenCode {
    home: ClientHome,
    project: PathBuf,
}

impl OpenCode {
    fn new(clients: &Clients, model: &MockModel) -> Self {
        let home = ClientHome::new(clients, model).expect("a home");
        let config = json!({
            "autoupdate": false,
            "share": "disabled",
            "model": "mock/mock-model",
            "small_model": "mock/mock-model",
            "provider": { "mock": {
                "npm": "@ai-sdk/anthropic",
                "options": { "baseURL": model.openai_base(), "apiKey": "mock" },
                "models": { "mock-model": { "name": "Mock", "tool_call": true } },
            } },
        });
        home.write(".config/opencode/opencode.json", &config.to_string())
            .expect("config");
        let project = home.project("webshop").expect("a folder");
        Self { home, project }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self
            .home
            .command(self.home.clients().opencode(), &self.project);
        command
            .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .args(arguments);
        command
    }

    /// Makes a session by one turn; its id.
    fn session(&self, title: &str, prompt: &str, cwd: &Path) -> String {
        let folder = cwd.to_str().expect("text");
        let arguments = ["run", "--format", "json", "--title", title, "--dir", folder];
        let finished = child::run(&mut self.command(&arguments), prompt, DEADLINE);
        let finished = finished.and_then(child::Finished::success).expect("a turn");
        let events = finished.json_lines();
        let done = |event: &&Value| event["part"]["reason"] == "stop";
        let done = events.iter().find(done);
        done.and_then(|event| event["sessionID"].as_str())
            .unwrap_or_else(|| panic!("no finished turn: {}", finished.output()))
            .to_owned()
    }
}

/// `opencode serve`; ended when dropped.
struct Server {
    _running: Running,
    address: String,
}

impl Server {
    fn start(opencode: &OpenCode) -> Self {
        let arguments = ["serve", "--port", "0", "--hostname", "127.0.0.1"];
        let running = Running::start(&mut opencode.command(&arguments)).expect("a server");
        let (mut cursor, end) = (0, Instant::now() + DEADLINE);
        let address = loop {
            let line = running
                .next_line(&mut cursor, end)
                .unwrap_or_else(|| panic!("it does not listen: {}", running.output()));
            if let Some((_, address)) = line.split_once("listening on http://") {
                break address.trim().to_owned();
            }
        };
        Self {
            _running: running,
            address,
        }
    }

    /// Changes a session, as a user interface does.
    fn patch(&self, session: &str, change: &Value) {
        let body = change.to_string();
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        let request = format!(
            "PATCH /session/{session} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

/// Shows: opencode_cli discover.
#[test]
fn opencode_sessions_are_what_the_client_made_of_them() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let opencode = OpenCode::new(&clients, &model);

    // A store that the client has just made holds nothing, and that is understood.
    let paths = child::run(&mut opencode.command(&["db", "path"]), "", DEADLINE);
    paths.and_then(child::Finished::success).expect("a store");
    let (rows, summary) = discover(&opencode.home, "opencode-cli");
    assert!(rows.is_empty());
    assert_ne!(summary["verdict"], "blind", "{summary}");

    let gone = opencode.home.project("gone").expect("a folder");
    let plain = opencode.session("Checkout plan", "plan the checkout", &opencode.project);
    let renamed = opencode.session("A first title", "look at the cart", &opencode.project);
    let archived = opencode.session("Put away", "no longer needed", &opencode.project);
    let moved = opencode.session("Gone dir", "in a folder that goes", &gone);
    let parent = opencode.session(
        "Price audit",
        "@@tool task {\"description\":\"Audit prices\",\"prompt\":\"look at the prices\",\"subagent_type\":\"general\"}",
        &opencode.project,
    );
    let server = Server::start(&opencode);
    server.patch(&renamed, &json!({ "title": "Kasse 结账 🛒" }));
    server.patch(
        &archived,
        &json!({ "time": { "archived": 1_796_000_000_000_u64 } }),
    );
    std::fs::remove_dir_all(&gone).expect("gone");

    // While the client is at work in its store, and after it has ended.
    for at_work in [Some(server), None] {
        let (rows, summary) = discover(&opencode.home, "opencode-cli");
        let found = |session: &str| says(&rows, session);
        assert_eq!(
            found(&plain),
            expect("Checkout plan", "main", "active", true)
        );
        assert_eq!(
            found(&renamed),
            expect("Kasse 结账 🛒", "main", "active", true)
        );
        assert_eq!(
            found(&parent),
            expect("Price audit", "main", "active", true)
        );
        assert_eq!(
            found(&archived),
            expect("Put away", "main", "archived", false)
        );
        assert_eq!(found(&moved), expect("Gone dir", "main", "stale", false));
        let children: Vec<&Value> = rows
            .values()
            .filter(|row| row["kind"] == "subagent")
            .collect();
        assert_eq!(children.len(), 1, "{rows:#?}");
        assert_eq!(children[0]["sendable"], false);
        assert!(
            children[0]["display_name"]
                .as_str()
                .expect("a title")
                .starts_with("Audit prices"),
            "{}",
            children[0]
        );
        assert_eq!(rows.len(), 6, "one row a session: {rows:#?}");
        assert_eq!(summary["verdict"], "verified", "{summary}");
        drop(at_work);
    }
}

/// Gemini CLI (`providers/opencode-gemini.md` B and C): a session is found whatever the settings
/// say, and is a target only where resuming it cannot cost it.
///
/// Shows: gemini_cli discover.
#[test]
fn gemini_sessions_are_targets_only_where_resuming_keeps_them() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    let project = home.project("webshop").expect("a folder");
    let settings = |general: Value| {
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
            "general": general,
            "privacy": { "usageStatisticsEnabled": false },
        });
        home.write(".gemini/settings.json", &settings.to_string())
            .expect("settings");
    };
    settings(json!({ "enableAutoUpdate": false }));
    let mut command = home.command(clients.gemini(), &project);
    command
        .env("GEMINI_API_KEY", "mock")
        .env("GOOGLE_GEMINI_BASE_URL", model.anthropic_base())
        .args(["--output-format", "stream-json"]);
    // What a person said stands there even if no model answered.
    let finished = child::run(&mut command, "plan the checkout", DEADLINE).expect("it ends");
    let events = finished.json_lines();
    let init = events.iter().find(|event| event["type"] == "init");
    let session = init
        .and_then(|init| init["session_id"].as_str())
        .unwrap_or_else(|| panic!("no session: {}", finished.output()));

    let (rows, summary) = discover(&home, "gemini-cli");
    let found = says(&rows, session);
    assert_eq!(
        found,
        expect("plan the checkout", "main", "evidence_only", false)
    );
    assert_eq!(rows[session]["source"], "gemini_cli_retention");
    assert_eq!(rows[session]["cwd"], project.to_str().expect("text"));
    assert_eq!(rows.len(), 1);
    assert_eq!(summary["verdict"], "verified", "{summary}");

    settings(json!({ "enableAutoUpdate": false, "sessionRetention": { "enabled": false } }));
    let (rows, _) = discover(&home, "gemini-cli");
    assert_eq!(
        says(&rows, session),
        expect("plan the checkout", "main", "active", true)
    );
}
