//! The MCP Inspector's command line, which checks schemas and answers as the protocol's authors
//! mean them, finds nothing to complain about. It comes from npm, pinned, like the real clients.

#[path = "../program/mod.rs"]
mod program;

use axiowl_test_support::{Clients, Pins, Skip, or_skip};
use program::Axiowl;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

const PINS: Pins<'_> = Pins {
    package: include_str!("package.json"),
    lock: include_str!("package-lock.json"),
};
const TOOLS: [&str; 5] = [
    "axiowl_inbox",
    "axiowl_list_agents",
    "axiowl_message_status",
    "axiowl_send_message",
    "axiowl_whoami",
];

/// The installed inspector, and a Node that is new enough for it.
struct Inspector {
    node: PathBuf,
    script: PathBuf,
    axiowl: Axiowl,
}

impl Inspector {
    fn ensure() -> Result<Self, Skip> {
        let folder = PINS.ensure()?;
        let script = folder.join("node_modules/.bin/mcp-inspector");
        if !script.is_file() {
            return Err(Skip::new(format!("{} is missing", script.display())));
        }
        let axiowl = Axiowl::new();
        let added = axiowl.run(&[
            "registry",
            "add-agent",
            "--provider",
            "cursor",
            "--session",
            "s1",
            "--name",
            "Shop",
        ]);
        assert_eq!(added.code, 0, "{added}");
        Ok(Self {
            node: Clients::ensure()?.node(),
            script,
            axiowl,
        })
    }

    /// What it says of our server, which it starts; whether it is content.
    fn asks(&self, arguments: &[&str]) -> (Value, bool) {
        let server = self.axiowl.command(&["mcp"]);
        let mut command = Command::new(&self.node);
        command.arg(&self.script).arg("--cli");
        command.arg(server.get_program()).args(server.get_args());
        command.args(arguments).env("NO_COLOR", "1");
        for (name, value) in server.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        said(&command.output().expect("it runs"))
    }
}

fn said(output: &Output) -> (Value, bool) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    let answer = serde_json::from_str(&out).unwrap_or_else(|why| panic!("{why}: {out}{errors}"));
    (answer, output.status.success() && errors.trim().is_empty())
}

#[test]
fn the_inspector_lists_the_tools_and_calls_one_without_a_complaint() {
    let inspector = or_skip!(Inspector::ensure());
    let (listed, content) = inspector.asks(&["--method", "tools/list"]);
    assert!(content, "{listed}");
    let tools = listed["tools"].as_array().expect("tools");
    let mut names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, TOOLS);

    let call = [
        "--method",
        "tools/call",
        "--tool-name",
        "axiowl_list_agents",
    ];
    let (called, content) = inspector.asks(&call);
    assert!(content, "{called}");
    assert_eq!(called["isError"], false, "{called}");
    let agents = &called["structuredContent"]["agents"];
    assert_eq!(agents[0]["name"], "Shop", "{called}");
    // Nobody proves who an inspector is.
    let (refused, _) = inspector.asks(&["--method", "tools/call", "--tool-name", "axiowl_whoami"]);
    assert_eq!(refused["isError"], true, "{refused}");
    let why = refused["content"][0]["text"].as_str().unwrap_or_default();
    assert!(why.starts_with("refused: no rule knows"), "{refused}");
}
