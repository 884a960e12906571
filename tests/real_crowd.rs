//! Several real sessions of different clients that talk at once or in a ring over AxiOwl's
//! server: a ring is stopped where it would close, and of what goes on at once nothing is lost,
//! doubled or taken for another's. Only the model is simulated.

mod installed;
mod owl;
mod program;

use axiowl_test_support::{Clients, or_skip, poll};
use installed::scene::{Scene, header, holds, question, texts};
use installed::{callers, claude, codex, opencode, turn};
use owl::axiowl;
use serde_json::json;
use std::time::Duration;

/// How long what the whole ring leads to may take.
const PATIENT: Duration = Duration::from_secs(360);

#[test]
fn a_loop_of_three_real_agents_is_stopped_where_it_would_close() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let feed = opencode(&scene.home, "Stock Feed", "Watch the stock", &scene.cwd);
    let keeper = scene
        .home
        .codex_exec_session("Keep the shop", &scene.cwd)
        .expect("a thread");
    scene
        .home
        .codex_name_thread(&keeper, "Shop Keeper")
        .expect("a name");
    scene.discover();
    // Review asks the feed, the feed asks the keeper, and the keeper asks the review.
    let third = json!({ "to": "Design Review", "body": "and you?" });
    let third = format!("Ask on\n@@tool mcp__axiowl__axiowl_send_message {third}");
    let second = json!({ "to": "Shop Keeper", "body": third, "wait": "turn" });
    let second = format!("Ask on\n@@tool axiowl_axiowl_send_message {second}");
    let first = json!({ "to": "Stock Feed", "body": second, "wait": "turn" });
    let prompt = format!("@@tool mcp__axiowl__axiowl_send_message {first}");
    let review = claude(&scene.home, "Design Review", &prompt, &scene.cwd);
    // Each waits for the next one's turn; on a busy machine it may have stopped waiting.
    let stopped = poll(PATIENT, || {
        let rejected = !callers(&scene.home, "rejected").is_empty();
        let told = texts(&scene.home.codex_records(&keeper));
        (rejected && holds(&told, "in a circle")).then_some(())
    });
    assert!(stopped.is_some(), "nothing stopped the ring");
    scene.called(&[&review, &feed, &keeper]);
    scene.message("Design Review", "Stock Feed");
    scene.message("Stock Feed", "Shop Keeper");
    let listed = axiowl(&scene.home, &["list", "messages", "--json"]).lines("message");
    assert_eq!(listed.len(), 2, "the third was accepted: {listed:?}");
    // Whoever would have closed it is told, with what to do instead; and so is the operator.
    let told = texts(&scene.home.codex_records(&keeper));
    assert!(
        holds(&told, "in a circle") && holds(&told, "reply_to) instead"),
        "{told:?}"
    );
    let refused = callers(&scene.home, "rejected");
    let codes: Vec<_> = refused.iter().map(|line| &line["code"]).collect();
    assert_eq!(codes, ["hop_circle"], "{refused:?}");
    let way = refused[0]["reason"].as_str().expect("a reason");
    assert!(
        way.contains("Design Review > Stock Feed > Shop Keeper"),
        "{way}"
    );
}

/// The clients that sessions here are made by.
#[derive(Clone, Copy)]
enum Client {
    Claude,
    Codex,
    Copilot,
    Opencode,
}

/// A session with a name of its own.
struct Agent {
    client: Client,
    name: String,
    session: String,
}

impl Agent {
    /// A session that has had its first turn and is idle.
    fn idle(scene: &Scene, client: Client, name: &str) -> Self {
        let (home, cwd) = (&scene.home, &scene.cwd);
        let session = match client {
            Client::Claude => home.claude_session(name, "Hello", cwd),
            Client::Copilot => home.copilot_session(name, "Hello", cwd),
            Client::Opencode => home.opencode_session(name, "Hello", cwd),
            Client::Codex => home.codex_exec_session("Hello", cwd).and_then(|thread| {
                home.codex_name_thread(&thread, name)?;
                Ok(thread)
            }),
        };
        Self {
            client,
            name: name.to_owned(),
            session: session.expect("a session"),
        }
    }

    fn provider(&self) -> &'static str {
        match self.client {
            Client::Claude => "claude_code_cli",
            Client::Codex => "codex_cli",
            Client::Copilot => "copilot_cli",
            Client::Opencode => "opencode_cli",
        }
    }

    /// Its own transcript.
    fn texts(&self, scene: &Scene) -> Vec<String> {
        match self.client {
            Client::Claude => texts(&scene.home.claude_records(&self.session)),
            Client::Codex => texts(&scene.home.codex_records(&self.session)),
            Client::Copilot => texts(&scene.home.copilot_records(&self.session)),
            Client::Opencode => scene.opencode_texts(&self.session),
        }
    }

    /// How its model calls our tool.
    fn tool(&self) -> &'static str {
        match self.client {
            Client::Claude | Client::Codex => "mcp__axiowl__axiowl_send_message",
            Client::Copilot => "axiowl-axiowl_send_message",
            Client::Opencode => "axiowl_axiowl_send_message",
        }
    }

    /// Asks another one, in a turn of its own, and waits for the answer.
    fn ask(&self, scene: &Scene, other: &Self) {
        let answer = format!("{} is done", other.name);
        let body = question(other.tool(), &self.name, &answer);
        let ask = json!({ "to": other.name, "body": body, "wait": "reply" });
        let tool = match self.client {
            Client::Codex => "axiowl_send_message",
            _ => self.tool(),
        };
        let prompt = format!("@@tool {tool} {ask}");
        let session = self.session.as_str();
        let resume = format!("--resume={session}");
        let arguments: Vec<&str> = match self.client {
            Client::Codex => return codex(&scene.home, session, &prompt, &scene.cwd),
            Client::Claude => vec!["-p", &resume, "--allowedTools", "mcp__axiowl"],
            Client::Copilot => vec![&resume, "--allow-tool=axiowl", "--no-auto-update"],
            Client::Opencode => vec!["run", "--session", session],
        };
        let clients = scene.home.clients();
        let program = match self.client {
            Client::Claude => clients.claude(),
            Client::Codex => clients.codex(),
            Client::Copilot => clients.copilot(),
            Client::Opencode => clients.opencode(),
        };
        turn(&scene.home, program, &arguments, &scene.cwd, &prompt);
    }
}

/// Half of some sessions ask the other half, all at once, and each gets the answer to its own
/// question.
fn all_at_once(clients: &Clients, pairs: &[(Client, Client)]) {
    let scene = Scene::new(clients);
    let agents: Vec<(Agent, Agent)> = pairs
        .iter()
        .enumerate()
        .map(|(number, (asker, other))| {
            (
                Agent::idle(&scene, *asker, &format!("Asker {number}")),
                Agent::idle(&scene, *other, &format!("Helper {number}")),
            )
        })
        .collect();
    scene.discover();
    std::thread::scope(|scope| {
        for (asker, other) in &agents {
            scope.spawn(|| asker.ask(&scene, other));
        }
    });
    for (asker, other) in &agents {
        let answer = format!("{} is done", other.name);
        scene.answered(&asker.name, &other.name, &answer);
    }
    // Nothing but the questions and the answers: each message once.
    let listed = axiowl(&scene.home, &["list", "messages", "--json"]).lines("message");
    assert_eq!(listed.len(), 2 * agents.len(), "{listed:?}");
    for (asker, other) in &agents {
        let got = asker.texts(&scene);
        let results = |name: &str| holds(&got, &format!("{name} is done"));
        assert!(results(&other.name), "{} got no answer", asker.name);
        for (_, another) in agents
            .iter()
            .filter(|(_, another)| another.name != other.name)
        {
            assert!(!results(&another.name), "{} got another's", asker.name);
        }
        let id = scene.message(&asker.name, &other.name)["message_id"].to_string();
        let id = id.trim_matches('"');
        let read = other.texts(&scene);
        let asked = header(id, &asker.name, asker.provider());
        assert!(holds(&read, &asked), "{} was never asked", other.name);
        let of_others = read
            .iter()
            .filter(|text| text.contains("answer with axiowl_send_message, reply_to="));
        for text in of_others {
            assert!(text.contains(id), "{} read another's: {text}", other.name);
        }
    }
    let sessions: Vec<&str> = agents
        .iter()
        .flat_map(|(asker, other)| [asker.session.as_str(), other.session.as_str()])
        .collect();
    scene.called(&sessions);
}

#[test]
fn four_real_agents_talk_at_once() {
    let clients = or_skip!(Clients::ensure());
    let pairs = [
        (Client::Claude, Client::Codex),
        (Client::Codex, Client::Claude),
    ];
    all_at_once(&clients, &pairs);
}

#[test]
#[ignore = "eight real clients at once take minutes"]
fn eight_real_agents_talk_at_once() {
    let clients = or_skip!(Clients::ensure());
    let pairs = [
        (Client::Claude, Client::Opencode),
        (Client::Codex, Client::Copilot),
        (Client::Copilot, Client::Claude),
        (Client::Opencode, Client::Codex),
    ];
    all_at_once(&clients, &pairs);
}
