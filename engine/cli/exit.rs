//! How a command ends: exit codes and the one way errors are shown.

use axiowl_model::display_safe;
use std::fmt;

/// The exit codes of every command; scripts depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// It did what it says.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// There is no such target.
    NoTarget = 3,
    /// Several targets fit.
    Ambiguous = 4,
    /// The target is not sendable, live without a door, or a guard stopped it.
    NotSendable = 5,
    /// The sender is not proven.
    SenderUnproven = 6,
    /// The provider refused or failed.
    Provider = 7,
    /// Nobody can know yet.
    Uncertain = 8,
    /// It timed out waiting, or expired.
    TimedOut = 9,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error as a person sees it: what happened, the facts, and what to do next.
#[derive(Debug)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    /// What happened, in a line.
    pub message: String,
    /// Facts, one a line.
    pub details: Vec<String>,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    /// A plain failure.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            details: Vec::new(),
            hint: None,
        }
    }

    /// Adds what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a fact.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    /// Any error of a library, with its chain of causes as details.
    pub fn caused(error: &dyn std::error::Error) -> Self {
        let mut failure = Self::new(Exit::Failed, error.to_string());
        let mut cause = error.source();
        while let Some(inner) = cause {
            failure.details.push(inner.to_string());
            cause = inner.source();
        }
        failure
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", display_safe(&self.message))?;
        for detail in &self.details {
            for line in detail.lines() {
                write!(f, "\n  {}", display_safe(line))?;
            }
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::caused(&error)
    }
}

impl From<axiowl_registry::RegistryError> for Failure {
    fn from(error: axiowl_registry::RegistryError) -> Self {
        use axiowl_registry::RegistryError as Kind;
        let mut failure = Self::caused(&error);
        failure.exit = match error {
            Kind::NoSuchAgent { .. } => Exit::NoTarget,
            Kind::Ambiguous { .. } => Exit::Ambiguous,
            _ => Exit::Failed,
        };
        failure.hint = error.hint();
        failure
    }
}

/// What a command gives back.
pub type Outcome = Result<Exit, Failure>;
