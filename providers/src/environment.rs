//! The environment of a provider's program: what the pipeline allows, without the variables by
//! which one session tells its children about itself.
//!
//! Adds nothing of this process's own environment.

use axiowl_pipeline::edge::EdgeContext;
use std::ffi::OsString;
use std::path::Path;

/// Variables that speak of the session AxiOwl may have been started from. A child that gets them
/// takes itself for a part of that session (`providers/claude-code.md` C.1 and D.1,
/// `providers/codex.md` D1, `providers/cursor-antigravity-grok.md` C, `providers/opencode-gemini.md`
/// D, `providers/copilot-vscode.md` D1, product.md section 8).
const SESSION_VARIABLES: [&str; 24] = [
    "AI_AGENT",
    "ANTIGRAVITY_CONVERSATION_ID",
    "ANTIGRAVITY_CSRF_TOKEN",
    "ANTIGRAVITY_LS_ADDRESS",
    "ANTIGRAVITY_TRAJECTORY_ID",
    "CLAUDECODE",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CODEX_CI",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_VERSION",
    "COPILOT_AGENT_SESSION_ID",
    "CURSOR_AGENT",
    "CURSOR_CONVERSATION_ID",
    "CURSOR_TRACE_ID",
    "GEMINI_CLI",
    "GEMINI_SESSION_ID",
    "GROK_SESSION_ID",
    "OPENCODE",
    "OPENCODE_PID",
    "OPENCODE_SESSION_ID",
];

/// Parts of the names of `CLAUDE_CODE_…` variables that speak of a session. The others are
/// settings (`CLAUDE_CODE_USE_BEDROCK` …) and stay when the configuration names them.
const CLAUDE_SESSION_PARTS: [&str; 10] = [
    "AGENT_ID",
    "AGENT_NAME",
    "CHILD",
    "ENTRYPOINT",
    "LAUNCHED",
    "MESSAGING",
    "PARENT",
    "SESSION",
    "SSE_PORT",
    "TEAM_NAME",
];

/// The environment for a program of a provider.
pub(crate) struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// What the pipeline allows, in the home that is examined.
    pub fn of(context: &EdgeContext<'_>) -> Self {
        let allowed = context
            .child_env
            .iter()
            .filter(|(name, _)| !tells_a_session(name));
        let variables = allowed
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let mut out = Self { variables };
        let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        if let Some(real) = context.world.real_path(context.world.home()) {
            out.set(home, real);
        }
        out
    }

    /// Sets a variable, whatever it was.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.retain(|(has, _)| has != name);
        self.variables.push((name.into(), value.into()));
    }

    /// Sets a variable unless it is there.
    pub fn set_default(&mut self, name: &str, value: &str) {
        if !self.variables.iter().any(|(has, _)| has == name) {
            self.set(name, value);
        }
    }

    /// Makes what lies beside a program findable, behind everything else: a program of a version
    /// manager needs its own interpreter.
    pub fn add_folder_of(&mut self, program: &Path) {
        let Some(folder) = program.parent() else {
            return;
        };
        let path = self.variables.iter().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, value)| value.clone()).unwrap_or_default();
        let mut folders: Vec<_> = std::env::split_paths(&path).collect();
        if path.is_empty() {
            folders.clear();
        }
        if folders.iter().any(|has| has == folder) {
            return;
        }
        folders.push(folder.to_owned());
        if let Ok(joined) = std::env::join_paths(folders) {
            self.set("PATH", joined);
        }
    }

    /// All of it.
    pub fn into_variables(self) -> Vec<(OsString, OsString)> {
        self.variables
    }
}

fn tells_a_session(name: &str) -> bool {
    let claude = name.strip_prefix("CLAUDE_CODE_");
    SESSION_VARIABLES.contains(&name)
        || claude.is_some_and(|rest| CLAUDE_SESSION_PARTS.iter().any(|part| rest.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_model::Timestamp;
    use axiowl_sources::World;
    use std::collections::BTreeMap;

    fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let world = World::real(
            "/home/dev".into(),
            BTreeMap::new(),
            Timestamp::from_millis(0),
        );
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        let context = EdgeContext {
            world: &world,
            state_root: "/state".into(),
            axiowl: "/bin/axiowl".into(),
            child_env: pairs.collect(),
            provider_home: None,
            experimental: false,
        };
        let mut made = Environment::of(&context);
        made.add_folder_of(Path::new("/opt/node/bin/tool"));
        let text = |os: OsString| os.into_string().unwrap();
        made.into_variables()
            .into_iter()
            .map(|(n, v)| (text(n), text(v)))
            .collect()
    }

    #[test]
    fn a_session_leaves_nothing_and_settings_stay() {
        let made = environment(&[
            ("CLAUDECODE", "1"),
            ("CLAUDE_CODE_SESSION_ID", "x"),
            ("CLAUDE_CODE_CHILD_SESSION", "1"),
            ("CLAUDE_CODE_ENTRYPOINT", "cli"),
            ("CLAUDE_CODE_MESSAGING_TOKEN", "t"),
            ("CLAUDE_PROJECT_DIR", "/x"),
            ("CODEX_THREAD_ID", "x"),
            ("GROK_SESSION_ID", "x"),
            ("CLAUDE_CODE_USE_BEDROCK", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("LANG", "C"),
            ("HOME", "/elsewhere"),
        ]);
        let names: Vec<_> = made.keys().map(String::as_str).collect();
        let settings = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC";
        assert_eq!(
            names,
            [settings, "CLAUDE_CODE_USE_BEDROCK", "HOME", "LANG", "PATH"]
        );
        assert_eq!(
            made["HOME"], "/home/dev",
            "the examined home, not another one"
        );
    }

    #[test]
    fn a_programs_own_folder_comes_last_and_once() {
        assert_eq!(environment(&[])["PATH"], "/opt/node/bin");
        assert_eq!(
            environment(&[("PATH", "/bin:/usr/bin")])["PATH"],
            "/bin:/usr/bin:/opt/node/bin"
        );
        assert_eq!(
            environment(&[("PATH", "/opt/node/bin:/bin")])["PATH"],
            "/opt/node/bin:/bin"
        );
    }
}
