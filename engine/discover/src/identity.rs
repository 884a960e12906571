//! Reads who is calling out of a request, by the rules' identity data.
//!
//! Only what the host itself says counts: arguments are the model's words. What is read here
//! is a claim; the session has to stand in its provider's store, and where the rule names a
//! verifier, that has to confirm it.

use axiowl_lang::load::LoadedRule;
use axiowl_lang::rule::{IdentityClass, IdentityRule};
use axiowl_model::is_uuid;
use axiowl_sources::pointer;
use serde_json::Value;

/// What the host says.
pub struct Said<'a> {
    /// `clientInfo.name`.
    pub client: &'a str,
    /// The request's params: `_meta` from the host, `arguments` from the model.
    pub params: &'a Value,
    /// The environment that the host gave this process.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

/// What a request says about its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claims {
    /// No rule knows this host.
    UnknownHost,
    /// Rules know the host, and for each something is missing.
    Missing(Vec<Missing>),
    /// The host names a caller. Several providers may claim it; their stores say whose it is.
    Claimed(Vec<Claim>),
}

/// Why a rule that knows the host cannot tell the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The provider whose rule it is.
    pub provider: String,
    /// What is missing.
    pub what: String,
    /// What a user can do about it.
    pub mend: Option<String>,
}

/// A caller that the host names, as one provider's rule reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The provider.
    pub provider: String,
    /// The value the host gave; `None` where only the verifier can find the caller.
    pub value: Option<String>,
    /// The value as it stood there, before the rule took a part of it.
    pub raw: Option<String>,
    /// How strong it is.
    pub class: IdentityClass,
    /// The native verifier that has to confirm it.
    pub verify: Option<String>,
    /// The field of a sub-agent's row that names the session it works for.
    pub main: Option<String>,
    /// The id of our message that started the turn, where the host carries it.
    pub message: Option<String>,
    /// What a user can do when it is not confirmed.
    pub mend: Option<String>,
}

/// Reads the claims of one request from the rules that know the host.
pub fn claims<'r>(rules: impl IntoIterator<Item = &'r LoadedRule>, said: &Said<'_>) -> Claims {
    let (mut claimed, mut missing) = (Vec::new(), Vec::new());
    for loaded in rules {
        let provider = &loaded.rule.provider.value;
        let mut lacking = None;
        let known = loaded.rule.identity.iter();
        let mut known: Vec<_> = known.filter(|rule| rule.knows(said.client)).collect();
        // What a host says itself goes before what only the verifier can find.
        known.sort_by_key(|rule| rule.from.is_empty() && rule.env.is_none());
        let claim = known.into_iter().find_map(|rule| {
            match read(provider, rule, said) {
                Ok(claim) => Some(claim),
                // The last entry is the one that a user can do most about.
                Err(what) => {
                    lacking = Some(Missing {
                        provider: provider.clone(),
                        what,
                        mend: rule.mend.clone(),
                    });
                    None
                }
            }
        });
        match claim {
            Some(claim) => claimed.push(claim),
            None => missing.extend(lacking),
        }
    }
    match (claimed.is_empty(), missing.is_empty()) {
        (false, _) => Claims::Claimed(claimed),
        (true, false) => Claims::Missing(missing),
        (true, true) => Claims::UnknownHost,
    }
}

fn read(provider: &str, rule: &IdentityRule, said: &Said<'_>) -> Result<Claim, String> {
    let raw = value(rule, said)?;
    let mut value = raw.clone();
    let require = &rule.require;
    if let (Some(pattern), Some(text)) = (&require.matches, &raw) {
        let found = pattern.regex().captures(text);
        let found = found.ok_or_else(|| format!("a {} of another form", source(rule)))?;
        if let Some(part) = found.name("id") {
            value = Some(part.as_str().to_owned());
        }
    }
    if require.uuid && !value.as_deref().is_none_or(is_uuid) {
        return Err(format!("a {} that is no UUID", source(rule)));
    }
    if let Some(other) = &require.equal
        && text(other, said.params) != raw
    {
        return Err(format!(
            "a {} that does not equal {}",
            source(rule),
            other.as_str()
        ));
    }
    for at in &require.present {
        if text(at, said.params).is_none() {
            return Err(format!("no {}", at.as_str()));
        }
    }
    Ok(Claim {
        provider: provider.to_owned(),
        value,
        raw,
        class: rule.class,
        verify: rule.verify.as_ref().map(|name| name.value.clone()),
        main: rule.main.as_ref().map(|field| field.value.clone()),
        message: rule.message.as_ref().and_then(|at| text(at, said.params)),
        mend: rule.mend.clone(),
    })
}

fn value(rule: &IdentityRule, said: &Said<'_>) -> Result<Option<String>, String> {
    if let Some(name) = &rule.env {
        let set = (said.env)(name).filter(|value| !value.trim().is_empty());
        return set.map(Some).ok_or_else(|| format!("no {}", name.value));
    }
    if rule.from.is_empty() {
        return Ok(None);
    }
    let found = rule.from.iter().find_map(|at| text(at, said.params));
    found
        .map(Some)
        .ok_or_else(|| format!("no {}", source(rule)))
}

/// Where a value is read, in words.
fn source(rule: &IdentityRule) -> String {
    if let Some(name) = &rule.env {
        return name.value.clone();
    }
    let pointers = rule.from.iter().map(|at| at.as_str());
    pointers.collect::<Vec<_>>().join(" or ")
}

fn text(at: &axiowl_lang::scalar::Pointer, params: &Value) -> Option<String> {
    match pointer::at(at, params) {
        Some(Value::String(text)) if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

/// The registry's session id for a provider's bare one, as discovery builds it.
pub fn session_id(loaded: &LoadedRule, bare: &str) -> Option<String> {
    let template = loaded.rule.rows.session.as_ref()?;
    template.fill(|_| Some(bare.into()), |_| None)
}
