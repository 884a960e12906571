//! Clients with a window, and the terminal clients that read the same configuration.

use super::super::{Client, Launch, Login};
use super::{client, file, folder, hidden_login, home, hooks, server, servers, typed};
use axiowl_install::{Entry, Format, Part};
use axiowl_sources::World;
use serde_json::json;
use std::path::PathBuf;

/// Products that keep servers of the user in `<User>/mcp.json` (`providers/copilot-vscode.md` A).
const PRODUCTS: [&str; 4] = ["Code", "Code - Insiders", "Code - OSS", "VSCodium"];

pub(super) fn vscode(world: &World, launch: &Launch) -> Client {
    let base = if cfg!(windows) {
        folder(world, "APPDATA", "AppData/Roaming")
    } else if cfg!(target_os = "macos") {
        home(world).join("Library/Application Support")
    } else {
        folder(world, "XDG_CONFIG_HOME", ".config")
    };
    let mut users: Vec<PathBuf> = PRODUCTS
        .iter()
        .map(|name| base.join(name).join("User"))
        .collect();
    users.push(home(world).join(".local/share/code-server/User"));
    let there: Vec<PathBuf> = users.iter().filter(|user| user.is_dir()).cloned().collect();
    let chosen = if there.is_empty() {
        users[..1].to_vec()
    } else {
        there
    };
    let files = chosen.iter().map(|user| {
        let server = typed("stdio", launch);
        servers(user.join("mcp.json"), Format::Jsonc, "servers", server)
    });
    Client {
        surfaces: &["vscode_native", "vscode_copilot_backed"],
        programs: &["code", "code-insiders", "codium"],
        folders: users,
        notes: &["it asks once whether the server may start, and before a tool runs"],
        ..client("vscode", "VS Code", files.collect())
    }
}

/// `providers/cursor-antigravity-grok.md` B and C: documented, not tried with a live Cursor.
pub(super) fn cursor(world: &World, launch: &Launch) -> Client {
    let folder = home(world).join(".cursor");
    let hook = json!({ "command": launch.line(&["hook", "cursor"]), "matcher": "MCP:axiowl_.*" });
    let before_tools = folder.join("hooks.json");
    let files = vec![
        servers(
            folder.join("mcp.json"),
            Format::Jsonc,
            "mcpServers",
            server(launch),
        ),
        hooks(before_tools, Format::Jsonc, "preToolUse", hook),
    ];
    Client {
        surfaces: &["cursor", "cursor_cli"],
        programs: &["cursor-agent", "cursor"],
        login: Login {
            variables: &["CURSOR_API_KEY"],
            ..hidden_login()
        },
        folders: vec![folder],
        notes: &[
            "written as its documentation says; not tried with Cursor itself",
            "the CLI wants `cursor-agent mcp enable axiowl` once",
        ],
        ..client("cursor", "Cursor", files)
    }
}

/// `providers/cursor-antigravity-grok.md` A and C: the app and the CLI share a folder.
pub(super) fn antigravity(world: &World, launch: &Launch) -> Client {
    let gemini = home(world).join(".gemini");
    let folder = gemini.join("config");
    let command = launch.line(&["hook", "antigravity"]);
    let hook = json!({ "PreToolUse": [{
        "matcher": "call_mcp_tool",
        "hooks": [{ "type": "command", "command": command, "timeout": 10 }],
    }] });
    let hook = Entry::key(Part::Hook, &["axiowl"], hook);
    let config = folder.join("mcp_config.json");
    let files = vec![
        servers(config, Format::Json, "mcpServers", server(launch)),
        file(folder.join("hooks.json"), Format::Json, vec![hook]),
    ];
    Client {
        surfaces: &["antigravity", "antigravity_cli"],
        programs: &["agy", "antigravity"],
        folders: vec![gemini.join("antigravity"), gemini.join("antigravity-cli")],
        notes: &["written as its documentation says; not tried with Antigravity itself"],
        ..client("antigravity", "Antigravity", files)
    }
}
