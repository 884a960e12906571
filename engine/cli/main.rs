//! AxiOwl's command line: reads arguments, puts the crates together, shows results.
//!
//! Nothing is decided here that a library crate could decide.

mod args;
mod bounds;
mod caller;
mod complete;
mod demo;
mod discover;
mod doctor;
mod exit;
mod explain;
mod faults;
mod ground;
mod homes;
mod hook;
mod install;
mod interrupt;
mod list;
mod mcp;
mod mcp_http;
mod memo;
mod message;
mod office;
mod output;
mod own;
mod pass;
mod progress;
mod registry;
mod rules;
mod send;
mod setup;
mod shelf;
mod status;
mod support;
mod table;
mod verdicts;
mod worker;

use anstream::{AutoStream, ColorChoice};
use args::{Cli, Command};
use clap::Parser;
use exit::{Exit, Failure, Outcome};
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // A hook's host takes whatever it reads for the hook's word.
    let quiet = matches!(cli.command, Some(Command::Hook(_)));
    let usual = if quiet { "off" } else { "warn" };
    let filter = EnvFilter::try_from_env("AXIOWL_LOG").unwrap_or_else(|_| EnvFilter::new(usual));
    // A log file or a host's window shows escapes as they are.
    let colours = AutoStream::choice(&std::io::stderr()) != ColorChoice::Never;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colours)
        .with_writer(std::io::stderr)
        .init();
    match run(&cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            anstream::eprintln!("{failure}");
            failure.exit.into()
        }
    }
}

fn run(cli: &Cli) -> Outcome {
    let common = &cli.common;
    if cli.json && cli.command.is_some() {
        return Err(Failure::new(
            Exit::Usage,
            "`--json` before a command is of the status alone",
        )
        .hint("write it behind the command"));
    }
    match &cli.command {
        None => status::run(common, cli.json),
        Some(Command::Discover(arguments)) => discover::run(arguments, common),
        Some(Command::Doctor(arguments)) => doctor::run(arguments, common),
        Some(Command::List(arguments)) => list::run(arguments, common),
        Some(Command::Explain(arguments)) => explain::run(arguments, common),
        Some(Command::Send(arguments)) => send::run(arguments, common),
        Some(Command::Message(arguments)) => message::run(arguments, common),
        Some(Command::Registry(arguments)) => registry::run(arguments, common),
        Some(Command::Rules(arguments)) => rules::run(arguments, common),
        Some(Command::Install(arguments)) => install::run(arguments, common),
        Some(Command::Uninstall(arguments)) => install::remove(arguments, common),
        Some(Command::Mcp(arguments)) => mcp::run(arguments, common),
        Some(Command::Hook(arguments)) => hook::run(arguments, common),
        Some(Command::Completions(arguments)) => complete::completions(arguments),
        Some(Command::Man(arguments)) => complete::man(arguments),
        Some(Command::Demo(arguments)) => demo::run(arguments),
        Some(Command::Worker(arguments)) => worker::run(arguments, common),
        Some(Command::EchoAgent(arguments)) => demo::agent::run(arguments, common),
    }
}
