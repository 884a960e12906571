//! The edge of Claude Code sessions: a session that nobody has open is resumed headless with one
//! message (`providers/claude-code.md` C.1), an open one gets it through its inbox (C.3). One
//! that is open without an inbox is refused, since resuming it forks its transcript and loses
//! the message (C.2).
//!
//! Knows Claude Code's files and events, and neither rules nor the ledger.

#[cfg(target_os = "linux")]
mod inbox;
mod live;
#[cfg(target_os = "linux")]
mod queue;
pub(crate) mod records;
mod stream;
mod verdict;

use crate::child::{Ending, Next, Program, Running};
use crate::environment::Environment;
use crate::follow::{Follow, stop_at};
use crate::ground::{self, Ground, not_now};
use crate::in_flight::Trace;
use crate::resume::Resume;
use crate::version::{self, Version};
use axiowl_pipeline::edge::{Delivery, EdgeContext, EdgeError, Liveness, Progress, Target};
use records::Inlet;
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use stream::Heard;
use verdict::Account;

/// The only tool a headless target may use without being asked, since nobody is there to ask
/// (`providers/claude-code.md` C.1).
const ALLOWED_TOOL: &str = "mcp__axiowl__axiowl_send_message";
/// Retries of a failing model call; ten, the default, take minutes (C.1).
const MODEL_RETRIES: &str = "3";
/// The first version with `claude auth status`; an older one would take the words for a prompt.
const AUTH_STATUS: Version = Version::new(2, 1, 41);
/// How long a question to the program may take.
const QUESTION: Duration = Duration::from_secs(30);
/// How long the program may take to end after its last word.
const GOODBYE: Duration = Duration::from_secs(10);
/// How long the transcript may lag behind the program's words (C.1: about 0.1 s, 0.8 s seen).
const LAG: Duration = Duration::from_secs(2);
/// Resuming costs nine to fourteen times a transcript's size in memory (C.1).
const LARGE: u64 = 200 * 1024 * 1024;
const ROUTE: &str = "resume (claude -p --resume)";

/// The edge of `claude_code_cli`.
pub(crate) struct ClaudeCodeCli;

/// How a message would go.
pub(crate) struct Way {
    ground: Ground,
    /// The inbox of the process that has the session open.
    inlet: Option<Inlet>,
}

impl Resume for ClaudeCodeCli {
    type Ready = Way;

    fn provider(&self) -> &'static str {
        "claude_code_cli"
    }

    fn examine(&self, context: &EdgeContext<'_>, target: &Target) -> Result<Way, Liveness> {
        examine(context, target)
    }

    fn is_open(&self, way: &Way) -> bool {
        way.inlet.is_some()
    }

    fn route(&self, way: &Way) -> &'static str {
        if way.inlet.is_some() {
            live::ROUTE
        } else {
            ROUTE
        }
    }

    fn hand_over(
        &self,
        context: &EdgeContext<'_>,
        delivery: &Delivery<'_>,
        mut way: Way,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        let root = root(context);
        if way.inlet.is_none() {
            sign_in(context, delivery, &way.ground)?;
            // Asking took time; somebody may have opened the session meanwhile.
            way = examine(context, delivery.target).map_err(not_now)?;
        }
        let ground = way.ground;
        if let Some(inlet) = &way.inlet {
            let open = live::Open {
                context,
                delivery,
                session: &ground.session,
                root: &root,
                inlet,
            };
            return live::deliver(&open, progress);
        }
        progress(Progress::Starting {
            route: ROUTE.into(),
        });
        let account = resume(context, delivery, &ground, progress)?;
        if account.done {
            return Ok(());
        }
        if let Some(evidence) = verdict::verdict(&account, delivery, &ground.session, &root)? {
            progress(Progress::TurnDone(evidence));
        }
        Ok(())
    }
}

/// Claude Code's folder (`providers/claude-code.md` A.1).
fn root(context: &EdgeContext<'_>) -> PathBuf {
    if let Some(folder) = &context.provider_home {
        return folder.clone();
    }
    let world = context.world;
    let recorded = match world.env("CLAUDE_CONFIG_DIR") {
        Some(folder) => folder.to_owned(),
        None => format!("{}/.claude", world.home()),
    };
    world
        .real_path(&recorded)
        .unwrap_or_else(|| PathBuf::from(recorded))
}

/// Everything that has to hold before a message goes in.
fn examine(context: &EdgeContext<'_>, target: &Target) -> Result<Way, Liveness> {
    let ground = ground::survey(context, target, "claude")?;
    let root = root(context);
    let Some(transcript) = transcript(&root, &ground.session) else {
        let reason = format!("its transcript is not below {} any more", root.display());
        return Err(Liveness::Unavailable { reason });
    };
    if let Some(open) = records::open(context.world, &root, &ground.session, &ground.folder) {
        let closed = |reason: String| Liveness::Closed {
            reason,
            remedy: open.remedy.clone(),
        };
        let Some(inlet) = open.inlet else {
            return Err(closed(open.reason));
        };
        return match live::knock(&inlet) {
            Ok(()) => Ok(Way {
                ground,
                inlet: Some(inlet),
            }),
            Err(why) => Err(closed(format!(
                "{}; its inbox {} cannot be used: {why}",
                open.reason,
                inlet.socket.display()
            ))),
        };
    }
    if fs::metadata(&transcript).is_ok_and(|meta| meta.len() > LARGE) {
        tracing::warn!(path = %transcript.display(), "resuming a very large transcript");
    }
    Ok(Way {
        ground,
        inlet: None,
    })
}

/// The transcript of a session: the file that bears its id (`providers/claude-code.md` A.1).
fn transcript(root: &Path, session: &str) -> Option<PathBuf> {
    let name = format!("{session}.jsonl");
    let projects = fs::read_dir(root.join("projects")).ok()?;
    let files = projects.flatten().map(|project| project.path().join(&name));
    files.into_iter().find(|file| file.is_file())
}

/// Makes sure that somebody is signed in: an attempt without leaves the message in the
/// transcript all the same (`providers/claude-code.md` C.1). The exit code alone is looked at.
fn sign_in(
    context: &EdgeContext<'_>,
    delivery: &Delivery<'_>,
    ground: &Ground,
) -> Result<(), EdgeError> {
    let package = "@anthropic-ai/claude-code";
    let version = match version::installed(&ground.program, "claude", package) {
        Some(version) => Some(version),
        None => {
            let (said, _) = ask(context, delivery, ground, &["--version"])?;
            said.split_whitespace().next().and_then(Version::parse)
        }
    };
    if version.is_none_or(|version| version < AUTH_STATUS) {
        return Ok(());
    }
    let (_, ending) = ask(context, delivery, ground, &["auth", "status", "--json"])?;
    let code = ending.status.and_then(|status| status.code());
    if !ending.stopped && code == Some(1) {
        let reason = "Claude Code is not signed in in the environment of a delivery; run `claude \
                      /login`, or give its key in a file under `providers.claude_code_cli.env_file` \
                      in config.yaml (`env` there passes on what whoever sends has set); `axiowl \
                      doctor` says whether that file gives one";
        return Err(EdgeError::NotSubmitted {
            reason: reason.into(),
        });
    }
    if ending.stopped {
        let reason = format!("`claude auth status` did not answer: {}", ending.told());
        return Err(EdgeError::NotSubmitted { reason });
    }
    Ok(())
}

/// Runs the program with a question that changes nothing.
fn ask(
    context: &EdgeContext<'_>,
    delivery: &Delivery<'_>,
    ground: &Ground,
    arguments: &[&str],
) -> Result<(String, Ending), EdgeError> {
    let mut running = start(context, delivery, ground, arguments)?;
    running.close_input();
    let stop = stop_at(delivery).min(Instant::now() + QUESTION);
    let mut said = String::new();
    let end = loop {
        match running.next(stop) {
            Next::Line(line) if said.len() < delivery.output_cap => {
                said.push_str(&line);
                said.push('\n');
            }
            Next::Line(_) => {}
            other => break other,
        }
    };
    let patience = if end == Next::End {
        GOODBYE
    } else {
        Duration::ZERO
    };
    Ok((said, running.finish(patience)))
}

fn start(
    context: &EdgeContext<'_>,
    delivery: &Delivery<'_>,
    ground: &Ground,
    arguments: &[&str],
) -> Result<Running, EdgeError> {
    let mut environment = Environment::of(context);
    if context.provider_home.is_some() || context.world.env("CLAUDE_CONFIG_DIR").is_some() {
        environment.set("CLAUDE_CONFIG_DIR", root(context));
    }
    environment.set_default("CLAUDE_CODE_MAX_RETRIES", MODEL_RETRIES);
    environment.add_folder_of(&ground.program);
    let program = Program {
        file: &ground.program,
        arguments: arguments.iter().map(OsString::from).collect(),
        folder: &ground.folder,
        environment: environment.into_variables(),
        output_cap: delivery.output_cap,
    };
    Running::start(&program).map_err(|error| EdgeError::NotSubmitted {
        reason: error.to_string(),
    })
}

/// Resumes the session with the message and listens to the end.
fn resume(
    context: &EdgeContext<'_>,
    delivery: &Delivery<'_>,
    ground: &Ground,
    progress: &mut dyn FnMut(Progress),
) -> Result<Account, EdgeError> {
    let session = ground.session.as_str();
    let id = delivery.message_id;
    let arguments = [
        "-p",
        "--resume",
        session,
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--replay-user-messages",
        "--allowedTools",
        ALLOWED_TOOL,
    ];
    let mut running = start(context, delivery, ground, &arguments)?;
    match Trace::leave(&context.state_root, id, &delivery.target.key, running.id()) {
        Ok(trace) => running.keep(trace),
        Err(error) => {
            let reason = format!("the delivery could not be noted in the state folder: {error}");
            return Err(EdgeError::NotSubmitted { reason });
        }
    }
    // The uuid becomes the record's own, and the same uuid is never run twice (C.1).
    let line = json!({
        "type": "user",
        "message": { "role": "user", "content": delivery.visible_body },
        "uuid": id.to_string(),
        "session_id": session,
        "parent_tool_use_id": null,
    });
    running.send(format!("{line}\n").into_bytes());
    running.close_input();

    let mut follow = Follow::new(delivery);
    let mut heard = Heard::new(session, id);
    let mut done = false;
    let stop = stop_at(delivery);
    let cut = loop {
        if Instant::now() >= stop {
            break Some("the time for the delivery was over");
        }
        match running.next(follow.wait_until(stop)) {
            Next::Line(line) => {
                if let Some(evidence) = heard.take(&line) {
                    progress(Progress::Submitted(evidence));
                }
            }
            Next::Quiet => {}
            Next::End => break None,
            Next::Flooded => break Some("the program printed without end"),
        }
        // A turn can be over long before the program is: sub-agents in the background (C.1).
        let ended_well = heard
            .result
            .as_ref()
            .is_some_and(|result| result.is_good(session));
        follow.want_turn(ended_well);
        follow.glance(progress);
        if let (false, true, Some(turn)) = (done, ended_well, &follow.sighting().turn)
            && turn.completed
        {
            done = true;
            progress(Progress::TurnDone(turn.evidence.clone()));
        }
    };
    let ending = running.finish(if cut.is_some() {
        Duration::ZERO
    } else {
        GOODBYE
    });
    if !done {
        let lag = if heard.must_show() {
            LAG
        } else {
            Duration::ZERO
        };
        follow.settle(lag, progress);
    }
    Ok(Account {
        sighting: follow.sighting().clone(),
        trouble: follow.trouble().cloned(),
        heard,
        cut,
        ending,
        done,
    })
}
