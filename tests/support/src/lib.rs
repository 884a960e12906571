//! Test support for AxiOwl: a mock model, and drivers for the real clients that talk to it.
//!
//! Nothing of the clients is simulated but the model. Not published, and not used outside tests.
//! The drivers need Unix: process groups, tmux, `/proc`.

pub mod model;

#[cfg(unix)]
mod app_server;
#[cfg(unix)]
pub mod child;
#[cfg(unix)]
mod claude;
#[cfg(unix)]
mod clients;
#[cfg(unix)]
mod codex;
#[cfg(unix)]
mod codex_tui;
#[cfg(unix)]
mod copilot;
#[cfg(unix)]
mod error;
#[cfg(unix)]
mod gemini;
#[cfg(unix)]
mod home;
#[cfg(unix)]
mod opencode;
#[cfg(unix)]
mod records;
#[cfg(unix)]
mod skip;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod tmux;
#[cfg(unix)]
mod tui;
#[cfg(unix)]
mod wait;

pub use model::{MockModel, NoRequest, Request, Wire};

#[cfg(unix)]
pub use {
    app_server::AppServer,
    child::{Finished, Running},
    clients::{Clients, Pins},
    codex_tui::CodexTui,
    error::DriveError,
    home::ClientHome,
    opencode::OpenCodeText,
    records::records,
    skip::{REQUIRE_CLIENTS, Skip, program},
    terminal::{Terminal, kill_of_home},
    tui::ClaudeTui,
    wait::poll,
};
