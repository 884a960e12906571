//! The edge of Copilot CLI: a session that no process has in use gets one headless turn
//! (`providers/copilot-vscode.md` C1a); one that is in use is refused, since a second process
//! makes a parallel branch of it that its window never shows (C1b).
//!
//! Knows Copilot's files and events, and neither rules nor the ledger.

mod events;
mod in_use;

use crate::child::Program;
use crate::environment::Environment;
use crate::ground::{self, Ground};
use crate::one_turn::Turn;
use crate::resume::Resume;
use axiowl_pipeline::edge::{Delivery, EdgeContext, EdgeError, Liveness, Progress, Target};
use std::ffi::OsString;

const ROUTE: &str = "resume (copilot --resume, message on standard input)";
/// The only tool a headless target may use without being asked, since nobody is there to ask
/// (C1a).
const ALLOWED_TOOL: &str = "--allow-tool=axiowl(axiowl_send_message)";

/// The edge of `copilot_cli`.
pub(crate) struct CopilotCli;

impl Resume for CopilotCli {
    type Ready = Ground;

    fn provider(&self) -> &'static str {
        "copilot_cli"
    }

    fn examine(&self, context: &EdgeContext<'_>, target: &Target) -> Result<Ground, Liveness> {
        examine(context, target)
    }

    fn route(&self, _ready: &Ground) -> &'static str {
        ROUTE
    }

    fn hand_over(
        &self,
        context: &EdgeContext<'_>,
        delivery: &Delivery<'_>,
        ground: Ground,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
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

/// Everything that has to hold before a session is resumed.
fn examine(context: &EdgeContext<'_>, target: &Target) -> Result<Ground, Liveness> {
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
    match in_use::by(context.world, &root, &ground.session) {
        Some(reason) => Err(Liveness::Closed {
            reason,
            remedy: "leave the session there and send again; delivery into an open session needs \
                     AxiOwl's extension in Copilot CLI, which is later work"
                .into(),
        }),
        None => Ok(ground),
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
