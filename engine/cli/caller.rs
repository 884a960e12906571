//! Who calls over MCP: from what the host sent, through the rules' identity data and the native
//! verifier, to a session that stands in its provider's store.
//!
//! Nobody is taken for a caller because an argument, an environment variable or a name says so.

use crate::args::Common;
use crate::exit::Failure;
use crate::ground::{self, Ground};
use crate::homes::{self, ProviderHome};
use crate::pass::{self, PassOptions};
use crate::setup::{self, Setup};
use axiowl_discover::identity::{Claim, Claims, Missing, Said, claims, session_id};
use axiowl_discover::{Options, row_of};
use axiowl_mcp::{CallContext, ProvenSender};
use axiowl_model::{AgentRecord, Kind, SessionKey, display_safe};
use axiowl_pipeline::identity::spent::spend;
use axiowl_pipeline::identity::{Caller, refuse_foreign_host};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Ids of sessions are short words; anything else could be a path.
const LONGEST_ID: usize = 200;

/// The session that is calling; the error is a refusal that says what is missing and how to mend
/// it.
pub fn caller(common: &Common, call: &CallContext) -> Result<ProvenSender, String> {
    let mut setup = setup::open(common).map_err(|failure| failure.to_string())?;
    ground::hold(&setup).map_err(|failure| format!("refused: {}", told(&failure)))?;
    if setup.ground.is_none() {
        // Before a person has begun, no variable says where anything is.
        setup.world = setup.plain_world();
    }
    let call = &CallContext {
        state: setup.state.clone(),
        ..call.clone()
    };
    let found = find(&setup, call);
    let fields = match &found {
        Ok(sender) => json!({
            "client": call.client_name, "tool": call.tool, "agent_id": sender.key.to_string(),
            "subagent": sender.subagent, "class": sender.class, "proof": sender.proof,
        }),
        Err(refusal) => json!({
            "client": call.client_name, "tool": call.tool, "reason": refusal,
        }),
    };
    let event = if found.is_ok() {
        "caller_proven"
    } else {
        "caller_refused"
    };
    setup.evidence.record(event, fields);
    found
}

fn told(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}; {hint}", failure.message),
        None => failure.message.clone(),
    }
}

fn find(setup: &Setup, call: &CallContext) -> Result<ProvenSender, String> {
    refuse_foreign_host(&call.host).map_err(|why| format!("refused: {why}"))?;
    // Of a server that its host did not start, the environment is somebody else's.
    let env = |name: &str| {
        let own = call.is_hosts_child().then(|| setup.world.env(name));
        own.flatten().map(str::to_owned)
    };
    let said = Said {
        client: &call.client_name,
        params: &call.params,
        env: &env,
    };
    let claimed = match claims(setup.rules.iter().map(Arc::as_ref), &said) {
        Claims::Claimed(claimed) => claimed,
        Claims::Missing(missing) => return Err(missing_text(call, &missing)),
        Claims::UnknownHost => {
            return Err(format!(
                "refused: no rule knows how the host {:?} proves which session is calling; nothing is sent under a guessed name",
                display_safe(&call.client_name)
            ));
        }
    };
    let refused = |why: String| format!("refused: {why}");
    let confirmed = confirm(setup, call, &claimed).map_err(|(why, mend)| {
        // Who is led to another store has nothing to mend in the client.
        let led = led_elsewhere(setup, call);
        refused(match mend.filter(|_| led.is_empty()) {
            Some(mend) => format!("{why}; {mend}"),
            None => why + led.as_str(),
        })
    })?;
    let (sender, spent) = settle(setup, call, confirmed).map_err(refused)?;
    if setup.ground.is_none() {
        ground::begin_plain(setup).map_err(|failure| format!("refused: {}", told(&failure)))?;
    }
    // Last, so that a call which is refused may be made again.
    if let Some(spent) = spent {
        spend(&setup.state, &spent, call.received).map_err(|why| refused(why.to_string()))?;
    }
    Ok(sender)
}

/// A claim that holds, with the session it stands for.
struct Confirmed<'c> {
    claim: &'c Claim,
    caller: Caller,
    key: SessionKey,
}

/// Asks the verifiers. Claims that rest on one verifier ask it once: a marker is used once. The
/// error has what a rule knows to mend its proof by, where a verifier refused.
fn confirm<'c>(
    setup: &Setup,
    call: &CallContext,
    claimed: &'c [Claim],
) -> Result<Vec<Confirmed<'c>>, (String, Option<&'c str>)> {
    let verifiers = axiowl_providers::verifiers();
    let mut asked: BTreeMap<(&str, Option<&str>, String), Result<Caller, String>> = BTreeMap::new();
    let (mut confirmed, mut refusals, mut mend) = (Vec::new(), Vec::new(), None);
    for claim in claimed {
        let value = claim.value.as_deref();
        let provider = claim.provider.as_str();
        let mut native = || {
            let Some(name) = &claim.verify else {
                let value = value.map(Caller::session);
                return value.ok_or_else(|| "the host names nobody".to_owned());
            };
            let verifier = verifiers.iter().find(|one| one.name() == name);
            let verifier = verifier.ok_or_else(|| format!("there is no verifier `{name}`"))?;
            if !verifier.providers().contains(&provider) {
                return Err(format!(
                    "the verifier `{name}` proves no session of {provider}"
                ));
            }
            let rule = setup.rules.get(provider).ok_or("its rule is gone")?;
            let home = match call.is_hosts_child() {
                true => homes::named(setup, rule),
                false => ProviderHome::default_of(setup),
            };
            let asked = asked.entry((name, value, home.id));
            asked
                .or_insert_with(|| verifier.verify(&home.world, call, value))
                .clone()
        };
        let mut native = || native().inspect_err(|_| mend = mend.or(claim.mend.as_deref()));
        match native().and_then(|caller| Ok((key(setup, claim, &caller.session)?, caller))) {
            Ok((key, caller)) => confirmed.push(Confirmed { claim, caller, key }),
            Err(why) if !refusals.contains(&why) => refusals.push(why),
            Err(_) => {}
        }
    }
    match confirmed.is_empty() {
        false => Ok(confirmed),
        true => Err((refusals.join("; "), mend)),
    }
}

/// What to do where the variables of the host lead to another store than the registry's.
fn led_elsewhere(setup: &Setup, call: &CallContext) -> String {
    if !call.is_hosts_child() || !setup.reads_own_env() {
        return String::new();
    }
    let own = |name: &str| setup.own_env(name).map(str::to_owned);
    let known = setup.ground.clone();
    let begun = known.is_some();
    let ground = known.unwrap_or_else(|| Ground::now(setup, true));
    let others = ground.laid_over(own);
    match (others.is_empty(), begun) {
        (true, _) => String::new(),
        (false, true) => format!(
            " (in this registry {}: a further folder of a provider is named under `homes` in config.yaml)",
            others.join(", ")
        ),
        (false, false) => format!(
            " (nothing was begun yet, so {}: run `axiowl discover` once where these are set)",
            others.join(", ")
        ),
    }
}

fn key(setup: &Setup, claim: &Claim, bare: &str) -> Result<SessionKey, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if bare.is_empty() || bare.len() > LONGEST_ID || !bare.chars().all(plain) {
        return Err(format!("{:?} is no session id", display_safe(bare)));
    }
    let rule = setup.rules.get(&claim.provider).ok_or("its rule is gone")?;
    let session = session_id(rule, bare).ok_or("its rule builds no session id")?;
    Ok(SessionKey {
        provider: claim.provider.clone(),
        node: setup.config.node.as_str().into(),
        session,
    })
}

/// Picks the one claim whose session is known: by the registry, or by one targeted discovery.
/// Also says what tells its call from others, where its proof could be shown twice.
fn settle(
    setup: &Setup,
    call: &CallContext,
    confirmed: Vec<Confirmed<'_>>,
) -> Result<(ProvenSender, Option<String>), String> {
    let mut known = known(setup, confirmed)?;
    if known.iter().filter(|one| one.name.is_some()).count() != 1 {
        known = look(setup, call, known)?;
    } else {
        known.retain(|one| one.name.is_some());
    }
    let keys: Vec<String> = known.iter().map(|one| one.key.to_string()).collect();
    let (Some(mut one), None) = (known.pop(), known.pop()) else {
        return Err(match keys.as_slice() {
            [] => "the session that is calling stands in no provider's store".into(),
            keys => format!("several sessions may be calling: {}", keys.join(", ")),
        });
    };
    if !one.sendable
        && let Some(field) = &one.claim.main
    {
        work_for(setup, &mut one, field)?;
    }
    let Known {
        claim, caller, key, ..
    } = one;
    let proof = match &claim.verify {
        Some(verifier) => format!("{}, confirmed by {verifier}", claim.class.as_str()),
        None => claim.class.as_str().to_owned(),
    };
    // What the host calls the session: its id, in words of the host's own.
    let is_address = |raw: &String| {
        let bare = key.bare_session();
        raw.contains(bare) && raw != bare && *raw != key.session
    };
    let sender = ProvenSender {
        display_name: one.name.unwrap_or_else(|| key.session.clone()),
        proof,
        class: claim.class.as_str().into(),
        address: claim.raw.clone().filter(is_address),
        subagent: caller.subagent,
        turn_message: claim.message.as_deref().and_then(|id| id.parse().ok()),
        key,
    };
    Ok((sender, caller.call))
}

/// A confirmed claim, and what is known of its session.
struct Known<'c> {
    claim: &'c Claim,
    caller: Caller,
    key: SessionKey,
    /// Its name, when the session itself is known.
    name: Option<String>,
    /// Whether it is a target.
    sendable: bool,
}

/// What the registry knows.
fn known<'c>(setup: &Setup, confirmed: Vec<Confirmed<'c>>) -> Result<Vec<Known<'c>>, String> {
    let snapshot = setup.registry.load().map_err(|error| error.to_string())?;
    let known = confirmed
        .into_iter()
        .map(|Confirmed { claim, caller, key }| {
            let row = snapshot.get(&key);
            Known {
                name: row.map(|row| row.display_name.clone()),
                sendable: row.is_some_and(AgentRecord::is_target),
                claim,
                caller,
                key,
            }
        });
    Ok(known.collect())
}

/// The one targeted discovery: each claiming provider is asked for the session, and claims of
/// those that do not have it are dropped.
fn look<'c>(
    setup: &Setup,
    call: &CallContext,
    known: Vec<Known<'c>>,
) -> Result<Vec<Known<'c>>, String> {
    let mut kept = Vec::new();
    for mut one in known {
        let rule = setup.rules.get(&one.key.provider);
        let rule = rule.ok_or("its rule is gone")?;
        let options = PassOptions {
            target: Some(one.key.session.clone()),
            cancel: call.given_up.clone(),
            ..PassOptions::default()
        };
        let pass = pass::run(setup, rule, &options).map_err(|failure| failure.to_string())?;
        let agent = pass.report.agents.iter().find(|agent| agent.key == one.key);
        if let Some(agent) = agent {
            // A session without a name of its own is addressable by its id.
            one.name = Some(
                agent
                    .display_name
                    .clone()
                    .unwrap_or_else(|| one.key.session.clone()),
            );
            one.sendable = agent.sendable;
            kept.push(one);
        }
    }
    Ok(kept)
}

/// A sub-agent speaks as itself, and what answers it goes to the session it works for.
fn work_for(setup: &Setup, one: &mut Known<'_>, field: &str) -> Result<(), String> {
    let rule = setup
        .rules
        .get(&one.key.provider)
        .ok_or("its rule is gone")?;
    for home in homes::of(setup, &setup.world, rule).map_err(|failure| failure.to_string())? {
        let options = Options {
            node: one.key.node.clone(),
            home: home.id,
            copy_bytes: setup.config.limits.live_store.0,
            ..Options::default()
        };
        let Some(found) = row_of(rule, &home.world, &one.key.session, &options) else {
            continue;
        };
        if found.agent.kind != Kind::Subagent {
            return Ok(());
        }
        let main = found.row.get(field).and_then(|value| value.as_str());
        let main = main.filter(|main| !main.is_empty());
        let main = main.ok_or("a sub-agent is calling, and nothing says for which session")?;
        let own = one.name.take().filter(|name| *name != one.key.session);
        let own = own.unwrap_or_else(|| one.key.bare_session().to_owned());
        one.caller.subagent = Some(own);
        one.key = key(setup, one.claim, main)?;
        let snapshot = setup.registry.load().map_err(|error| error.to_string())?;
        one.name = snapshot.get(&one.key).map(|row| row.display_name.clone());
        return Ok(());
    }
    Ok(())
}

fn missing_text(call: &CallContext, missing: &[Missing]) -> String {
    let parts: Vec<String> = missing
        .iter()
        .map(|one| format!("as a {} host its request has {}", one.provider, one.what))
        .collect();
    let mend = missing.iter().find_map(|one| one.mend.as_deref());
    let mend = mend.unwrap_or("without it nobody can tell which session is calling");
    format!(
        "refused: {:?} does not prove which session is calling: {}; {mend}",
        display_safe(&call.client_name),
        parts.join(", and ")
    )
}
