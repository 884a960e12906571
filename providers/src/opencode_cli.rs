//! The edge of OpenCode (`providers/opencode-gemini.md` C): a running server that is found by
//! its sockets takes the message over HTTP; where none runs, `opencode run` gives the session
//! one turn. A session that may be on somebody's screen without a server is refused, since that
//! screen would not show it.
//!
//! Knows OpenCode's store and programs, and neither rules nor the ledger.

mod events;
mod live;
mod server;
mod store;

use crate::child::Program;
use crate::environment::Environment;
use crate::follow;
use crate::ground::{self, Ground};
use crate::loopback::Server;
use crate::one_turn::Turn;
use crate::processes;
use crate::resume::examined;
use crate::version;
use axiowl_pipeline::edge::{
    Delivery, Edge, EdgeContext, EdgeError, Finding, Liveness, Progress, Target,
};
use live::Live;
use std::ffi::OsString;
use std::path::Path;

const RUN: &str = "opencode run --session, message on standard input";
const SERVER: &str = "HTTP of the running opencode server (prompt_async)";

/// Names of its program, on disk and beside its desktop window.
const PROGRAMS: [&str; 4] = ["opencode", ".opencode", "opencode-cli", "opencode.exe"];
/// Packages whose programs it is.
const PACKAGES: [&str; 2] = ["opencode-ai", "@opencode-ai"];

/// Whether a process runs OpenCode's own program. Having its store open makes nobody OpenCode.
pub(crate) fn is_opencode(pid: u32) -> bool {
    processes::runs_program(pid, |path| {
        let parts = || path.iter().filter_map(|part| part.to_str());
        parts()
            .next_back()
            .is_some_and(|name| PROGRAMS.contains(&name))
            || parts().any(|part| PACKAGES.contains(&part))
    })
}

/// The edge of `opencode_cli`.
pub(crate) struct OpencodeCli;

impl Edge for OpencodeCli {
    fn provider(&self) -> &'static str {
        "opencode_cli"
    }

    fn probe(&self, context: &EdgeContext<'_>, target: &Target) -> Liveness {
        match examine(context, target) {
            Ok(Way { door: Some(_), .. }) => Liveness::Door {
                route: SERVER.into(),
            },
            Ok(_) => Liveness::Idle { route: RUN.into() },
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
        // Nothing else can prove anything; a store that is too large to copy proves nothing.
        if let Err(error) = delivery.transcript.look(delivery.message_id) {
            let reason = format!("its store cannot be read, so nothing could be proven: {error}");
            return Err(EdgeError::NotSubmitted { reason });
        }
        let way = examined(context, delivery, examine)?;
        if let Some(server) = &way.door {
            return server::deliver(delivery, server, &way.ground, progress);
        }
        let program = way.program(context, delivery);
        let mut listener = events::Events::new(&way.ground.session);
        let turn = Turn {
            name: "OpenCode",
            context,
            delivery,
        };
        let body = Some(delivery.visible_body.as_bytes());
        turn.run(&program, body, RUN, &mut listener, progress)
    }

    fn find(&self, context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> Finding {
        match follow::find(context, delivery) {
            // A server may have taken it and not have come to it yet.
            Finding::Absent if self.has_door(context, delivery.target) => Finding::Unknown {
                reason: "it is not in the store, and a running server may still hold it".into(),
            },
            finding => finding,
        }
    }

    /// Our own process, a server, or whoever has the session open.
    fn is_under_way(&self, context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> bool {
        follow::is_under_way(context, delivery)
            || matches!(
                self.probe(context, delivery.target),
                Liveness::Closed { .. } | Liveness::Door { .. }
            )
    }
}

impl OpencodeCli {
    fn has_door(&self, context: &EdgeContext<'_>, target: &Target) -> bool {
        matches!(self.probe(context, target), Liveness::Door { .. })
    }
}

/// How a message would go.
struct Way {
    ground: Ground,
    /// Version 1 or 2.
    generation: u32,
    /// A server that answers.
    door: Option<Server>,
}

/// OpenCode's data folder as the examined world writes it (A).
fn root(context: &EdgeContext<'_>) -> String {
    let world = context.world;
    match (&context.provider_home, world.env("XDG_DATA_HOME")) {
        (Some(folder), _) => world.recorded(folder),
        (None, Some(folder)) => format!("{folder}/opencode"),
        (None, None) => format!("{}/.local/share/opencode", world.home()),
    }
}

/// `ses_`, twelve hexadecimal digits and fourteen more letters or digits (A); older ones differ
/// in length.
fn is_session(id: &str) -> bool {
    let rest = id.strip_prefix("ses_").unwrap_or_default();
    (10..=64).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Everything that has to hold before a message goes in.
fn examine(context: &EdgeContext<'_>, target: &Target) -> Result<Way, Liveness> {
    let unavailable = |reason: String| Liveness::Unavailable { reason };
    let mut ground = ground::survey_of(context, target, "opencode", is_session)?;
    let root = root(context);
    if context.provider_home.is_some() && !root.ends_with("/opencode") {
        return Err(unavailable(
            "OpenCode can only be told of a folder that is named `opencode`".into(),
        ));
    }
    // Each version opens only the sessions of its own table (A, 2.x).
    let installed = version::installed(&ground.program, "opencode", "opencode");
    let generation = match installed.map(version::Version::major) {
        Some(major @ (1 | 2)) => major,
        Some(major) => return Err(unavailable(format!("OpenCode {major} is not known"))),
        None => {
            let program = ground.program.display();
            return Err(unavailable(format!(
                "the version of {program} is not known"
            )));
        }
    };
    let database = format!("{root}/opencode.db");
    let session = store::session(context.world, &database, &ground.session, generation)
        .map_err(unavailable)?;
    ground.folder = context
        .world
        .real_path(&session.directory)
        .filter(|folder| folder.is_dir())
        .ok_or_else(|| unavailable("the session's folder is gone".into()))?;
    let door = if generation == 1 {
        let database = context.world.real_path(&database).unwrap_or_default();
        let mut named = context.child_env.iter();
        let password = named.find(|(name, _)| *name == live::PASSWORD);
        let password = password.map(|(_, value)| value.as_str());
        let id = ground.session.as_str();
        match live::look(&database, &ground.folder, id, &session, password) {
            Live::Nobody => None,
            Live::Door(server) => Some(server),
            Live::Closed { reason, remedy } => return Err(Liveness::Closed { reason, remedy }),
        }
    } else if session.busy {
        return Err(Liveness::Closed {
            reason: "a turn of the session runs".into(),
            remedy: "send again when it has ended".into(),
        });
    } else {
        // `run` of version 2 is a client of its own background service.
        None
    };
    Ok(Way {
        ground,
        generation,
        door,
    })
}

impl Way {
    /// The message never stands in an argument: there it would be put into quotes (C 1). The
    /// folder is the session's own, by argument and by `PWD`: from another one the program
    /// never ends (C 2).
    fn program(&self, context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> Program<'_> {
        let ground = &self.ground;
        let mut environment = Environment::of(context);
        environment.set("PWD", ground.folder.clone());
        environment.set_default("OPENCODE_DISABLE_AUTOUPDATE", "1");
        if context.provider_home.is_some() || context.world.env("XDG_DATA_HOME").is_some() {
            let root = root(context);
            let real = context
                .world
                .real_path(&root)
                .unwrap_or_else(|| root.into());
            environment.set("XDG_DATA_HOME", real.parent().unwrap_or(Path::new("/")));
        }
        environment.add_folder_of(&ground.program);
        let mut arguments: Vec<OsString> = ["run", "--format", "json"].map(Into::into).into();
        if self.generation == 1 {
            arguments.extend(["--dir".into(), ground.folder.clone().into_os_string()]);
        }
        arguments.extend(["--session".into(), ground.session.clone().into()]);
        Program {
            file: &ground.program,
            arguments,
            folder: &ground.folder,
            environment: environment.into_variables(),
            output_cap: delivery.output_cap,
        }
    }
}
