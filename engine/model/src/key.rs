//! The routing identity of a session. A display name is never part of it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// `provider:node:session`: what a row is matched by, and its `agent_id`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey {
    /// Provider key, for example the name of a rule folder.
    pub provider: String,
    /// Node the session lives on, normally [`crate::LOCAL_NODE`].
    pub node: String,
    /// The provider-owned session id, with AxiOwl's prefix where the provider has one.
    pub session: String,
}

impl SessionKey {
    /// A key on the local node.
    pub fn local(provider: impl Into<String>, session: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            node: crate::LOCAL_NODE.into(),
            session: session.into(),
        }
    }

    /// Reads `provider:node:session`. Neither provider nor node may hold a colon;
    /// the session id may.
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, rest) = text.split_once(':')?;
        let (node, session) = rest.split_once(':')?;
        if provider.is_empty() || node.is_empty() || session.is_empty() {
            return None;
        }
        Some(Self {
            provider: provider.into(),
            node: node.into(),
            session: session.into(),
        })
    }

    /// The session id without AxiOwl's `kind:noun:` prefix; the same text when it has none.
    pub fn bare_session(&self) -> &str {
        self.session
            .rsplit_once(':')
            .map_or(&self.session, |(_, bare)| bare)
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.provider, self.node, self.session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_round_trips_with_colons_in_the_session() {
        let key = SessionKey::local("some_cli", "some_cli:session:0a");
        assert_eq!(SessionKey::parse(&key.to_string()), Some(key.clone()));
        assert_eq!(key.bare_session(), "0a");
    }

    #[test]
    fn a_key_without_three_parts_is_none() {
        for text in ["", "a", "a:b", ":b:c", "a::c", "a:b:"] {
            assert_eq!(SessionKey::parse(text), None, "{text:?}");
        }
    }
}
