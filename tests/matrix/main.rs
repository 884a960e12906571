//! Every real client in every situation: what AxiOwl reports of a message is compared with what
//! stands in the target's transcript, in every other session, in the requests the mock model
//! got, and on the target's screen. Nothing is simulated but the model.
//!
//! The whole matrix takes an hour and more and is ignored by default:
//! `cargo test --test matrix -- --ignored`, with `AXIOWL_MATRIX="idle;renamed"` for some rows
//! only. Its table is `table.md`; what a run sees has to be what stands there. Every other run takes one cell of each row, spread over the clients
//! so that each of them has some: the rows cost 15 to 40 seconds a cell, and what differs
//! between clients in the cheap ones is covered by the tests of each client.
#![cfg(unix)]

mod cell;
mod client;
mod clients;
mod situation;
mod table;
mod verdict;

use axiowl_test_support::{Clients, or_skip, program};
use cell::{Outcome, Scene};
use client::Client;
use clients::{ClaudeCode, Codex, CopilotCli, OpenCode};
use situation::Situation;
use std::time::Instant;

/// Runs cells of a client; the rows of its table.
///
/// # Panics
/// With every fault of every cell.
fn run(client: &dyn Client, clients: &Clients, situations: &[Situation]) {
    let mut wrong = Vec::new();
    let scene = Scene::new(client, clients);
    let version = clients.version(client.package()).expect("a version");
    let title = format!("{} {version}", client.name());
    let mut rows = Vec::new();
    for situation in situations {
        let begun = Instant::now();
        let outcome = scene.cell(*situation);
        let row = table::row(*situation, &outcome);
        println!("{title} {:?} {row}", begun.elapsed());
        let before = wrong.len();
        if let Outcome::Sent(facts) = &outcome {
            let found = verdict::faults(facts, *situation);
            wrong.extend(
                found
                    .iter()
                    .map(|fault| format!("{}: {fault}", situation.name())),
            );
        }
        if wrong.len() == before {
            rows.push((*situation, row));
        }
    }
    table::settle(&title, &rows);
    assert!(wrong.is_empty(), "{title}:\n{}", wrong.join("\n"));
}

/// All rows of a client, or those that were asked for.
fn whole(client: &dyn Client, clients: &Clients) {
    let _ = or_skip!(program("tmux"));
    let Ok(names) = std::env::var("AXIOWL_MATRIX") else {
        return run(client, clients, &Situation::ALL);
    };
    let wanted: Vec<&str> = names.split(';').collect();
    let some: Vec<Situation> = Situation::ALL
        .into_iter()
        .filter(|situation| wanted.contains(&situation.name().as_str()))
        .collect();
    assert_eq!(
        some.len(),
        wanted.len(),
        "no situation is called so: {names}"
    );
    run(client, clients, &some);
}

/// The cells of every run.
fn some(client: &dyn Client, situations: &[Situation]) {
    let clients = or_skip!(Clients::ensure());
    let _ = or_skip!(program("tmux"));
    run(client, &clients, situations);
}

#[test]
fn claude_code_in_some_situations() {
    use Situation::{FolderDeleted, ModeThatHolds, NoAuth, ProcessKilled, WindowClosed};
    some(
        &ClaudeCode,
        &[
            WindowClosed,
            ProcessKilled,
            ModeThatHolds,
            NoAuth,
            FolderDeleted,
        ],
    );
}

#[test]
fn codex_in_some_situations() {
    use Situation::{LiveBusy, ModelError, Renamed, UnknownId};
    some(
        &Codex,
        &[
            Renamed,
            LiveBusy,
            UnknownId,
            ModelError(401),
            ModelError(429),
        ],
    );
}

#[test]
#[ignore = "its rows are not in the table yet"]
fn opencode_in_some_situations() {
    use Situation::{Cleared, Idle, ModelError, SlowModel};
    some(&OpenCode, &[Idle, Cleared, SlowModel, ModelError(500)]);
}

#[test]
#[ignore = "its rows are not in the table yet"]
fn copilot_cli_in_some_situations() {
    use Situation::{HostileBody, LiveIdle, LiveUntouched, TwoOfOneName};
    some(
        &CopilotCli,
        &[LiveUntouched, LiveIdle, TwoOfOneName, HostileBody],
    );
}

#[test]
#[ignore = "the whole matrix takes long"]
fn claude_code_in_every_situation() {
    whole(&ClaudeCode, &or_skip!(Clients::ensure()));
}

#[test]
#[ignore = "the whole matrix takes long"]
fn codex_in_every_situation() {
    whole(&Codex, &or_skip!(Clients::ensure()));
}

#[test]
#[ignore = "the whole matrix takes long"]
fn opencode_in_every_situation() {
    whole(&OpenCode, &or_skip!(Clients::ensure()));
}

#[test]
#[ignore = "the whole matrix takes long"]
fn copilot_cli_in_every_situation() {
    whole(&CopilotCli, &or_skip!(Clients::ensure()));
}

#[test]
#[ignore = "the whole matrix takes long"]
fn an_older_claude_code_in_every_situation() {
    whole(&ClaudeCode, &or_skip!(Clients::ensure_older()));
}

#[test]
#[ignore = "the whole matrix takes long"]
fn an_older_codex_in_every_situation() {
    whole(&Codex, &or_skip!(Clients::ensure_older()));
}

#[test]
#[ignore = "the whole matrix takes long"]
fn an_older_opencode_in_every_situation() {
    whole(&OpenCode, &or_skip!(Clients::ensure_older()));
}

#[test]
#[ignore = "the whole matrix takes long"]
fn an_older_copilot_cli_in_every_situation() {
    whole(&CopilotCli, &or_skip!(Clients::ensure_older()));
}
