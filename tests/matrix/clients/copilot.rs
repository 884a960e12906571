//! Copilot CLI in the matrix (`providers/copilot-vscode.md`).

use super::{after, text_of};
use crate::client::{Client, DEADLINE, Said, opened};
use axiowl_providers::COPILOT_EXTENSION;
use axiowl_test_support::{ClientHome, Terminal, poll, records};
use std::path::{Path, PathBuf};

/// Copilot CLI as it is, or with AxiOwl's extension.
pub struct CopilotCli {
    pub with_extension: bool,
}

/// The conversations of all sessions.
fn conversations(home: &ClientHome) -> Vec<(String, PathBuf)> {
    let folder = home.path().join(".copilot/session-state");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let session = entry.file_name().into_string().ok()?;
            Some((session, entry.path().join("events.jsonl")))
        })
        .collect()
}

impl Client for CopilotCli {
    fn name(&self) -> &'static str {
        "Copilot CLI"
    }

    fn variant(&self) -> &'static str {
        match self.with_extension {
            true => " with AxiOwl's extension",
            false => "",
        }
    }

    fn prepare(&self, home: &ClientHome) {
        if self.with_extension {
            let file = ".copilot/extensions/axiowl/extension.mjs";
            home.write(file, COPILOT_EXTENSION).expect("written");
            home.write(
                ".copilot/settings.json",
                "{\"enabledFeatureFlags\":{\"EXTENSIONS\":true}}",
            )
            .expect("written");
        }
    }

    fn package(&self) -> &'static str {
        "@github/copilot"
    }

    fn login(&self) -> &'static str {
        "copilot_cli:\n    env: [COPILOT_OFFLINE, COPILOT_PROVIDER_BASE_URL, \
         COPILOT_PROVIDER_API_KEY, COPILOT_MODEL]"
    }

    fn target(&self, session: &str) -> String {
        format!("copilot_cli:session:{session}")
    }

    fn unknown(&self) -> String {
        self.target("7d3f8a10-5c55-4bb1-9a52-1f5d5a0b8c11")
    }

    fn make(&self, home: &ClientHome, name: &str, prompt: &str, cwd: &Path) -> String {
        home.copilot_session(name, prompt, cwd).expect("a session")
    }

    fn open(&self, home: &ClientHome, session: &str, cwd: &Path) -> Terminal {
        home.copilot_tui(session, cwd).expect("a terminal")
    }

    fn wait_ready(&self, home: &ClientHome, session: &str) {
        if self.with_extension {
            let socket = format!(".axiowl/copilot-cli/{session}.sock");
            let socket = home.path().join(socket);
            poll(DEADLINE, || socket.exists().then_some(())).expect("the extension listens");
        }
    }

    fn said(&self, home: &ClientHome) -> Vec<Said> {
        let mut out = Vec::new();
        for (session, file) in conversations(home) {
            for record in records(&file) {
                let by_user = match record["type"].as_str() {
                    Some("user.message") => true,
                    Some("assistant.message") => false,
                    _ => continue,
                };
                out.push(Said {
                    session: session.clone(),
                    by_user,
                    text: text_of(&record["data"]["content"]),
                });
            }
        }
        out
    }

    fn is_over(&self, home: &ClientHome, session: &str, answer: &str) -> bool {
        after(&home.copilot_records(session), answer, |record| {
            record["type"] == "assistant.turn_end"
        })
    }

    fn rename(&self, home: &ClientHome, session: &str, cwd: &Path, name: &str) {
        let window = opened(self, home, session, cwd);
        window.type_line(&format!("/rename {name}")).expect("typed");
        let folder = home.path().join(".copilot/session-state").join(session);
        let renamed = || {
            let text = std::fs::read_to_string(folder.join("workspace.yaml")).ok()?;
            text.contains(name).then_some(())
        };
        poll(DEADLINE, renamed).unwrap_or_else(|| panic!("not renamed:\n{}", window.screen()));
        window.close();
    }

    fn clear(&self) -> &'static str {
        "/new"
    }

    fn break_keys(&self) -> &'static [&'static str] {
        &["Escape", "Escape"]
    }

    fn broke_off(&self, home: &ClientHome, session: &str, _window: &Terminal) -> bool {
        let records = home.copilot_records(session);
        records.iter().any(|record| record["type"] == "abort")
    }

    fn open_holding(
        &self,
        _home: &ClientHome,
        _session: &str,
        _cwd: &Path,
    ) -> Result<Terminal, &'static str> {
        Err("no mode keeps a message back")
    }

    fn without_login(&self, _home: &ClientHome) -> Option<(&'static str, String)> {
        None
    }
}
