//! The clients, one function each: its files and the entries in them.

use super::{Client, Launch, Login};
use axiowl_install::{ConfigFile, Entry, Format, Part, Recipe};
use axiowl_sources::World;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Settings of a server that let its tools run unasked.
pub(super) const APPROVING: [&str; 2] = ["default_tools_approval_mode", "trust"];
/// What programs are asked with for their version.
const VERSION: &[&str] = &["--version"];
/// The longest wait of a tool is 110 seconds; clients give up after this many.
const TOOL_SECONDS: u32 = 120;

pub(super) fn all(world: &World, launch: &Launch) -> Vec<Client> {
    let make = [
        codex,
        claude_code,
        opencode,
        copilot,
        gemini,
        vscode,
        cursor,
        antigravity,
        grok,
    ];
    make.iter().map(|make| make(world, launch)).collect()
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

fn recipe(key: &str, files: Vec<ConfigFile>) -> Recipe {
    Recipe {
        key: key.into(),
        files,
    }
}

fn file(path: PathBuf, format: Format, entries: Vec<Entry>) -> ConfigFile {
    ConfigFile {
        path,
        format,
        entries,
    }
}

/// The server as most clients write it.
fn server(launch: &Launch) -> Value {
    json!({ "command": launch.program, "args": launch.arguments(&["mcp"]) })
}

fn with(mut server: Value, more: Value) -> Value {
    if let (Some(server), Value::Object(more)) = (server.as_object_mut(), more) {
        server.extend(more);
    }
    server
}

/// `providers/codex.md` D2: the tools' annotations let a headless run use them; the approval
/// keeps that true for versions that judge otherwise.
fn codex(world: &World, launch: &Launch) -> Client {
    let folder = folder(world, "CODEX_HOME", ".codex");
    let server = with(
        server(launch),
        json!({ "tool_timeout_sec": TOOL_SECONDS, "default_tools_approval_mode": "approve" }),
    );
    let entry = Entry::key(Part::Server, &["mcp_servers", "axiowl"], server);
    Client {
        key: "codex",
        title: "Codex",
        surfaces: &["codex", "codex_cli"],
        programs: &["codex"],
        version: VERSION,
        login: Login {
            variables: &["CODEX_API_KEY", "OPENAI_API_KEY"],
            files: vec![folder.join("auth.json")],
            elsewhere: false,
        },
        recipe: recipe(
            "codex",
            vec![file(folder.join("config.toml"), Format::Toml, vec![entry])],
        ),
        folders: vec![folder],
        notes: &["the desktop app, the editor extension and the CLI read one configuration"],
    }
}

/// `providers/claude-code.md` A.1 and D.3: servers of the user stand in `.claude.json`, which
/// lies beside the folder unless a variable names the folder; permissions in `settings.json`.
fn claude_code(world: &World, launch: &Launch) -> Client {
    let own = world.env("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let own = own.filter(|path| path.is_absolute());
    let folder = own.clone().unwrap_or_else(|| home(world).join(".claude"));
    let servers = own.unwrap_or_else(|| home(world)).join(".claude.json");
    // Without `alwaysLoad` the client's tool search hides the tools.
    let server = with(
        with(json!({ "type": "stdio" }), server(launch)),
        json!({ "alwaysLoad": true }),
    );
    Client {
        key: "claude-code",
        title: "Claude Code",
        surfaces: &["claude_code_cli"],
        programs: &["claude"],
        version: VERSION,
        login: Login {
            variables: &[
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "CLAUDE_CODE_OAUTH_TOKEN",
            ],
            files: vec![folder.join(".credentials.json")],
            elsewhere: cfg!(target_os = "macos"),
        },
        recipe: recipe(
            "claude-code",
            vec![
                file(
                    servers,
                    Format::Json,
                    vec![Entry::key(Part::Server, &["mcpServers", "axiowl"], server)],
                ),
                file(
                    folder.join("settings.json"),
                    Format::Json,
                    vec![Entry::element(
                        Part::Approval,
                        &["permissions", "allow"],
                        json!("mcp__axiowl"),
                    )],
                ),
            ],
        ),
        folders: vec![folder],
        notes: &[],
    }
}

/// `providers/opencode-gemini.md` B and D: nothing asks before a tool runs unless its user
/// configured that, and the store names the caller.
fn opencode(world: &World, launch: &Launch) -> Client {
    let folder_config = folder(world, "XDG_CONFIG_HOME", ".config").join("opencode");
    let data = folder(world, "XDG_DATA_HOME", ".local/share").join("opencode");
    let names = ["opencode.json", "opencode.jsonc"];
    let there = names
        .iter()
        .map(|name| folder_config.join(name))
        .find(|file| file.exists());
    let path = there.unwrap_or_else(|| folder_config.join(names[0]));
    let mut command = vec![launch.program.clone()];
    command.extend(launch.arguments(&["mcp"]));
    let server = json!({ "type": "local", "command": command, "enabled": true });
    let entry = Entry::key(Part::Server, &["mcp", "axiowl"], server);
    Client {
        key: "opencode",
        title: "OpenCode",
        surfaces: &["opencode_cli"],
        programs: &["opencode"],
        version: VERSION,
        login: Login {
            variables: &[],
            files: vec![data.join("auth.json")],
            elsewhere: true,
        },
        recipe: recipe("opencode", vec![file(path, Format::Jsonc, vec![entry])]),
        folders: vec![folder_config, data],
        notes: &["where your `permission` settings ask or deny by default, allow `axiowl_*` there"],
    }
}

/// `providers/copilot-vscode.md` A.1 and D1: a hook of the user puts the session into the call.
fn copilot(world: &World, launch: &Launch) -> Client {
    let folder = folder(world, "COPILOT_HOME", ".copilot");
    let server = with(
        with(json!({ "type": "local" }), server(launch)),
        json!({ "tools": ["*"] }),
    );
    let line = if cfg!(windows) { "powershell" } else { "bash" };
    let hook =
        json!({ "type": "command", line: launch.line(&["hook", "copilot"]), "timeoutSec": 10 });
    Client {
        key: "copilot",
        title: "Copilot CLI",
        surfaces: &["copilot_cli"],
        programs: &["copilot"],
        version: VERSION,
        login: Login {
            variables: &[
                "COPILOT_GITHUB_TOKEN",
                "GH_TOKEN",
                "GITHUB_TOKEN",
                "COPILOT_PROVIDER_API_KEY",
            ],
            files: Vec::new(),
            elsewhere: true,
        },
        recipe: recipe(
            "copilot",
            vec![
                file(
                    folder.join("mcp-config.json"),
                    Format::Json,
                    vec![Entry::key(Part::Server, &["mcpServers", "axiowl"], server)],
                ),
                file(
                    folder.join("hooks/axiowl.json"),
                    Format::Json,
                    vec![
                        Entry::key(Part::Frame, &["version"], json!(1)),
                        Entry::element(Part::Hook, &["hooks", "preMcpToolCall"], hook),
                    ],
                ),
            ],
        ),
        folders: vec![folder],
        notes: &[
            "sessions that are open already load the hook when they are opened again",
            "it keeps approvals for each folder, so a headless run of your own needs `--allow-tool=axiowl`; AxiOwl's deliveries pass it",
        ],
    }
}

/// `providers/opencode-gemini.md` D: `trust` lets its tools run unasked, a hook tells the session.
fn gemini(world: &World, launch: &Launch) -> Client {
    let folder = folder(world, "GEMINI_CLI_HOME", "").join(".gemini");
    let server = with(server(launch), json!({ "trust": true }));
    let hook = json!({
        "matcher": "mcp_axiowl_.*",
        "hooks": [{ "name": "axiowl", "type": "command", "command": launch.line(&["hook", "gemini"]), "timeout": 10_000 }],
    });
    Client {
        key: "gemini",
        title: "Gemini CLI",
        surfaces: &["gemini_cli"],
        programs: &["gemini"],
        version: VERSION,
        login: Login {
            variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            files: vec![folder.join("oauth_creds.json")],
            elsewhere: true,
        },
        recipe: recipe(
            "gemini",
            vec![file(
                folder.join("settings.json"),
                Format::Jsonc,
                vec![
                    Entry::key(Part::Server, &["mcpServers", "axiowl"], server),
                    Entry::element(Part::Hook, &["hooks", "BeforeTool"], hook),
                ],
            )],
        ),
        // Other programs keep things in the folder above, too.
        folders: vec![folder.join("tmp"), folder.join("settings.json")],
        notes: &[],
    }
}

/// Products that keep servers of the user in `<User>/mcp.json` (`providers/copilot-vscode.md` A).
const PRODUCTS: [&str; 4] = ["Code", "Code - Insiders", "Code - OSS", "VSCodium"];

fn vscode(world: &World, launch: &Launch) -> Client {
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
    let server = with(json!({ "type": "stdio" }), server(launch));
    let files = chosen.iter().map(|user| {
        let entry = Entry::key(Part::Server, &["servers", "axiowl"], server.clone());
        file(user.join("mcp.json"), Format::Jsonc, vec![entry])
    });
    Client {
        key: "vscode",
        title: "VS Code",
        surfaces: &["vscode_native", "vscode_copilot_backed"],
        programs: &["code", "code-insiders", "codium"],
        version: VERSION,
        login: Login {
            variables: &[],
            files: Vec::new(),
            elsewhere: true,
        },
        recipe: recipe("vscode", files.collect()),
        folders: users,
        notes: &["it asks once whether the server may start, and before a tool runs"],
    }
}

/// `providers/cursor-antigravity-grok.md` B and C: documented, not tried with a live Cursor.
fn cursor(world: &World, launch: &Launch) -> Client {
    let folder = home(world).join(".cursor");
    let hook = json!({ "command": launch.line(&["hook", "cursor"]), "matcher": "MCP:axiowl_.*" });
    Client {
        key: "cursor",
        title: "Cursor",
        surfaces: &["cursor", "cursor_cli"],
        programs: &["cursor-agent", "cursor"],
        version: VERSION,
        login: Login {
            variables: &["CURSOR_API_KEY"],
            files: Vec::new(),
            elsewhere: true,
        },
        recipe: recipe(
            "cursor",
            vec![
                file(
                    folder.join("mcp.json"),
                    Format::Jsonc,
                    vec![Entry::key(
                        Part::Server,
                        &["mcpServers", "axiowl"],
                        server(launch),
                    )],
                ),
                file(
                    folder.join("hooks.json"),
                    Format::Jsonc,
                    vec![
                        Entry::key(Part::Frame, &["version"], json!(1)),
                        Entry::element(Part::Hook, &["hooks", "preToolUse"], hook),
                    ],
                ),
            ],
        ),
        folders: vec![folder],
        notes: &[
            "written as its documentation says; not tried with Cursor itself",
            "the CLI wants `cursor-agent mcp enable axiowl` once",
        ],
    }
}

/// `providers/cursor-antigravity-grok.md` A and C: the app and the CLI share a folder.
fn antigravity(world: &World, launch: &Launch) -> Client {
    let gemini = home(world).join(".gemini");
    let folder = gemini.join("config");
    let command = launch.line(&["hook", "antigravity"]);
    let hook = json!({ "PreToolUse": [{
        "matcher": "call_mcp_tool",
        "hooks": [{ "type": "command", "command": command, "timeout": 10 }],
    }] });
    Client {
        key: "antigravity",
        title: "Antigravity",
        surfaces: &["antigravity", "antigravity_cli"],
        programs: &["agy", "antigravity"],
        version: VERSION,
        login: Login {
            variables: &[],
            files: Vec::new(),
            elsewhere: true,
        },
        recipe: recipe(
            "antigravity",
            vec![
                file(
                    folder.join("mcp_config.json"),
                    Format::Json,
                    vec![Entry::key(
                        Part::Server,
                        &["mcpServers", "axiowl"],
                        server(launch),
                    )],
                ),
                file(
                    folder.join("hooks.json"),
                    Format::Json,
                    vec![Entry::key(Part::Hook, &["axiowl"], hook)],
                ),
            ],
        ),
        folders: vec![gemini.join("antigravity"), gemini.join("antigravity-cli")],
        notes: &["written as its documentation says; not tried with Antigravity itself"],
    }
}

/// `providers/cursor-antigravity-grok.md` C: the host names the session to the server itself.
fn grok(world: &World, launch: &Launch) -> Client {
    let folder = folder(world, "GROK_HOME", ".grok");
    let entry = Entry::key(Part::Server, &["mcp_servers", "axiowl"], server(launch));
    Client {
        key: "grok",
        title: "Grok Build",
        surfaces: &["grok"],
        programs: &["grok"],
        version: &["version"],
        login: Login {
            variables: &["XAI_API_KEY"],
            files: vec![folder.join("auth.json")],
            elsewhere: false,
        },
        recipe: recipe(
            "grok",
            vec![file(folder.join("config.toml"), Format::Toml, vec![entry])],
        ),
        folders: vec![folder],
        notes: &["written as its documentation says; not tried with Grok Build itself"],
    }
}
