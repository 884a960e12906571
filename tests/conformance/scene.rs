//! A machine for the tests: the Codex store of the fixtures, the Claude Code sessions of the
//! fixtures, or both, in a home of their own, with a state folder of their own.

use crate::program::{Axiowl, ROOT, Run, copy_tree};
use serde_json::Value;
use std::path::Path;

/// A binary with a home, a world and a state folder.
pub struct Scene {
    pub axiowl: Axiowl,
    flags: Vec<String>,
}

/// What the world says beside its clock and home.
pub const FOLDERS: &str = "dirs: [/home/dev/projects/webshop, /home/dev/projects/api, \
    /home/dev/projects/payments, /home/dev/projects/inventory, /home/dev/projects/damage]\n";
/// An installed Codex that can resume and queue.
pub const CODEX: &str = "facts: { codex_writer_locks_and_queue: true }\n";

impl Scene {
    /// An empty home.
    pub fn empty() -> Self {
        let axiowl = Axiowl::new();
        let state = axiowl.path("state").display().to_string();
        let world = axiowl.path("world.yaml").display().to_string();
        let flags = ["--world".into(), world, "--state".into(), state].to_vec();
        let scene = Self { axiowl, flags };
        scene.world("");
        scene
    }

    /// The Codex store of the fixtures, changed by `sql`.
    pub fn codex_with(sql: impl Fn(&str) -> String) -> Self {
        let scene = Self::empty();
        scene.add_codex(sql);
        scene.world(FOLDERS);
        scene
    }

    /// The Codex store of the fixtures.
    pub fn codex() -> Self {
        Self::codex_with(str::to_owned)
    }

    /// Both stores, and an installed Codex.
    pub fn both() -> Self {
        let scene = Self::codex();
        copy_tree(
            &Path::new(ROOT).join("rules/claude_code_cli/fixtures/projects/home"),
            &scene.axiowl.home(),
        );
        scene.world(&format!("{FOLDERS}{CODEX}"));
        scene
    }

    fn add_codex(&self, sql: impl Fn(&str) -> String) {
        let home = self.axiowl.home();
        copy_tree(&Path::new(ROOT).join("rules/codex/fixtures/home"), &home);
        let text = std::fs::read_to_string(home.join(".codex/state_5.sqlite.sql")).expect("sql");
        let database = rusqlite::Connection::open(home.join(".codex/state_5.sqlite")).expect("db");
        database.execute_batch(&sql(&text)).expect("the SQL runs");
    }

    /// Describes the world anew.
    pub fn world(&self, more: &str) {
        self.axiowl.write(
            "world.yaml",
            format!("now: 2026-11-30T15:00:00Z\nmaps: {{ /home/dev: home }}\n{more}"),
        );
    }

    /// Runs with the scene's world and state.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.axiowl.run(&self.with_flags(arguments))
    }

    /// The arguments after the scene's own flags.
    pub fn with_flags<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        self.flags
            .iter()
            .map(String::as_str)
            .chain(arguments.iter().copied())
            .collect()
    }

    /// Runs, and wants it to end well.
    pub fn ok(&self, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {run}");
        run
    }

    /// The rows that a scope finds, as JSON.
    pub fn discover(&self, scope: &str) -> Vec<Value> {
        self.ok(&["discover", scope, "--json"])
            .lines("discovered_agent")
    }

    /// The registry's rows, all of them.
    pub fn rows(&self) -> Vec<Value> {
        self.ok(&["list", "agents", "--all", "--json"])
            .lines("agent")
    }

    /// The registry's table as text.
    pub fn table(&self) -> String {
        std::fs::read_to_string(self.axiowl.path("state/registry/agents.tsv")).unwrap_or_default()
    }
}

/// The row of a session, by the end of its id.
pub fn row<'a>(rows: &'a [Value], session: &str) -> &'a Value {
    let found = rows.iter().find(|row| {
        row["provider_session_id"]
            .as_str()
            .is_some_and(|id| id.ends_with(session))
    });
    found.unwrap_or_else(|| panic!("no row {session} in {rows:#?}"))
}
