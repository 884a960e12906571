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
mod scene;
mod situation;
mod table;
mod verdict;

use axiowl_test_support::{Clients, or_skip, program};
use cell::{Outcome, cell};
use client::Client;
use clients::{ClaudeCode, Codex, CopilotCli, OpenCode};
use scene::Scene;
use situation::Situation;
use std::time::Instant;

const OPENCODE: OpenCode = OpenCode { with_port: false };
const OPENCODE_WITH_PORT: OpenCode = OpenCode { with_port: true };
const COPILOT: CopilotCli = CopilotCli {
    with_extension: false,
};
const COPILOT_WITH_EXTENSION: CopilotCli = CopilotCli {
    with_extension: true,
};

/// The situations in which a door makes a difference.
const LIVE: [Situation; 5] = [
    Situation::LiveUntouched,
    Situation::LiveIdle,
    Situation::LiveBusy,
    Situation::Cleared,
    Situation::BrokenOff,
];

/// Runs cells of a client; each row as it is found is taken by `keep`.
///
/// # Panics
/// With every fault of every cell.
fn run(
    client: &dyn Client,
    clients: &Clients,
    situations: &[Situation],
    keep: impl Fn(&str, Situation, &str),
) {
    let mut wrong = Vec::new();
    let scene = Scene::new(client, clients);
    let version = clients.version(client.package()).expect("a version");
    let title = format!("{} {version}{}", client.name(), client.variant());
    for situation in situations {
        let begun = Instant::now();
        let outcome = cell(&scene, *situation);
        let row = table::row(*situation, &outcome);
        println!("{title} {:?} {row}", begun.elapsed());
        let faults = match &outcome {
            Outcome::Sent(facts) => verdict::faults(facts, *situation),
            Outcome::NotApplicable(_) => Vec::new(),
        };
        if faults.is_empty() {
            keep(&title, *situation, &row);
        }
        let name = situation.name();
        wrong.extend(faults.iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(wrong.is_empty(), "{title}:\n{}", wrong.join("\n"));
}

/// The rows of a client, or those of them that were asked for.
fn whole(client: &dyn Client, clients: &Clients, rows: &[Situation]) {
    let _ = or_skip!(program("tmux"));
    let wanted = std::env::var("AXIOWL_MATRIX").ok();
    let is_wanted = |situation: &Situation| {
        let name = situation.name();
        let mut names = wanted.iter().flat_map(|names| names.split(';'));
        wanted.is_none() || names.any(|wanted| wanted == name)
    };
    let rows: Vec<Situation> = rows.iter().copied().filter(is_wanted).collect();
    assert!(!rows.is_empty(), "no situation is called {wanted:?}");
    run(client, clients, &rows, table::settle);
}

/// The cells of every run.
fn some(client: &dyn Client, situations: &[Situation]) {
    let clients = or_skip!(Clients::ensure());
    let _ = or_skip!(program("tmux"));
    run(client, &clients, situations, table::compare);
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
fn opencode_in_some_situations() {
    use Situation::{Cleared, Idle, ModelError, SlowModel};
    some(&OPENCODE, &[Idle, Cleared, SlowModel, ModelError(500)]);
}

#[test]
fn copilot_cli_in_some_situations() {
    use Situation::{HostileBody, LiveIdle, LiveUntouched, TwoOfOneName};
    some(
        &COPILOT,
        &[LiveUntouched, LiveIdle, TwoOfOneName, HostileBody],
    );
}

#[test]
fn copilot_cli_with_the_extension_in_some_situations() {
    use Situation::{LiveBusy, LiveUntouched};
    some(&COPILOT_WITH_EXTENSION, &[LiveUntouched, LiveBusy]);
}

#[test]
#[ignore = "the whole matrix takes long"]
fn claude_code_in_every_situation() {
    whole(&ClaudeCode, &or_skip!(Clients::ensure()), &Situation::ALL);
}

#[test]
#[ignore = "the whole matrix takes long"]
fn codex_in_every_situation() {
    whole(&Codex, &or_skip!(Clients::ensure()), &Situation::ALL);
}

#[test]
#[ignore = "the whole matrix takes long"]
fn opencode_in_every_situation() {
    whole(&OPENCODE, &or_skip!(Clients::ensure()), &Situation::ALL);
}

#[test]
#[ignore = "the whole matrix takes long"]
fn copilot_cli_in_every_situation() {
    whole(&COPILOT, &or_skip!(Clients::ensure()), &Situation::ALL);
}

/// What a port changes; everything else is as without one.
#[test]
#[ignore = "the whole matrix takes long"]
fn opencode_with_a_port_where_it_is_live() {
    whole(&OPENCODE_WITH_PORT, &or_skip!(Clients::ensure()), &LIVE);
}

/// What the extension changes; everything else is as without it.
#[test]
#[ignore = "the whole matrix takes long"]
fn copilot_cli_with_the_extension_where_it_is_live() {
    whole(&COPILOT_WITH_EXTENSION, &or_skip!(Clients::ensure()), &LIVE);
}

#[test]
#[ignore = "the whole matrix takes long"]
fn an_older_claude_code_in_every_situation() {
    whole(
        &ClaudeCode,
        &or_skip!(Clients::ensure_older()),
        &Situation::ALL,
    );
}

#[test]
#[ignore = "the whole matrix takes long"]
fn an_older_codex_in_every_situation() {
    whole(&Codex, &or_skip!(Clients::ensure_older()), &Situation::ALL);
}

#[test]
#[ignore = "the whole matrix takes long"]
fn an_older_opencode_in_every_situation() {
    whole(
        &OPENCODE,
        &or_skip!(Clients::ensure_older()),
        &Situation::ALL,
    );
}

#[test]
#[ignore = "the whole matrix takes long"]
fn an_older_copilot_cli_in_every_situation() {
    whole(
        &COPILOT,
        &or_skip!(Clients::ensure_older()),
        &Situation::ALL,
    );
}
