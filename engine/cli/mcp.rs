//! `axiowl mcp`: the server's desk. What an agent asks, in the words of the rest of AxiOwl.

use crate::args::{Common, Mcp};
use crate::caller;
use crate::exit::{Exit, Failure, Outcome};
use crate::ground;
use crate::mcp_http;
use crate::office;
use crate::output;
use crate::setup::{self, Setup};
use axiowl_mcp::{CallContext, Cancel, Desk, Door, HostProcess, Order, ProvenSender, Sent};
use axiowl_model::{MessageId, Stage, Timestamp};
use axiowl_pipeline::{Inbox, Message, Pipeline, SendRequest, SenderClaim};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a call that waits for a stage may take.
const LONGEST_WAIT: Duration = Duration::from_secs(110);
/// How often a waiting call asks whether its host still wants the answer.
const SLICE: Duration = Duration::from_millis(250);
/// Messages an inbox shows, the newest.
const INBOX: usize = 100;

/// Serves until the host closes the pipe, or on a loopback address until it is told to end.
pub fn run(arguments: &Mcp, common: &Common) -> Outcome {
    let desk = Arc::new(Counter {
        common: common.clone(),
    });
    if let Some(address) = arguments.http {
        return mcp_http::run(desk, address, arguments.token_file.as_deref());
    }
    axiowl_mcp::serve(desk).map_err(|error| Failure::caused(&error))?;
    Ok(Exit::Done)
}

/// The desk. Each call sees the state, rules and registry as they are then.
struct Counter {
    common: Common,
}

impl Counter {
    /// Everything but the rules, which only finding out the caller needs.
    fn open(&self) -> Result<(Setup, Pipeline), String> {
        let setup =
            setup::open_without_rules(&self.common).map_err(|failure| failure.to_string())?;
        ground::hold(&setup).map_err(|failure| failure.to_string())?;
        let pipeline = office::pipeline(&setup).map_err(|failure| failure.to_string())?;
        Ok((setup, pipeline))
    }
}

impl Desk for Counter {
    fn host(&self, door: Door) -> Result<Vec<HostProcess>, String> {
        axiowl_providers::host_processes(door)
    }

    fn caller(&self, call: &CallContext) -> Result<ProvenSender, String> {
        caller::caller(&self.common, call)
    }

    fn send(&self, caller: ProvenSender, order: Order) -> Result<Sent, String> {
        let (_setup, pipeline) = self.open()?;
        let reply_to = order.reply_to.as_deref().map(message_id).transpose()?;
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
        let mut receipt = output::stage(accepted.kept.as_ref().unwrap_or(&accepted.line));
        receipt["answers"] = json!(accepted.answers);
        receipt["from"] = json!(accepted.sender.name);
        receipt["also_matching"] = json!(accepted.also_matching);
        let id = accepted.line.message_id;
        Ok(Sent {
            id,
            receipt,
            wanted,
        })
    }

    fn wait(&self, sent: Sent, wanted: Stage, given_up: &Cancel) -> Result<Value, String> {
        let (_setup, pipeline) = self.open()?;
        let mut receipt = sent.receipt;
        if let Some(line) = wait(&pipeline, sent.id, wanted, given_up)?
            && let Value::Object(stage) = output::stage(&line)
            && let Some(receipt) = receipt.as_object_mut()
        {
            receipt.extend(stage);
        }
        if wanted == Stage::Replied {
            receipt["replies"] = replies(&pipeline, sent.id)?;
        }
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

    fn status(&self, caller: &ProvenSender, id: &str) -> Result<Value, String> {
        let (_setup, pipeline) = self.open()?;
        let id = message_id(id)?;
        let message = pipeline.ledger().message(id).ok();
        // What others write to each other is none of the caller's business, and neither is
        // whether they do.
        let own = message.filter(|message| {
            message.sender.key.as_ref() == Some(&caller.key) || message.target.key == caller.key
        });
        let message = own.ok_or_else(|| format!("you sent or got no message {id}"))?;
        let lines = pipeline
            .ledger()
            .lines_since(id, 0)
            .map_err(|error| error.to_string())?;
        let stages: Vec<Value> = lines.iter().map(|(_, line)| output::stage(line)).collect();
        let mut out = shown(&message);
        out["stages"] = json!(stages);
        out["replies"] = replies(&pipeline, id)?;
        Ok(out)
    }

    fn inbox(&self, caller: &ProvenSender, since: Option<&str>) -> Result<Value, String> {
        let (_setup, pipeline) = self.open()?;
        let since = since
            .map(|text| {
                text.parse::<Timestamp>()
                    .map_err(|_| format!("`{text}` is no time; write 2026-11-30T14:00:00Z"))
            })
            .transpose()?;
        let messages = pipeline
            .ledger()
            .inbox(&Inbox::Session(caller.key.clone()), since)
            .map_err(|error| error.to_string())?;
        let newest = messages.len().saturating_sub(INBOX);
        let mut out = Vec::new();
        for message in &messages[newest..] {
            let answered = pipeline
                .ledger()
                .replies_to(message.id)
                .map_err(|error| error.to_string())?
                .iter()
                .any(|reply| reply.sender.key.as_ref() == Some(&caller.key));
            let mut one = shown(message);
            one["body"] = json!(message.body);
            one["answered"] = json!(answered);
            out.push(one);
        }
        Ok(json!({ "messages": out, "left_out": newest }))
    }
}

/// Waits in slices, so that a call nobody waits for any more ends.
fn wait(
    pipeline: &Pipeline,
    id: MessageId,
    wanted: Stage,
    given_up: &Cancel,
) -> Result<Option<axiowl_model::StageLine>, String> {
    let until = Instant::now() + LONGEST_WAIT;
    let mut last = None;
    loop {
        let followed = pipeline
            .wait_for(id, wanted, SLICE, |line| last = Some(line))
            .map_err(|error| error.to_string())?;
        let waits = matches!(followed, axiowl_pipeline::Followed::TimedOut(_));
        if !waits || given_up.is_cancelled() || Instant::now() >= until {
            return Ok(last);
        }
    }
}

/// A message in short.
fn shown(message: &Message) -> Value {
    json!({
        "message_id": message.id,
        "stage": message.stage,
        "from": message.sender.name,
        "from_provider": message.sender.provider(),
        "from_session": message.sender.key.as_ref().map(|key| key.session.clone()),
        "from_is": message.sender.kind.standing(),
        "to": message.target.display_name,
        "created_at": message.created_at,
        "reply_to": message.reply_to,
    })
}

fn replies(pipeline: &Pipeline, id: MessageId) -> Result<Value, String> {
    let replies = pipeline
        .ledger()
        .replies_to(id)
        .map_err(|error| error.to_string())?;
    let replies = replies.iter().map(|reply| {
        let mut one = shown(reply);
        one["body"] = json!(reply.body);
        one
    });
    Ok(replies.collect())
}

fn message_id(text: &str) -> Result<MessageId, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is no message id; it stands in the first line of a message"))
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
