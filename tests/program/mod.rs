//! Runs the built binary in a home and a state folder of its own.

#![allow(dead_code, reason = "each test file uses the part it needs")]

pub mod scope;
#[cfg(unix)]
pub mod screen;
pub mod told;

use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The checkout.
pub const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The binary with a temporary home.
pub struct Axiowl {
    folder: tempfile::TempDir,
    env: Vec<(String, String)>,
}

/// How a run ended.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "exit {}\nstdout:\n{}\nstderr:\n{}",
            self.code, self.stdout, self.stderr
        )
    }
}

impl Run {
    /// The JSON lines of one schema.
    pub fn lines(&self, kind: &str) -> Vec<Value> {
        let schema = format!("axiowl.{kind}/1");
        let parsed = self.stdout.lines().map(|line| {
            serde_json::from_str::<Value>(line)
                .unwrap_or_else(|error| panic!("{error}: {line}\n{self}"))
        });
        parsed
            .filter(|line| line["schema"] == schema.as_str())
            .collect()
    }
}

impl Default for Axiowl {
    fn default() -> Self {
        Self::new()
    }
}

impl Axiowl {
    /// A fresh home.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("home")).expect("home");
        Self {
            folder,
            env: Vec::new(),
        }
    }

    /// A path in the temporary folder.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The registry file of the default state folder.
    pub fn registry(&self) -> PathBuf {
        self.home().join(".axiowl/registry/agents.tsv")
    }

    /// Adds a variable to the environment of every run.
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Writes a file below the temporary folder.
    pub fn write(&self, relative: &str, text: impl AsRef<[u8]>) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        std::fs::write(path, text).expect("file");
    }

    /// Copies a shipped rule folder.
    pub fn copy_rule(&self, provider: &str, to: &Path) {
        copy_tree(&Path::new(ROOT).join("rules").join(provider), to);
    }

    /// The command, ready to run: nothing of the caller's environment but PATH.
    pub fn command(&self, arguments: &[&str]) -> Command {
        // Another build of it, for runs that take long.
        let program = std::env::var_os("AXIOWL_PROGRAM");
        let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_axiowl").into());
        let mut command = Command::new(program);
        command
            .current_dir(ROOT)
            .env_clear()
            .env("HOME", self.home())
            .env("NO_COLOR", "1");
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// Runs to the end.
    pub fn run(&self, arguments: &[&str]) -> Run {
        let output = self.command(arguments).output().expect("axiowl runs");
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Copies a folder with everything in it.
pub fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("folder");
    for entry in std::fs::read_dir(from).expect("folder") {
        let path = entry.expect("entry").path();
        let target = to.join(path.file_name().expect("name"));
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("copy");
            let mut permissions = std::fs::metadata(&target).expect("metadata").permissions();
            #[allow(
                clippy::permissions_set_readonly_false,
                reason = "a copy of a recorded file"
            )]
            permissions.set_readonly(false);
            std::fs::set_permissions(&target, permissions).expect("permissions");
        }
    }
}
