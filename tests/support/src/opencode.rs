//! OpenCode in a [`ClientHome`]: sessions made by the real program
//! (`providers/opencode-gemini.md` B and C).

use std::path::Path;

use serde_json::json;

use crate::error::DriveError;
use crate::home::ClientHome;

impl ClientHome {
    /// Makes a session with a title by one headless turn and returns its id.
    ///
    /// # Errors
    /// Where the client fails or the model call fails.
    pub fn opencode_session(
        &self,
        title: &str,
        prompt: &str,
        cwd: &Path,
    ) -> Result<String, DriveError> {
        let folder = cwd.display().to_string();
        let arguments = [
            "run", "--format", "json", "--title", title, "--dir", &folder,
        ];
        let finished = self
            .run(self.clients().opencode(), &arguments, cwd, prompt)?
            .success()?;
        let events = finished.json_lines();
        let done = |event: &&serde_json::Value| event["part"]["reason"] == "stop";
        match events
            .iter()
            .find(done)
            .and_then(|e| e["sessionID"].as_str())
        {
            Some(id) => Ok(id.to_owned()),
            None => Err(finished.lacks("no finished turn")),
        }
    }
}

/// The mock model as a provider of the user's own.
pub(crate) fn config(base: &str) -> String {
    let model = json!({ "name": "Mock", "tool_call": true });
    json!({
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": false,
        "share": "disabled",
        "model": "mock/mock-model",
        "small_model": "mock/mock-model",
        "provider": {
            "mock": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Mock",
                "options": { "baseURL": base, "apiKey": "mock" },
                "models": { "mock-model": model },
            }
        },
    })
    .to_string()
}
