//! Real sessions of different clients that ask and answer each other over AxiOwl's server, each
//! in a turn of its own: the answer comes from the session that was asked, is known as the
//! answer, and stands with the right sender in the transcripts of both. Only the model is
//! simulated.

mod installed;
mod owl;
mod program;

use axiowl_test_support::{Clients, or_skip};
use installed::scene::{Scene, header, holds, question, texts};
use installed::{callers, claude, codex, copilot, opencode};
use owl::axiowl;
use serde_json::json;

/// Shows: opencode_cli reply.
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

/// Shows: codex_cli reply.
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

/// Shows: codex_cli reply, copilot_cli reply.
#[test]
fn a_real_copilot_turn_asks_a_real_codex_thread_and_is_asked_by_it_and_both_get_their_answer() {
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
    let tool = "mcp__axiowl__axiowl_send_message";
    let body = question(tool, "Fix Tests", "the shop is open");
    let ask = json!({ "to": "Shop Keeper", "body": body, "wait": "reply" });
    let prompt = format!("@@tool axiowl-axiowl_send_message {ask}");
    let fixer = copilot(&scene.home, "Fix Tests", &prompt, &scene.cwd);
    let id = scene.answered("Fix Tests", "Shop Keeper", "the shop is open");
    scene.called(&[&fixer, &keeper]);
    let in_keeper = texts(&scene.home.codex_records(&keeper));
    let from = header(&id, "Fix Tests", "copilot_cli");
    assert!(holds(&in_keeper, &from), "{in_keeper:?}");
    let in_fixer = texts(&scene.home.copilot_records(&fixer));
    assert!(holds(&in_fixer, "the shop is open"), "{in_fixer:?}");

    // The other way round: the session that asked is idle now, and answers.
    scene.discover();
    let body = question(
        "axiowl-axiowl_send_message",
        "Shop Keeper",
        "they are green",
    );
    let ask = json!({ "to": fixer, "body": body, "wait": "reply" });
    codex(
        &scene.home,
        &keeper,
        &format!("@@tool axiowl_send_message {ask}"),
        &scene.cwd,
    );
    let listed = axiowl(&scene.home, &["list", "messages", "--json"]).lines("message");
    let asked = listed
        .iter()
        .find(|line| line["from"] == "Shop Keeper" && line["reply_to"].is_null());
    let id = asked.and_then(|line| line["message_id"].as_str());
    let id = id.unwrap_or_else(|| panic!("nothing was asked: {listed:?}"));
    let status = axiowl(&scene.home, &["message", id, "--json"]);
    let replies = status.lines("reply");
    assert_eq!(replies.len(), 1, "{status}");
    assert_eq!(
        (
            &replies[0]["from"],
            &replies[0]["proof"],
            &replies[0]["body"]
        ),
        (
            &json!("Fix Tests"),
            &json!("proven"),
            &json!("they are green")
        )
    );
    scene.called(&[&fixer, &keeper]);
    let in_fixer = texts(&scene.home.copilot_records(&fixer));
    let from = header(id, "Shop Keeper", "codex_cli");
    assert!(holds(&in_fixer, &from), "{in_fixer:?}");
    let in_keeper = texts(&scene.home.codex_records(&keeper));
    assert!(holds(&in_keeper, "they are green"), "{in_keeper:?}");
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
    let keeper = scene
        .home
        .codex_exec_session("Keep the shop", &scene.cwd)
        .expect("a thread");
    scene
        .home
        .codex_name_thread(&keeper, "Shop Keeper")
        .expect("a name");
    scene.discover();
    let tool = "mcp__axiowl__axiowl_send_message";
    let body = question(tool, "Fix Tests", "the shop is open");
    let ask = json!({ "to": "Shop Keeper", "body": body, "wait": "reply" });
    let prompt = format!("@@tool axiowl-axiowl_send_message {ask}");
    let fixer = copilot(&scene.home, "Fix Tests", &prompt, &scene.cwd);
    scene.answered("Fix Tests", "Shop Keeper", "the shop is open");
    scene.called(&[&fixer, &keeper]);
    let back = scene.message("Shop Keeper", "Fix Tests");
    assert_eq!(back["stage"], "refused", "{back}");
    // Whoever answered knows where the answer is, and whoever asked has it.
    let told = texts(&scene.home.codex_records(&keeper));
    assert!(holds(&told, "kept in the inbox of Fix Tests"), "{told:?}");
    let in_fixer = texts(&scene.home.copilot_records(&fixer));
    assert!(holds(&in_fixer, "the shop is open"), "{in_fixer:?}");
}
