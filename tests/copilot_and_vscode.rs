//! Copilot CLI, VS Code's chats and its Copilot sessions, end to end: what is found, what can be
//! sent to, what a row says about the window it belongs to, and what an ordinary run removes.
//!
//! The numbers are the conformance statements a test covers; `tests/conformance.d/` maps them.

mod program;

use program::{Axiowl, ROOT, Run};
use serde_json::Value;
use std::path::Path;

/// The rows and the summary of a scope over a fixture of a rule.
fn fixture(scope: &str, provider: &str, case: &str) -> (Vec<Value>, Value) {
    let dir = Path::new(ROOT).join(format!("rules/{provider}/fixtures/{case}"));
    let dir = dir.to_str().expect("text");
    let run = Axiowl::new().run(&["discover", scope, "--fixture", dir, "--json"]);
    assert_eq!(run.code, 0, "{run}");
    (run.lines("discovered_agent"), summary(&run))
}

fn summary(run: &Run) -> Value {
    let mut lines = run.lines("discovery_summary");
    assert_eq!(lines.len(), 1, "{run}");
    lines.remove(0)
}

/// The row whose session id ends with `id`.
fn row<'r>(rows: &'r [Value], id: &str) -> &'r Value {
    let ends = |row: &&Value| {
        let session = row["provider_session_id"].as_str();
        session.is_some_and(|session| session.ends_with(id))
    };
    let mut fitting = rows.iter().filter(ends);
    let found = fitting.next().unwrap_or_else(|| panic!("no row {id}"));
    assert!(fitting.next().is_none(), "{id} stands twice");
    found
}

fn has(rows: &[Value], id: &str) -> bool {
    rows.iter().any(|row| {
        let session = row["provider_session_id"].as_str();
        session.is_some_and(|session| session.ends_with(id))
    })
}

fn says(row: &Value, sentence: &str) -> bool {
    let evidence = row["evidence"].as_array().expect("evidence");
    evidence.iter().any(|line| line == sentence)
}

/// A VS Code chat of the fixtures, by its number.
fn chat(number: u32) -> String {
    format!("e{number:07}-0000-4000-8000-000000000003")
}

/// A Copilot CLI session in a fresh home.
fn copilot_session(axiowl: &Axiowl, id: &str, client: &str, name: &str) {
    let folder = format!("home/.copilot/session-state/{id}");
    let yaml = format!(
        "id: {id}\ncwd: /\nclient_name: {client}\nname: {name}\nuser_named: true\n\
         created_at: 2026-11-30T13:30:51.174Z\n"
    );
    axiowl.write(&format!("{folder}/workspace.yaml"), yaml);
    axiowl.write(&format!("{folder}/events.jsonl"), conversation(id));
}

fn conversation(id: &str) -> String {
    format!(
        "{{\"type\":\"session.start\",\"data\":{{\"sessionId\":\"{id}\",\"copilotVersion\":\"1.0.102\"}},\"timestamp\":\"2026-11-30T13:30:51.200Z\"}}\n\
         {{\"type\":\"user.message\",\"data\":{{\"content\":\"hello\"}},\"timestamp\":\"2026-11-30T13:30:52.200Z\"}}\n"
    )
}

/// A chat file of VS Code in a fresh home.
fn chat_file(axiowl: &Axiowl, path: &str, id: &str, title: &str) {
    let text = format!(
        "{{\"kind\":0,\"v\":{{\"version\":3,\"creationDate\":1796046671706,\"sessionId\":\"{id}\",\"customTitle\":\"{title}\",\
         \"requests\":[{{\"requestId\":\"request_1\",\"timestamp\":1796046755016,\"message\":{{\"text\":\"hello\"}}}}]}}}}\n"
    );
    axiowl.write(&format!("home/{path}/{id}.jsonl"), text);
}

const CHATS: &str = ".config/Code/User/workspaceStorage/w1/chatSessions";

// ---- section 20: VS Code's own chats

#[test]
fn chats_are_read_from_window_storage_and_empty_windows_below_appdata() {
    // C265, C266
    let (rows, _) = fixture("vscode-native", "vscode_native", "windows");
    let window = row(&rows, &chat(21));
    assert_eq!(window["display_name"], "Pricing rules");
    assert_eq!(window["cwd"], r"c:\work\api");
    assert_eq!(window["sendable"], true);
    let empty = row(&rows, &chat(22));
    assert_eq!(empty["display_name"], "No folder open");
    assert_eq!(empty["cwd"], Value::Null);
    assert_eq!(empty["sendable"], true);
}

#[test]
fn every_product_and_platform_keeps_its_chats_apart_and_all_are_read() {
    // C265, C266; C224 the other way round: Cursor's chats are Cursor's.
    let (rows, _) = fixture("vscode-native", "vscode_native", "desktop");
    for (id, title) in [
        (1, "Design Review"),
        (14, "Empty window hello"),
        (15, "Design Review"),
        (16, "Folder is gone"),
    ] {
        assert_eq!(row(&rows, &chat(id))["display_name"], title);
    }
    assert!(!has(&rows, &chat(17)), "Cursor keeps its own");
    let (rows, _) = fixture("vscode-native", "vscode_native", "macos");
    assert_eq!(row(&rows, &chat(31))["display_name"], "名前 🛒");
    assert_eq!(row(&rows, &chat(31))["cwd"], "/Users/dev/work/my api");
    assert_eq!(row(&rows, &chat(32))["display_name"], "Insiders chat");
}

#[test]
fn an_oversize_chat_is_skipped_with_an_issue_and_costs_only_itself() {
    // C267
    let axiowl = Axiowl::new();
    chat_file(&axiowl, CHATS, &chat(1), "Sound");
    chat_file(&axiowl, CHATS, &chat(2), "Too big");
    let big = axiowl.path(&format!("home/{CHATS}/{}.jsonl", chat(2)));
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&big)
        .expect("open");
    file.set_len(65 << 20).expect("a sparse file");
    let run = axiowl.run(&["discover", "vscode-native", "--json"]);
    let rows = run.lines("discovered_agent");
    assert_eq!(row(&rows, &chat(1))["sendable"], true);
    assert!(!has(&rows, &chat(2)));
    let issues = summary(&run)["issues"].as_array().expect("issues").clone();
    let path = big.to_str().expect("text");
    assert!(
        issues
            .iter()
            .any(|issue| issue["code"] == "cap_reached" && issue["path"] == path),
        "{run}"
    );
}

#[test]
fn a_chat_is_known_by_its_own_id_and_else_by_its_file() {
    // C268, C270
    let (rows, _) = fixture("vscode-native", "vscode_native", "damage");
    let own = row(&rows, &chat(41));
    assert_eq!(
        own["provider_session_id"],
        format!("vscode_native:session:{}", chat(41))
    );
    let by_file = row(&rows, &chat(50));
    assert_eq!(by_file["display_name"], "No id in the file");
    assert_eq!(by_file["sendable"], true);
    assert!(!has(&rows, &chat(49)), "a copy is no session of its own");
}

#[test]
fn a_title_is_chosen_or_the_first_message_and_without_one_nothing_enrols() {
    // C269, C271
    let (rows, _) = fixture("vscode-native", "vscode_native", "desktop");
    assert_eq!(
        row(&rows, &chat(5))["display_name"],
        "Second name",
        "the last rename counts"
    );
    assert_eq!(row(&rows, &chat(14))["display_name"], "Empty window hello");
    assert_eq!(
        row(&rows, &chat(8))["display_name"],
        "Written as one document"
    );
    let nameless = row(&rows, &chat(7));
    assert_eq!(nameless["display_name"], Value::Null);
    for never in ["sendable", "has_enrollment_proof"] {
        assert_eq!(nameless[never], false);
    }
    let empty = row(&rows, &chat(4));
    assert_eq!(
        (&empty["kind"], &empty["sendable"]),
        (&"empty".into(), &false.into())
    );
    let archived = row(&rows, &chat(3));
    assert_eq!(
        (&archived["status"], &archived["sendable"]),
        (&"archived".into(), &false.into())
    );
}

#[test]
fn a_row_says_whose_window_it_needs_and_that_no_bridge_vouches_for_it() {
    // C272, C273, C274, C275, C276
    let (rows, _) = fixture("vscode-native", "vscode_native", "desktop");
    for (id, source, confidence, text) in [
        (
            1,
            "workspace storage 5f1b6f7e0d1c4a3b8e9f001122334455",
            "medium, the storage names its window",
            "the storage of file:///home/dev/projects/webshop",
        ),
        (
            11,
            "workspace storage 99bb0d1c4a3b8e9f00112233445566ff",
            "medium, the storage names its window",
            "the storage of vscode-remote://ssh-remote+build.example/srv/app",
        ),
        (
            14,
            "empty window storage",
            "low, the storage names no window",
            "any window of the product without a folder can open it",
        ),
    ] {
        let row = row(&rows, &chat(id));
        assert!(
            says(row, "ownership status: unverified, no bridge was asked"),
            "{row}"
        );
        assert!(says(row, &format!("ownership source: {source}")), "{row}");
        assert!(
            says(row, &format!("ownership confidence: {confidence}")),
            "{row}"
        );
        assert!(says(row, "ownership bridge: none"), "{row}");
        assert!(says(row, &format!("ownership evidence: {text}")), "{row}");
    }
}

#[test]
fn one_chat_in_two_windows_is_one_row_that_nothing_is_sent_to() {
    let (rows, summary) = fixture("vscode-native", "vscode_native", "damage");
    let both = row(&rows, &chat(53));
    assert_eq!(both["sendable"], false);
    assert!(
        both["reason"]
            .as_str()
            .is_some_and(|why| why.contains("2 files prove")),
        "{both}"
    );
    let issues = summary["issues"].as_array().expect("issues");
    assert!(
        issues
            .iter()
            .any(|issue| issue["code"] == "duplicate_session")
    );
}

// ---- section 21: Copilot sessions of VS Code

#[test]
fn vs_codes_copilot_sessions_come_from_copilots_folder_under_its_ids() {
    // C278, C279, C280, C281, C282
    let (rows, _) = fixture("vscode-copilot", "vscode_copilot_backed", "bridge");
    let by_yaml = row(&rows, "d0000004-0000-4000-8000-000000000002");
    assert_eq!(by_yaml["display_name"], "Taken over by the editor");
    assert_eq!(by_yaml["provider"], "vscode_copilot_backed");
    assert_eq!(
        by_yaml["provider_session_id"],
        "copilot_cli:session:d0000004-0000-4000-8000-000000000002"
    );
    // The folder's name is the id, whatever its description says.
    let axiowl = Axiowl::new();
    let (folder, other) = (
        "10000000-0000-4000-8000-00000000000d",
        "20000000-0000-4000-8000-00000000000d",
    );
    copilot_session(&axiowl, other, "vscode", "Copied");
    let sessions = axiowl.path("home/.copilot/session-state");
    std::fs::rename(sessions.join(other), sessions.join(folder)).expect("rename");
    let run = axiowl.run(&["discover", "vscode-copilot", "--json"]);
    let copied = run.lines("discovered_agent");
    assert_eq!(row(&copied, folder)["kind"], "copy", "{run}");
    assert!(!has(&copied, other));

    for of_others in [
        "66666666-2222-4333-8444-555555555555",
        "33333333-2222-4333-8444-555555555555",
        "d0000005-0000-4000-8000-000000000002",
    ] {
        assert!(!has(&rows, of_others), "{of_others} is not VS Code's");
    }
}

#[test]
fn a_bridge_that_blocks_makes_a_copilot_session_unhealthy() {
    // C283, C284 (annex A9: bridge status stands for patch status)
    let id = "d0000001-0000-4000-8000-000000000002";
    let (rows, _) = fixture("vscode-copilot", "vscode_copilot_backed", "bridge");
    let open = row(&rows, id);
    assert_eq!(
        (&open["status"], &open["sendable"]),
        (&"active".into(), &true.into())
    );
    let (rows, _) = fixture("vscode-copilot", "vscode_copilot_backed", "sessions");
    let blocked = row(&rows, id);
    assert_eq!(blocked["status"], "unhealthy");
    assert_eq!(blocked["sendable"], false);
    let reason =
        "no AxiOwl bridge answers in VS Code; without one its window would never see a message";
    assert_eq!(blocked["last_error"], reason);
    assert_eq!(rows.iter().filter(|row| row["sendable"] == true).count(), 0);
}

#[test]
fn a_session_is_either_the_clis_or_vs_codes() {
    let (editor, _) = fixture("vscode-copilot", "vscode_copilot_backed", "bridge");
    let (cli, _) = fixture("copilot-cli", "vscode_copilot_backed", "bridge");
    assert!(!cli.is_empty());
    for found in &cli {
        let id = found["provider_session_id"].as_str().expect("id");
        assert!(!has(&editor, id), "{id} stands in both");
    }
    assert!(
        has(&cli, "66666666-2222-4333-8444-555555555555"),
        "external ones are the CLI's"
    );
}

// ---- section 27: Copilot CLI

#[test]
fn copilot_cli_sessions_are_those_whose_client_is_the_cli() {
    // C319, C320
    let axiowl = Axiowl::new().with_env("GH_TOKEN", "set");
    let clients = [
        "github/cli",
        "copilot/cli",
        "cli",
        "my-sdk-app",
        "vscode-agent-host",
    ];
    for (number, client) in clients.iter().enumerate() {
        let id = format!("{number}0000000-0000-4000-8000-00000000000a");
        copilot_session(&axiowl, &id, client, &format!("Made by {client}"));
    }
    let run = axiowl.run(&["discover", "copilot-cli", "--json"]);
    let rows = run.lines("discovered_agent");
    let names: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["display_name"].as_str())
        .collect();
    assert_eq!(
        names,
        ["Made by github/cli", "Made by copilot/cli", "Made by cli"],
        "{run}"
    );
    assert!(rows.iter().all(|row| row["sendable"] == true), "{run}");
    assert_eq!(
        rows[0]["provider_session_id"],
        "copilot_cli:session:00000000-0000-4000-8000-00000000000a"
    );
}

#[test]
fn each_headless_login_makes_a_copilot_session_sendable() {
    // C321, C322, C323, C324
    let id = "10000000-0000-4000-8000-00000000000b";
    let sources = [
        "COPILOT_GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "COPILOT_PROVIDER_BASE_URL",
    ];
    for source in sources {
        let axiowl = Axiowl::new().with_env(source, "set");
        copilot_session(&axiowl, id, "github/cli", "Standalone");
        let run = axiowl.run(&["discover", "copilot-cli", "--json"]);
        let rows = run.lines("discovered_agent");
        assert_eq!(row(&rows, id)["sendable"], true, "{source}: {run}");
        assert!(!run.stdout.contains("=set"), "the value is never shown");
    }
}

#[test]
fn standalone_copilot_session_without_headless_auth_is_auth_unproven() {
    // C325, C364
    let id = "10000000-0000-4000-8000-00000000000b";
    // An empty variable is no login, and neither is another program's.
    let axiowl = Axiowl::new()
        .with_env("GH_TOKEN", "")
        .with_env("OPENAI_API_KEY", "set");
    copilot_session(&axiowl, id, "github/cli", "Standalone");
    let run = axiowl.run(&["discover", "copilot-cli", "--json"]);
    let rows = run.lines("discovered_agent");
    let unproven = row(&rows, id);
    assert_eq!(unproven["status"], "auth_unproven");
    assert_eq!(unproven["sendable"], false);
    let error = unproven["last_error"].as_str().expect("why");
    assert!(error.contains("COPILOT_GITHUB_TOKEN"), "{error}");
    assert!(
        !axiowl
            .run(&["list", "agents"])
            .stdout
            .contains("Standalone")
    );
}
