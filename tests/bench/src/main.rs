//! Benchmarks of discovery, of the registry, of sending and of the MCP server.
//!
//! `corpus` writes the reference corpus: provider stores in their real formats, the same
//! bytes for the same seed. `scan` reads them the way a program written by hand for exactly
//! these formats would. `run` measures AxiOwl beside it, whole processes one after the
//! other, and prints ratios. Nothing here is part of the tests: figures depend on the machine.

mod corpus;
mod mcp;
mod measure;
mod plot;
mod report;
mod scale;
mod scan;
mod sending;
mod table;

use clap::{Parser, Subcommand};
use corpus::Plan;
use std::path::PathBuf;
use std::process::ExitCode;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
#[command(about = "Benchmarks of AxiOwl")]
struct Args {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    /// Write the reference corpus below a folder, as a home.
    Corpus {
        home: PathBuf,
        /// The same seed gives the same bytes.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// How many times as many sessions as the reference has; sizes stay.
        #[arg(long, default_value_t = 1.0)]
        sessions: f64,
        /// How many times as long the transcripts are; their number stays.
        #[arg(long, default_value_t = 1.0)]
        length: f64,
    },
    /// Read a home as a hand-written program would: one line a session.
    Scan {
        home: PathBuf,
        /// Print how many sessions there are, not the sessions.
        #[arg(long)]
        count: bool,
    },
    /// Run a command and print seconds of CPU and bytes of memory.
    #[command(hide = true)]
    One {
        #[arg(last = true)]
        command: Vec<std::ffi::OsString>,
    },
    /// Measure what a message costs.
    Sending {
        /// The program, built with `--release`.
        #[arg(long)]
        axiowl: PathBuf,
        /// Messages.
        #[arg(long, default_value_t = 20)]
        rounds: usize,
    },
    /// Measure how cost grows with the rows of a registry and the files of a home.
    Scale {
        /// The program, built with `--release`.
        #[arg(long)]
        axiowl: PathBuf,
        /// Where registries and homes are made, and removed again; up to 2 GB at once.
        #[arg(long)]
        work: PathBuf,
        /// Where the table (`scale.md`) and the plot (`scale.svg`) go.
        #[arg(long)]
        out: PathBuf,
        /// Measured runs of each command.
        #[arg(long, default_value_t = 5)]
        rounds: usize,
    },
    /// Measure what an MCP server costs until it is ready.
    Mcp {
        /// The program, built with `--release`.
        #[arg(long)]
        axiowl: PathBuf,
        /// Servers of each lifecycle.
        #[arg(long, default_value_t = 20)]
        rounds: usize,
    },
    /// Start a server, greet it and print what it cost.
    #[command(hide = true)]
    Greet {
        greeting: String,
        axiowl: std::ffi::OsString,
    },
    /// Measure a built AxiOwl beside the scanner, on corpora made for it.
    Run {
        /// The program, built with `--release`.
        #[arg(long)]
        axiowl: PathBuf,
        /// Where the corpora are; made there when they are missing.
        #[arg(long)]
        work: PathBuf,
        /// Measured runs of each command.
        #[arg(long, default_value_t = 9)]
        rounds: usize,
    },
}

fn main() -> ExitCode {
    let done = match Args::parse().job {
        Job::Corpus {
            home,
            seed,
            sessions,
            length,
        } => corpus::write(&home, &Plan::reference(seed, sessions, length)).map(|()| String::new()),
        Job::Scan { home, count } => scan::scan(&home).map(|found| {
            if count {
                format!("{}\n", found.len())
            } else {
                found.iter().map(ToString::to_string).collect()
            }
        }),
        Job::One { command } => measure::one(&command),
        Job::Sending { axiowl, rounds } => sending::run(&axiowl, rounds),
        Job::Scale {
            axiowl,
            work,
            out,
            rounds,
        } => scale::run(&axiowl, &work, &out, rounds),
        Job::Mcp { axiowl, rounds } => mcp::run(&axiowl, rounds),
        Job::Greet { greeting, axiowl } => mcp::one(&axiowl, &greeting),
        Job::Run {
            axiowl,
            work,
            rounds,
        } => report::run(&axiowl, &work, rounds),
    };
    match done {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
