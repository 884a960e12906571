//! What discovery says about one session, before the registry decides anything.

use crate::{Issue, SessionKey, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name { $($(#[$vmeta])* #[serde(rename = $word)] $variant,)* }
        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
            /// The word used in files and output.
            pub fn as_str(self) -> &'static str { match self { $(Self::$variant => $word),* } }
            /// The value with that word.
            pub fn from_word(word: &str) -> Option<Self> { match word { $($word => Some(Self::$variant),)* _ => None } }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.pad(self.as_str()) }
        }
    };
}
pub(crate) use words;

words! {
    /// What sort of conversation a row is. Only `main` can be sent to.
    Kind {
        /// A conversation of its own.
        Main = "main",
        /// Belongs to another session.
        Subagent = "subagent",
        /// Nothing was ever said in it.
        Empty = "empty",
        /// A second file of a session that another file owns.
        Copy = "copy",
    }
}

words! {
    /// The state discovery found a session in.
    Status {
        /// Usable.
        Active = "active",
        /// Put away by its owner.
        Archived = "archived",
        /// Something it needs is gone (a folder, a transcript).
        Stale = "stale",
        /// Its bridge or provider says it cannot be reached.
        Unhealthy = "unhealthy",
        /// No explicit sign that the provider is logged in.
        AuthUnproven = "auth_unproven",
        /// Seen, not addressable.
        EvidenceOnly = "evidence_only",
        /// The surface is not supported.
        Unsupported = "unsupported",
        /// Not a local session.
        OutOfScope = "out_of_scope",
        /// Only its metadata could be understood.
        Partial = "partial",
    }
}

words! {
    /// What the registry did with a discovered row.
    Decision {
        /// A new sendable target.
        Enrolled = "enrolled",
        /// An existing row was refreshed.
        Updated = "updated",
        /// Kept as evidence, not a target.
        Evidence = "evidence",
        /// Lacked identity; nothing was stored.
        Skipped = "skipped",
    }
}

words! {
    /// How well a rule still fits what it reads.
    Verdict {
        /// Everything understood, versions within the tested range.
        Verified = "verified",
        /// A provider version outside the tested range was seen.
        UnverifiedVersion = "unverified_version",
        /// Records or files were not understood.
        Drift = "drift",
        /// Files exist and nothing was understood.
        Blind = "blind",
    }
}

/// One recorded decision. The code that decides is the code that records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// `kind`, `name`, `status`, `proof`, `policy`, `gate` …
    pub stage: String,
    /// Whether the condition held, the candidate won, the gate passed.
    pub ok: bool,
    /// What was tested and what was seen.
    pub text: String,
    /// `file:line` of the rule part that decided, empty for the engine's own gates.
    pub at: String,
}

/// A session as discovery sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiscoveredAgent {
    /// Provider, node, session id.
    pub key: SessionKey,
    /// The name that won, when one did.
    pub display_name: Option<String>,
    /// The winning name is generated or derived: it enrols, but never replaces a strong one.
    pub weak_name: bool,
    /// State.
    pub status: Status,
    /// Sort of conversation.
    pub kind: Kind,
    /// A message can be sent in principle (kind, status and proof allow it).
    pub sendable: bool,
    /// A named proof rung holds that lets the row enrol.
    pub has_enrollment_proof: bool,
    /// The proof rung that decided.
    pub source: String,
    /// What was seen, in words.
    pub evidence: Vec<String>,
    /// Aliases the engine itself gives (session forms, "<name> agent").
    pub aliases: Vec<String>,
    /// Aliases with free text from templates or scripts: refused when they would divert a name.
    pub guarded_aliases: Vec<String>,
    /// The session's own last activity.
    pub last_seen_at: Option<Timestamp>,
    /// Why it is not trusted.
    pub last_error: Option<String>,
    /// Folder the session works in.
    pub cwd: Option<String>,
    /// Id of the provider home it was found in; empty for the default one.
    pub home: String,
    /// Why it is not a target, in one line; empty when it is.
    pub reason: String,
    /// The decisions, in order; empty unless asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<Step>,
}

/// The last line of one scope's discovery.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiscoverySummary {
    /// Provider key.
    pub provider: String,
    /// Node.
    pub node_id: String,
    /// Sessions found.
    pub found: usize,
    /// New targets.
    pub enrolled: usize,
    /// Rows refreshed.
    pub updated: usize,
    /// Rows without identity.
    pub skipped: usize,
    /// Rows kept as evidence only.
    pub evidence: usize,
    /// Stale rows removed.
    pub pruned: usize,
    /// What went wrong.
    pub issues: Vec<Issue>,
    /// How well the rule fits.
    pub verdict: Verdict,
    /// Path of the registry file.
    pub registry: String,
}
