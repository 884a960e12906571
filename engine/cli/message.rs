//! `axiowl message` and `axiowl list messages`: the ledger's truth.

use crate::args::{Common, List, Message, Settle};
use crate::exit::{Exit, Outcome};
use crate::office;
use crate::output;
use crate::send;
use crate::setup::{self, Setup};
use crate::worker;
use axiowl_model::{MessageId, Timestamp, display_safe};
use axiowl_pipeline::{Decision, Pipeline, Settled, stage_exit_code};
use serde_json::json;
use std::time::SystemTime;

/// How many messages a list shows.
const NEWEST: usize = 50;

/// Shows one message's stages.
pub fn run(arguments: &Message, common: &Common) -> Outcome {
    let id = office::message_id(&arguments.id)?;
    if let Some(how) = arguments.settle {
        return settle(id, how, arguments.json, common);
    }
    let setup = setup::open_without_rules(common)?;
    let pipeline = office::pipeline(&setup)?;
    take_up(&pipeline);
    let message = pipeline
        .ledger()
        .message(id)
        .map_err(|error| office::ledger_failure(&error))?;
    if !arguments.json {
        crate::output::say!(
            "{id} from {:?} to {:?} ({})",
            display_safe(&message.sender.name),
            display_safe(&message.target.display_name),
            message.target.key.provider
        );
    }
    if arguments.follow {
        let followed = pipeline
            .follow(id, arguments.timeout, |line| {
                send::print(&line, arguments.json)
            })
            .map_err(|error| office::ledger_failure(&error))?;
        return Ok(send::exit_of(followed.exit_code()));
    }
    let lines = pipeline
        .ledger()
        .lines_since(id, 0)
        .map_err(|error| office::ledger_failure(&error))?;
    for (_, line) in &lines {
        send::print(line, arguments.json);
    }
    if let Some((_, line)) = lines.last() {
        send::show_replies(&pipeline, line, arguments.json)?;
    }
    Ok(send::exit_of(stage_exit_code(message.stage)))
}

/// Whoever looks at messages sees to those whose worker died. A look that cannot is a look.
fn take_up(pipeline: &Pipeline) {
    if let Err(error) = pipeline.resume_abandoned() {
        tracing::warn!(%error, "abandoned messages not looked for");
    }
}

/// Settles a message, by evidence or by the word of whoever typed it.
fn settle(id: MessageId, how: Settle, json: bool, common: &Common) -> Outcome {
    let (setup, ledger) = worker::open(id, common)?;
    let decision = match how {
        Settle::Evidence => None,
        Settle::Seen => Some(Decision::Seen),
        Settle::Turn => Some(Decision::TurnDone),
        Settle::Failed => Some(Decision::Failed),
        Settle::Misdelivered => Some(Decision::Misdelivered),
        Settle::Refused => Some(Decision::Refused),
    };
    let settled = worker::with(&setup, &ledger, |worker| match decision {
        None => worker.settle(id),
        Some(decision) => worker.decide(id, decision, &person()),
    })?;
    match settled {
        Settled::Moved(lines) => lines.iter().for_each(|line| send::print(line, json)),
        Settled::Unchanged { reason } => {
            anstream::eprintln!("unchanged: {}", display_safe(&reason));
        }
    }
    let stage = ledger
        .message(id)
        .map_err(|error| office::ledger_failure(&error))?
        .stage;
    Ok(send::exit_of(stage_exit_code(stage)))
}

/// Who decides, as far as the system says.
fn person() -> String {
    let name = ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()));
    match name {
        Some(name) => format!("{} on the command line", display_safe(&name)),
        None => "the operator on the command line".into(),
    }
}

/// Lists the newest messages; all of them with `--all`.
pub fn list(setup: &Setup, arguments: &List) -> Outcome {
    let pipeline = office::pipeline(setup)?;
    take_up(&pipeline);
    let messages = pipeline
        .ledger()
        .recent(if arguments.all { usize::MAX } else { NEWEST })
        .map_err(|error| office::ledger_failure(&error))?;
    let now = Timestamp::from(SystemTime::now());
    let mut cells = Vec::new();
    for message in &messages {
        if arguments.json {
            output::json_line(
                "message",
                json!({
                    "message_id": message.id, "stage": message.stage, "from": message.sender.name,
                    "to": message.target.display_name, "agent_id": message.target.key.to_string(),
                    "created_at": message.created_at, "reply_to": message.reply_to,
                }),
            );
            continue;
        }
        cells.push(vec![
            message.id.to_string(),
            message.stage.to_string(),
            axiowl_model::clip(&display_safe(&message.sender.name), 24),
            axiowl_model::clip(&display_safe(&message.target.display_name), 32),
            output::ago(Some(message.created_at), now),
        ]);
    }
    if !arguments.json {
        if cells.is_empty() {
            crate::output::say!("No message was sent yet.");
        } else {
            output::table(&["MESSAGE", "STAGE", "FROM", "TO", "SENT"], &cells);
        }
    }
    Ok(Exit::Done)
}
