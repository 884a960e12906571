//! `identity:`, the part of a rule that says who is calling over MCP.
//!
//! Claims as data; a native verifier may have to confirm one. What the model wrote is
//! never a claim (a lint refuses it).

use crate::at::At;
use crate::scalar::{OneOrMany, Pattern, Pointer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who is calling over MCP, by what the host itself says. Of several entries that know a host,
/// the first whose value is there and fits is used; one that reads no value comes last.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentityRule {
    /// `clientInfo.name` of the host, or several; a `*` at the end stands for any rest.
    pub client: OneOrMany<At<String>>,
    /// Pointers into the request's params (`/_meta/…`); the first that gives a value counts.
    /// Left out where only the verifier can find the caller.
    #[serde(default)]
    pub from: OneOrMany<At<Pointer>>,
    /// The environment variable that the host sets for its servers, instead of `from`.
    pub env: Option<At<String>>,
    /// How strong it is.
    pub class: IdentityClass,
    /// What else has to hold.
    #[serde(default)]
    pub require: Require,
    /// A native verifier that has to confirm it, by name.
    pub verify: Option<At<String>>,
    /// The field of a sub-agent's row that holds the bare id of the session it works for.
    pub main: Option<At<String>>,
    /// Where the host carries the id of our message that started the turn.
    pub message: Option<At<Pointer>>,
    /// What a user can do when the host says nothing that proves the caller.
    pub mend: Option<String>,
}

impl IdentityRule {
    /// Whether the rule knows a host of that name.
    pub fn knows(&self, client: &str) -> bool {
        self.client.iter().any(|name| match name.strip_suffix('*') {
            Some(start) => client.starts_with(start),
            None => name.value == client,
        })
    }
}

/// How strong an identity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdentityClass {
    /// The host puts it into every request's metadata.
    HostMeta,
    /// A call that is looked up in the provider's own transcript.
    TranscriptCall,
    /// An environment variable that only the host can set.
    HostEnvProtected,
    /// A marker left by the provider's hook.
    HookMarker,
}

impl IdentityClass {
    /// The word that rules, receipts and the registry use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HostMeta => "host_meta",
            Self::TranscriptCall => "transcript_call",
            Self::HostEnvProtected => "host_env_protected",
            Self::HookMarker => "hook_marker",
        }
    }
}

/// What else has to hold for an identity.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Require {
    /// The value has the form of a UUID.
    #[serde(default)]
    pub uuid: bool,
    /// The value has this form; what the group `id` matches is then the value.
    pub matches: Option<At<Pattern>>,
    /// Equals the value at this pointer.
    pub equal: Option<At<Pointer>>,
    /// These pointers give a value.
    #[serde(default)]
    pub present: Vec<At<Pointer>>,
}
