//! The edge of the demo's agent: a program of AxiOwl's own that takes a message on standard
//! input, writes it into its transcript and answers over MCP. Also confirms that agent's calls.
//!
//! Small on purpose: what a provider's edge needs at the least.

use crate::child::{Next, Program, Running};
use crate::environment::Environment;
use crate::follow::{self, Follow, stop_at};
use crate::ground;
use crate::in_flight::Trace;
use axiowl_model::{Evidence, VISIBLE_MARK, display_safe, is_uuid};
use axiowl_pipeline::edge::{
    Delivery, Edge, EdgeContext, EdgeError, Finding, Liveness, Progress, Target,
};
use axiowl_pipeline::identity::{CallContext, Caller, IdentityVerifier};
use axiowl_sources::World;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the agent may take to end after its last word.
const GOODBYE: Duration = Duration::from_secs(10);
/// How long its transcript may lag behind its words; it writes first.
const LAG: Duration = Duration::from_secs(1);
/// Bytes of one transcript that are searched for a call.
const SEARCHED: u64 = 64 * 1024 * 1024;
const ROUTE: &str = "axiowl echo-agent";

/// The edge of `echo`.
pub(crate) struct Echo;

impl Edge for Echo {
    fn provider(&self) -> &'static str {
        "echo"
    }

    fn probe(&self, context: &EdgeContext<'_>, target: &Target) -> Liveness {
        match examine(context, target) {
            Ok(_) => Liveness::Idle {
                route: ROUTE.into(),
            },
            Err(reason) => Liveness::Unavailable { reason },
        }
    }

    fn submit(
        &self,
        context: &EdgeContext<'_>,
        delivery: &Delivery<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        let not_submitted = |reason: String| EdgeError::NotSubmitted { reason };
        ground::is_real(context)?;
        let place = examine(context, delivery.target).map_err(not_submitted)?;
        progress(Progress::Starting {
            route: ROUTE.into(),
        });
        let mut running = start(context, delivery, &place)?;
        match Trace::leave(
            &context.state_root,
            delivery.message_id,
            &delivery.target.key,
            running.id(),
        ) {
            Ok(trace) => running.keep(trace),
            Err(error) => return Err(not_submitted(format!("the state folder: {error}"))),
        }
        running.send(delivery.visible_body.as_bytes().to_vec());
        running.close_input();
        listen(delivery, running, progress)
    }

    fn find(&self, context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> Finding {
        match follow::find(context, delivery) {
            Finding::Absent => waiting(context, delivery),
            finding => finding,
        }
    }

    fn is_under_way(&self, context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> bool {
        follow::is_under_way(context, delivery)
    }
}

/// A session and its folder of sessions.
struct Place {
    home: PathBuf,
    store: PathBuf,
    session: String,
}

fn store(world: &World) -> Option<(PathBuf, PathBuf)> {
    let home = world.real_path(world.home())?;
    Some((home.clone(), home.join(".axiowl-echo")))
}

fn examine(context: &EdgeContext<'_>, target: &Target) -> Result<Place, String> {
    let session = target.key.bare_session().to_owned();
    if !is_uuid(&session) {
        return Err(format!("`{}` is no echo session", display_safe(&session)));
    }
    let (home, store) = store(context.world).ok_or("there is no home folder")?;
    let transcript = store.join(format!("{session}.jsonl"));
    if !transcript.is_file() {
        return Err(format!("its transcript is gone: {}", transcript.display()));
    }
    Ok(Place {
        home,
        store,
        session,
    })
}

/// Whether a message that is not in the transcript waits in the agent's queue.
fn waiting(context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> Finding {
    let unknown = |reason: String| Finding::Unknown { reason };
    let session = delivery.target.key.bare_session();
    let Some((_, store)) = store(context.world) else {
        return unknown("there is no home folder".into());
    };
    let queue = store.join(format!("{session}.queue"));
    match fs::read_to_string(&queue) {
        Ok(text) if text.contains(&format!("{VISIBLE_MARK}{}]", delivery.message_id)) => {
            unknown(format!("it waits unread in {}", queue.display()))
        }
        Ok(_) => Finding::Absent,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Finding::Absent,
        Err(error) => unknown(format!("{}: {error}", queue.display())),
    }
}

fn start(
    context: &EdgeContext<'_>,
    delivery: &Delivery<'_>,
    place: &Place,
) -> Result<Running, EdgeError> {
    let mut arguments = vec!["--home".into(), place.home.clone().into_os_string()];
    arguments.extend([
        "--state".into(),
        context.state_root.clone().into_os_string(),
    ]);
    arguments.extend([
        "echo-agent".into(),
        "--store".into(),
        place.store.clone().into_os_string(),
    ]);
    arguments.extend(["--session".into(), place.session.clone().into()]);
    let program = Program {
        file: &context.axiowl,
        arguments,
        folder: &place.home,
        environment: Environment::of(context).into_variables(),
        output_cap: delivery.output_cap,
    };
    Running::start(&program).map_err(|error| EdgeError::NotSubmitted {
        reason: error.to_string(),
    })
}

fn listen(
    delivery: &Delivery<'_>,
    mut running: Running,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), EdgeError> {
    let mut follow = Follow::new(delivery);
    let mut taken = false;
    let mut ended_well = None;
    let mut kept = None;
    let stop = stop_at(delivery);
    let cut = loop {
        if Instant::now() >= stop {
            break true;
        }
        match running.next(follow.wait_until(stop)) {
            Next::Line(line) => {
                let event: Value = serde_json::from_str(&line).unwrap_or_default();
                let turn = event["turn"].as_str().unwrap_or_default();
                match event["type"].as_str() {
                    Some("message_taken") if !taken => {
                        taken = true;
                        let detail = format!("message_taken turn={}", display_safe(turn));
                        progress(Progress::Submitted(Evidence::new("stream_event", detail)));
                    }
                    Some("turn_end") => ended_well = Some(event["ok"] == true),
                    Some("message_kept") => kept = event["as"].as_str().map(str::to_owned),
                    _ => {}
                }
            }
            Next::Quiet => {}
            Next::End => break false,
            Next::Flooded => break true,
        }
        follow.glance(progress);
    };
    let ending = running.finish(if cut { Duration::ZERO } else { GOODBYE });
    if let Some(how) = kept {
        let proof = Evidence::new(
            "stream_event",
            format!("message_kept as={}", display_safe(&how)),
        );
        match how.as_str() {
            "held" => progress(Progress::Held(proof)),
            "queued" => progress(Progress::Queued(proof)),
            _ => {
                let reason = format!("the echo agent keeps it in a way that is not known: {how}");
                return Err(EdgeError::Uncertain { reason });
            }
        }
        return Ok(());
    }
    let lag = if taken { LAG } else { Duration::ZERO };
    let sighting = follow.settle(lag, progress).clone();
    let told = ending.told();
    match (sighting.message, sighting.turn) {
        (_, Some(turn)) if turn.completed && ended_well != Some(false) => {
            progress(Progress::TurnDone(turn.evidence));
            Ok(())
        }
        (_, Some(turn)) => {
            let reason = format!("the echo agent could not answer: {told}");
            Err(EdgeError::TurnFailed {
                reason,
                evidence: turn.evidence,
            })
        }
        (Some(evidence), None) => {
            let reason = format!("the echo agent ended in the middle of its turn: {told}");
            Err(EdgeError::TurnFailed { reason, evidence })
        }
        (None, None) => {
            let own_error = ending
                .status
                .is_some_and(|s| s.code().is_some_and(|code| code != 0));
            if !taken && own_error && !ending.stopped && follow.trouble().is_none() {
                let reason = format!("the echo agent did not take it: {told}");
                return Err(EdgeError::NotSubmitted { reason });
            }
            Err(EdgeError::Uncertain {
                reason: format!("its transcript lacks the message: {told}"),
            })
        }
    }
}

/// Confirms a call of the echo agent: it stands in exactly one of its transcripts, in a turn
/// that has not ended.
pub(crate) struct EchoTranscript;

impl IdentityVerifier for EchoTranscript {
    fn name(&self) -> &'static str {
        "echo_transcript"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["echo"]
    }

    fn verify(
        &self,
        world: &World,
        call: &CallContext,
        claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let claimed = claimed.unwrap_or_default();
        if !is_uuid(claimed) {
            return Err("the host names no call".into());
        }
        let (_, folder) = store(world).ok_or("there is no home folder")?;
        let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut callers: Vec<String> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension() == Some("jsonl".as_ref()))
            .filter(|path| is_calling(path, claimed, &call.tool))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .filter(|session| is_uuid(session))
            .collect();
        match (callers.pop(), callers.is_empty()) {
            (Some(session), true) => {
                Ok(Caller::session(session).by_call(format!("echo {claimed}")))
            }
            (Some(_), false) => Err("several transcripts hold that call".into()),
            (None, _) => Err("no transcript holds that call in an open turn".into()),
        }
    }
}

/// Whether a transcript holds a call of that tool in a turn that is still open.
fn is_calling(path: &Path, call: &str, tool: &str) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut reader = BufReader::new(file.take(SEARCHED));
    let mut line = Vec::new();
    while reader
        .read_until(b'\n', &mut line)
        .is_ok_and(|read| read > 0)
    {
        let record: Value = serde_json::from_slice(&line).unwrap_or_default();
        let turn = record["turn"].as_str().unwrap_or_default();
        match record["type"].as_str() {
            Some("tool_call") if record["id"] == call && record["name"] == tool => {
                open.insert(turn.to_owned());
            }
            Some("turn_end") => {
                open.remove(turn);
            }
            _ => {}
        }
        line.clear();
    }
    !open.is_empty()
}
