//! The edge of Codex threads: a thread that nobody has open gets one turn in a private
//! app-server (`providers/codex.md` C7, "cold, no daemon"); one that is open in a terminal, the
//! shared daemon or another app-server gets the message through Codex's own queue, which its
//! owner takes it from (C2 to C4). One that somebody else has open is refused with who has it.
//! `codex exec resume` only serves a Codex whose app-server cannot do that.
//!
//! The threads of `codex_cli` (exec and terminal) and of `codex` (desktop, editor and other
//! app-server clients) lie in one store and take the same road; each provider has its own edge.

mod app_server;
mod approvals;
mod cold;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(target_os = "linux")]
mod desktop;
mod exec;
mod open_thread;
mod queue;
mod verdict;

use crate::child::Program;
use crate::codex_store::{self, Owner, Rollout, Store};
use crate::environment::Environment;
use crate::ground::{self, Ground, not_now};
#[cfg(target_os = "linux")]
use crate::open_session::Receiver;
use crate::resume::Resume;
use crate::version;
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

/// How a message would go.
pub(crate) struct Way {
    ground: Ground,
    /// Who has the thread open, and how that takes a message.
    open: Option<Open>,
}

/// Who has a thread open.
#[derive(PartialEq, Eq)]
enum Open {
    /// It takes what is queued for the thread.
    Queue(Owner),
    /// The desktop app, which starts turns for others.
    #[cfg(target_os = "linux")]
    Desktop(Receiver),
}

impl Resume for Codex {
    type Ready = Way;

    fn provider(&self) -> &'static str {
        self.provider
    }

    fn examine(&self, context: &EdgeContext<'_>, target: &Target) -> Result<Way, Liveness> {
        examine(context, target)
    }

    fn is_open(&self, way: &Way) -> bool {
        way.open.is_some()
    }

    /// Codex keeps its queue on disk, whoever has put something into it.
    fn kept(&self, context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> Option<String> {
        let thread = delivery.target.key.bare_session();
        queue::keeps(context, thread, delivery.message_id)
    }

    fn route(&self, way: &Way) -> &'static str {
        match &way.open {
            Some(Open::Queue(owner)) => open_thread::route(owner),
            #[cfg(target_os = "linux")]
            Some(Open::Desktop(_)) => desktop::ROUTE,
            None => ROUTE,
        }
    }

    fn hand_over(
        &self,
        context: &EdgeContext<'_>,
        delivery: &Delivery<'_>,
        way: Way,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        let run = Run {
            context,
            delivery,
            ground: &way.ground,
        };
        match &way.open {
            Some(Open::Queue(owner)) => return open_thread::deliver(&run, owner, progress),
            #[cfg(target_os = "linux")]
            Some(Open::Desktop(receiver)) => return desktop::deliver(&run, receiver, progress),
            None => {}
        }
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
        let way = examine(self.context, self.delivery.target).map_err(not_now)?;
        let receiver = match &way.open {
            None => return Ok(()),
            Some(Open::Queue(owner)) => &owner.receiver,
            #[cfg(target_os = "linux")]
            Some(Open::Desktop(receiver)) => receiver,
        };
        Err(EdgeError::Refused {
            reason: format!("process {} has just opened it; send again", receiver.pid),
        })
    }

    /// Looks once more right before the handover: who has it open may have changed.
    fn is_still_open_in(&self, owner: &Owner) -> Result<(), EdgeError> {
        let way = examine(self.context, self.delivery.target).map_err(not_now)?;
        match way.open {
            Some(Open::Queue(now)) if now == *owner => Ok(()),
            _ => Err(changed()),
        }
    }

    /// The desktop app, while that still has the thread open and no turn runs.
    #[cfg(target_os = "linux")]
    fn desk_of(&self, receiver: &Receiver) -> Result<crate::codex_ipc::Desk, EdgeError> {
        let way = examine(self.context, self.delivery.target).map_err(not_now)?;
        if way.open != Some(Open::Desktop(receiver.clone())) {
            return Err(changed());
        }
        let rollout = match Store::of(self.context).rollout(self.context.world, self.thread()) {
            Rollout::Present(path) => path,
            Rollout::Archived | Rollout::Missing => return Err(changed()),
        };
        desktop::desk(self.context, self.thread(), &rollout)
            .map_err(|reason| EdgeError::Refused { reason })
    }

    /// Where the shared daemon takes calls (`providers/codex.md` A).
    #[cfg(target_os = "linux")]
    fn control_socket(&self) -> std::path::PathBuf {
        let root = Store::of(self.context).real(self.context.world);
        root.join("app-server-control/app-server-control.sock")
    }

    /// The process that has the thread open now.
    fn holder(&self) -> Option<u32> {
        Store::of(self.context).holder(self.context.world, self.thread())
    }

    fn thread(&self) -> &str {
        &self.ground.session
    }
}

fn changed() -> EdgeError {
    EdgeError::NotSubmitted {
        reason: "who has it open has just changed; send again".into(),
    }
}

/// Everything that has to hold before a message goes in.
fn examine(context: &EdgeContext<'_>, target: &Target) -> Result<Way, Liveness> {
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
    let Some(writer) = store.writer(context.world, &ground.session, &rollout) else {
        return Ok(Way { ground, open: None });
    };
    let remedy = writer.remedy;
    let closed = |reason: String| Liveness::Closed { reason, remedy };
    let installed = version::installed(&ground.program, "codex", "@openai/codex");
    let old = installed.filter(|version| *version < codex_store::QUEUE);
    let why = match (writer.owner, old) {
        (Some(owner), None) => {
            return Ok(Way {
                ground,
                open: Some(Open::Queue(owner)),
            });
        }
        (Some(_), Some(version)) => format!(
            "{}, and the installed Codex {version} has no queue to reach it by",
            writer.reason
        ),
        (None, _) => writer.reason,
    };
    #[cfg(target_os = "linux")]
    if let (Some(host), true) = (writer.host, context.experimental) {
        return match desktop::desk(context, &ground.session, &rollout) {
            Ok(_) => Ok(Way {
                ground,
                open: Some(Open::Desktop(host)),
            }),
            Err(no) => Err(closed(format!("{why}, and {no}"))),
        };
    }
    Err(closed(why))
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
