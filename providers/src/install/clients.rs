//! The clients, one function each: its files and the entries in them. What they have in common
//! stands here; which file belongs to whom stands below.

mod editors;
mod terminals;

use super::{Client, Launch, Login};
use axiowl_install::{ConfigFile, Entry, Format, Part, Recipe};
use axiowl_sources::World;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Settings of a server that let its tools run unasked.
pub(super) const APPROVING: [&str; 2] = ["default_tools_approval_mode", "trust"];

pub(super) fn all(world: &World, launch: &Launch) -> Vec<Client> {
    let make = [
        terminals::codex,
        terminals::claude_code,
        terminals::opencode,
        terminals::copilot,
        terminals::gemini,
        editors::vscode,
        editors::cursor,
        editors::antigravity,
        terminals::grok,
    ];
    make.iter().map(|make| make(world, launch)).collect()
}

/// A client as most are: its program says its version when asked with `--version`, and a login
/// may lie where no file shows it.
fn client(key: &'static str, title: &'static str, files: Vec<ConfigFile>) -> Client {
    Client {
        key,
        title,
        surfaces: &[],
        programs: &[],
        folders: Vec::new(),
        recipe: Recipe {
            key: key.into(),
            files,
        },
        version: &["--version"],
        login: hidden_login(),
        notes: &[],
    }
}

/// A login that no variable and no file shows.
fn hidden_login() -> Login {
    Login {
        elsewhere: true,
        ..Login::default()
    }
}

/// A folder that a variable names, else one below the home.
fn folder(world: &World, variable: &str, below_home: &str) -> PathBuf {
    let set = world.env(variable).map(PathBuf::from);
    set.filter(|path| path.is_absolute())
        .unwrap_or_else(|| home(world).join(below_home))
}

fn home(world: &World) -> PathBuf {
    PathBuf::from(world.home())
}

fn file(path: PathBuf, format: Format, entries: Vec<Entry>) -> ConfigFile {
    ConfigFile {
        path,
        format,
        entries,
    }
}

/// The entry of the server in the table of servers that a client calls so.
fn named(table: &str, server: Value) -> Entry {
    Entry::key(Part::Server, &[table, "axiowl"], server)
}

/// A file that holds the server and nothing else of ours.
fn servers(path: PathBuf, format: Format, table: &str, server: Value) -> ConfigFile {
    file(path, format, vec![named(table, server)])
}

/// The server as most clients write it.
fn server(launch: &Launch) -> Value {
    json!({ "command": launch.program, "args": launch.arguments(&["mcp"]) })
}

/// The server of a client that wants to be told how it talks.
fn typed(kind: &str, launch: &Launch) -> Value {
    with(json!({ "type": kind }), server(launch))
}

fn with(mut server: Value, more: Value) -> Value {
    if let (Some(server), Value::Object(more)) = (server.as_object_mut(), more) {
        server.extend(more);
    }
    server
}

/// A file of hooks that says which version it is written for.
fn hooks(path: PathBuf, format: Format, event: &str, hook: Value) -> ConfigFile {
    let entries = vec![
        Entry::key(Part::Frame, &["version"], json!(1)),
        Entry::element(Part::Hook, &["hooks", event], hook),
    ];
    file(path, format, entries)
}
