//! Real sessions of different clients that ask and answer each other over AxiOwl's server, each
//! in a turn of its own: the answer comes from the session that was asked, is known as the
//! answer, and stands with the right sender in the transcripts of both. Only the model is
//! simulated.

mod installed;
mod owl;
mod program;

use axiowl_test_support::{Clients, or_skip};
use installed::agent::{Agent, Client};
use installed::callers;
use installed::scene::{Scene, holds, question};
use owl::axiowl;
use serde_json::json;

/// Shows: opencode_cli reply.
#[test]
fn a_real_claude_code_turn_asks_a_real_opencode_session_and_gets_its_answer() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let feed = Agent::idle(&scene, Client::Opencode, "Stock Feed");
    scene.discover();
    let answer = "there are 7 left";
    let review = Agent::asking(&scene, Client::Claude, "Design Review", &feed, answer);
    let id = scene.answered(&review, &feed, answer);
    scene.called(&[&review, &feed]);
    feed.has_read(&scene, &id, &review);
    let in_review = review.texts(&scene);
    let result: Vec<_> = in_review
        .iter()
        .filter(|text| text.contains("tool_result"))
        .cloned()
        .collect();
    assert!(
        holds(&result, answer) && holds(&result, "Stock Feed"),
        "{in_review:?}"
    );
}

/// Shows: codex_cli reply.
#[test]
fn a_real_sub_agent_asks_a_real_codex_thread_as_itself_and_its_session_is_answered() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let keeper = Agent::idle(&scene, Client::Codex, "Shop Keeper");
    scene.discover();
    let ask = Client::Claude.asks(&keeper.name, keeper.client, "Boss", "it is open");
    let task = json!({ "description": "look", "subagent_type": "general-purpose",
        "run_in_background": false, "prompt": ask });
    let prompt = format!("@@tool Agent {task}");
    let boss = Agent::beginning(&scene, Client::Claude, "Boss", &prompt);
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
    let reply = &status.lines("reply")[0];
    assert_eq!(
        (&reply["body"], &reply["provider"]),
        (&json!("it is open"), &json!("codex_cli")),
        "{status}"
    );
    // The answer is addressed to the session the sub-agent works for.
    let back = listed.iter().find(|line| line["from"] == "Shop Keeper");
    let back = back.unwrap_or_else(|| panic!("nothing came back: {listed:?}"));
    assert_eq!(back["reply_to"], id);
    let to = back["agent_id"].as_str();
    assert!(to.is_some_and(|id| id.ends_with(&boss.session)), "{back}");
}

#[test]
fn of_two_real_sessions_of_one_name_one_is_asked_and_the_other_named() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let session = || Agent::idle(&scene, Client::Claude, "Design Review");
    let (older, newer) = (session(), session());
    scene.discover();
    let keeper = Agent::asking(&scene, Client::Codex, "Shop Keeper", &newer, "done");
    let asked = scene.message("Shop Keeper", "Design Review");
    let target = asked["agent_id"].as_str().expect("an id");
    assert!(target.ends_with(&newer.session), "{asked}");
    scene.called(&[&keeper, &newer]);
    // Whoever asked was told that there is another one.
    keeper.has(&scene, "also_matching");
    keeper.has(&scene, &older.session);
    let id = asked["message_id"].as_str().expect("an id");
    assert!(!holds(&older.texts(&scene), id), "the older one was asked");
}

/// Shows: codex_cli reply, copilot_cli reply.
#[test]
fn a_real_copilot_turn_asks_a_real_codex_thread_and_is_asked_by_it_and_both_get_their_answer() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let keeper = Agent::idle(&scene, Client::Codex, "Shop Keeper");
    scene.discover();
    let answer = "the shop is open";
    let fixer = Agent::asking(&scene, Client::Copilot, "Fix Tests", &keeper, answer);
    let id = scene.answered(&fixer, &keeper, answer);
    scene.called(&[&fixer, &keeper]);
    keeper.has_read(&scene, &id, &fixer);
    fixer.has(&scene, answer);

    // The other way round: the session that asked is idle now, and answers another thread.
    let till = Agent::idle(&scene, Client::Codex, "Till");
    scene.discover();
    let body = question(fixer.client.tool(), &till.name, "they are green");
    till.turn(&scene, &till.client.sends(&fixer.session, &body, "reply"));
    let id = scene.answered(&till, &fixer, "they are green");
    scene.called(&[&fixer, &keeper, &till]);
    fixer.has_read(&scene, &id, &till);
    till.has(&scene, "they are green");
}

/// None of these answers names its question. Codex carries the question's id into the call that
/// answers it; the other clients carry nothing, and the turn that the question began tells.
#[test]
fn an_answer_that_names_no_question_is_known_by_what_its_client_carries_or_by_its_turn() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let keeper = Agent::idle(&scene, Client::Codex, "Shop Keeper");
    scene.discover();
    let review = Agent::asking(&scene, Client::Claude, "Design Review", &keeper, "open");
    let asked = scene.answered(&review, &keeper, "open");
    let carried = callers(&scene.home, "turn_carried");
    let [by_metadata] = &carried[..] else {
        panic!("not one answer carried its question: {carried:?}");
    };
    assert_eq!(
        (&by_metadata["message"], &by_metadata["fits"]),
        (&json!(asked), &json!(true)),
        "{by_metadata}"
    );
    let answer = scene.message("Shop Keeper", "Design Review");
    assert_eq!(by_metadata["message_id"], answer["message_id"]);

    // Review is idle now, and a session of a third client is the next to be asked.
    let feed = Agent::idle(&scene, Client::Opencode, "Stock Feed");
    scene.discover();
    let till = Agent::asking(&scene, Client::Codex, "Till", &review, "read twice");
    scene.answered(&till, &review, "read twice");
    review.ask(&scene, &feed, "7 left");
    scene.answered(&review, &feed, "7 left");
    // Neither of the two carried anything, and a turn of Codex that no message began does not.
    assert_eq!(callers(&scene.home, "turn_carried").len(), 1);
    scene.called(&[&keeper, &review, &till, &feed]);
}

#[test]
fn an_answer_of_a_real_codex_thread_to_a_copilot_session_it_sees_no_way_to_is_kept_for_it() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    // Whatever Codex starts does not see Copilot's login, so it finds no way to its sessions.
    let path = scene.home.path().join(".codex/config.toml");
    let text = std::fs::read_to_string(&path).expect("codex's configuration");
    let (seeing_nothing, _) = text
        .split_once("[mcp_servers.axiowl.env]")
        .expect("variables");
    std::fs::write(&path, seeing_nothing).expect("codex's configuration");
    let keeper = Agent::idle(&scene, Client::Codex, "Shop Keeper");
    scene.discover();
    let answer = "the shop is open";
    let fixer = Agent::asking(&scene, Client::Copilot, "Fix Tests", &keeper, answer);
    scene.answered(&fixer, &keeper, answer);
    scene.called(&[&fixer, &keeper]);
    let back = scene.message("Shop Keeper", "Fix Tests");
    assert_eq!(back["stage"], "refused", "{back}");
    // Whoever answered knows where the answer is, and whoever asked has it.
    keeper.has(&scene, "kept in the inbox of Fix Tests");
    fixer.has(&scene, answer);
}
