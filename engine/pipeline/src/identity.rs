//! Who is calling over MCP: the seam a provider's native verification fills in.

use axiowl_model::SessionKey;
use axiowl_sources::World;
use serde_json::Value;

/// One `tools/call` as the server received it.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// `clientInfo.name` of the host.
    pub client_name: String,
    /// `clientInfo.version` of the host.
    pub client_version: String,
    /// The tool.
    pub tool: String,
    /// The request's params: `_meta` from the host, `arguments` from the model.
    pub params: Value,
}

/// A session whose provider says that it is calling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenSender {
    /// The session.
    pub key: SessionKey,
    /// Its name in the registry or the provider's store.
    pub display_name: String,
    /// How it was proven, for receipts and the evidence log.
    pub proof: String,
}

/// Confirms natively what a rule's `identity` data claims.
pub trait IdentityVerifier: Send + Sync {
    /// The name a rule's `verify:` uses.
    fn name(&self) -> &'static str;

    /// Confirms that `claimed` (the value the rule's pointer gave) really is the caller and
    /// gives the provider session id; the error says what is missing.
    fn verify(&self, world: &World, call: &CallContext, claimed: &str) -> Result<String, String>;
}
