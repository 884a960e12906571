//! Which row a name or id means. Ids before display names before aliases; a step that has a
//! match decides, and later ones are only told. Exact texts only: a message must never go
//! to what merely looks like its target.

use crate::Snapshot;
use crate::name::{address, is_clean_name, looks_like_session};
use crate::near;
use axiowl_model::{AgentRecord, SessionKey};
use std::cmp::{Ordering, Reverse};

/// How to look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lookup<'a> {
    /// Only rows of this node.
    pub node: Option<&'a str>,
    /// A name that several targets have is ambiguous, rather than the newest of them.
    pub strict: bool,
}

/// What made a row match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchedBy {
    /// `provider:node:session`.
    Key,
    /// The session id, with or without prefix, or in another address form.
    SessionId,
    /// The current display name.
    DisplayName,
    /// An alias.
    Alias,
}

/// The answer to a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution<'a> {
    /// This row, which may be disabled or not sendable: the caller says so.
    Found {
        /// The row.
        row: &'a AgentRecord,
        /// Others that the text fitted too, best first.
        also: Vec<&'a AgentRecord>,
        /// By what.
        how: MatchedBy,
    },
    /// Several rows, none of which may be picked; best first, and only those that can be sent
    /// to where there are any.
    Ambiguous(Vec<&'a AgentRecord>),
    /// Nothing.
    Miss {
        /// Names and ids that look like it, to be offered and never used.
        near: Vec<String>,
    },
}

impl Snapshot {
    /// Finds the row a target text means.
    ///
    /// An id that several rows hold is ambiguous unless exactly one of them can be sent to.
    /// A name goes to the best row: sendable before enabled before disabled, then the
    /// newest by `last_seen_at`, `last_verified_at`, `first_seen_at`, then the smallest
    /// `agent_id`.
    pub fn resolve(&self, target: &str, lookup: Lookup<'_>) -> Resolution<'_> {
        let target = target.trim();
        let Some((how, mut rows)) = first_match(self.agents(), target, lookup.node) else {
            return Resolution::Miss {
                near: near::candidates(self.agents(), target, lookup.node),
            };
        };
        rows.sort_by(|a, b| better_first(a, b));
        if how == MatchedBy::DisplayName {
            let named = rows.len();
            let by_alias = matches(self.agents(), target, lookup.node, MatchedBy::Alias);
            rows.extend(by_alias.filter(|row| !is_named(row, target)));
            rows[named..].sort_by(|a, b| better_first(a, b));
        }
        let targets = rows.iter().filter(|row| row.is_target()).count();
        let undecided = if targets > 0 {
            targets > 1
        } else {
            rows.len() > 1
        };
        let by_name = how >= MatchedBy::DisplayName && !looks_like_session(target);
        if undecided && (!by_name || lookup.strict) {
            // To choose from what cannot be chosen would help nobody.
            if targets > 0 {
                rows.retain(|row| row.is_target());
            }
            return Resolution::Ambiguous(rows);
        }
        let row = rows.remove(0);
        // What cannot be sent to is no alternative to what can.
        if row.is_target() {
            rows.retain(|other| other.is_target());
        }
        Resolution::Found {
            row,
            also: rows,
            how,
        }
    }
}

/// The rows of the first step that has any.
pub(crate) fn first_match<'a>(
    rows: &'a [AgentRecord],
    target: &str,
    node: Option<&str>,
) -> Option<(MatchedBy, Vec<&'a AgentRecord>)> {
    use MatchedBy::{Alias, DisplayName, Key, SessionId};
    if target.is_empty() {
        return None;
    }
    [Key, SessionId, DisplayName, Alias]
        .into_iter()
        .find_map(|how| {
            let found: Vec<_> = matches(rows, target, node, how).collect();
            (!found.is_empty()).then_some((how, found))
        })
}

fn matches<'a>(
    rows: &'a [AgentRecord],
    target: &str,
    node: Option<&str>,
    how: MatchedBy,
) -> impl Iterator<Item = &'a AgentRecord> {
    let key = SessionKey::parse(target).filter(|_| how == MatchedBy::Key);
    let address = address(target);
    rows.iter().filter(move |row| {
        node.is_none_or(|node| row.key.node == node)
            && match how {
                MatchedBy::Key => key.as_ref() == Some(&row.key),
                MatchedBy::SessionId => has_id(row, target, address),
                MatchedBy::DisplayName => is_named(row, target),
                MatchedBy::Alias => row.aliases.iter().any(|alias| alias.trim() == target),
            }
    })
}

/// True when a text is the row's display name, and the name is one.
fn is_named(row: &AgentRecord, target: &str) -> bool {
    row.display_name.trim() == target && is_clean_name(target, &row.key)
}

/// True when a text is the row's session id: whole, bare, or `<prefix>:<noun>:<bare>` with
/// another noun than the provider's own (a composer is a session, a cascade a conversation).
fn has_id(row: &AgentRecord, target: &str, address: Option<(&str, &str)>) -> bool {
    let (key, bare) = (&row.key, row.key.bare_session());
    if key.session == target || bare == target {
        return true;
    }
    address.is_some_and(|(prefix, id)| {
        let own = key
            .session
            .split_once(':')
            .map_or(&*key.provider, |(own, _)| own);
        id == bare && (prefix == key.provider || prefix == own)
    })
}

/// The order in which rows of one name are preferred.
pub(crate) fn better_first(a: &AgentRecord, b: &AgentRecord) -> Ordering {
    let rank = |row: &AgentRecord| {
        let standing = u8::from(row.enabled) + u8::from(row.is_target());
        (
            Reverse(standing),
            Reverse((row.last_seen_at, row.last_verified_at, row.first_seen_at)),
        )
    };
    rank(a)
        .cmp(&rank(b))
        .then_with(|| a.agent_id().cmp(&b.agent_id()))
}

#[cfg(test)]
#[path = "lookup_tests.rs"]
mod tests;
