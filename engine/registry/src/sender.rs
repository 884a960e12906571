//! Who a sender text stands for. A session that nobody registered has no name here: its id
//! is never passed off as one, and no name is invented.

use crate::Snapshot;
use crate::lookup::{MatchedBy, better_first, first_match};
use crate::name::{is_clean_name, looks_like_session};
use axiowl_model::{AgentRecord, is_blank_name};
use std::fmt;

/// Why a session-looking sender that is in no row stays unresolved.
pub const SENDER_UNMATCHED: &str = "sender session did not match a registered AxiOwl sender";

/// What a resolved sender name rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderReason {
    /// The session id of a row, or an alias of that shape.
    RegistrySession,
    /// The display name of a row.
    RegistryName,
    /// Another alias of a row.
    RegistryAlias,
    /// The session is known, but its only name is its id: addressable, not named.
    RegistrySessionIdDisplayFallback,
    /// A plain text nobody registered: claimed, not proven.
    ExplicitName,
}

impl SenderReason {
    /// The word used in files and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RegistrySession => "registry_session",
            Self::RegistryName => "registry_name",
            Self::RegistryAlias => "registry_alias",
            Self::RegistrySessionIdDisplayFallback => "registry_session_id_display_fallback",
            Self::ExplicitName => "explicit_sender_name",
        }
    }
}

impl fmt::Display for SenderReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The answer for a sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderResolution<'a> {
    /// A row of the registry.
    Registered {
        /// The row.
        row: &'a AgentRecord,
        /// The name to show.
        display_name: String,
        /// By what.
        reason: SenderReason,
        /// Other rows of that name, best first.
        also: Vec<&'a AgentRecord>,
    },
    /// A name that is claimed and in no row; its reason is [`SenderReason::ExplicitName`].
    Explicit {
        /// The name as given.
        display_name: String,
    },
    /// The id is held by several rows.
    Ambiguous(Vec<&'a AgentRecord>),
    /// Nobody; the text may not be shown as a name.
    Unresolved {
        /// Why.
        reason: String,
    },
}

impl Snapshot {
    /// Resolves a sender name or session id, within a node when one is given.
    pub fn resolve_sender(&self, value: &str, node: Option<&str>) -> SenderResolution<'_> {
        let value = value.trim();
        let id_like = looks_like_session(value);
        let Some((how, mut rows)) = first_match(self.agents(), value, node) else {
            let reason = match value {
                _ if id_like => SENDER_UNMATCHED,
                text if is_blank_name(text) => "no sender was given",
                text => {
                    return SenderResolution::Explicit {
                        display_name: text.to_owned(),
                    };
                }
            };
            return SenderResolution::Unresolved {
                reason: reason.into(),
            };
        };
        rows.sort_by(|a, b| better_first(a, b));
        let by_id = how < MatchedBy::DisplayName || id_like;
        if by_id && rows.len() > 1 {
            let targets = rows.iter().filter(|row| row.is_target()).count();
            if targets != 1 {
                return SenderResolution::Ambiguous(rows);
            }
        }
        let row = rows.remove(0);
        let reason = match how {
            _ if !is_clean_name(&row.display_name, &row.key) => {
                SenderReason::RegistrySessionIdDisplayFallback
            }
            MatchedBy::DisplayName => SenderReason::RegistryName,
            MatchedBy::Alias if !by_id => SenderReason::RegistryAlias,
            _ => SenderReason::RegistrySession,
        };
        let display_name = match reason {
            // Also where the row has no name at all.
            SenderReason::RegistrySessionIdDisplayFallback => row.key.session.clone(),
            _ => row.display_name.trim().to_owned(),
        };
        SenderResolution::Registered {
            row,
            display_name,
            reason,
            also: rows,
        }
    }
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
