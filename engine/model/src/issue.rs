//! What a run did not understand or could not read, named so that a person can act on it.

use serde::{Deserialize, Serialize};

/// One thing that went wrong or was left out. It never costs more than what it names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Issue {
    /// A stable word, one of [`codes`] or of the rule language.
    pub code: String,
    /// The file it is about.
    pub path: Option<String>,
    /// One-based line or row within that file.
    pub line: Option<u64>,
    /// What happened, and where it helps, what to do.
    pub message: String,
}

impl Issue {
    /// An issue about nothing in particular yet.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            path: None,
            line: None,
            message: message.into(),
        }
    }

    /// Names the file.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Names the one-based line or row.
    pub fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }
}

/// The words used in [`Issue::code`].
pub mod codes {
    /// A file or folder could not be opened or read.
    pub const UNREADABLE: &str = "unreadable";
    /// A file, line or record is damaged.
    pub const DAMAGED: &str = "damaged";
    /// A file of which nothing was written yet.
    pub const EMPTY_FILE: &str = "empty_file";
    /// A cap on bytes, rows or files was reached; what lies beyond was not read.
    pub const CAP: &str = "cap_reached";
    /// A command of a rule was not run: programs run in discovery only where the user says so.
    pub const COMMAND_OFF: &str = "command_off";
    /// A root that the environment names does not exist.
    pub const ROOT_MISSING: &str = "root_missing";
    /// A path leads out of the declared roots.
    pub const OUTSIDE_ROOTS: &str = "outside_roots";
    /// A file on the secret list was asked for.
    pub const SECRET: &str = "secret_refused";
    /// The provider holds a lock on its store; nothing is pruned on such a run.
    pub const BUSY: &str = "busy";
    /// A live store is too large for a private copy.
    pub const TOO_LARGE_LIVE: &str = "store_too_large_live";
    /// A store that may be read only from a private copy is too large for one.
    pub const MIRROR_TOO_LARGE: &str = "mirror_too_large";
    /// A column that a status, kind or condition needs is absent.
    pub const GUARD_MISSING: &str = "guard_missing";
    /// A column is absent without the rule allowing it.
    pub const COLUMN_MISSING: &str = "column_missing";
    /// A title may lie in the part of a big file that discovery does not read.
    pub const TITLE_BEYOND_WINDOW: &str = "title_beyond_window";
    /// One session stands in two files of one source.
    pub const DUPLICATE_SESSION: &str = "duplicate_session";
    /// One session stands in two sources.
    pub const DUPLICATE_ACROSS_SOURCES: &str = "duplicate_across_sources";
    /// A policy script failed; its row is evidence only.
    pub const POLICY_FAILED: &str = "policy_failed";
    /// An alias would divert another row's name, alias or session id.
    pub const ALIAS_REFUSED: &str = "alias_refused";
    /// A part of a rule that can run is not trusted, and what it could bar is barred.
    pub const UNTRUSTED: &str = "untrusted";
    /// A rule layer is broken and the next lower one was used.
    pub const RULE_BROKEN: &str = "rule_broken";
    /// A damaged registry line was set aside.
    pub const REGISTRY_LINE: &str = "registry_line";
    /// Files or records that no part of the rule understood.
    pub const DRIFT: &str = "drift";
    /// A provider version outside the range the rule was tested with.
    pub const UNVERIFIED_VERSION: &str = "unverified_version";
    /// A discovered row lacks part of its identity.
    pub const INCOMPLETE_IDENTITY: &str = "incomplete_identity";
    /// The run was ended before everything was read.
    pub const CANCELLED: &str = "cancelled";
    /// A store of the provider is there that AxiOwl does not read, for a stated reason.
    pub const UNSUPPORTED_STORE: &str = "unsupported_store";
    /// The provider is there and was not used yet: it keeps nothing but what holds no session.
    pub const NOT_USED: &str = "not_used";
    /// The provider folder holds files, and nothing of them was understood.
    pub const BLIND: &str = "blind";
}
