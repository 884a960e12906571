//! The edge of Codex threads: a thread that nobody has open gets one turn in a private
//! app-server (`providers/codex.md` C7, "cold, no daemon"); an open one is refused with who has
//! it. `codex exec resume` only serves a Codex whose app-server cannot do that.
//!
//! The threads of `codex_cli` (exec and terminal) and of `codex` (desktop, editor and other
//! app-server clients) lie in one store and take the same road; each provider has its own edge.

mod app_server;
mod approvals;
mod cold;
mod exec;
mod verdict;

use crate::child::Program;
use crate::codex_store::{Rollout, Store};
use crate::environment::Environment;
use crate::ground::{self, Ground, not_now};
use crate::resume::Resume;
use axiowl_pipeline::edge::{Delivery, EdgeContext, EdgeError, Liveness, Progress, Target};
use std::ffi::OsString;

const ROUTE: &str = "private codex app-server (thread/resume, turn/start)";

/// The edge of one of the two providers whose sessions are Codex threads.
pub(crate) struct Codex {
    provider: &'static str,
}

impl Codex {
    /// Threads of `codex exec` and the terminal.
    pub const CLI: Self = Self {
        provider: "codex_cli",
    };
    /// Threads of the desktop app, editors and other app-server clients.
    pub const AGENTS: Self = Self { provider: "codex" };
}

impl Resume for Codex {
    type Ready = Ground;

    fn provider(&self) -> &'static str {
        self.provider
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
        let run = Run {
            context,
            delivery,
            ground: &ground,
        };
        match cold::deliver(&run, progress)? {
            cold::Delivered::Over => Ok(()),
            cold::Delivered::NeedsExec(why) => {
                tracing::info!(%why, "codex app-server cannot be used");
                exec::deliver(&run, &why, progress)
            }
        }
    }
}

/// One delivery on its ground.
struct Run<'a> {
    context: &'a EdgeContext<'a>,
    delivery: &'a Delivery<'a>,
    ground: &'a Ground,
}

impl Run<'_> {
    /// The program with arguments, in the thread's folder and home.
    fn program(&self, arguments: &[&str]) -> Program<'_> {
        let world = self.context.world;
        let mut environment = Environment::of(self.context);
        if self.context.provider_home.is_some() || world.env("CODEX_HOME").is_some() {
            environment.set("CODEX_HOME", Store::of(self.context).real(world));
        }
        if self.context.provider_home.is_none()
            && let Some(folder) = world.env("CODEX_SQLITE_HOME")
        {
            environment.set("CODEX_SQLITE_HOME", folder);
        }
        environment.add_folder_of(&self.ground.program);
        Program {
            file: &self.ground.program,
            arguments: arguments.iter().map(OsString::from).collect(),
            folder: &self.ground.folder,
            environment: environment.into_variables(),
            output_cap: self.delivery.output_cap,
        }
    }

    /// Looks once more right before the handover: somebody may have opened the thread.
    fn still_free(&self) -> Result<(), EdgeError> {
        examine(self.context, self.delivery.target)
            .map(drop)
            .map_err(not_now)
    }

    fn thread(&self) -> &str {
        &self.ground.session
    }
}

/// Everything that has to hold before a thread is resumed.
fn examine(context: &EdgeContext<'_>, target: &Target) -> Result<Ground, Liveness> {
    let ground = ground::survey(context, target, "codex")?;
    let store = Store::of(context);
    let unavailable = |reason: String| Err(Liveness::Unavailable { reason });
    let rollout = match store.rollout(context.world, &ground.session) {
        Rollout::Present(path) => path,
        Rollout::Archived => {
            let id = &ground.session;
            return unavailable(format!(
                "it is archived; `codex unarchive {id}` brings it back"
            ));
        }
        Rollout::Missing => {
            let sessions = store.below("sessions");
            return unavailable(format!("its rollout is not below {sessions} any more"));
        }
    };
    match store.writer(context.world, &ground.session, &rollout) {
        Some(writer) => Err(Liveness::Closed {
            reason: writer.reason,
            remedy: writer.remedy,
        }),
        None => Ok(ground),
    }
}

/// What Codex says instead of taking a message (`providers/codex.md` C1): one writer a thread,
/// no archived threads, threads it does not know.
fn refusal(said: &str) -> EdgeError {
    let shown = axiowl_model::display_safe(&axiowl_model::clip(said.trim(), 600));
    if said.contains("already has an active writer") {
        let reason = format!("another program has just opened it; close it there: {shown}");
        return EdgeError::Refused { reason };
    }
    if said.contains("is archived") {
        return EdgeError::Refused { reason: shown };
    }
    EdgeError::NotSubmitted {
        reason: format!("Codex said: {shown}"),
    }
}
