//! Real Claude Code and Codex sessions that call AxiOwl's MCP server themselves: what each client
//! sends proves who is calling, sub-agents are told apart, and an answer settles the message it
//! answers. Only the model is simulated.

mod owl;
mod program;

use axiowl_test_support::{ClientHome, Clients, MockModel, or_skip};
use owl::axiowl;
use serde_json::{Value, json};
use std::path::Path;

const AXIOWL: &str = env!("CARGO_BIN_EXE_axiowl");

/// AxiOwl's server in both clients' own configuration, and the variables a resumed client needs.
fn install(home: &ClientHome) {
    // A server gets little of its host's environment, so what a resumed client needs is in a file.
    home.write(
        ".config/axiowl/config.yaml",
        "providers:\n  claude_code_cli:\n    env_file: ~/claude.env\n",
    )
    .expect("config");
    let variables: String = home
        .env()
        .iter()
        .filter(|(name, _)| !["HOME", "PATH"].contains(&name.as_str()))
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect();
    home.write("claude.env", &variables).expect("variables");
    let path = home.path().join(".claude.json");
    let text = std::fs::read_to_string(&path).expect("claude's configuration");
    let mut claude: Value = serde_json::from_str(&text).expect("JSON");
    claude["mcpServers"] = json!({ "axiowl": { "type": "stdio", "command": AXIOWL, "args": ["mcp"], "alwaysLoad": true } });
    std::fs::write(&path, claude.to_string()).expect("claude's configuration");
    let path = home.path().join(".codex/config.toml");
    let text = std::fs::read_to_string(&path).expect("codex's configuration");
    let server = format!(
        "\n[mcp_servers.axiowl]\ncommand = {AXIOWL:?}\nargs = [\"mcp\"]\ntool_timeout_sec = 120\nstartup_timeout_sec = 60\n"
    );
    std::fs::write(&path, text + server.as_str()).expect("codex's configuration");
}

/// The evidence log's lines about callers.
fn callers(home: &ClientHome, event: &str) -> Vec<Value> {
    let log = home.path().join(".axiowl/evidence.log");
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["event"] == event).collect()
}

/// A headless turn of Claude Code, with our tools allowed.
fn claude(home: &ClientHome, name: &str, prompt: &str, cwd: &Path) -> String {
    let arguments = [
        "-p",
        "--name",
        name,
        "--output-format",
        "json",
        "--allowedTools",
        "mcp__axiowl",
        "Agent",
    ];
    let run = home.run(home.clients().claude(), &arguments, cwd, prompt);
    let run = run.and_then(|finished| finished.success()).expect("a turn");
    let answer = run.json_lines();
    let session = answer.iter().find_map(|line| line["session_id"].as_str());
    session.expect("a session").to_owned()
}

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
    let arguments = [
        "exec",
        "--json",
        "--skip-git-repo-check",
        "resume",
        &thread,
        "-",
    ];
    let prompt = format!("@@tool axiowl_send_message {ask}");
    let run = home.run(clients.codex(), &arguments, &cwd, &prompt);
    let run = run.and_then(|finished| finished.success()).expect("a turn");

    let listed = axiowl(&home, &["list", "messages", "--json"]).lines("message");
    let one = |from: &str| {
        let line = listed.iter().find(|line| line["from"] == from);
        line.unwrap_or_else(|| panic!("nothing from {from}: {listed:?}\n{}", run.output()))
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
