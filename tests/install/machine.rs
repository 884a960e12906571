//! A machine with clients in use, as far as their folders, programs and sessions show it.

use crate::program::{Axiowl, Run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Configuration as people have it: comments, an order of their own, keys we know nothing of.
pub const CODEX: &str = "# my settings\nmodel = \"gpt\" # the good one\n\n[projects.\"/home/dev/x\"]\ntrust_level = \"trusted\"\n\n[mcp_servers.docs]\ncommand = \"docs\"\n";
pub const CLAUDE: &str = "{\"numStartups\":3,\"projects\":{\"/home/dev/x\":{\"allowedTools\":[]}},\"mcpServers\":{\"docs\":{\"command\":\"docs\"}},\"z\":\"\\u00e9\"}";
pub const CLAUDE_SETTINGS: &str = "{\n    \"permissions\": {\n        \"allow\": [\"Bash(ls:*)\"],\n        \"deny\": []\n    },\n    \"theme\": \"dark\"\n}\n";
pub const GEMINI: &str = "// mine\n{\n\t\"security\": { \"auth\": { \"selectedType\": \"gemini-api-key\" } },\n\t\"hooks\": {\n\t\t\"BeforeTool\": [\n\t\t\t{ \"matcher\": \".*\", \"hooks\": [] }, // own\n\t\t],\n\t},\n}\n";

/// Every file below a folder with its bytes and mode; links with where they lead.
pub fn tree(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
    let mut out = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("folder") {
            let path = entry.expect("entry").path();
            let meta = std::fs::symlink_metadata(&path).expect("metadata");
            let mode = meta.permissions().mode() & 0o7777;
            if meta.is_symlink() {
                let target = std::fs::read_link(&path).expect("link");
                out.insert(
                    path,
                    (target.to_string_lossy().into_owned().into_bytes(), 0),
                );
            } else if meta.is_dir() {
                folders.push(path.clone());
                out.insert(path, (Vec::new(), mode));
            } else {
                let bytes = std::fs::read(&path).expect("file");
                out.insert(path, (bytes, mode));
            }
        }
    }
    out
}

/// What the machine looks like without AxiOwl's own state.
pub fn others(axiowl: &Axiowl) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
    let state = axiowl.home().join(".axiowl");
    let all = tree(&axiowl.home()).into_iter();
    all.filter(|(path, _)| !path.starts_with(&state)).collect()
}

/// A program that is only there to be found.
pub fn program(axiowl: &Axiowl, name: &str) {
    axiowl.write(&format!("home/.local/bin/{name}"), "#!/bin/sh\n");
    let file = axiowl.home().join(".local/bin").join(name);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("mode");
}

/// Codex, Claude Code and Gemini CLI in use, the last without its program.
pub fn machine() -> Axiowl {
    let axiowl = Axiowl::new().with_env("PATH", "/usr/bin:/bin");
    axiowl.write("home/.codex/config.toml", CODEX);
    axiowl.write("home/.claude.json", CLAUDE);
    axiowl.write("home/.claude/settings.json", CLAUDE_SETTINGS);
    axiowl.write("home/.gemini/settings.json", GEMINI);
    axiowl.write("home/.gemini/tmp/x/chats/keep", "");
    for name in ["codex", "claude"] {
        program(&axiowl, name);
    }
    let secret = axiowl.home().join(".claude.json");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).expect("mode");
    axiowl
}

pub fn read(axiowl: &Axiowl, below_home: &str) -> String {
    std::fs::read_to_string(axiowl.home().join(below_home)).expect("file")
}

/// A run that has to go well.
pub fn ok(axiowl: &Axiowl, arguments: &[&str]) -> Run {
    let run = axiowl.run(arguments);
    assert_eq!(run.code, 0, "{arguments:?}: {run}");
    run
}

pub fn json(axiowl: &Axiowl, below_home: &str) -> Value {
    serde_json::from_str(&read(axiowl, below_home)).expect("JSON")
}
