//! Real sessions that somebody has open are asked by a session of another client, answer over
//! AxiOwl's server while they stay open, and the question ends as replied: the answer comes from
//! exactly the session that was asked, which has read the question once. Only the model is
//! simulated.

mod installed;
mod owl;
mod program;

use axiowl_test_support::{Clients, DriveError, Running, Skip, or_skip, poll};
use installed::agent::{Agent, Client};
use installed::callers;
use installed::scene::{Scene, header, holds, texts};
use owl::axiowl;
use serde_json::Value;
use std::time::Duration;

/// CI is slow and busy.
const PATIENT: Duration = Duration::from_secs(120);
/// What every question here begins with.
const QUESTION: &str = "How far is it?";

/// A missing terminal program is a skip; anything else that goes wrong is a failure.
fn missing<T>(result: Result<T, DriveError>) -> Result<T, Skip> {
    match result {
        Ok(value) => Ok(value),
        Err(DriveError::Missing(skip)) => Err(skip),
        Err(error) => panic!("{error}"),
    }
}

/// A new session of a client that asks the open session `to` of another one in its first turn.
fn asking(scene: &Scene, asker: (Client, &str), to: (Client, &str), answer: &str) -> Agent {
    let ((client, name), (other, to)) = (asker, to);
    Agent::beginning(scene, client, name, &client.asks(to, other, name, answer))
}

/// That the only question was read in the open session `asked`, and answered by it; the id of
/// the question.
fn answered(
    scene: &Scene,
    asker: &Agent,
    asked: (Client, &str),
    answer: &str,
    route: &str,
) -> String {
    let (client, asked) = asked;
    let home = &scene.home;
    let asker = asker.session.as_str();
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
    assert_eq!(replies[0]["provider"], client.provider(), "{status}");
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
    let scene = Scene::new(&clients);
    let keeper = Agent::idle(&scene, Client::Codex, "Shop Keeper");
    let allowed = ["--allowedTools", "mcp__axiowl"];
    let opened = scene
        .home
        .claude_tui_with("Open Review", &scene.cwd, &allowed);
    let tui = or_skip!(missing(opened));
    let session = tui.session_id().to_owned();
    scene.discover();

    let to = (Client::Claude, "Open Review");
    let ask = keeper
        .client
        .asks(to.1, to.0, &keeper.name, "twice already");
    keeper.turn(&scene, &ask);
    let open = (Client::Claude, session.as_str());
    let id = answered(&scene, &keeper, open, "twice already", "inbox");

    let records = scene.home.claude_records(&session);
    let read = |record: &&Value| {
        let places = ["/origin/msg_id", "/attachment/origin/msg_id"];
        let mut ids = places.iter().filter_map(|place| record.pointer(place));
        ids.any(|found| *found == id.as_str())
    };
    assert_eq!(records.iter().filter(read).count(), 1);
    keeper.has(&scene, "twice already");
    shows(|| tui.screen(), QUESTION);
    assert_eq!(tui.record()["sessionId"], session.as_str());
}

/// A Codex thread that is open in a terminal, or in the daemon, answers another client.
fn open_codex_answers(client: Client, name: &str, daemon: bool, route: &str) -> Result<(), Skip> {
    let clients = Clients::ensure()?;
    let scene = Scene::new(&clients);
    let opened = scene
        .home
        .codex_tui("keep the shop open", &scene.cwd, daemon);
    let tui = missing(opened)?;
    let thread = tui.thread().to_owned();
    scene.discover();

    let open = (Client::Codex, thread.as_str());
    let asker = asking(&scene, (client, name), open, "until eight");
    let id = answered(&scene, &asker, open, "until eight", route);

    let records = scene.home.codex_records(&thread);
    let read = |record: &&Value| record["payload"]["item"]["client_id"] == id.as_str();
    assert_eq!(records.iter().filter(read).count(), 1);
    let from = header(&id, name, client.provider());
    assert!(holds(&texts(&records), &from), "{records:?}");
    asker.has(&scene, "until eight");
    shows(|| tui.screen(), QUESTION);
    Ok(())
}

/// Shows: codex_cli reply.
#[test]
fn a_codex_thread_open_in_a_terminal_answers_a_real_claude_code_session() {
    or_skip!(open_codex_answers(
        Client::Claude,
        "Design Review",
        false,
        "private codex app-server"
    ));
}

/// Shows: codex_cli reply.
#[test]
fn a_codex_thread_open_in_the_shared_daemon_answers_a_real_claude_code_session() {
    or_skip!(open_codex_answers(
        Client::Claude,
        "Design Review",
        true,
        "shared codex daemon"
    ));
}

#[test]
fn a_codex_thread_open_in_a_terminal_answers_a_real_copilot_session() {
    or_skip!(open_codex_answers(
        Client::Copilot,
        "Fix Tests",
        false,
        "private codex app-server"
    ));
}

#[test]
fn an_opencode_session_of_a_running_server_answers_a_real_claude_code_session() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let home = &scene.home;
    let feed = Agent::idle(&scene, Client::Opencode, "Stock Feed");
    let mut command = home.command(clients.opencode(), &scene.cwd);
    command.args(["serve", "--hostname", "127.0.0.1", "--port", "0"]);
    let server = Running::start(&mut command).expect("a server");
    let listens = || server.output().contains("listening").then_some(());
    poll(PATIENT, listens).expect("it listens");
    scene.discover();

    let review = Agent::asking(&scene, Client::Claude, "Design Review", &feed, "seven");
    let served = (Client::Opencode, feed.session.as_str());
    let id = answered(&scene, &review, served, "seven", "HTTP");
    feed.has_read(&scene, &id, &review);
    review.has(&scene, "seven");
}
