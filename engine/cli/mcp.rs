//! `axiowl mcp`: the server's desk. Who calls is read from what the host sent, by the rules'
//! identity data, and confirmed natively.

use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use crate::office;
use crate::output;
use crate::setup;
use axiowl_discover::identity::{Claim, claim, session_id};
use axiowl_mcp::{CallContext, Desk, Order, ProvenSender};
use axiowl_model::{SessionKey, Stage};
use axiowl_pipeline::{SendRequest, SenderClaim};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long a call that waits for a stage may take.
const LONGEST_WAIT: Duration = Duration::from_secs(110);

/// Serves until the host closes the pipe.
pub fn run(common: &Common) -> Outcome {
    let desk = Arc::new(Counter {
        common: common.clone(),
    });
    axiowl_mcp::serve(desk).map_err(|error| Failure::caused(&error))?;
    Ok(Exit::Done)
}

/// The desk. Each call sees the state, rules and registry as they are then.
struct Counter {
    common: Common,
}

impl Desk for Counter {
    fn caller(&self, call: &CallContext) -> Result<ProvenSender, String> {
        let setup = setup::open(&self.common).map_err(|failure| failure.to_string())?;
        let rules = setup.rules.iter().map(Arc::as_ref);
        let (provider, value, verify) = match claim(rules, &call.client_name, &call.params) {
            Claim::Claimed {
                provider,
                value,
                verify,
            } => (provider, value, verify),
            Claim::Missing { provider, what } => {
                return Err(format!(
                    "refused: {} says it is a {provider} host, but its request has {what}; without it nobody can tell which session is calling",
                    call.client_name
                ));
            }
            Claim::UnknownHost => {
                return Err(format!(
                    "refused: no rule knows how the host {:?} proves which session is calling; nothing is sent under a guessed name",
                    call.client_name
                ));
            }
        };
        let (bare, proof) = match verify {
            None => (value, "host metadata".to_owned()),
            Some(name) => {
                let verifier = axiowl_providers::verifiers()
                    .into_iter()
                    .find(|v| v.name() == name);
                let verifier =
                    verifier.ok_or_else(|| format!("refused: there is no verifier `{name}`"))?;
                let bare = verifier
                    .verify(&setup.world, call, &value)
                    .map_err(|why| format!("refused: {why}"))?;
                (bare, name)
            }
        };
        let rule = setup
            .rules
            .get(&provider)
            .ok_or("refused: its rule is gone")?;
        let session = session_id(rule, &bare).ok_or("refused: its rule builds no session id")?;
        let key = SessionKey {
            provider,
            node: setup.config.node.as_str().into(),
            session,
        };
        let known = setup
            .registry
            .load()
            .map_err(|error| error.to_string())?
            .get(&key)
            .map(|row| row.display_name.clone());
        Ok(ProvenSender {
            display_name: known.unwrap_or_else(|| key.session.clone()),
            key,
            proof,
        })
    }

    fn send(&self, caller: ProvenSender, order: Order) -> Result<Value, String> {
        let setup =
            setup::open_without_rules(&self.common).map_err(|failure| failure.to_string())?;
        let pipeline = office::pipeline(&setup).map_err(|failure| failure.to_string())?;
        let reply_to = match &order.reply_to {
            None => None,
            Some(id) => Some(id.parse().map_err(|_| format!("`{id}` is no message id"))?),
        };
        let wanted = wanted(order.wait.as_deref())?;
        let request = SendRequest {
            from: SenderClaim::Proven(caller),
            reply_to,
            ..SendRequest::new(order.to, order.body)
        };
        let accepted = pipeline
            .send(&request)
            .map_err(|rejection| match rejection.hint() {
                Some(hint) => format!("{rejection}; {hint}"),
                None => rejection.to_string(),
            })?;
        let mut receipt = output::stage(&accepted.line);
        if let Some(wanted) = wanted {
            let mut last = accepted.line.clone();
            pipeline
                .wait_for(accepted.line.message_id, wanted, LONGEST_WAIT, |line| {
                    last = line
                })
                .map_err(|error| error.to_string())?;
            receipt = output::stage(&last);
        }
        receipt["answers"] = json!(accepted.answers);
        Ok(receipt)
    }

    fn agents(&self) -> Result<Value, String> {
        let setup =
            setup::open_without_rules(&self.common).map_err(|failure| failure.to_string())?;
        let snapshot = setup.registry.load().map_err(|error| error.to_string())?;
        let agents: Vec<Value> = snapshot
            .targets()
            .map(|row| {
                json!({
                    "name": row.display_name, "provider": row.key.provider,
                    "session": row.key.session, "folder": row.cwd, "last_seen_at": row.last_seen_at,
                })
            })
            .collect();
        Ok(json!({ "agents": agents }))
    }
}

fn wanted(word: Option<&str>) -> Result<Option<Stage>, String> {
    Ok(match word {
        None | Some("accepted") => None,
        Some("submitted") => Some(Stage::Submitted),
        Some("seen") => Some(Stage::Seen),
        Some("turn") => Some(Stage::TurnDone),
        Some("reply") => Some(Stage::Replied),
        Some(other) => {
            return Err(format!(
                "`{other}` is nothing to wait for; use accepted, submitted, seen, turn or reply"
            ));
        }
    })
}
