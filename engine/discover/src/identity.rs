//! Reads who is calling out of a request, by a rule's `identity` data.
//!
//! Only what the host itself put into the request counts: arguments are the model's words.

use axiowl_lang::load::LoadedRule;
use axiowl_lang::rule::IdentityRule;
use axiowl_model::is_uuid;
use axiowl_sources::pointer;
use serde_json::Value;

/// What a request says about its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// No rule knows this host.
    UnknownHost,
    /// A rule knows the host, and something it requires is not there.
    Missing {
        /// The provider whose rule it is.
        provider: String,
        /// What is missing.
        what: String,
    },
    /// The host names a caller.
    Claimed {
        /// The provider.
        provider: String,
        /// The value the host gave.
        value: String,
        /// The native verifier that has to confirm it.
        verify: Option<String>,
    },
}

/// Reads the claim of one request's params from the rules that know the host.
pub fn claim<'r>(
    rules: impl IntoIterator<Item = &'r LoadedRule>,
    client: &str,
    params: &Value,
) -> Claim {
    let mut missing = None;
    for loaded in rules {
        for rule in loaded
            .rule
            .identity
            .iter()
            .filter(|rule| rule.client.value == client)
        {
            let provider = loaded.rule.provider.value.clone();
            match read(rule, params) {
                Ok(value) => {
                    let verify = rule.verify.as_ref().map(|name| name.value.clone());
                    return Claim::Claimed {
                        provider,
                        value,
                        verify,
                    };
                }
                Err(what) => missing = Some(Claim::Missing { provider, what }),
            }
        }
    }
    missing.unwrap_or(Claim::UnknownHost)
}

fn read(rule: &IdentityRule, params: &Value) -> Result<String, String> {
    let given = |at: &axiowl_lang::scalar::Pointer| {
        pointer::at(at, params).and_then(|value| match value {
            Value::String(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        })
    };
    let value = given(&rule.from).ok_or_else(|| format!("no {}", rule.from.as_str()))?;
    let require = &rule.require;
    if require.uuid && !is_uuid(&value) {
        return Err(format!("{} is no UUID", rule.from.as_str()));
    }
    if let Some(other) = &require.equal
        && given(other).as_deref() != Some(value.as_str())
    {
        return Err(format!(
            "{} does not equal {}",
            rule.from.as_str(),
            other.as_str()
        ));
    }
    for at in &require.present {
        if given(at).is_none() {
            return Err(format!("no {}", at.as_str()));
        }
    }
    Ok(value)
}

/// The registry's session id for a provider's bare one, as discovery builds it.
pub fn session_id(loaded: &LoadedRule, bare: &str) -> Option<String> {
    let template = loaded.rule.rows.session.as_ref()?;
    template.fill(|_| Some(bare.into()), |_| None)
}
