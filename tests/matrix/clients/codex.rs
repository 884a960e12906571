//! Codex in the matrix (`providers/codex.md`), with the terminal program as it is started by
//! default: in newer versions that is a window on a daemon.

use super::{after, terminal, text_of};
use crate::client::{Client, Said};
use axiowl_test_support::{ClientHome, Terminal, kill_of_home, records};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub struct Codex;

/// Every rollout below `sessions/<year>/<month>/<day>`, with its thread's id.
fn rollouts(home: &ClientHome) -> Vec<(String, PathBuf)> {
    let entries = |folder: &PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let mut files = vec![home.path().join(".codex/sessions")];
    for _ in ["year", "month", "day", "file"] {
        files = files.iter().flat_map(entries).collect();
    }
    let thread = |file: PathBuf| {
        let stem = file.file_stem()?.to_str()?;
        let at = stem.len().checked_sub(36)?;
        Some((stem.get(at..)?.to_owned(), file))
    };
    files.into_iter().filter_map(thread).collect()
}

impl Client for Codex {
    fn name(&self) -> &'static str {
        "Codex"
    }

    fn package(&self) -> &'static str {
        "@openai/codex"
    }

    fn login(&self) -> &'static str {
        "codex_cli:\n    env: [CODEX_MOCK_KEY]"
    }

    fn target(&self, session: &str) -> String {
        session.to_owned()
    }

    fn unknown(&self) -> String {
        "01a22c9e-c15b-7000-8000-0123456789ab".into()
    }

    fn make(&self, home: &ClientHome, name: &str, prompt: &str, cwd: &Path) -> String {
        let thread = home.codex_exec_session(prompt, cwd).expect("a thread");
        home.codex_name_thread(&thread, name).expect("a name");
        thread
    }

    fn open(&self, home: &ClientHome, session: &str, cwd: &Path) -> Terminal {
        // What a user who once trusted the folder has.
        let file = home.path().join(".codex/config.toml");
        let config = std::fs::read_to_string(&file).expect("the configuration");
        let section = format!("[projects.\"{}\"]", cwd.display());
        if !config.contains(&section) {
            let config = format!("{config}\n{section}\ntrust_level = \"trusted\"\n");
            std::fs::write(&file, config).expect("written");
        }
        let arguments = ["resume", session];
        terminal(home, cwd, home.clients().codex(), &arguments)
    }

    fn said(&self, home: &ClientHome) -> Vec<Said> {
        let mut out = Vec::new();
        for (session, file) in rollouts(home) {
            for record in records(&file) {
                let message = &record["payload"];
                if record["type"] == "response_item" && message["type"] == "message" {
                    out.push(Said {
                        session: session.clone(),
                        by_user: message["role"] != "assistant",
                        text: text_of(&message["content"]),
                    });
                }
            }
        }
        out
    }

    fn is_over(&self, home: &ClientHome, session: &str, answer: &str) -> bool {
        after(&home.codex_records(session), answer, |record| {
            record["payload"]["type"] == "task_complete"
        })
    }

    fn rename(&self, home: &ClientHome, session: &str, _cwd: &Path, name: &str) {
        home.codex_name_thread(session, name).expect("a name");
    }

    fn clear(&self) -> &'static str {
        "/new"
    }

    fn broke_off(&self, home: &ClientHome, session: &str, _window: &Terminal) -> bool {
        let records = home.codex_records(session);
        let mut kinds = records.iter().map(|record| &record["payload"]["type"]);
        kinds.any(|kind| kind == "turn_aborted")
    }

    fn open_holding(
        &self,
        _home: &ClientHome,
        _session: &str,
        _cwd: &Path,
    ) -> Result<Terminal, &'static str> {
        Err("no mode keeps a message back; the queue only waits for the running turn")
    }

    fn without_login(&self, home: &ClientHome) -> Option<(&'static str, String)> {
        let file = ".codex/config.toml";
        let config = std::fs::read_to_string(home.path().join(file)).expect("the configuration");
        let wire = "wire_api = \"responses\"\n";
        assert!(config.contains(wire));
        let with_key = format!("{wire}env_key = \"CODEX_MOCK_KEY\"\n");
        Some((file, config.replace(wire, &with_key)))
    }

    /// The daemon outlives its windows.
    fn tidy(&self, home: &ClientHome) {
        for name in ["daemon-updater.pid", "daemon.pid"] {
            let file = home.path().join(".codex/app-server-daemon").join(name);
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let daemon: Value = serde_json::from_str(&text).unwrap_or_default();
            let pid = daemon["pid"]
                .as_i64()
                .and_then(|pid| i32::try_from(pid).ok());
            if let Some(pid) = pid {
                kill_of_home(home, pid);
            }
        }
    }
}
