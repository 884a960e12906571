//! Real sessions that somebody has open are asked by a session of another client, answer over
//! AxiOwl's server while they stay open, and the question ends as replied: the answer comes from
//! exactly the session that was asked, which has read the question once. Only the model is
//! simulated.

mod installed;
mod owl;
mod program;

use axiowl_test_support::{
    ClientHome, Clients, DriveError, MockModel, Running, Skip, or_skip, poll,
};
use installed::scene::{Scene, header, holds, texts};
use installed::{callers, claude, codex, copilot, install, opencode};
use owl::axiowl;
use serde_json::{Value, json};
use std::time::Duration;

/// CI is slow and busy.
const PATIENT: Duration = Duration::from_secs(120);
const TOOL: &str = "mcp__axiowl__axiowl_send_message";

/// A missing terminal program is a skip; anything else that goes wrong is a failure.
fn missing<T>(result: Result<T, DriveError>) -> Result<T, Skip> {
    match result {
        Ok(value) => Ok(value),
        Err(DriveError::Missing(skip)) => Err(skip),
        Err(error) => panic!("{error}"),
    }
}

fn discover(home: &ClientHome) {
    let found = axiowl(home, &["discover", "all"]);
    assert_eq!(found.code, 0, "{found}");
}

/// What an asker's model does: it asks, and waits for the answer.
fn asks(to: &str, question: &str, answer_to: &str, answer: &str) -> String {
    asks_by([TOOL, TOOL], to, question, answer_to, answer)
}

/// The same, by the names that the asker's and the answerer's client have for the tool.
fn asks_by(tools: [&str; 2], to: &str, question: &str, answer_to: &str, answer: &str) -> String {
    let [by_asker, by_answerer] = tools;
    let answer = json!({ "to": answer_to, "body": answer });
    let body = format!("{question}\n@@tool {by_answerer} {answer}");
    let ask = json!({ "to": to, "body": body, "wait": "reply" });
    format!("@@tool {by_asker} {ask}")
}

/// That the only question was read in the open session `asked`, and answered by it; the id of
/// the question.
fn answered(home: &ClientHome, asker: &str, asked: &str, answer: &str, route: &str) -> String {
    let listed = axiowl(home, &["list", "messages", "--json"]).lines("message");
    let questions: Vec<&Value> = listed
        .iter()
        .filter(|line| line["reply_to"].is_null())
        .collect();
    let refused = callers(home, "caller_refused");
    let [question] = questions[..] else {
        panic!("not one question: {listed:?} {refused:?}");
    };
    let id = question["message_id"].as_str().expect("an id").to_owned();
    // The asker goes on with the answer; what the open session does after it is told later.
    let mut last = String::new();
    let over = poll(PATIENT, || {
        let status = axiowl(home, &["message", &id, "--json"]);
        last = status.to_string();
        let stages = status.lines("stage");
        let has = |stage: &str| stages.iter().any(|line| line["stage"] == stage);
        (has("seen") && has("replied")).then_some((status, stages))
    });
    let (status, stages) = over.unwrap_or_else(|| panic!("{last} {refused:?}"));
    let of = |stage: &str| stages.iter().find(|line| line["stage"] == stage);
    let seen = of("seen").expect("seen");
    let by = seen["route"].as_str().unwrap_or_default();
    assert!(by.contains(route), "{status}");
    let replies = status.lines("reply");
    assert_eq!(replies.len(), 1, "{status}");
    assert_eq!(replies[0]["proof"], "proven", "{status}");
    assert_eq!(replies[0]["body"], answer, "{status}");
    // Both of them called, each as itself, and nobody else did.
    assert!(refused.is_empty(), "{refused:?}");
    let proven = callers(home, "caller_proven");
    let ids: Vec<&str> = proven
        .iter()
        .filter_map(|caller| caller["agent_id"].as_str())
        .collect();
    let by = |session: &str| ids.iter().filter(|id| id.ends_with(session)).count();
    assert!(by(asker) > 0 && by(asked) > 0, "{ids:?}");
    assert_eq!(by(asker) + by(asked), ids.len(), "{ids:?}");
    id
}

/// Whether what the terminal shows comes to hold a text.
fn shows(screen: impl Fn() -> String, text: &str) {
    let shown = poll(PATIENT, || screen().contains(text).then_some(()));
    shown.unwrap_or_else(|| panic!("the terminal does not show {text}: {}", screen()));
}

/// Shows: claude_code_cli reply.
#[test]
fn an_open_claude_code_session_answers_a_real_codex_thread() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    install(&home);
    let cwd = home.project("webshop").expect("a folder");
    let keeper = home
        .codex_exec_session("Keep the shop", &cwd)
        .expect("a thread");
    home.codex_name_thread(&keeper, "Shop Keeper")
        .expect("a name");
    let allowed = ["--allowedTools", "mcp__axiowl"];
    let tui = or_skip!(missing(home.claude_tui_with("Open Review", &cwd, &allowed)));
    let session = tui.session_id().to_owned();
    discover(&home);

    let ask = asks("Open Review", "Is it read?", "Shop Keeper", "twice already");
    codex(&home, &keeper, &ask, &cwd);
    let id = answered(&home, &keeper, &session, "twice already", "inbox");

    let records = home.claude_records(&session);
    let read = |record: &&Value| {
        let places = ["/origin/msg_id", "/attachment/origin/msg_id"];
        let mut ids = places.iter().filter_map(|place| record.pointer(place));
        ids.any(|found| *found == id.as_str())
    };
    assert_eq!(records.iter().filter(read).count(), 1);
    let back = json!(home.codex_records(&keeper)).to_string();
    assert!(back.contains("twice already"), "{back}");
    shows(|| tui.screen(), "Is it read?");
    assert_eq!(tui.record()["sessionId"], session.as_str());
}

/// A Codex thread that is open in a terminal, or in the daemon, answers Claude Code.
fn open_codex_answers(daemon: bool, route: &str) -> Result<(), Skip> {
    let clients = Clients::ensure()?;
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    install(&home);
    let cwd = home.project("webshop").expect("a folder");
    let tui = missing(home.codex_tui("keep the shop open", &cwd, daemon))?;
    let thread = tui.thread().to_owned();
    discover(&home);

    let ask = asks(&thread, "Is it open?", "Design Review", "until eight");
    let review = claude(&home, "Design Review", &ask, &cwd);
    let id = answered(&home, &review, &thread, "until eight", route);

    let records = home.codex_records(&thread);
    let read = |record: &&Value| record["payload"]["item"]["client_id"] == id.as_str();
    assert_eq!(records.iter().filter(read).count(), 1);
    let back = json!(home.claude_records(&review)).to_string();
    assert!(back.contains("until eight"), "{back}");
    shows(|| tui.screen(), "Is it open?");
    Ok(())
}

/// Shows: codex_cli reply.
#[test]
fn a_codex_thread_open_in_a_terminal_answers_a_real_claude_code_session() {
    or_skip!(open_codex_answers(false, "private codex app-server"));
}

/// Shows: codex_cli reply.
#[test]
fn a_codex_thread_open_in_the_shared_daemon_answers_a_real_claude_code_session() {
    or_skip!(open_codex_answers(true, "shared codex daemon"));
}

#[test]
fn an_opencode_session_of_a_running_server_answers_a_real_claude_code_session() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let home = &scene.home;
    let feed = opencode(home, "Stock Feed", "Watch the stock", &scene.cwd);
    let mut command = home.command(clients.opencode(), &scene.cwd);
    command.args(["serve", "--hostname", "127.0.0.1", "--port", "0"]);
    let server = Running::start(&mut command).expect("a server");
    let listens = || server.output().contains("listening").then_some(());
    poll(PATIENT, listens).expect("it listens");
    scene.discover();

    let tools = [TOOL, "axiowl_axiowl_send_message"];
    let ask = asks_by(tools, "Stock Feed", "How many?", "Design Review", "seven");
    let review = claude(home, "Design Review", &ask, &scene.cwd);
    let id = answered(home, &review, &feed, "seven", "HTTP");

    let in_feed = scene.opencode_texts(&feed);
    let from = header(&id, "Design Review", "claude_code_cli");
    assert!(holds(&in_feed, &from), "{in_feed:?}");
    let in_review = texts(&home.claude_records(&review));
    assert!(holds(&in_review, "seven"), "{in_review:?}");
}

#[test]
fn a_codex_thread_open_in_a_terminal_answers_a_real_copilot_session() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let home = &scene.home;
    let tui = or_skip!(missing(home.codex_tui(
        "keep the shop open",
        &scene.cwd,
        false
    )));
    let thread = tui.thread().to_owned();
    scene.discover();

    let tools = ["axiowl-axiowl_send_message", TOOL];
    let ask = asks_by(tools, &thread, "Is it open?", "Fix Tests", "until eight");
    let fixer = copilot(home, "Fix Tests", &ask, &scene.cwd);
    let id = answered(
        home,
        &fixer,
        &thread,
        "until eight",
        "private codex app-server",
    );

    let records = home.codex_records(&thread);
    let read = |record: &&Value| record["payload"]["item"]["client_id"] == id.as_str();
    assert_eq!(records.iter().filter(read).count(), 1);
    let from = header(&id, "Fix Tests", "copilot_cli");
    assert!(holds(&texts(&records), &from), "{records:?}");
    let in_fixer = texts(&home.copilot_records(&fixer));
    assert!(holds(&in_fixer, "until eight"), "{in_fixer:?}");
    shows(|| tui.screen(), "Is it open?");
}
