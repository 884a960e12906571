//! `identity:`, the part of a rule that says who is calling over MCP.
//!
//! Claims as data; a native verifier may have to confirm one. What the model wrote is
//! never a claim (a lint refuses it).

use crate::at::At;
use crate::scalar::Pointer;
use schemars::JsonSchema;
use serde::Deserialize;

/// Who is calling over MCP, by what the host itself says.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentityRule {
    /// `clientInfo.name` of the host.
    pub client: At<String>,
    /// Pointer into the request's params (`/_meta/…`).
    pub from: At<Pointer>,
    /// How strong it is.
    pub class: IdentityClass,
    /// What else has to hold.
    #[serde(default)]
    pub require: Require,
    /// A native verifier that has to confirm it, by name.
    pub verify: Option<At<String>>,
}

/// How strong an identity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdentityClass {
    /// The host puts it into every request's metadata.
    HostMeta,
    /// A call id that is looked up in the provider's own transcript.
    TranscriptCall,
    /// An environment variable that only the host can set.
    HostEnvProtected,
    /// A marker left by the provider's hook.
    HookMarker,
}

/// What else has to hold for an identity.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Require {
    /// The value has the form of a UUID.
    #[serde(default)]
    pub uuid: bool,
    /// Equals the value at this pointer.
    pub equal: Option<At<Pointer>>,
    /// These pointers give a value.
    #[serde(default)]
    pub present: Vec<At<Pointer>>,
}
