//! Skipping a test that needs what this machine lacks, aloud, and never where CI forbids it.

use std::io::Write;
use std::path::PathBuf;

use thiserror::Error;

/// Set to `1`, a skip is a failure; `.ci/run` sets it.
pub const REQUIRE_CLIENTS: &str = "AXIOWL_REQUIRE_CLIENTS";

/// Why a test cannot run on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Skip {
    /// One line for a person.
    pub reason: String,
}

impl Skip {
    /// A skip with its reason; line breaks become spaces.
    pub fn new(reason: impl AsRef<str>) -> Self {
        let words: Vec<&str> = reason.as_ref().split_whitespace().collect();
        Self {
            reason: words.join(" "),
        }
    }

    /// Prints one line `skipped: …`.
    ///
    /// # Panics
    /// Where [`REQUIRE_CLIENTS`] is `1`.
    pub fn report(&self) {
        let required = std::env::var_os(REQUIRE_CLIENTS).is_some_and(|value| value == "1");
        assert!(
            !required,
            "{REQUIRE_CLIENTS}=1 forbids to skip: {}",
            self.reason
        );
        let thread = std::thread::current();
        let line = format!(
            "skipped: {}: {}\n",
            thread.name().unwrap_or("test"),
            self.reason
        );
        // Through the handle, since libtest swallows what the print macros write.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

/// The value of a `Result<_, Skip>`, or a reported skip and the end of the test.
#[macro_export]
macro_rules! or_skip {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(skip) => {
                $crate::Skip::report(&skip);
                return;
            }
        }
    };
}

/// Looks a program up in this process's PATH.
///
/// # Errors
/// A [`Skip`] that names the program.
pub fn program(name: &str) -> Result<PathBuf, Skip> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| Skip::new(format!("{name} is not installed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line() {
        assert_eq!(
            Skip::new("npm ERR!\n  no\tnet \n").to_string(),
            "npm ERR! no net"
        );
    }

    #[test]
    fn a_missing_program_is_named() {
        let skip = program("no-such-program-of-axiowl").expect_err("nobody has it");
        assert_eq!(skip.reason, "no-such-program-of-axiowl is not installed");
        assert!(program("sh").is_ok());
    }
}
