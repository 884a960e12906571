//! The edge of the Cursor CLI: a chat that nobody has open gets one turn of `cursor-agent` in
//! print mode; a chat of the ACP store, which print mode does not look into, gets it over ACP
//! (`providers/cursor-antigravity-grok.md` B.2).
//!
//! The support matrix calls this surface unsupported (conformance C329); the edge is held to the
//! same bars as any other all the same. Knows Cursor's files, and neither rules nor the ledger.

mod acp;
mod stream;

use crate::child::Program;
use crate::environment::Environment;
use crate::ground::{self, Ground, Missing};
use crate::one_turn::Turn;
use crate::processes;
use crate::resume::Resume;
use axiowl_pipeline::edge::{Delivery, EdgeContext, EdgeError, Liveness, Progress, Target};
use axiowl_sources::leaf::md5_matches;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

const NAME: &str = "Cursor CLI";
const RESUME: &str = "resume (cursor-agent -p --resume)";
/// The program's two names; the second is a common word, and other programs bear it too.
const PROGRAMS: [&str; 2] = ["cursor-agent", "agent"];

/// The edge of `cursor_cli`.
pub(crate) struct CursorCli;

impl Resume for CursorCli {
    type Ready = Chat;

    fn provider(&self) -> &'static str {
        "cursor_cli"
    }

    fn examine(&self, context: &EdgeContext<'_>, target: &Target) -> Result<Chat, Liveness> {
        examine(context, target)
    }

    fn route(&self, ready: &Chat) -> &'static str {
        ready.kind.route()
    }

    fn hand_over(
        &self,
        context: &EdgeContext<'_>,
        delivery: &Delivery<'_>,
        chat: Chat,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        let turn = Turn {
            name: NAME,
            context,
            delivery,
        };
        let session = chat.ground.session.as_str();
        match chat.kind {
            Kind::Chat => {
                // A wrong folder would split the transcript (X05).
                let arguments = [
                    "-p".into(),
                    "--output-format".into(),
                    "stream-json".into(),
                    "--workspace".into(),
                    chat.ground.folder.clone().into_os_string(),
                    "--resume".into(),
                    session.into(),
                    delivery.visible_body.into(),
                ];
                let program = chat.program(context, delivery, arguments.into());
                let mut listener = stream::Stream::new(session);
                turn.run(&program, None, RESUME, &mut listener, progress)
            }
            Kind::Acp => {
                let program = chat.program(context, delivery, vec!["acp".into()]);
                acp::deliver(&turn, &program, &chat.ground, progress)
            }
        }
    }
}

/// Which of the two stores a chat lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Chat,
    /// Only `session/load` opens it (X07).
    Acp,
}

impl Kind {
    fn route(self) -> &'static str {
        match self {
            Self::Chat => RESUME,
            Self::Acp => acp::ROUTE,
        }
    }
}

/// A chat that is there.
#[derive(Debug)]
pub(crate) struct Chat {
    ground: Ground,
    kind: Kind,
}

impl Chat {
    fn program(
        &self,
        context: &EdgeContext<'_>,
        delivery: &Delivery<'_>,
        arguments: Vec<OsString>,
    ) -> Program<'_> {
        let mut environment = Environment::of(context);
        environment.add_folder_of(&self.ground.program);
        Program {
            file: &self.ground.program,
            arguments,
            folder: &self.ground.folder,
            environment: environment.into_variables(),
            output_cap: delivery.output_cap,
        }
    }
}

/// Everything that has to hold before a chat is resumed. An id that is not on disk goes no
/// further: `cursor-agent` would start a new chat for it (X05).
fn examine(context: &EdgeContext<'_>, target: &Target) -> Result<Chat, Liveness> {
    let ground = survey(context, target)?;
    let unavailable = |reason: String| Err(Liveness::Unavailable { reason });
    if context.provider_home.is_some() {
        return unavailable(
            "the Cursor CLI keeps its chats in one folder and can be told of no other".into(),
        );
    }
    let chats = chats(context, &ground.session);
    let own = chats.iter().find(|chat| {
        let group = chat.parent().and_then(Path::file_name);
        group.is_some_and(|group| md5_matches(&target.cwd, &group.to_string_lossy()))
    });
    let session = &ground.session;
    let (store, kind) = match own {
        Some(chat) => (chat.join("store.db"), Kind::Chat),
        // The same id below another folder is resumed there or nowhere (X06).
        None if !chats.is_empty() => {
            return unavailable(
                "its chat lies below another folder than the one it is recorded with".into(),
            );
        }
        None => {
            let recorded = format!("{}/.cursor/acp-sessions/{session}", context.world.home());
            let folder = context.world.real_path(&recorded).unwrap_or_default();
            (folder.join("store.db"), Kind::Acp)
        }
    };
    if !store.is_file() {
        return unavailable("no chat of this id is on disk any more".into());
    }
    match open(&store, &ground.folder) {
        Some(reason) => Err(Liveness::Closed {
            reason,
            remedy: "leave it there and send again".into(),
        }),
        None => Ok(Chat { ground, kind }),
    }
}

fn survey(context: &EdgeContext<'_>, target: &Target) -> Result<Ground, Missing> {
    let installed = |name: &&&str| context.world.executable(name).is_some();
    let program = PROGRAMS.iter().find(installed).unwrap_or(&PROGRAMS[0]);
    ground::survey(context, target, program)
}

/// The folders of a chat below `chats/<MD5 of its folder>/`, that have a store (A.2).
fn chats(context: &EdgeContext<'_>, session: &str) -> Vec<PathBuf> {
    let world = context.world;
    let config = match world.env("XDG_CONFIG_HOME") {
        Some(folder) => format!("{folder}/cursor/chats"),
        None => format!("{}/.config/cursor/chats", world.home()),
    };
    let roots = [format!("{}/.cursor/chats", world.home()), config];
    let groups = roots
        .iter()
        .filter_map(|root| fs::read_dir(world.real_path(root)?).ok())
        .flatten()
        .flatten();
    let chats = groups.map(|group| group.path().join(session));
    chats
        .filter(|chat| chat.join("store.db").is_file())
        .collect()
}

/// Who has the chat open. There is no record of that; an open store and a `cursor-agent` in the
/// chat's folder are the only signs.
fn open(store: &Path, folder: &Path) -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("this system does not tell whether the chat is open somewhere".into());
    }
    if let Some(pid) = processes::writer_of(store) {
        return Some(format!("it is open: process {pid} has its store open"));
    }
    let pid = processes::running_in(folder, is_cursor)?;
    Some(format!(
        "cursor-agent runs in the chat's folder as process {pid} and may have the chat open"
    ))
}

/// `cursor-agent …`, or the script that it starts with a Node of its own:
/// `…/cursor-agent/versions/<version>/index.js` (B.2).
fn is_cursor(arguments: &[String]) -> bool {
    let program = |text: &String| Path::new(text).file_name() == Some("cursor-agent".as_ref());
    let script = |text: &String| text.contains("/cursor-agent/") && text.ends_with(".js");
    arguments.iter().take(2).any(program) || arguments.iter().take(4).any(script)
}
