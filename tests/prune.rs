//! What an ordinary run of the two VS Code scopes removes from the routing table, and what it
//! never does. The numbers are the conformance statements a test covers.

mod program;

use program::{Axiowl, Run};
use serde_json::Value;

const CHATS: &str = ".config/Code/User/workspaceStorage/w1/chatSessions";

fn chat(number: u32) -> String {
    format!("e{number:07}-0000-4000-8000-000000000004")
}

fn write_chat(axiowl: &Axiowl, number: u32, title: &str) {
    let id = chat(number);
    let text = format!(
        "{{\"kind\":0,\"v\":{{\"version\":3,\"sessionId\":\"{id}\",\"customTitle\":\"{title}\",\
         \"requests\":[{{\"requestId\":\"request_1\",\"timestamp\":1796046755016,\"message\":{{\"text\":\"hello\"}}}}]}}}}\n"
    );
    axiowl.write(&format!("home/{CHATS}/{id}.jsonl"), text);
}

fn write_copilot(axiowl: &Axiowl, id: &str, client: &str) {
    let folder = format!("home/.copilot/session-state/{id}");
    let yaml =
        format!("id: {id}\nclient_name: {client}\nname: Made by {client}\nuser_named: true\n");
    axiowl.write(&format!("{folder}/workspace.yaml"), yaml);
    let events = "{\"type\":\"session.start\",\"data\":{},\"timestamp\":\"2026-11-30T13:30:51.200Z\"}\n\
                  {\"type\":\"user.message\",\"data\":{\"content\":\"hello\"},\"timestamp\":\"2026-11-30T13:30:52.200Z\"}\n";
    axiowl.write(&format!("{folder}/events.jsonl"), events);
}

fn remove(axiowl: &Axiowl, relative: &str) {
    let path = axiowl.path(&format!("home/{relative}"));
    if path.is_dir() {
        std::fs::remove_dir_all(path).expect("folder");
    } else {
        std::fs::remove_file(path).expect("file");
    }
}

fn discover(axiowl: &Axiowl, arguments: &[&str]) -> Run {
    let run = axiowl.run(&[&["discover"], arguments, &["--json"]].concat());
    assert_eq!(run.code, 0, "{run}");
    run
}

fn summary(run: &Run) -> Value {
    run.lines("discovery_summary").remove(0)
}

/// The session ids in the routing table, with whether each can be sent to.
fn table(axiowl: &Axiowl) -> Vec<(String, bool)> {
    let run = axiowl.run(&["list", "agents", "--all", "--json"]);
    assert_eq!(run.code, 0, "{run}");
    let mut out: Vec<(String, bool)> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .map(|row| {
            let session = row["provider_session_id"].as_str().unwrap_or_default();
            let node = row["node_id"].as_str().unwrap_or_default();
            (format!("{node} {session}"), row["sendable"] == true)
        })
        .collect();
    out.sort();
    out
}

fn native(node: &str, number: u32) -> String {
    format!("{node} vscode_native:session:{}", chat(number))
}

/// A table row as a person or an earlier run left it.
fn registry_row(provider: &str, node: &str, session: &str, source: &str) -> String {
    let time = "2026-11-28T10:00:00.000Z";
    format!(
        "{provider}:{node}:{session}\tEarlier\t[]\t{provider}\t{session}\t{node}\ttrue\ttrue\t{source}\t{source}\t\t\t{time}\t{time}\t{time}\t\n"
    )
}

const HEADER: &str = "agent_id\tdisplay_name\taliases\tprovider\tprovider_session_id\tnode_id\tenabled\tsendable\tsource\tproof\thome\tcwd\tfirst_seen_at\tlast_seen_at\tlast_verified_at\tlast_error\n";

#[test]
fn an_ordinary_vs_code_run_prunes_chats_that_are_gone_and_a_targeted_one_does_not() {
    // C136, C137
    let axiowl = Axiowl::new();
    write_chat(&axiowl, 1, "Stays");
    write_chat(&axiowl, 2, "Goes");
    discover(&axiowl, &["vscode-native"]);
    let both = [(native("local", 1), true), (native("local", 2), true)];
    assert_eq!(table(&axiowl), both);

    remove(&axiowl, &format!("{CHATS}/{}.jsonl", chat(2)));
    let targeted = discover(&axiowl, &["vscode-native", "--target", "Stays"]);
    assert_eq!(summary(&targeted)["pruned"], 0);
    assert_eq!(table(&axiowl), both);

    let whole = discover(&axiowl, &["vscode-native"]);
    assert_eq!(summary(&whole)["pruned"], 1, "{whole}");
    assert_eq!(table(&axiowl), both[..1]);
}

#[test]
fn a_chat_that_no_longer_proves_itself_is_no_target_any_more() {
    // C138
    let axiowl = Axiowl::new();
    write_chat(&axiowl, 1, "Proven");
    write_chat(&axiowl, 2, "Emptied");
    discover(&axiowl, &["vscode-native"]);
    let emptied = format!(
        "{{\"kind\":0,\"v\":{{\"version\":3,\"sessionId\":\"{}\",\"requests\":[]}}}}\n",
        chat(2)
    );
    axiowl.write(&format!("home/{CHATS}/{}.jsonl", chat(2)), emptied);
    discover(&axiowl, &["vscode-native"]);
    let sendable: Vec<_> = table(&axiowl)
        .into_iter()
        .filter(|(_, sendable)| *sendable)
        .collect();
    assert_eq!(sendable, [(native("local", 1), true)]);
}

#[test]
fn pruning_touches_neither_another_node_nor_another_provider_nor_a_persons_row() {
    // C139, C140
    let axiowl = Axiowl::new();
    write_chat(&axiowl, 1, "Stays");
    let session = |number| format!("vscode_native:session:{}", chat(number));
    let table_before = [
        HEADER.to_owned(),
        registry_row(
            "vscode_native",
            "local",
            &session(3),
            "vscode_native_chat_session",
        ),
        registry_row(
            "vscode_native",
            "n2",
            &session(4),
            "vscode_native_chat_session",
        ),
        registry_row("vscode_native", "local", &session(5), "manual"),
        registry_row("cursor", "local", "cursor:composer:gone", "cursor_composer"),
    ];
    axiowl.write("home/.axiowl/registry/agents.tsv", table_before.concat());
    let run = discover(&axiowl, &["vscode-native"]);
    assert_eq!(summary(&run)["pruned"], 1, "{run}");
    assert_eq!(
        table(&axiowl),
        [
            ("local cursor:composer:gone".to_owned(), true),
            (native("local", 1), true),
            (native("local", 5), true),
            (native("n2", 4), true),
        ]
    );
}

#[test]
fn the_copilot_scope_of_vs_code_prunes_and_that_of_the_cli_keeps() {
    // C136, C140
    let axiowl = Axiowl::new().with_env("GH_TOKEN", "set");
    let (stays, editor, cli) = (
        "10000000-0000-4000-8000-00000000000c",
        "20000000-0000-4000-8000-00000000000c",
        "30000000-0000-4000-8000-00000000000c",
    );
    write_copilot(&axiowl, stays, "vscode");
    write_copilot(&axiowl, editor, "vscode");
    write_copilot(&axiowl, cli, "github/cli");
    discover(&axiowl, &["vscode-copilot"]);
    discover(&axiowl, &["copilot-cli"]);
    for gone in [editor, cli] {
        remove(&axiowl, &format!(".copilot/session-state/{gone}"));
    }
    let by_editor = discover(&axiowl, &["vscode-copilot"]);
    let by_cli = discover(&axiowl, &["copilot-cli"]);
    assert_eq!(summary(&by_editor)["pruned"], 1, "{by_editor}");
    assert_eq!(summary(&by_cli)["pruned"], 0, "{by_cli}");
    let left: Vec<String> = table(&axiowl)
        .into_iter()
        .map(|(session, _)| session)
        .collect();
    let session = |id: &str| format!("local copilot_cli:session:{id}");
    assert_eq!(left, [session(stays), session(cli)]);
}

#[test]
fn nothing_is_pruned_while_a_store_cannot_be_read_in_full() {
    // C137
    let axiowl = Axiowl::new();
    write_chat(&axiowl, 1, "Stays");
    write_chat(&axiowl, 2, "Goes");
    discover(&axiowl, &["vscode-native"]);
    remove(&axiowl, &format!("{CHATS}/{}.jsonl", chat(2)));
    axiowl.write(
        "home/.config/Code/User/workspaceStorage/w1/workspace.json",
        "{ torn",
    );
    let run = discover(&axiowl, &["vscode-native"]);
    assert_eq!(summary(&run)["pruned"], 0, "{run}");
    assert_eq!(table(&axiowl).len(), 2);
}
