//! Clients of the terminal.

use super::super::{Client, Launch, Login};
use super::{client, file, folder, hidden_login, home, hooks, named, server, servers, typed, with};
use crate::copilot_cli::door;
use axiowl_install::{Entry, Format, Part};
use axiowl_sources::World;
use serde_json::json;
use std::path::PathBuf;

/// The longest wait of a tool is 110 seconds; clients give up after this many.
const TOOL_SECONDS: u32 = 120;

/// `providers/codex.md` D2: the tools' annotations let a headless run use them; the approval
/// keeps that true for versions that judge otherwise.
pub(super) fn codex(world: &World, launch: &Launch) -> Client {
    let folder = folder(world, "CODEX_HOME", ".codex");
    let server = with(
        server(launch),
        json!({ "tool_timeout_sec": TOOL_SECONDS, "default_tools_approval_mode": "approve" }),
    );
    let config = folder.join("config.toml");
    let files = vec![servers(config, Format::Toml, "mcp_servers", server)];
    Client {
        surfaces: &["codex", "codex_cli"],
        programs: &["codex"],
        login: Login {
            variables: &["CODEX_API_KEY", "OPENAI_API_KEY"],
            files: vec![folder.join("auth.json")],
            elsewhere: false,
        },
        folders: vec![folder],
        notes: &["the desktop app, the editor extension and the CLI read one configuration"],
        ..client("codex", "Codex", files)
    }
}

/// `providers/claude-code.md` A.1 and D.3: servers of the user stand in `.claude.json`, which
/// lies beside the folder unless a variable names the folder; permissions in `settings.json`.
pub(super) fn claude_code(world: &World, launch: &Launch) -> Client {
    let own = world.env("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let own = own.filter(|path| path.is_absolute());
    let folder = own.clone().unwrap_or_else(|| home(world).join(".claude"));
    let config = own.unwrap_or_else(|| home(world)).join(".claude.json");
    // Without `alwaysLoad` the client's tool search hides the tools.
    let server = with(typed("stdio", launch), json!({ "alwaysLoad": true }));
    let allowed = Entry::element(
        Part::Approval,
        &["permissions", "allow"],
        json!("mcp__axiowl"),
    );
    let files = vec![
        servers(config, Format::Json, "mcpServers", server),
        file(folder.join("settings.json"), Format::Json, vec![allowed]),
    ];
    Client {
        surfaces: &["claude_code_cli"],
        programs: &["claude"],
        login: Login {
            variables: &[
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "CLAUDE_CODE_OAUTH_TOKEN",
            ],
            files: vec![folder.join(".credentials.json")],
            elsewhere: cfg!(target_os = "macos"),
        },
        folders: vec![folder],
        ..client("claude-code", "Claude Code", files)
    }
}

/// `providers/opencode-gemini.md` B and D: nothing asks before a tool runs unless its user
/// configured that, and the store names the caller.
pub(super) fn opencode(world: &World, launch: &Launch) -> Client {
    let config = folder(world, "XDG_CONFIG_HOME", ".config").join("opencode");
    let data = folder(world, "XDG_DATA_HOME", ".local/share").join("opencode");
    let names = ["opencode.json", "opencode.jsonc"].map(|name| config.join(name));
    let there = names.iter().find(|file| file.exists());
    let path = there.unwrap_or(&names[0]).clone();
    let mut command = vec![launch.program.clone()];
    command.extend(launch.arguments(&["mcp"]));
    // A call that waits for an answer takes longer than OpenCode's own limit.
    let server = json!({
        "type": "local", "command": command, "enabled": true, "timeout": TOOL_SECONDS * 1000,
    });
    Client {
        surfaces: &["opencode_cli"],
        programs: &["opencode"],
        login: Login {
            files: vec![data.join("auth.json")],
            ..hidden_login()
        },
        folders: vec![config, data],
        notes: &["where your `permission` settings ask or deny by default, allow `axiowl_*` there"],
        ..client(
            "opencode",
            "OpenCode",
            vec![servers(path, Format::Jsonc, "mcp", server)],
        )
    }
}

/// `providers/copilot-vscode.md` A.1, C1c and D1: a hook of the user puts the session into the
/// call; an extension lets messages into open sessions, and is loaded by a client that has
/// extensions switched on. The file's `experimental` does so too, with everything else behind it.
pub(super) fn copilot(world: &World, launch: &Launch) -> Client {
    let folder = folder(world, "COPILOT_HOME", ".copilot");
    let server = with(typed("local", launch), json!({ "tools": ["*"] }));
    let line = if cfg!(windows) { "powershell" } else { "bash" };
    let hook =
        json!({ "type": "command", line: launch.line(&["hook", "copilot"]), "timeoutSec": 10 });
    let config = folder.join("mcp-config.json");
    let before_calls = folder.join("hooks/axiowl.json");
    let extension = Entry::whole(Part::Door, door::extension(launch.state()));
    let extensions = Entry::key(
        Part::Switch,
        &["enabledFeatureFlags", "EXTENSIONS"],
        json!(true),
    );
    let files = vec![
        servers(config, Format::Json, "mcpServers", server),
        hooks(before_calls, Format::Json, "preMcpToolCall", hook),
        file(
            folder.join("extensions/axiowl/extension.mjs"),
            Format::Whole,
            vec![extension],
        ),
        file(
            folder.join("settings.json"),
            Format::Jsonc,
            vec![extensions],
        ),
    ];
    Client {
        surfaces: &["copilot_cli"],
        programs: &["copilot"],
        login: Login {
            variables: &[
                "COPILOT_GITHUB_TOKEN",
                "GH_TOKEN",
                "GITHUB_TOKEN",
                "COPILOT_PROVIDER_API_KEY",
            ],
            ..hidden_login()
        },
        folders: vec![folder],
        notes: &[
            "sessions that are open already load hook and extension when they are opened again",
            "of Copilot's experimental features only the extensions are switched on; where `enabledFeatureFlags.EXTENSIONS` is set to false it stays so, and open sessions take no messages",
            "it keeps approvals for each folder, so a headless run of your own needs `--allow-tool=axiowl`; AxiOwl's deliveries pass it",
        ],
        ..client("copilot", "Copilot CLI", files)
    }
}

/// `providers/opencode-gemini.md` D: `trust` lets its tools run unasked, a hook tells the session.
pub(super) fn gemini(world: &World, launch: &Launch) -> Client {
    let folder = folder(world, "GEMINI_CLI_HOME", "").join(".gemini");
    let server = with(server(launch), json!({ "trust": true }));
    let hook = json!({
        "matcher": "mcp_axiowl_.*",
        "hooks": [{ "name": "axiowl", "type": "command", "command": launch.line(&["hook", "gemini"]), "timeout": 10_000 }],
    });
    let entries = vec![
        named("mcpServers", server),
        Entry::element(Part::Hook, &["hooks", "BeforeTool"], hook),
    ];
    let settings = folder.join("settings.json");
    Client {
        surfaces: &["gemini_cli"],
        programs: &["gemini"],
        login: Login {
            variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            files: vec![folder.join("oauth_creds.json")],
            ..hidden_login()
        },
        // Other programs keep things in the folder above, too.
        folders: vec![folder.join("tmp"), settings.clone()],
        ..client(
            "gemini",
            "Gemini CLI",
            vec![file(settings, Format::Jsonc, entries)],
        )
    }
}

/// `providers/cursor-antigravity-grok.md` C: the host names the session to the server itself.
pub(super) fn grok(world: &World, launch: &Launch) -> Client {
    let folder = folder(world, "GROK_HOME", ".grok");
    let config = folder.join("config.toml");
    let files = vec![servers(config, Format::Toml, "mcp_servers", server(launch))];
    Client {
        surfaces: &["grok"],
        programs: &["grok"],
        version: &["version"],
        login: Login {
            variables: &["XAI_API_KEY"],
            files: vec![folder.join("auth.json")],
            elsewhere: false,
        },
        folders: vec![folder],
        notes: &["written as its documentation says; not tried with Grok Build itself"],
        ..client("grok", "Grok Build", files)
    }
}
