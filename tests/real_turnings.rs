//! What a real Claude Code terminal does to its session while AxiOwl's server stays the same
//! process: it clears it, branches it, turns to another one. Whoever calls afterwards is the
//! session whose transcript holds the call, and never the one that the server was started for.

mod installed;
mod owl;
mod program;

use axiowl_test_support::{ClaudeTui, Clients, DriveError, Skip, or_skip, poll};
use installed::callers;
use installed::scene::Scene;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const PATIENT: Duration = Duration::from_secs(120);
const ALLOWED: [&str; 2] = ["--allowedTools", "mcp__axiowl"];

/// A terminal that may not be there, which leaves the test out as a missing client does.
fn there<T>(opened: Result<T, DriveError>) -> Result<T, Skip> {
    match opened {
        Err(DriveError::Missing(skip)) => Err(skip),
        opened => Ok(opened.unwrap_or_else(|error| panic!("{error}"))),
    }
}

/// Every call of ours that stands in a transcript: its id, and the sessions whose file holds it.
fn recorded(scene: &Scene) -> BTreeMap<String, BTreeSet<String>> {
    let mut calls: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let projects = scene.home.path().join(".claude/projects");
    let folders = std::fs::read_dir(projects).expect("projects").flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten());
    let files = files.flatten().map(|file| file.path());
    for file in files.filter(|file| file.extension().is_some_and(|kind| kind == "jsonl")) {
        let session = file.file_stem().expect("an id").to_string_lossy();
        for record in scene.home.claude_records(&session) {
            let parts = record["message"]["content"].as_array().cloned();
            for part in parts.unwrap_or_default() {
                if part["type"] == "tool_use" && part["name"] == "mcp__axiowl__axiowl_whoami" {
                    let id = part["id"].as_str().expect("an id").to_owned();
                    calls.entry(id).or_default().insert(session.to_string());
                }
            }
        }
    }
    calls
}

fn answered(scene: &Scene) -> (Vec<Value>, Vec<Value>) {
    let of = |event| callers(&scene.home, event);
    (of("caller_proven"), of("caller_refused"))
}

/// Lets the terminal's session ask who it is. It is the one whose transcript has the new call.
fn calls_as_itself(scene: &Scene, tui: &ClaudeTui) -> String {
    let before = recorded(scene);
    let (proven, refused) = answered(scene);
    tui.type_line("@@tool mcp__axiowl__axiowl_whoami {}")
        .expect("typed");
    let more = poll(PATIENT, || {
        let (now, no) = answered(scene);
        (now.len() + no.len() > proven.len() + refused.len()).then_some((now, no))
    });
    let Some((now, no)) = more else {
        panic!("nobody called: {}", tui.screen());
    };
    assert_eq!(no.len(), refused.len(), "{no:?}");
    let caller = now.last().expect("a caller");
    let after = recorded(scene);
    let new: Vec<_> = after
        .iter()
        .filter(|(id, _)| !before.contains_key(*id))
        .collect();
    let [(_, holders)] = new[..] else {
        panic!("not one new call: {new:?}");
    };
    assert_eq!(holders.len(), 1, "{holders:?}");
    let session = holders.first().expect("a session").clone();
    let agent = format!("claude_code_cli:local:claude_code_cli:session:{session}");
    assert_eq!(caller["agent_id"], agent.as_str(), "{caller}");
    // The turn has to be over before anything else is typed.
    tui.turned_to(&session).expect("idle");
    session
}

/// The session that the terminal has turned to, away from another.
fn turned_away(tui: &ClaudeTui, from: &str) -> String {
    let turned = poll(PATIENT, || {
        let record = tui.record();
        let session = record["sessionId"].as_str()?.to_owned();
        (session != from && record["status"] == "idle").then_some(session)
    });
    turned.unwrap_or_else(|| panic!("it stays with {from}: {}", tui.screen()))
}

#[test]
fn after_clear_and_branch_a_real_terminal_calls_as_the_session_it_is_in() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let tui = or_skip!(there(scene.home.claude_tui_with(
        "Open Session",
        &scene.cwd,
        &ALLOWED
    )));
    let first = tui.session_id().to_owned();
    assert_eq!(calls_as_itself(&scene, &tui), first);

    tui.type_line("/clear").expect("typed");
    let cleared = turned_away(&tui, &first);
    assert_eq!(calls_as_itself(&scene, &tui), cleared);

    tui.type_line("/branch").expect("typed");
    let branch = turned_away(&tui, &cleared);
    assert_eq!(calls_as_itself(&scene, &tui), branch);
    let all = BTreeSet::from([first, cleared, branch]);
    assert_eq!(all.len(), 3, "{all:?}");
}

#[test]
fn a_session_that_a_real_terminal_picks_calls_as_itself() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let (home, cwd) = (&scene.home, &scene.cwd);
    let older = or_skip!(there(home.claude_tui_with("Older Session", cwd, &ALLOWED)));
    let session = older.session_id().to_owned();
    drop(older);
    // From the start.
    let picked = home.claude_tui_picked(("Older Session", &session), cwd, &ALLOWED);
    let picked = or_skip!(there(picked));
    assert_eq!(calls_as_itself(&scene, &picked), session);
    drop(picked);
    // In the middle of another one.
    let newer = or_skip!(there(home.claude_tui_with("Newer Session", cwd, &ALLOWED)));
    assert_eq!(calls_as_itself(&scene, &newer), newer.session_id());
    newer.type_line("/resume").expect("typed");
    let listed = poll(PATIENT, || {
        newer.screen().contains("Older Session").then_some(())
    });
    assert!(listed.is_some(), "{}", newer.screen());
    newer
        .press_until("Enter", |_| newer.is_in(&session).then_some(()))
        .expect("picked");
    assert_eq!(calls_as_itself(&scene, &newer), session);
}

/// Everything that another session's shell can read of a call that waits is enough to repeat it,
/// and not to be believed.
#[test]
fn a_call_that_waits_for_its_user_is_not_made_by_the_shell_of_another_session() {
    let clients = or_skip!(Clients::ensure());
    let scene = Scene::new(&clients);
    let (home, cwd) = (&scene.home, &scene.cwd);
    let victim = or_skip!(there(home.claude_tui_with("Waiting Session", cwd, &[])));
    let bash = ["--allowedTools", "Bash"];
    let other = or_skip!(there(home.claude_tui_with("Other Session", cwd, &bash)));
    victim
        .type_line("@@tool mcp__axiowl__axiowl_whoami {}")
        .expect("typed");
    let waits = poll(PATIENT, || {
        (victim.record()["status"] == "waiting").then_some(())
    });
    assert!(waits.is_some(), "{}", victim.screen());
    let call = poll(PATIENT, || recorded(&scene).into_keys().next());
    let call = call.expect("a call that waits");

    let greeting = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "claude-code", "version": "2.1.332" } });
    let params = json!({ "name": "axiowl_whoami", "arguments": {},
        "_meta": { "claudecode/toolUseId": call } });
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }),
    ];
    let lines = lines.map(|line| format!("{line}\n")).concat();
    home.write("repeated", &lines).expect("requests");
    // The pipe stays open until the answer is there.
    let (open, answers) = (home.path().join("open"), home.path().join("answers"));
    let made = std::process::Command::new("mkfifo").arg(&open).status();
    assert!(made.expect("mkfifo runs").success());
    let held = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&open);
    let script = format!(
        "cat '{0}/repeated' '{0}/open' | '{1}' mcp >'{0}/answers'\n",
        home.path().display(),
        env!("CARGO_BIN_EXE_axiowl")
    );
    let script = home.write("repeat.sh", &script).expect("a script");
    let command = json!({ "command": format!("/bin/sh {}", script.display()) });
    other
        .type_line(&format!("@@tool Bash {command}"))
        .expect("typed");
    let said = poll(PATIENT, || {
        let said = std::fs::read_to_string(&answers).ok()?;
        said.contains("\"id\":2").then_some(said)
    });
    drop(held);
    let said = said.unwrap_or_else(|| panic!("no answer: {}", other.screen()));
    assert!(said.contains("sender_identity_conflict"), "{said}");
    assert!(answered(&scene).0.is_empty(), "{said}");

    // The user approves, and the session's own call goes through as itself.
    let proven = victim
        .press_until("Enter", |_| answered(&scene).0.into_iter().next())
        .expect("a proven caller");
    let agent = format!(
        "claude_code_cli:local:claude_code_cli:session:{}",
        victim.session_id()
    );
    assert_eq!(proven["agent_id"], agent.as_str(), "{proven}");
}
