//! Message and run ids, and the mark by which a message is found again.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Every visible body starts with this, then the message id, then `]`.
pub const VISIBLE_MARK: &str = "[AxiOwl ";

macro_rules! uuid_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(uuid::Uuid);

        impl $name {
            /// A new UUIDv7.
            #[expect(clippy::new_without_default, reason = "a new id is an event, not a default")]
            pub fn new() -> Self {
                Self(uuid::Uuid::now_v7())
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }
        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
        impl TryFrom<String> for $name {
            type Error = uuid::Error;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }
    };
}

uuid_id! {
    /// Names one message for ever: in the ledger, in receipts and in the target's transcript.
    MessageId
}
uuid_id! {
    /// Names one attempt of one command to send.
    RunId
}
