//! Several real sessions of different clients that talk at once or in a ring over AxiOwl's
//! server: a ring is stopped where it would close, and of what goes on at once nothing is lost,
//! doubled or taken for another's. Only the model is simulated.

mod installed;
mod owl;
mod program;

use axiowl_test_support::{Clients, or_skip, poll};
use installed::agent::{Agent, Client};
use installed::callers;
use installed::scene::{Scene, holds};
use owl::axiowl;
use serde_json::json;
use std::time::Duration;

/// How long what the whole ring leads to may take.
const PATIENT: Duration = Duration::from_secs(360);

#[test]
fn a_loop_of_three_real_agents_is_stopped_where_it_would_close() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let feed = Agent::idle(&scene, Client::Opencode, "Stock Feed");
    let keeper = Agent::idle(&scene, Client::Codex, "Shop Keeper");
    scene.discover();
    // Review asks the feed, the feed asks the keeper, and the keeper asks the review.
    let third = json!({ "to": "Design Review", "body": "and you?" });
    let third = format!("Ask on\n@@tool {} {third}", Client::Codex.tool());
    let second = Client::Opencode.sends(&keeper.name, &third, "turn");
    let first = Client::Claude.sends(&feed.name, &format!("Ask on\n{second}"), "turn");
    let review = Agent::beginning(&scene, Client::Claude, "Design Review", &first);
    // Each waits for the next one's turn; on a busy machine it may have stopped waiting.
    let stopped = poll(PATIENT, || {
        let rejected = !callers(&scene.home, "rejected").is_empty();
        let told = keeper.texts(&scene);
        (rejected && holds(&told, "in a circle")).then_some(())
    });
    assert!(stopped.is_some(), "nothing stopped the ring");
    scene.called(&[&review, &feed, &keeper]);
    scene.message("Design Review", "Stock Feed");
    scene.message("Stock Feed", "Shop Keeper");
    let listed = axiowl(&scene.home, &["list", "messages", "--json"]).lines("message");
    assert_eq!(listed.len(), 2, "the third was accepted: {listed:?}");
    // Whoever would have closed it is told, with what to do instead; and so is the operator.
    let told = keeper.texts(&scene);
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
    let scene = &scene;
    std::thread::scope(|scope| {
        for (asker, other) in &agents {
            let answer = format!("{} is done", other.name);
            scope.spawn(move || asker.ask(scene, other, &answer));
        }
    });
    // Nothing but the questions and the answers: each message once.
    let listed = axiowl(&scene.home, &["list", "messages", "--json"]).lines("message");
    assert_eq!(listed.len(), 2 * agents.len(), "{listed:?}");
    for (asker, other) in &agents {
        let answer = format!("{} is done", other.name);
        let id = scene.answered(asker, other, &answer);
        let got = asker.texts(scene);
        let results = |name: &str| holds(&got, &format!("{name} is done"));
        assert!(results(&other.name), "{} got no answer", asker.name);
        let others = agents.iter().map(|(_, another)| &another.name);
        for another in others.filter(|another| **another != other.name) {
            assert!(!results(another), "{} got another's", asker.name);
        }
        other.has_read(scene, &id, asker);
        let read = other.texts(scene);
        let of_others = read
            .iter()
            .filter(|text| text.contains("answer with axiowl_send_message, reply_to="));
        for text in of_others {
            assert!(text.contains(&id), "{} read another's: {text}", other.name);
        }
    }
    let all = agents.iter().flat_map(|(asker, other)| [asker, other]);
    scene.called(&all.collect::<Vec<_>>());
}

#[test]
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
