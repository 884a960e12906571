//! A home with real clients that all know AxiOwl's server, and what its ledger, its evidence log
//! and the clients' own transcripts say afterwards.

use super::agent::Agent;
use super::{callers, install};
use crate::owl::axiowl;
use axiowl_test_support::{ClientHome, Clients, MockModel};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A home with every client, a folder to work in, and the model.
pub struct Scene {
    pub home: ClientHome,
    pub cwd: PathBuf,
    _model: MockModel,
}

impl Scene {
    pub fn new(clients: &Clients) -> Self {
        let model = MockModel::start();
        let home = ClientHome::new(clients, &model).expect("a home");
        install(&home);
        let cwd = home.project("webshop").expect("a folder");
        Self {
            home,
            cwd,
            _model: model,
        }
    }

    pub fn discover(&self) {
        let found = axiowl(&self.home, &["discover", "all"]);
        assert_eq!(found.code, 0, "{found}");
    }

    /// A message of the ledger, by whom it is from and to.
    pub fn message(&self, from: &str, to: &str) -> Value {
        let listed = axiowl(&self.home, &["list", "messages", "--json"]).lines("message");
        let mut fitting = listed
            .iter()
            .filter(|line| line["from"] == from && line["to"] == to);
        let (Some(one), None) = (fitting.next(), fitting.next()) else {
            let refused = callers(&self.home, "caller_refused");
            panic!("not one message from {from} to {to}: {listed:?}\n{refused:?}");
        };
        one.clone()
    }

    /// That a question was answered by exactly the session that was asked, and by nobody of
    /// another surface.
    pub fn answered(&self, asker: &Agent, answerer: &Agent, answer: &str) -> String {
        let provider = answerer.client.provider();
        let session = &answerer.session;
        let (asker, answerer) = (asker.name.as_str(), answerer.name.as_str());
        let asked = self.message(asker, answerer);
        let target = asked["agent_id"].as_str().unwrap_or_default();
        assert!(
            target.starts_with(&format!("{provider}:")) && target.ends_with(session),
            "{asked}"
        );
        let id = asked["message_id"].as_str().expect("an id").to_owned();
        let status = axiowl(&self.home, &["message", &id, "--json"]);
        let stages = status.lines("stage");
        let has = |stage: &str| stages.iter().any(|line| line["stage"] == stage);
        assert!(has("seen") && has("replied"), "{status}");
        let replies = status.lines("reply");
        assert_eq!(replies.len(), 1, "{status}");
        let reply = &replies[0];
        assert_eq!(
            (&reply["from"], &reply["proof"], &reply["body"]),
            (&json!(answerer), &json!("proven"), &json!(answer)),
            "{status}"
        );
        assert_eq!(reply["provider"], provider, "{status}");
        // What comes back is for whoever asked, and answers nothing else.
        let back = self.message(answerer, asker);
        assert_eq!(back["reply_to"], id, "{back}");
        id
    }

    /// That every call was made by one of these sessions, and each made one.
    pub fn called(&self, agents: &[&Agent]) {
        let sessions: Vec<&str> = agents.iter().map(|one| one.session.as_str()).collect();
        let proven = callers(&self.home, "caller_proven");
        let of = |session: &&str| {
            let ids = proven
                .iter()
                .filter_map(|caller| caller["agent_id"].as_str());
            ids.filter(|id| id.ends_with(*session)).count()
        };
        let each: Vec<usize> = sessions.iter().map(of).collect();
        assert!(each.iter().all(|calls| *calls > 0), "{each:?} {proven:?}");
        assert_eq!(each.iter().sum::<usize>(), proven.len(), "{proven:?}");
        let refused = callers(&self.home, "caller_refused");
        assert!(refused.is_empty(), "{refused:?}");
    }

    /// The texts of an OpenCode session, of both sides and of its tools.
    pub fn opencode_texts(&self, session: &str) -> Vec<String> {
        let store = self.home.path().join(".local/share/opencode");
        let copy = tempfile::tempdir().expect("a folder");
        for name in ["opencode.db", "opencode.db-wal"] {
            if store.join(name).exists() {
                std::fs::copy(store.join(name), copy.path().join(name)).expect("a copy");
            }
        }
        let store = rusqlite::Connection::open(copy.path().join("opencode.db")).expect("a store");
        let sql = "SELECT data FROM part WHERE session_id = ?1";
        let mut statement = store.prepare(sql).expect("a statement");
        let rows = statement.query_map([session], |row| row.get(0));
        rows.expect("rows").map(|row| row.expect("a row")).collect()
    }
}

/// The line with which AxiOwl begins what another agent reads.
pub fn header(id: &str, from: &str, provider: &str) -> String {
    format!("[AxiOwl {id}] from \"{from}\" ({provider}, proven)")
}

/// Whether some text, as it stands inside a JSON document, holds another.
pub fn holds(texts: &[String], part: &str) -> bool {
    let quoted = part.replace('"', "\\\"");
    texts
        .iter()
        .any(|text| text.contains(&quoted) || text.contains(&quoted.replace('\\', "\\\\")))
}

/// Records as they stand in a transcript.
pub fn texts(records: &[Value]) -> Vec<String> {
    records.iter().map(ToString::to_string).collect()
}

/// A question that makes the model that reads it answer through a tool.
pub fn question(tool: &str, to: &str, answer: &str) -> String {
    let answer = json!({ "to": to, "body": answer });
    format!("How far is it?\n@@tool {tool} {answer}")
}
