//! Who a message is from, as far as that is known, and the stations it came through.
//! Holds no lookup: [`crate::resolve`] finds out, this says what was found.

use crate::body::shown;
use axiowl_model::{LOCAL_NODE, SessionKey, clip};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of the person at the command line, as sender and as target of answers.
pub const OPERATOR: &str = "operator";

/// The provider shown for senders that no provider owns, and of the operator's inbox.
/// No rule folder and no edge has this key.
pub const AXIOWL_PROVIDER: &str = "axiowl";

/// Characters of a name that are kept of a station. Names of 100 KB exist, and chains repeat
/// them.
const NAME_CHARS: usize = 120;

/// The address of the operator's inbox. It is no session and no edge serves it.
pub fn operator_key() -> SessionKey {
    SessionKey {
        provider: AXIOWL_PROVIDER.into(),
        node: LOCAL_NODE.into(),
        session: OPERATOR.into(),
    }
}

/// How much is known about a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SenderKind {
    /// A command line without `--from`. Nobody proves that a person typed it.
    Operator,
    /// Somebody says so: a text, or a registered session that was named, not proven.
    Claimed,
    /// Its provider says that this session is calling.
    Proven,
}

impl SenderKind {
    /// The word used in the ledger and in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Claimed => "claimed",
            Self::Proven => "proven",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::Operator, Self::Claimed, Self::Proven]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }

    /// The word the target reads: only what a provider vouches for is `proven`.
    pub fn standing(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Operator | Self::Claimed => "claimed",
        }
    }
}

impl fmt::Display for SenderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A resolved sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sender {
    /// How much is known.
    pub kind: SenderKind,
    /// The name shown.
    pub name: String,
    /// The session, where there is one to answer to.
    pub key: Option<SessionKey>,
    /// What the name rests on: a proof, or the registry's reason.
    pub reason: String,
}

impl Sender {
    /// The command line without `--from`.
    pub fn operator() -> Self {
        Self {
            kind: SenderKind::Operator,
            name: OPERATOR.into(),
            key: None,
            reason: "command line".into(),
        }
    }

    /// The provider shown in the header.
    pub fn provider(&self) -> &str {
        self.key
            .as_ref()
            .map_or(AXIOWL_PROVIDER, |key| &key.provider)
    }

    /// Where an answer goes; `None` for a claimed name without a session.
    pub fn return_address(&self) -> Option<SessionKey> {
        match self.kind {
            SenderKind::Operator => Some(operator_key()),
            _ => self.key.clone(),
        }
    }

    /// Whether a text is its name, or its name as a header shows it.
    pub(crate) fn is_called(&self, text: &str) -> bool {
        self.name.trim() == text || shown(&self.name) == text
    }

    /// This sender as a station on the way of a later message.
    pub fn hop(&self) -> Hop {
        Hop {
            agent: self.return_address().map(|key| key.to_string()),
            name: clip(&self.name, NAME_CHARS),
            provider: self.provider().to_owned(),
        }
    }
}

/// One station of the way that led to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// `provider:node:session`, where the station has an address.
    pub agent: Option<String>,
    /// Its name then.
    pub name: String,
    /// Its provider.
    pub provider: String,
}
