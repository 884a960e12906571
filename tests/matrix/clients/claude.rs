//! Claude Code in the matrix (`providers/claude-code.md`).

use super::{after, terminal, text_of};
use crate::client::{Client, DEADLINE, Said, opened};
use axiowl_test_support::{ClientHome, Terminal, poll, records};
use std::path::{Path, PathBuf};

pub struct ClaudeCode;

/// The transcripts of all sessions: `projects/<folder>/<id>.jsonl`.
fn transcripts(home: &ClientHome) -> Vec<(String, PathBuf)> {
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let projects = entries(&home.path().join(".claude/projects"));
    let files = projects.iter().flat_map(|project| entries(project));
    files
        .filter(|file| file.extension().is_some_and(|ending| ending == "jsonl"))
        .filter_map(|file| Some((file.file_stem()?.to_str()?.to_owned(), file)))
        .collect()
}

impl Client for ClaudeCode {
    fn name(&self) -> &'static str {
        "Claude Code"
    }

    fn package(&self) -> &'static str {
        "@anthropic-ai/claude-code"
    }

    fn login(&self) -> &'static str {
        "claude_code_cli:\n    env: [ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, \
         CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC, DISABLE_AUTOUPDATER, DISABLE_TELEMETRY, \
         DISABLE_ERROR_REPORTING, IS_SANDBOX, CLAUDE_CODE_MAX_RETRIES]"
    }

    fn target(&self, session: &str) -> String {
        format!("claude_code_cli:session:{session}")
    }

    fn unknown(&self) -> String {
        self.target("7d3f8a10-5c55-4bb1-9a52-1f5d5a0b8c11")
    }

    fn make(&self, home: &ClientHome, name: &str, prompt: &str, cwd: &Path) -> String {
        home.claude_session(name, prompt, cwd).expect("a session")
    }

    fn open(&self, home: &ClientHome, session: &str, cwd: &Path) -> Terminal {
        let arguments = ["--resume", session, "--permission-mode", "default"];
        terminal(home, cwd, home.clients().claude(), &arguments)
    }

    fn said(&self, home: &ClientHome) -> Vec<Said> {
        let mut out = Vec::new();
        for (session, file) in transcripts(home) {
            for record in records(&file) {
                let (by_user, content) = match record["type"].as_str() {
                    Some("user") => (true, &record["message"]["content"]),
                    Some("assistant") => (false, &record["message"]["content"]),
                    // A message that came in the middle of a turn.
                    Some("attachment") => (true, &record["attachment"]["prompt"]),
                    _ => continue,
                };
                out.push(Said {
                    session: session.clone(),
                    by_user,
                    text: text_of(content),
                });
            }
        }
        out
    }

    fn is_over(&self, home: &ClientHome, session: &str, answer: &str) -> bool {
        after(&home.claude_records(session), answer, |record| {
            record["subtype"] == "turn_duration"
        })
    }

    fn rename(&self, home: &ClientHome, session: &str, cwd: &Path, name: &str) {
        let window = opened(self, home, session, cwd);
        window.type_line(&format!("/rename {name}")).expect("typed");
        let renamed = || {
            let records = home.claude_records(session);
            let is = records.iter().any(|record| record["customTitle"] == name);
            is.then_some(())
        };
        poll(DEADLINE, renamed).unwrap_or_else(|| panic!("not renamed:\n{}", window.screen()));
        window.close();
    }

    fn clear(&self) -> &'static str {
        "/clear"
    }

    fn broke_off(&self, home: &ClientHome, session: &str, _window: &Terminal) -> bool {
        let records = home.claude_records(session);
        let mut texts = records.iter().map(|record| {
            let content = &record["message"]["content"];
            content[0]["text"].as_str().unwrap_or_default()
        });
        texts.any(|text| text.starts_with("[Request interrupted"))
    }

    fn open_holding(
        &self,
        home: &ClientHome,
        session: &str,
        cwd: &Path,
    ) -> Result<Terminal, &'static str> {
        // What a user who once said yes to this mode has.
        let file = home.path().join(".claude.json");
        let text = std::fs::read_to_string(&file).expect("the settings");
        let mut settings: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        settings["bypassPermissionsModeAccepted"] = true.into();
        std::fs::write(&file, settings.to_string()).expect("written");
        home.write(
            ".claude/settings.json",
            "{\"skipDangerousModePermissionPrompt\":true}",
        )
        .expect("written");
        let mode = "bypassPermissions";
        let arguments = ["--resume", session, "--permission-mode", mode];
        Ok(terminal(home, cwd, home.clients().claude(), &arguments))
    }

    fn without_login(&self, _home: &ClientHome) -> Option<(&'static str, String)> {
        None
    }
}
