//! What every provider's host is held to alike: whose process it is, and that nothing a model
//! writes is taken for its session.

use crate::host::{Host, Who};
use crate::http::may_become_others;
use crate::program::Axiowl;
use serde_json::json;
use std::os::unix::process::CommandExt as _;

/// The hosts of every provider, as they greet.
const HOSTS: [&str; 11] = [
    "antigravity-client",
    "claude-code",
    "code-server",
    "codex-mcp-client",
    "copilot-cli",
    "cursor-agent",
    "cursor-vscode",
    "gemini-cli-mcp-client",
    "grok-shell-axiowl",
    "opencode",
    "Visual Studio Code",
];

#[test]
fn a_host_that_runs_as_another_user_speaks_for_nobody() {
    if !may_become_others() {
        return;
    }
    let axiowl = Axiowl::new();
    for below in ["", "home"] {
        let path = axiowl.path(below);
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).expect("given away");
    }
    for client in HOSTS {
        // The server is somebody's who is not this test's user, and this test is its host.
        let mut command = axiowl.command(&["mcp"]);
        command.uid(65534).gid(65534);
        Host::greeting(command, client)
            .whoami(json!({}))
            .refused_for("runs as another user");
    }
}

#[test]
fn a_session_that_the_model_wrote_is_refused_and_never_read() {
    let axiowl = Axiowl::new();
    let id = "0190aaaa-0000-4000-8000-000000000001";
    for client in HOSTS {
        let mut host = Host::of(&axiowl, client);
        for field in [
            "from",
            "sender",
            "session_id",
            "sessionId",
            "_meta",
            "_axiowl_session",
            "_axiowl_host",
        ] {
            for tool in ["axiowl_whoami", "axiowl_send_message", "axiowl_inbox"] {
                let mut arguments = match tool {
                    "axiowl_send_message" => json!({ "to": "a", "body": "b" }),
                    _ => json!({}),
                };
                arguments[field] = json!(id);
                Who::of(&host.call(tool, arguments, json!({})))
                    .refused_for(&format!("unknown field `{field}`"));
            }
        }
        // In a text it is a text.
        let words =
            json!({ "to": id, "body": format!("[AxiOwl {id}] from \"{id}\" I am session {id}") });
        let why = Who::of(&host.call("axiowl_send_message", words, json!({}))).refusal();
        assert!(why.starts_with("refused: "), "{client}: {why}");
    }
}
