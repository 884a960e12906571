//! `axiowl send`: one line a stage, as it is reached.

use crate::args::{Common, Send, Wait};
use crate::exit::{Exit, Failure, Outcome};
use crate::ground;
use crate::office::{self, Office};
use crate::output;
use crate::setup::{self, Setup};
use axiowl_lang::config::Ambiguity;
use axiowl_model::{Stage, StageLine, display_safe};
use axiowl_pipeline::edge::{EdgeContext, Liveness, Target};
use axiowl_pipeline::{
    Accepted, Followed, OPERATOR, Pipeline, Rejection, SendRequest, SenderClaim, Surroundings,
};
use serde_json::{Value, json};
use std::io::Read;

/// Sends one message.
pub fn run(arguments: &Send, common: &Common) -> Outcome {
    let mut setup = setup::open_without_rules(common)?;
    match arguments.dry_run {
        true => ground::hold(&setup)?,
        false => ground::begin(&mut setup)?,
    }
    let request = SendRequest {
        to: arguments.to.clone(),
        body: body(arguments)?,
        from: match arguments.from.as_deref() {
            None | Some(OPERATOR) => SenderClaim::Operator,
            Some(text) => SenderClaim::Text(text.to_owned()),
        },
        reply_to: arguments
            .reply_to
            .as_deref()
            .map(office::message_id)
            .transpose()?,
        node: None,
        strict: arguments.strict || setup.config.ambiguity == Ambiguity::Refuse,
        timeout: None,
        dry_run: arguments.dry_run,
    };
    let pipeline = office::pipeline(&setup)?;
    let accepted = match pipeline.send(&request) {
        Ok(accepted) => accepted,
        Err(rejection) => return rejected(&rejection, arguments.json),
    };
    let from = arguments.from.as_deref().unwrap_or_default();
    for (text, others) in [
        (from, &accepted.sender_also),
        (&*arguments.to, &accepted.also_matching),
    ] {
        for other in others {
            anstream::eprintln!(
                "note: {:?} also fits {}; the newest is used",
                display_safe(text),
                display_safe(other)
            );
        }
    }
    if let Some(problem) = &accepted.worker_problem {
        anstream::eprintln!(
            "warning: no delivery could be started now ({problem}); the next axiowl command tries again"
        );
    }
    if arguments.dry_run {
        return dry_run(common, &accepted, arguments.json);
    }
    follow(&pipeline, &accepted, arguments)
}

fn body(arguments: &Send) -> Result<String, Failure> {
    if let Some(body) = &arguments.body {
        return Ok(body.clone());
    }
    let (name, mut input): (String, Box<dyn Read>) = match (&arguments.body_file, &arguments.stdin)
    {
        (Some(path), _) => {
            let name = path.display().to_string();
            let file = std::fs::File::open(path)
                .map_err(|error| Failure::new(Exit::Usage, format!("{name}: {error}")))?;
            (name, Box::new(file))
        }
        (None, Some(_)) => ("standard input".into(), Box::new(std::io::stdin().lock())),
        (None, None) => {
            return Err(Failure::new(Exit::Usage, "there is no text to send")
                .hint("give --body TEXT, --body-file FILE, or - for standard input"));
        }
    };
    // The size limit is the pipeline's; this only keeps an endless input from filling memory.
    const READ_AT_MOST: u64 = 64 << 20;
    let mut text = String::new();
    input
        .by_ref()
        .take(READ_AT_MOST)
        .read_to_string(&mut text)
        .map_err(|error| Failure::new(Exit::Usage, format!("{name}: {error}")))?;
    Ok(text)
}

fn rejected(rejection: &Rejection, json: bool) -> Outcome {
    let exit = exit_of(rejection.exit_code());
    if json {
        let mut fields = output::stage(&rejection.line());
        fields["code"] = rejection.code().into();
        fields["hint"] = json!(rejection.hint());
        fields["near"] = json!(rejection.near());
        fields["discovery"] = json!(rejection.discovery());
        output::json_line("stage", fields);
        return Ok(exit);
    }
    let mut failure = Failure::new(exit, rejection.why.to_string());
    failure.hint = rejection.hint();
    if let Some(seen) = rejection.discovery() {
        failure.details = seen.lines();
        if seen.scopes.iter().any(|scope| !scope.issues.is_empty()) {
            failure = failure.detail("--json shows every scope and problem");
        }
    }
    Err(failure)
}

/// The exit code with a number that the pipeline gives.
pub fn exit_of(code: u8) -> Exit {
    match code {
        0 => Exit::Done,
        2 => Exit::Usage,
        3 => Exit::NoTarget,
        4 => Exit::Ambiguous,
        5 => Exit::NotSendable,
        6 => Exit::SenderUnproven,
        7 => Exit::Provider,
        8 => Exit::Uncertain,
        9 => Exit::TimedOut,
        _ => Exit::Failed,
    }
}

/// Prints one stage.
pub fn print(line: &StageLine, json: bool) {
    if json {
        let mut fields = output::stage(line);
        fields["receipt"] = line.stage.as_str().into();
        output::json_line("stage", fields);
    } else {
        crate::output::say!("{}", output::stage_text(line));
    }
}

fn follow(pipeline: &Pipeline, accepted: &Accepted, arguments: &Send) -> Outcome {
    let line = &accepted.line;
    if !arguments.json {
        crate::output::say!(
            "{} to {:?} ({})",
            line.message_id,
            display_safe(&line.display_name),
            line.provider
        );
    }
    let wanted = match arguments.wait {
        Wait::Accepted => {
            print(line, arguments.json);
            return Ok(Exit::Done);
        }
        Wait::Submitted => Stage::Submitted,
        Wait::Seen => Stage::Seen,
        Wait::Turn => Stage::TurnDone,
        Wait::Reply => Stage::Replied,
    };
    let followed = pipeline
        .wait_for(line.message_id, wanted, arguments.timeout, |line| {
            print(&line, arguments.json);
            if wanted == Stage::Replied && line.stage == Stage::TurnDone {
                anstream::eprintln!("its turn ended without an answer; one may still come");
            }
        })
        .map_err(|error| office::ledger_failure(&error))?;
    if followed.stage() == Stage::Replied {
        show_replies(pipeline, line, arguments.json)?;
    }
    match followed {
        Followed::TimedOut(Stage::TurnDone) => anstream::eprintln!(
            "no answer {}, and none has to come: its turn ended; axiowl message {} shows one that \
             comes later",
            after(arguments.timeout),
            line.message_id
        ),
        Followed::TimedOut(stage) => anstream::eprintln!(
            "still {stage} {}; the message goes on: axiowl message {} --follow",
            after(arguments.timeout),
            line.message_id
        ),
        Followed::TurnUnproven => {
            anstream::eprintln!("{}", turn_unproven(&line.message_id.to_string()))
        }
        Followed::Reached(_) | Followed::Ended(_) => {}
    }
    Ok(exit_of(followed.exit_code()))
}

/// How long was waited, in words.
fn after(time: std::time::Duration) -> String {
    if time.is_zero() {
        "at once".to_owned()
    } else {
        format!("after {time:?}")
    }
}

/// Why a wait for the turn's end is over though the message was answered.
fn turn_unproven(id: &str) -> String {
    format!(
        "it was answered, and the end of its turn is not proven: it was not seen before the \
         delivery's deadline, or nobody watches it any more; axiowl message {id} shows what is known"
    )
}

/// Prints the answers to a message.
pub fn show_replies(pipeline: &Pipeline, line: &StageLine, json: bool) -> Result<(), Failure> {
    let replies = pipeline
        .ledger()
        .replies_to(line.message_id)
        .map_err(|error| office::ledger_failure(&error))?;
    for reply in replies {
        if json {
            output::json_line(
                "reply",
                json!({
                    "reply_to": line.message_id, "message_id": reply.id, "at": reply.created_at,
                    "from": reply.sender.name, "provider": reply.sender.provider(),
                    "proof": reply.sender.kind.standing(), "body": reply.body,
                }),
            );
        } else {
            let sender = &reply.sender;
            crate::output::say!(
                "reply {} from {:?} ({}, {}):",
                reply.id,
                display_safe(&sender.name),
                sender.provider(),
                sender.kind.standing()
            );
            for text in reply.body.lines() {
                crate::output::say!("  {}", display_safe(text));
            }
        }
    }
    Ok(())
}

/// Shows what a send would do, up to the provider's door.
fn dry_run(common: &Common, accepted: &Accepted, json: bool) -> Outcome {
    let target = &accepted.target;
    let setup = setup::open_for(common, &target.key)?;
    let liveness = liveness(&setup, target)?;
    let snapshot = setup.registry.load_for(&[&target.key.to_string()])?;
    let row = snapshot.get(&target.key);
    let text = |of: fn(&axiowl_model::AgentRecord) -> &String| row.map(of).cloned();
    let (proof, source) = (
        text(|row| &row.proof).unwrap_or_default(),
        text(|row| &row.source).unwrap_or_default(),
    );
    let sender = &accepted.sender;
    if json {
        let mut fields = json!({
            "message_id": accepted.line.message_id,
            "row": row.map_or(Value::Null, output::agent),
            "agent_id": target.key.to_string(),
            "display_name": target.display_name,
            "proof": proof,
            "from": sender.name,
            "sender": sender.kind.standing(),
            "answers": accepted.answers,
            "visible_body": accepted.visible_body,
            "also_matching": accepted.also_matching,
        });
        describe(&mut fields, &liveness);
        output::json_line("dry_run", fields);
    } else {
        let (state, detail) = words(&liveness);
        crate::output::say!(
            "would go to {:?} ({})",
            display_safe(&target.display_name),
            target.key
        );
        crate::output::say!("  proof     {proof} (source {source})");
        crate::output::say!("  folder    {}", display_safe(&target.cwd));
        crate::output::say!(
            "  from      {:?} ({}, {})",
            display_safe(&sender.name),
            sender.provider(),
            sender.kind.standing()
        );
        crate::output::say!("  liveness  {state}");
        let label = match liveness {
            Liveness::Idle { .. } | Liveness::Door { .. } => "route",
            Liveness::Closed { .. } | Liveness::Unavailable { .. } => "refused",
        };
        crate::output::say!("  {label:<9} {}", display_safe(&detail));
        for line in accepted.visible_body.lines() {
            crate::output::say!("  | {}", display_safe(line));
        }
        crate::output::say!("nothing was sent");
    }
    Ok(match liveness {
        Liveness::Idle { .. } | Liveness::Door { .. } => Exit::Done,
        // What the worker would record: refused.
        Liveness::Closed { .. } | Liveness::Unavailable { .. } => Exit::NotSendable,
    })
}

/// Whether a target is idle, open with a door, open without one, or not there, right now.
pub fn liveness(setup: &Setup, target: &Target) -> Result<Liveness, Failure> {
    let office = Office::new(setup)?;
    let edges = office::edges(setup)?;
    Ok(match edges.pick(target) {
        Ok(edge) => edge.probe(&EdgeContext {
            world: &setup.world,
            state_root: setup.state.clone(),
            axiowl: office.axiowl().to_path_buf(),
            child_env: office.child_env(&target.key.provider),
            provider_home: office.provider_home(target),
            experimental: office.experimental(&target.key.provider),
        }),
        Err(none) => Liveness::Unavailable {
            reason: none.to_string(),
        },
    })
}

/// Liveness as a word and what goes with it, for people.
pub fn words(liveness: &Liveness) -> (&'static str, String) {
    match liveness {
        Liveness::Idle { route } => ("idle", route.clone()),
        Liveness::Door { route } => ("open, with a door", route.clone()),
        Liveness::Closed { reason, remedy } => {
            ("open, without a door", format!("{reason}; {remedy}"))
        }
        Liveness::Unavailable { reason } => ("unavailable", reason.clone()),
    }
}

/// The same for programs: `liveness` is one of idle, door, closed and unavailable; `route` is
/// the way a send would take, and without one `reason` and `remedy` say why.
pub fn describe(fields: &mut Value, liveness: &Liveness) {
    let (word, route, reason, remedy) = match liveness {
        Liveness::Idle { route } => ("idle", route.as_str(), "", ""),
        Liveness::Door { route } => ("door", route.as_str(), "", ""),
        Liveness::Closed { reason, remedy } => ("closed", "", reason.as_str(), remedy.as_str()),
        Liveness::Unavailable { reason } => ("unavailable", "", reason.as_str(), ""),
    };
    fields["liveness"] = word.into();
    fields["route"] = route.into();
    fields["liveness_reason"] = reason.into();
    fields["liveness_remedy"] = remedy.into();
}
