//! What can go wrong with the registry as a whole. Damage to a single line is never an
//! error: it is an issue beside the rows that were read.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A registry operation that could not be done. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The file system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file does not begin with a registry header, so it may be somebody else's.
    #[error("{} is no registry: {problem}", path.display())]
    ForeignHeader {
        /// The file.
        path: PathBuf,
        /// What is wrong with its first line.
        problem: String,
    },
    /// Another process holds the lock for longer than a write can take.
    #[error("{} has been locked by another process for {} s", path.display(), waited.as_secs())]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// How long this process waited.
        waited: Duration,
    },
    /// No row has that name or id.
    #[error("no agent is called `{target}`")]
    NoSuchAgent {
        /// What was asked for.
        target: String,
        /// Names that look like it.
        near: Vec<String>,
    },
    /// Several rows have that name or id, and a change must mean exactly one.
    #[error("`{target}` fits {} agents", agents.len())]
    Ambiguous {
        /// What was asked for.
        target: String,
        /// The `agent_id` of each.
        agents: Vec<String>,
    },
    /// The alias would divert messages meant for another row.
    #[error("alias `{alias}` is refused: {problem}")]
    AliasRefused {
        /// The alias.
        alias: String,
        /// Whose it is.
        problem: String,
    },
    /// The row has no such alias.
    #[error("`{agent}` has no alias `{alias}`")]
    NoSuchAlias {
        /// The row.
        agent: String,
        /// The alias.
        alias: String,
    },
    /// The text cannot be a display name.
    #[error("`{name}` cannot be a name: {problem}")]
    UnusableName {
        /// The text.
        name: String,
        /// Why not.
        problem: &'static str,
    },
    /// Provider, node or session id is missing or holds what it must not.
    #[error("`{key}` is no full identity: {problem}")]
    BadIdentity {
        /// The identity as given.
        key: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl RegistryError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// The file it is about.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. } | Self::ForeignHeader { path, .. } | Self::Busy { path, .. } => {
                Some(path)
            }
            _ => None,
        }
    }

    /// The one-based line in that file.
    pub fn line(&self) -> Option<u64> {
        matches!(self, Self::ForeignHeader { .. }).then_some(1)
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Some(
                    "make the state folder writable, or choose another one with --state DIR \
                     or XDG_STATE_HOME"
                        .into(),
                ),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some("free some space; the registry is as it was before".into())
                }
                _ => None,
            },
            Self::ForeignHeader { path, .. } => Some(format!(
                "nothing was changed. Move {} away and run discover again, or restore its first \
                 line: {}",
                path.display(),
                crate::column::HEADER.map(|(_, name)| name).join("<tab>"),
            )),
            Self::Busy { .. } => {
                Some("look for a stopped or hanging axiowl process, end it and try again".into())
            }
            Self::NoSuchAgent { near, .. } if !near.is_empty() => {
                Some(format!("did you mean {}?", quoted(near)))
            }
            Self::NoSuchAgent { .. } => Some("see `axiowl list agents --all`".into()),
            Self::Ambiguous { agents, .. } => Some(format!("name one of {}", quoted(agents))),
            Self::AliasRefused { .. } => Some("choose a text that leads nowhere else".into()),
            Self::UnusableName { .. } => Some("choose a name a person would say".into()),
            Self::BadIdentity { .. } => {
                Some("an agent is known by provider:node:session, all three parts given".into())
            }
            Self::NoSuchAlias { .. } => None,
        }
    }
}

fn quoted(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
    quoted.join(", ")
}
