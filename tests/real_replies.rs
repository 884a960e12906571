//! Real sessions of different clients that ask and answer each other over AxiOwl's server, each
//! in a turn of its own: the answer comes from the session that was asked, is known as the
//! answer, and stands with the right sender in the transcripts of both. Only the model is
//! simulated.

mod installed;
mod owl;
mod program;

use axiowl_test_support::{ClientHome, Clients, MockModel, or_skip};
use installed::{callers, claude, codex, install, opencode};
use owl::axiowl;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A home with every client, a folder to work in, and the model.
struct Scene {
    home: ClientHome,
    cwd: PathBuf,
    _model: MockModel,
}

impl Scene {
    fn new(clients: &Clients) -> Self {
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

    fn discover(&self) {
        let found = axiowl(&self.home, &["discover", "all"]);
        assert_eq!(found.code, 0, "{found}");
    }

    /// A message of the ledger, by whom it is from and to.
    fn message(&self, from: &str, to: &str) -> Value {
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

    /// That a question was answered by exactly the session that was asked.
    fn answered(&self, asker: &str, answerer: &str, answer: &str) -> String {
        let asked = self.message(asker, answerer);
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
        // What comes back is for whoever asked, and answers nothing else.
        let back = self.message(answerer, asker);
        assert_eq!(back["reply_to"], id, "{back}");
        id
    }

    /// That every call was made by one of these sessions, and each made one.
    fn called(&self, sessions: &[&str]) {
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
    fn opencode_texts(&self, session: &str) -> Vec<String> {
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
fn header(id: &str, from: &str, provider: &str) -> String {
    format!("[AxiOwl {id}] from \"{from}\" ({provider}, proven)")
}

/// Whether some text, as it stands inside a JSON document, holds another.
fn holds(texts: &[String], part: &str) -> bool {
    let quoted = part.replace('"', "\\\"");
    texts
        .iter()
        .any(|text| text.contains(&quoted) || text.contains(&quoted.replace('\\', "\\\\")))
}

fn texts(records: &[Value]) -> Vec<String> {
    records.iter().map(ToString::to_string).collect()
}

/// A question that makes the model that reads it answer through a tool.
fn question(tool: &str, to: &str, answer: &str) -> String {
    let answer = json!({ "to": to, "body": answer });
    format!("How far is it?\n@@tool {tool} {answer}")
}

#[test]
fn a_real_claude_code_turn_asks_a_real_opencode_session_and_gets_its_answer() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let feed = opencode(&scene.home, "Stock Feed", "Watch the stock", &scene.cwd);
    scene.discover();
    let body = question(
        "axiowl_axiowl_send_message",
        "Design Review",
        "there are 7 left",
    );
    let ask = json!({ "to": "Stock Feed", "body": body, "wait": "reply" });
    let prompt = format!("@@tool mcp__axiowl__axiowl_send_message {ask}");
    let review = claude(&scene.home, "Design Review", &prompt, &scene.cwd);
    let id = scene.answered("Design Review", "Stock Feed", "there are 7 left");
    scene.called(&[&review, &feed]);
    let in_feed = scene.opencode_texts(&feed);
    let from = header(&id, "Design Review", "claude_code_cli");
    assert!(holds(&in_feed, &from), "{in_feed:?}");
    let in_review = texts(&scene.home.claude_records(&review));
    let result: Vec<_> = in_review
        .iter()
        .filter(|text| text.contains("tool_result"))
        .cloned()
        .collect();
    assert!(
        holds(&result, "there are 7 left") && holds(&result, "Stock Feed"),
        "{in_review:?}"
    );
}

#[test]
fn a_real_sub_agent_asks_a_real_codex_thread_as_itself_and_its_session_is_answered() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let keeper = scene
        .home
        .codex_exec_session("Keep the shop", &scene.cwd)
        .expect("a thread");
    scene
        .home
        .codex_name_thread(&keeper, "Shop Keeper")
        .expect("a name");
    scene.discover();
    let body = question("mcp__axiowl__axiowl_send_message", "Boss", "it is open");
    let ask = json!({ "to": "Shop Keeper", "body": body, "wait": "reply" });
    let task = json!({ "description": "look", "subagent_type": "general-purpose", "run_in_background": false,
        "prompt": format!("@@tool mcp__axiowl__axiowl_send_message {ask}") });
    let boss = claude(
        &scene.home,
        "Boss",
        &format!("@@tool Agent {task}"),
        &scene.cwd,
    );
    let proven = callers(&scene.home, "caller_proven");
    let asked = proven
        .iter()
        .find(|line| line["client"] == "claude-code")
        .unwrap_or_else(|| panic!("{:?}", callers(&scene.home, "caller_refused")));
    let own = asked["subagent"].as_str().expect("a sub-agent").to_owned();
    let listed = axiowl(&scene.home, &["list", "messages", "--json"]).lines("message");
    let question = listed.iter().find(|line| line["to"] == "Shop Keeper");
    let question = question.unwrap_or_else(|| panic!("nothing was asked: {listed:?}"));
    let name = question["from"].as_str().expect("a name");
    assert!(name.contains(&own), "{name} does not name {own}");
    let id = question["message_id"].as_str().expect("an id");
    let status = axiowl(&scene.home, &["message", id, "--json"]);
    assert_eq!(status.lines("reply")[0]["body"], "it is open", "{status}");
    // The answer is addressed to the session the sub-agent works for.
    let back = listed.iter().find(|line| line["from"] == "Shop Keeper");
    let back = back.unwrap_or_else(|| panic!("nothing came back: {listed:?}"));
    assert_eq!(back["reply_to"], id);
    assert!(
        back["agent_id"]
            .as_str()
            .is_some_and(|id| id.ends_with(&boss)),
        "{back}"
    );
}

#[test]
fn of_two_real_sessions_of_one_name_one_is_asked_and_the_other_named() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let session = || {
        scene
            .home
            .claude_session("Design Review", "Review the design", &scene.cwd)
            .expect("a session")
    };
    let (older, newer) = (session(), session());
    scene.discover();
    let body = question("mcp__axiowl__axiowl_send_message", "Shop Keeper", "done");
    let ask = json!({ "to": "Design Review", "body": body, "wait": "reply" });
    let prompt = format!("@@tool axiowl_send_message {ask}");
    let keeper = scene
        .home
        .codex_exec_session("Keep the shop", &scene.cwd)
        .expect("a thread");
    scene
        .home
        .codex_name_thread(&keeper, "Shop Keeper")
        .expect("a name");
    codex(&scene.home, &keeper, &prompt, &scene.cwd);
    let asked = scene.message("Shop Keeper", "Design Review");
    let target = asked["agent_id"].as_str().expect("an id");
    assert!(target.ends_with(&newer), "{asked}");
    scene.called(&[&keeper, &newer]);
    // Whoever asked was told that there is another one.
    let told = texts(&scene.home.codex_records(&keeper));
    assert!(
        holds(&told, "also_matching") && holds(&told, &older),
        "{told:?}"
    );
    let id = asked["message_id"].as_str().expect("an id");
    let other = texts(&scene.home.claude_records(&older));
    assert!(!holds(&other, id), "the older one was asked");
}
