//! The command line. What each option means is said here once, for `--help` and the docs.

mod registry;

pub use crate::rules::args::Rules;
pub use registry::{Registry, RegistryChange};

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Finds the AI agent sessions on this machine, sends a message into exactly the one that was
/// meant, and proves how far it got.
#[derive(Debug, Parser)]
#[command(name = "axiowl", version, max_term_width = 100)]
pub struct Cli {
    /// Options every command takes.
    #[command(flatten)]
    pub common: Common,
    /// Of the status: one JSON object
    #[arg(long)]
    pub json: bool,
    /// What to do; without a command, shows status.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options every command takes.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Examine another home folder; its XDG and provider variables are not used
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Keep state in this folder instead of the default one
    #[arg(long, global = true, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Read clock, folders, executables and facts from a world file, as fixtures do
    #[arg(long, global = true, value_name = "FILE")]
    pub world: Option<PathBuf>,
    /// Read rules from a folder instead of the built-in ones
    #[arg(long, global = true, value_name = "DIR", env = "AXIOWL_RULES")]
    pub rules: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find sessions and bring the registry up to date
    Discover(Discover),
    /// List agents, providers or messages
    List(List),
    /// Show why a session is, or is not, a target
    Explain(Explain),
    /// Send a message to a session
    Send(Send),
    /// Show how far a message got
    Message(Message),
    /// Change the registry by hand
    Registry(Registry),
    /// Work with rules
    Rules(Rules),
    /// Say what stands between a message and its target, and what to do; nothing is changed
    Doctor(Doctor),
    /// Put AxiOwl's MCP server into the configuration of clients you name
    Install(Install),
    /// Take out of clients' configuration exactly what `install` added
    Uninstall(Uninstall),
    /// Serve MCP on standard input and output, or on a loopback address
    Mcp(Mcp),
    /// Called by a provider's hook: leaves who is calling for the MCP server
    Hook(Hook),
    /// See the whole path once, in a temporary home, with nothing installed
    Demo(Demo),
    /// Print the completions for a shell
    Completions(Completions),
    /// Print the manual page, or write all of them
    Man(Man),
    /// Delivers one message; started by `send`
    #[command(hide = true)]
    Worker(Worker),
    /// The demo's built-in agent; started by its delivery edge
    #[command(hide = true, name = "echo-agent")]
    EchoAgent(EchoAgent),
}

/// Options of `mcp`.
#[derive(Debug, Clone, Args)]
pub struct Mcp {
    /// Serve streamable HTTP on this loopback address, such as 127.0.0.1:7747; with port 0 a free
    /// one is taken, and the address is printed
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<std::net::SocketAddr>,
    /// The file that holds the token each request has to carry, closed to other users; without
    /// it the variable AXIOWL_MCP_TOKEN holds the token
    #[arg(long, value_name = "FILE", requires = "http")]
    pub token_file: Option<PathBuf>,
}

/// Options of `discover`.
#[derive(Debug, Args)]
pub struct Discover {
    /// codex, codex-cli, claude-code-cli … or all
    pub scope: String,
    /// Look for one session, by id or name
    #[arg(long, value_name = "ID|NAME")]
    pub target: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Change nothing, show what would change
    #[arg(long)]
    pub dry_run: bool,
    /// Scan whole files where the usual windows gave no name
    #[arg(long)]
    pub deep: bool,
    /// Read everything, even where nothing has changed, and keep nothing for the next run
    #[arg(long)]
    pub no_cache: bool,
    /// Show where the time went, source by source and stage by stage
    #[arg(long)]
    pub timings: bool,
    /// Let rules run a provider's own program where that was shown to change nothing
    #[arg(long)]
    pub allow_commands: bool,
    /// Examine a fixture folder (world.yaml and home) instead of a home
    #[arg(long, value_name = "DIR", conflicts_with_all = ["home", "world"])]
    pub fixture: Option<PathBuf>,
    /// Exit with 1 when a rule no longer fits what it reads
    #[arg(long)]
    pub strict: bool,
}

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Only this provider
    pub provider: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Exit with 1 when a rule no longer fits what it reads
    #[arg(long)]
    pub strict: bool,
}

/// Options of `list`.
#[derive(Debug, Args)]
pub struct List {
    /// What to list
    #[arg(value_enum, default_value = "agents")]
    pub what: Listed,
    /// Show the rows that cannot be sent to as well, with the reason
    #[arg(long)]
    pub all: bool,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// What `list` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Sessions that are proven to be there, and which of them nothing delivers to yet
    Agents,
    /// Providers with a rule
    Providers,
    /// Messages in the ledger
    Messages,
}

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// A name, session id or `provider:node:session`
    pub target: String,
    /// JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `send`.
#[derive(Debug, Args)]
pub struct Send {
    /// A name, session id or `provider:node:session`; the sender of the answered message when
    /// left out
    #[arg(
        long,
        value_name = "TARGET",
        default_value = "",
        hide_default_value = true,
        required_unless_present = "reply_to"
    )]
    pub to: String,
    /// The text
    #[arg(long, group = "text")]
    pub body: Option<String>,
    /// A file with the text
    #[arg(long, value_name = "FILE", group = "text")]
    pub body_file: Option<PathBuf>,
    /// `-` reads the text from standard input
    #[arg(value_name = "-", group = "text", value_parser = ["-"])]
    pub stdin: Option<String>,
    /// Who it is from: a session of the registry, or a name shown as claimed
    #[arg(long, value_name = "SENDER")]
    pub from: Option<String>,
    /// The message this one answers
    #[arg(long, value_name = "MESSAGE ID")]
    pub reply_to: Option<String>,
    /// Wait until it got this far
    #[arg(long, value_enum, default_value = "accepted")]
    pub wait: Wait,
    /// How long to wait for that; the message goes on afterwards
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub timeout: std::time::Duration,
    /// Refuse a name that several sessions have
    #[arg(long)]
    pub strict: bool,
    /// Send nothing; show row, proof, liveness, route and the text the target would read
    #[arg(long)]
    pub dry_run: bool,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// How far to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Wait {
    /// AxiOwl has it, durably
    Accepted,
    /// The provider took it
    Submitted,
    /// It stands in the target's transcript
    Seen,
    /// The turn that read it is over
    Turn,
    /// An answer came
    Reply,
}

/// Options of `message`.
#[derive(Debug, Args)]
pub struct Message {
    /// The message id
    pub id: String,
    /// Go on showing stages until nothing more can happen
    #[arg(long)]
    pub follow: bool,
    /// How long to follow
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub timeout: std::time::Duration,
    /// Settle it by what the target's own store says now, or as you decide
    #[arg(
        long,
        value_name = "STAGE",
        value_enum,
        num_args = 0..=1,
        default_missing_value = "evidence",
        conflicts_with = "follow"
    )]
    pub settle: Option<Settle>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// How a message is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Settle {
    /// By what the target's own store says now
    Evidence,
    /// You say that the target has read it
    Seen,
    /// You say that the target has read it and is done
    Turn,
    /// You say that it did not arrive, or that its turn failed
    Failed,
    /// You say that it arrived in another session
    Misdelivered,
    /// It shall not be delivered any more
    Refused,
}

/// Options of `install`.
#[derive(Debug, Args)]
pub struct Install {
    /// Which clients, by name or provider; without any, shows what would be chosen
    #[arg(value_name = "CLIENT")]
    pub clients: Vec<String>,
    /// Every client that is in use here
    #[arg(long, visible_alias = "all-detected", conflicts_with = "clients")]
    pub detected: bool,
    /// Show what is installed where, change nothing
    #[arg(long, conflicts_with_all = ["detected", "dry_run"])]
    pub status: bool,
    /// Show the plan, change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Leave out what lets the tools be used without asking
    #[arg(long)]
    pub no_approvals: bool,
    /// Do not ask before writing
    #[arg(long, short)]
    pub yes: bool,
    /// One JSON object a line; nothing is asked
    #[arg(long)]
    pub json: bool,
}

/// Options of `uninstall`.
#[derive(Debug, Args)]
pub struct Uninstall {
    /// Which clients, by name or provider
    #[arg(value_name = "CLIENT", required_unless_present = "all")]
    pub clients: Vec<String>,
    /// Every client that something was installed for
    #[arg(long, conflicts_with = "clients")]
    pub all: bool,
    /// Show the plan, change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask before writing
    #[arg(long, short)]
    pub yes: bool,
    /// One JSON object a line; nothing is asked
    #[arg(long)]
    pub json: bool,
}

/// Options of `hook`. Nothing a host could write here is an error: hosts take one for a decision.
#[derive(Debug, Args)]
pub struct Hook {
    /// Whose hook it is: antigravity, copilot, cursor or gemini
    pub provider: Option<String>,
    /// What the host adds is not looked at
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub rest: Vec<String>,
}

/// Options of `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// Which shell
    pub shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Debug, Args)]
pub struct Man {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Options of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Leave the temporary home in place and say where it is
    #[arg(long)]
    pub keep: bool,
}

/// Options of the hidden `worker`.
#[derive(Debug, Args)]
pub struct Worker {
    /// The message
    #[arg(long)]
    pub message: String,
}

/// Options of the hidden `echo-agent`.
#[derive(Debug, Args)]
pub struct EchoAgent {
    /// Its session folder
    #[arg(long)]
    pub store: PathBuf,
    /// Its session id
    #[arg(long)]
    pub session: String,
}

/// Reads `500ms`, `30s`, `5m` or `2h`.
fn duration(text: &str) -> Result<std::time::Duration, String> {
    let wrong = || format!("`{text}` is no time; write 500ms, 30s, 5m or 2h");
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
    let millis = match text[digits..].trim() {
        "ms" => 1,
        "s" | "" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    number
        .checked_mul(millis)
        .map(std::time::Duration::from_millis)
        .ok_or_else(wrong)
}
