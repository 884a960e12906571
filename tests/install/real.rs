//! The real clients: after an install they list AxiOwl's tools and call them, and the caller is
//! proven; after an uninstall they know nothing of them. Only the model is simulated.

use crate::owl::axiowl;
use axiowl_test_support::{ClientHome, Clients, MockModel, or_skip};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A tool that no prompt of these tests names: only its client's own list has it.
const LISTED: &str = "axiowl_list_agents";

struct Scene<'c> {
    model: &'c MockModel,
    home: ClientHome,
    cwd: PathBuf,
}

/// How one client runs a turn by itself.
struct Turn {
    client: &'static str,
    /// How the client names the tool to its model.
    tool: &'static str,
    program: fn(&Clients) -> PathBuf,
    arguments: &'static [&'static str],
    /// What it writes into the evidence log.
    provider: &'static str,
}

impl Scene<'_> {
    fn turn(&self, turn: &Turn, prompt: &str) {
        let program = (turn.program)(self.home.clients());
        let run = self.home.run(program, turn.arguments, &self.cwd, prompt);
        run.and_then(|finished| finished.success())
            .unwrap_or_else(|error| panic!("{}: {error}", turn.client));
    }

    /// Whether the client told its model of our tools in the turn of that prompt.
    fn listed(&self, prompt: &str) -> bool {
        let requests = self.model.requests();
        let of_turn: Vec<_> = requests
            .iter()
            .filter(|request| request.asks(prompt))
            .collect();
        assert!(!of_turn.is_empty(), "no turn asked {prompt:?}");
        of_turn
            .iter()
            .any(|request| request.body.to_string().contains(LISTED))
    }

    fn callers(&self, event: &str) -> Vec<Value> {
        let log = self.home.path().join(".axiowl/evidence.log");
        let text = std::fs::read_to_string(log).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == event).collect()
    }
}

/// Those of the files that name AxiOwl's server or tools.
fn naming(home: &Path, files: &[&str]) -> Vec<String> {
    let named = files.iter().filter(|file| {
        std::fs::read_to_string(home.join(file))
            .is_ok_and(|text| text.contains("axiowl_") || text.contains("\"axiowl\""))
    });
    named.map(|file| (*file).to_owned()).collect()
}

fn there_and_back(turn: &Turn, files: &[&str]) {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    let cwd = home.project("webshop").expect("a folder");
    let scene = Scene {
        model: &model,
        home,
        cwd,
    };

    scene.turn(turn, "before anything");
    assert!(!scene.listed("before anything"), "{}", turn.client);
    let run = axiowl(&scene.home, &["install", turn.client, "--yes"]);
    assert_eq!(run.code, 0, "{run}");

    scene.turn(turn, &format!("who am I?\n@@tool {} {{}}", turn.tool));
    assert!(scene.listed("who am I?"), "{} lists no tool", turn.client);
    let proven = scene.callers("caller_proven");
    let refused = scene.callers("caller_refused");
    assert_eq!(proven.len(), 1, "{}: {proven:?} {refused:?}", turn.client);
    let agent = proven[0]["agent_id"].as_str().expect("an agent");
    assert!(agent.starts_with(turn.provider), "{agent}");

    let run = axiowl(&scene.home, &["uninstall", turn.client, "--yes"]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(naming(scene.home.path(), files), [""; 0], "{}", turn.client);
    scene.turn(turn, "after all that");
    assert!(
        !scene.listed("after all that"),
        "{} still lists them",
        turn.client
    );
}

/// Shows: codex_cli install.
#[test]
fn codex_lists_and_calls_the_tools_after_an_install_and_not_after_an_uninstall() {
    let turn = Turn {
        client: "codex",
        tool: "axiowl_whoami",
        program: Clients::codex,
        arguments: &["exec", "--json", "--skip-git-repo-check", "-"],
        provider: "codex_cli:local:",
    };
    there_and_back(&turn, &[".codex/config.toml"]);
}

/// Shows: claude_code_cli install.
#[test]
fn claude_code_lists_and_calls_the_tools_after_an_install_and_not_after_an_uninstall() {
    let turn = Turn {
        client: "claude-code",
        tool: "mcp__axiowl__axiowl_whoami",
        program: Clients::claude,
        arguments: &["-p", "--output-format", "json"],
        provider: "claude_code_cli:local:",
    };
    there_and_back(&turn, &[".claude.json", ".claude/settings.json"]);
}

/// Shows: copilot_cli install.
#[test]
fn copilot_lists_and_calls_the_tools_after_an_install_and_not_after_an_uninstall() {
    let turn = Turn {
        client: "copilot",
        tool: "axiowl-axiowl_whoami",
        program: Clients::copilot,
        arguments: &[
            "--output-format",
            "json",
            "--no-auto-update",
            "--allow-tool=axiowl",
        ],
        provider: "copilot_cli:local:",
    };
    there_and_back(
        &turn,
        &[
            ".copilot/mcp-config.json",
            ".copilot/hooks/axiowl.json",
            ".copilot/extensions/axiowl/extension.mjs",
            ".copilot/settings.json",
        ],
    );
}

/// Shows: gemini_cli install.
#[test]
fn gemini_lists_and_calls_the_tools_after_an_install_and_not_after_an_uninstall() {
    let turn = Turn {
        client: "gemini",
        tool: "mcp_axiowl_axiowl_whoami",
        program: Clients::gemini,
        arguments: &["--output-format", "stream-json"],
        provider: "gemini_cli:local:",
    };
    there_and_back(&turn, &[".gemini/settings.json"]);
}

/// Shows: opencode_cli install.
#[test]
fn opencode_lists_and_calls_the_tools_after_an_install_and_not_after_an_uninstall() {
    let turn = Turn {
        client: "opencode",
        tool: "axiowl_axiowl_whoami",
        program: Clients::opencode,
        // No `--dir`: the home's environment has no `PWD`, which it believes more than the
        // folder it runs in (`providers/opencode-gemini.md` C).
        arguments: &["run", "--format", "json"],
        provider: "opencode_cli:local:",
    };
    there_and_back(&turn, &[".config/opencode/opencode.json"]);
}
