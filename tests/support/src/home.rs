//! A temporary HOME in which the real clients talk to the mock model and to nothing else.
//!
//! Writes the providers' own configuration, as a user with an API key would have it. What a
//! client does in the home is the business of the modules that are named after it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::child::{self, Finished};
use crate::clients::Clients;
use crate::error::DriveError;
use crate::model::MockModel;
use crate::opencode;
use crate::skip::Skip;

/// One run of a client takes seconds, and minutes where a machine is busy.
pub(crate) const RUN_DEADLINE: Duration = Duration::from_secs(300);
/// Claude Code asks about an unknown key by its last twenty characters.
const API_KEY: &str = "sk-ant-dummy-for-the-mock-model-AXIOWLMOCK0000000000";
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A temporary HOME; removed when dropped.
#[derive(Debug)]
pub struct ClientHome {
    folder: TempDir,
    path: PathBuf,
    clients: Clients,
    anthropic_base: String,
    openai_base: String,
    gemini_base: String,
}

impl ClientHome {
    /// Makes the home and configures every client for the mock model.
    ///
    /// # Errors
    /// [`DriveError::File`].
    pub fn new(clients: &Clients, model: &MockModel) -> Result<Self, DriveError> {
        let made = tempfile::Builder::new().prefix("axiowl-home-").tempdir();
        let folder = made.map_err(DriveError::file(&std::env::temp_dir()))?;
        // Claude Code names a project's folder by its real path.
        let path = folder
            .path()
            .canonicalize()
            .map_err(DriveError::file(folder.path()))?;
        let home = Self {
            folder,
            path,
            clients: clients.clone(),
            anthropic_base: model.anthropic_base(),
            openai_base: model.openai_base(),
            gemini_base: model.gemini_base(),
        };
        home.write(".codex/config.toml", &codex_config(&model.openai_base()))?;
        home.write(".claude.json", &claude_presets().to_string())?;
        let opencode = opencode::config(&home.openai_base);
        home.write(".config/opencode/opencode.json", &opencode)?;
        home.gemini_settings(None)?;
        Ok(home)
    }

    /// A home of the current clients with a project folder, and the model that answers them.
    ///
    /// # Errors
    /// A [`Skip`] where the clients cannot be had.
    ///
    /// # Panics
    /// Where the home cannot be made.
    pub fn with_project() -> Result<(MockModel, Self, PathBuf), Skip> {
        let clients = Clients::ensure()?;
        let model = MockModel::start();
        let home = Self::new(&clients, &model).expect("a home");
        let folder = home.project("webshop").expect("a folder");
        Ok((model, home, folder))
    }

    /// The home's real path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The clients that run in this home.
    pub fn clients(&self) -> &Clients {
        &self.clients
    }

    /// Makes a project folder below the home that Claude Code trusts.
    ///
    /// # Errors
    /// [`DriveError::File`].
    pub fn project(&self, name: &str) -> Result<PathBuf, DriveError> {
        let folder = self.path.join(name);
        fs::create_dir_all(&folder).map_err(DriveError::file(&folder))?;
        self.trust(&folder)?;
        Ok(folder)
    }

    /// Notes in `.claude.json` that the user trusts a folder; no client may be running.
    pub(crate) fn trust(&self, folder: &Path) -> Result<(), DriveError> {
        let file = self.path.join(".claude.json");
        let text = fs::read_to_string(&file).map_err(DriveError::file(&file))?;
        let config = serde_json::from_str(&text).ok().filter(Value::is_object);
        let mut config = config.unwrap_or_else(claude_presets);
        let key = folder.to_string_lossy().into_owned();
        if config["projects"][&key]["hasTrustDialogAccepted"] == true {
            return Ok(());
        }
        let trusted = json!({
            "hasTrustDialogAccepted": true,
            "hasCompletedProjectOnboarding": true,
        });
        match config["projects"].as_object_mut() {
            Some(projects) => drop(projects.insert(key, trusted)),
            None => config["projects"] = json!({ key: trusted }),
        }
        fs::write(&file, config.to_string()).map_err(DriveError::file(&file))
    }

    /// Writes a file below the home, with its folders.
    ///
    /// # Errors
    /// [`DriveError::File`].
    pub fn write(&self, relative: &str, text: &str) -> Result<PathBuf, DriveError> {
        let file = self.path.join(relative);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(DriveError::file(folder))?;
        }
        fs::write(&file, text).map_err(DriveError::file(&file))?;
        Ok(file)
    }

    /// The whole environment for a program that runs in this home, such as `axiowl`: start it
    /// with a cleared environment and these pairs.
    pub fn env(&self) -> Vec<(String, String)> {
        let mut path: Vec<String> = self
            .clients
            .path_folders()
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        path.push(SYSTEM_PATH.to_owned());
        let pairs = [
            ("HOME", self.path.display().to_string()),
            ("PATH", path.join(":")),
            ("TERM", "xterm-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("ANTHROPIC_BASE_URL", self.anthropic_base.clone()),
            ("ANTHROPIC_API_KEY", API_KEY.to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            ("DISABLE_TELEMETRY", "1".to_owned()),
            ("DISABLE_ERROR_REPORTING", "1".to_owned()),
            // CI is root; Claude Code refuses some modes to root without it.
            ("IS_SANDBOX", "1".to_owned()),
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_PROVIDER_BASE_URL", self.openai_base.clone()),
            ("COPILOT_PROVIDER_API_KEY", API_KEY.to_owned()),
            ("COPILOT_MODEL", "mock-model".to_owned()),
            ("GEMINI_API_KEY", API_KEY.to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", self.gemini_base.clone()),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    /// A command with exactly [`Self::env`] as its environment.
    pub fn command(&self, program: impl AsRef<OsStr>, cwd: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env()).current_dir(cwd);
        command
    }

    /// Runs a program of this home to its end, whatever its exit code.
    ///
    /// # Errors
    /// [`DriveError::Spawn`], [`DriveError::Deadline`] (120 s).
    pub fn run(
        &self,
        program: impl AsRef<OsStr>,
        arguments: &[&str],
        cwd: &Path,
        input: &str,
    ) -> Result<Finished, DriveError> {
        self.run_within(RUN_DEADLINE, program, arguments, cwd, input)
    }

    /// The same with a deadline of the test's own, for a turn that waits for another client's.
    ///
    /// # Errors
    /// [`DriveError::Spawn`], [`DriveError::Deadline`].
    pub fn run_within(
        &self,
        deadline: Duration,
        program: impl AsRef<OsStr>,
        arguments: &[&str],
        cwd: &Path,
        input: &str,
    ) -> Result<Finished, DriveError> {
        child::run(self.command(program, cwd).args(arguments), input, deadline)
    }

    /// Keeps the folder for a person to look at; its path stays valid after the test.
    pub fn keep(mut self) -> PathBuf {
        self.folder.disable_cleanup(true);
        self.path.clone()
    }
}

/// `providers/codex.md`, head: the minimal configuration. No retries, since the model is local
/// and a failing call is meant to fail; no plug-ins, since Codex would fetch them.
fn codex_config(base: &str) -> String {
    format!(
        "model = \"mock-model\"\n\
         model_provider = \"mock\"\n\
         check_for_update_on_startup = false\n\
         \n\
         [analytics]\n\
         enabled = false\n\
         \n\
         [features]\n\
         plugins = false\n\
         \n\
         [model_providers.mock]\n\
         name = \"mock\"\n\
         base_url = \"{base}\"\n\
         wire_api = \"responses\"\n\
         request_max_retries = 0\n\
         stream_max_retries = 0\n"
    )
}

/// `providers/claude-code.md` section B: what a user's first start would have asked.
fn claude_presets() -> Value {
    json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "numStartups": 3,
        "fullscreenUpsellSeenCount": 9,
        "customApiKeyResponses": { "approved": [&API_KEY[API_KEY.len() - 20..]], "rejected": [] },
        "projects": {},
    })
}
