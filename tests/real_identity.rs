//! Real Claude Code and Codex sessions that call AxiOwl's MCP server themselves: what each client
//! sends proves who is calling, sub-agents are told apart, and an answer settles the message it
//! answers. Only the model is simulated.

mod installed;
mod owl;
mod program;

use axiowl_test_support::{ClientHome, Clients, MockModel, or_skip};
use installed::{callers, claude, codex, install};
use owl::axiowl;
use serde_json::json;

#[test]
fn each_real_client_proves_its_own_session_and_its_metadata_survives_its_lifecycle() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    install(&home);
    let cwd = home.project("webshop").expect("a folder");
    let session = claude(
        &home,
        "Design Review",
        "@@tool mcp__axiowl__axiowl_whoami {}",
        &cwd,
    );
    let thread = home
        .codex_exec_session("@@tool axiowl_whoami {}", &cwd)
        .expect("a thread");
    let proven = callers(&home, "caller_proven");
    assert!(
        callers(&home, "caller_refused").is_empty(),
        "{:?}",
        callers(&home, "caller_refused")
    );
    let of = |client: &str| {
        let line = proven.iter().find(|line| line["client"] == client);
        line.unwrap_or_else(|| panic!("{client} never called: {proven:?}"))
            .clone()
    };
    let claude = of("claude-code");
    let expected = format!("claude_code_cli:local:claude_code_cli:session:{session}");
    assert_eq!(
        (&claude["agent_id"], &claude["class"]),
        (&json!(expected), &json!("transcript_call"))
    );
    let codex = of("codex-mcp-client");
    assert_eq!(codex["agent_id"], format!("codex_cli:local:{thread}"));
    assert_eq!(codex["proof"], "host_meta, confirmed by codex_turn");
}

#[test]
fn a_real_sub_agent_of_claude_code_speaks_as_itself_for_its_session() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    install(&home);
    let cwd = home.project("webshop").expect("a folder");
    let task = json!({ "description": "look", "subagent_type": "general-purpose", "run_in_background": false,
        "prompt": "@@tool mcp__axiowl__axiowl_whoami {}" });
    let session = claude(&home, "Boss", &format!("@@tool Agent {task}"), &cwd);
    let proven = callers(&home, "caller_proven");
    let line = proven
        .first()
        .unwrap_or_else(|| panic!("{:?}", callers(&home, "caller_refused")));
    assert_eq!(
        line["agent_id"],
        format!("claude_code_cli:local:claude_code_cli:session:{session}")
    );
    let own = line["subagent"].as_str().expect("a sub-agent");
    let transcript = home.claude_transcript(&session).expect("a transcript");
    let file = transcript
        .with_extension("")
        .join(format!("subagents/agent-{own}.jsonl"));
    assert!(file.is_file(), "{} is not there", file.display());
}

#[test]
fn a_real_gemini_session_is_known_by_the_hook_that_its_program_runs() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    let installed = axiowl(&home, &["install", "gemini_cli", "--yes"]);
    assert_eq!(installed.code, 0, "{installed}");
    let cwd = home.project("webshop").expect("a folder");
    let session = home
        .gemini_session("@@tool mcp_axiowl_axiowl_whoami {}", &cwd)
        .expect("a session");
    let proven = callers(&home, "caller_proven");
    let refused = callers(&home, "caller_refused");
    let [line] = &proven[..] else {
        panic!("{proven:?} {refused:?}");
    };
    assert_eq!(
        (&line["agent_id"], &line["class"]),
        (
            &json!(format!("gemini_cli:local:gemini_cli:session:{session}")),
            &json!("hook_marker")
        )
    );
}

/// Shows: claude_code_cli reply.
#[test]
fn a_real_codex_turn_asks_a_real_claude_code_session_and_gets_its_answer() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    install(&home);
    let cwd = home.project("webshop").expect("a folder");
    let review = home
        .claude_session("Design Review", "Review the checkout design", &cwd)
        .expect("a session");
    let thread = home
        .codex_exec_session("Keep the shop", &cwd)
        .expect("a thread");
    home.codex_name_thread(&thread, "Shop Keeper")
        .expect("a name");
    let found = axiowl(&home, &["discover", "all"]);
    assert_eq!(found.code, 0, "{found}");

    let answer = json!({ "to": "Shop Keeper", "body": "the checkout is done" });
    let question = format!("Is it done?\n@@tool mcp__axiowl__axiowl_send_message {answer}");
    let ask = json!({ "to": "Design Review", "body": question, "wait": "reply" });
    let prompt = format!("@@tool axiowl_send_message {ask}");
    codex(&home, &thread, &prompt, &cwd);

    let listed = axiowl(&home, &["list", "messages", "--json"]).lines("message");
    let one = |from: &str| {
        let line = listed.iter().find(|line| line["from"] == from);
        line.unwrap_or_else(|| panic!("nothing from {from}: {listed:?}"))
            .clone()
    };
    let (asked, replied) = (one("Shop Keeper"), one("Design Review"));
    let id = asked["message_id"].as_str().expect("an id");
    assert_eq!(replied["reply_to"], id, "{listed:?}");
    let status = axiowl(&home, &["message", id, "--json"]);
    let stages = status.lines("stage");
    let has = |stage: &str| stages.iter().any(|line| line["stage"] == stage);
    assert!(has("seen") && has("replied"), "{status}");
    let reply = &status.lines("reply")[0];
    assert_eq!(
        (&reply["from"], &reply["proof"], &reply["body"]),
        (
            &json!("Design Review"),
            &json!("proven"),
            &json!("the checkout is done")
        )
    );
    // The right sender and the right text in both transcripts.
    let header = format!("[AxiOwl {id}] from \"Shop Keeper\" (codex_cli, proven)");
    let in_claude = home.claude_records(&review);
    assert!(
        in_claude.iter().any(|record| record["message"]["content"]
            .to_string()
            .contains(&header.replace('"', "\\\""))),
        "{in_claude:?}"
    );
    let in_codex = home.codex_records(&thread);
    let got = in_codex
        .iter()
        .find(|record| record["payload"]["type"] == "function_call_output");
    let got = got
        .unwrap_or_else(|| panic!("no result: {in_codex:?}"))
        .to_string();
    assert!(
        got.contains("the checkout is done") && got.contains("Design Review"),
        "{got}"
    );
    // Whoever asked is who its provider says: the model was never asked for it.
    let callers = callers(&home, "caller_proven");
    let called = |session: &str| {
        let ids = callers
            .iter()
            .filter_map(|caller| caller["agent_id"].as_str());
        ids.filter(|id| id.ends_with(session)).count()
    };
    assert!(called(&thread) > 0 && called(&review) > 0, "{callers:?}");
    assert_eq!(
        called(&thread) + called(&review),
        callers.len(),
        "{callers:?}"
    );
}
