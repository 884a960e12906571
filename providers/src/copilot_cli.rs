//! The edge of Copilot CLI: a session that no process has in use gets one headless turn
//! (`providers/copilot-vscode.md` C1a); one that is in use gets the message through our extension
//! there (C1c), or is refused, since a second process makes a parallel branch of it that its
//! window never shows (C1b).
//!
//! Knows Copilot's files and events, and neither rules nor the ledger.

pub(crate) mod door;
mod events;
mod in_use;

use crate::child::Program;
use crate::environment::Environment;
use crate::follow;
use crate::ground::{self, Ground};
use crate::one_turn::Turn;
use crate::resume::examined;
use axiowl_pipeline::edge::{
    Delivery, Edge, EdgeContext, EdgeError, Finding, Liveness, Progress, Target,
};
use door::Door;
use std::ffi::OsString;

const ROUTE: &str = "resume (copilot --resume, message on standard input)";
/// The only tool a headless target may use without being asked, since nobody is there to ask
/// (C1a).
const ALLOWED_TOOL: &str = "--allow-tool=axiowl(axiowl_send_message)";

/// The edge of `copilot_cli`.
pub(crate) struct CopilotCli;

impl Edge for CopilotCli {
    fn provider(&self) -> &'static str {
        "copilot_cli"
    }

    fn probe(&self, context: &EdgeContext<'_>, target: &Target) -> Liveness {
        match examine(context, target) {
            Ok(Way { door: Some(_), .. }) => Liveness::Door {
                route: door::ROUTE.into(),
            },
            Ok(_) => Liveness::Idle {
                route: ROUTE.into(),
            },
            Err(liveness) => liveness,
        }
    }

    fn submit(
        &self,
        context: &EdgeContext<'_>,
        delivery: &Delivery<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        ground::is_real(context)?;
        let Way { ground, door } = examined(context, delivery, examine)?;
        if let Some(door) = door {
            return door.deliver(delivery, &ground.session, progress);
        }
        let program = program(context, delivery, &ground);
        let mut listener = events::Events::new(&ground.session, delivery.message_id);
        let turn = Turn {
            name: "Copilot",
            context,
            delivery,
        };
        let body = Some(delivery.visible_body.as_bytes());
        turn.run(&program, body, ROUTE, &mut listener, progress)
    }

    fn find(&self, context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> Finding {
        match follow::find(context, delivery) {
            // A window may have taken it and not have come to it yet.
            Finding::Absent if self.is_open(context, delivery.target) => Finding::Unknown {
                reason: "it is not in the record, and an open session may still hold it".into(),
            },
            finding => finding,
        }
    }

    /// Our own process, or whoever has the session open.
    fn is_under_way(&self, context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> bool {
        follow::is_under_way(context, delivery) || self.is_open(context, delivery.target)
    }
}

impl CopilotCli {
    fn is_open(&self, context: &EdgeContext<'_>, target: &Target) -> bool {
        matches!(
            self.probe(context, target),
            Liveness::Closed { .. } | Liveness::Door { .. }
        )
    }
}

/// How a message would go.
struct Way {
    ground: Ground,
    /// Into the process that has it open.
    door: Option<Door>,
}

/// Copilot's folder as the examined world writes it (A1).
fn root(context: &EdgeContext<'_>) -> String {
    let world = context.world;
    match (&context.provider_home, world.env("COPILOT_HOME")) {
        (Some(folder), _) => world.recorded(folder),
        (None, Some(folder)) => folder.to_owned(),
        (None, None) => format!("{}/.copilot", world.home()),
    }
}

/// Everything that has to hold before a message goes in.
fn examine(context: &EdgeContext<'_>, target: &Target) -> Result<Way, Liveness> {
    let ground = ground::survey(context, target, "copilot")?;
    let root = root(context);
    let folder = format!("{root}/session-state/{}", ground.session);
    let events = context.world.real_path(&format!("{folder}/events.jsonl"));
    if !events.is_some_and(|events| events.is_file()) {
        // A folder without it is no session; Copilot hides it too (A1).
        return Err(Liveness::Unavailable {
            reason: format!("{folder} holds no conversation any more"),
        });
    }
    let mut holders = in_use::by(context.world, &root, &ground.session);
    let Some(holder) = holders.pop() else {
        return Ok(Way { ground, door: None });
    };
    if let Some(other) = holders.pop() {
        // Each of them goes on from what it has itself (C1b); no way in leads to both.
        return Err(Liveness::Closed {
            reason: format!("{}; {}", other.reason, holder.reason),
            remedy: "leave all of them but one and send again".into(),
        });
    }
    let remedy = |why: &str| {
        format!(
            "leave the session there and send again; a window of Copilot CLI with AxiOwl's \
             extension takes messages ({why})"
        )
    };
    let door = match holder.pid {
        Some(pid) => Door::of(&context.state_root, &ground.session, pid),
        None => Err("who has it open is not known".into()),
    };
    match door {
        Ok(door) => Ok(Way {
            ground,
            door: Some(door),
        }),
        Err(why) => Err(Liveness::Closed {
            reason: holder.reason,
            remedy: remedy(&why),
        }),
    }
}

/// Always the whole id: a name may fit several sessions, and `--session-id` makes new ones (C1a).
fn program<'a>(
    context: &EdgeContext<'_>,
    delivery: &Delivery<'_>,
    ground: &'a Ground,
) -> Program<'a> {
    let world = context.world;
    let mut environment = Environment::of(context);
    if context.provider_home.is_some() || world.env("COPILOT_HOME").is_some() {
        let root = root(context);
        let real = world.real_path(&root).map(OsString::from);
        environment.set("COPILOT_HOME", real.unwrap_or_else(|| root.into()));
    }
    environment.add_folder_of(&ground.program);
    let resume = format!("--resume={}", ground.session);
    let arguments = [
        resume.as_str(),
        "--output-format",
        "json",
        "--no-auto-update",
        ALLOWED_TOOL,
    ];
    Program {
        file: &ground.program,
        arguments: arguments.iter().map(OsString::from).collect(),
        folder: &ground.folder,
        environment: environment.into_variables(),
        output_cap: delivery.output_cap,
    }
}
