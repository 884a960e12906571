//! The edge of Gemini CLI: a session of a project in which no Gemini runs gets one headless turn
//! (`providers/opencode-gemini.md` C, Gemini), and only where it is certain that Gemini's
//! clean-up is off, which would delete the session afterwards.
//!
//! Knows Gemini's files and events, and neither rules nor the ledger.

mod events;
mod settings;

use crate::child::Program;
use crate::environment::Environment;
use crate::follow;
use crate::ground::{self, Ground, not_now};
use crate::one_turn::Turn;
use crate::processes;
use crate::resume::Resume;
use axiowl_model::Timestamp;
use axiowl_pipeline::edge::{Delivery, EdgeContext, EdgeError, Liveness, Progress, Target};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const ROUTE: &str = "resume (gemini --resume, message on standard input)";
/// The first line of a session's file names it and is short.
const FIRST_LINE: u64 = 64 * 1024;

/// The edge of `gemini_cli`.
pub(crate) struct GeminiCli;

impl Resume for GeminiCli {
    /// With the files it stands in.
    type Ready = (Ground, Vec<PathBuf>);

    fn provider(&self) -> &'static str {
        "gemini_cli"
    }

    fn examine(&self, context: &EdgeContext<'_>, target: &Target) -> Result<Self::Ready, Liveness> {
        examine(context, target)
    }

    fn route(&self, _ready: &Self::Ready) -> &'static str {
        ROUTE
    }

    fn hand_over(
        &self,
        context: &EdgeContext<'_>,
        delivery: &Delivery<'_>,
        (_, files): Self::Ready,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        if !wait_for_another_minute(&files, delivery) {
            let reason = "the session was made in this very minute, and Gemini would write over \
                          its file; send again in a minute";
            return Err(EdgeError::NotSubmitted {
                reason: reason.into(),
            });
        }
        // Waiting took time; somebody may have opened it meanwhile.
        let (ground, _) = examine(context, delivery.target).map_err(not_now)?;
        let program = program(context, delivery, &ground);
        let mut listener = events::Events::new(&ground.session);
        let turn = Turn {
            name: "Gemini",
            context,
            delivery,
        };
        let body = Some(delivery.visible_body.as_bytes());
        turn.run(&program, body, ROUTE, &mut listener, progress)
    }
}

/// Gemini's folder as the examined world writes it.
fn root(context: &EdgeContext<'_>) -> String {
    let world = context.world;
    match (&context.provider_home, world.env("GEMINI_CLI_HOME")) {
        (Some(folder), _) => world.recorded(folder),
        (None, Some(folder)) => format!("{folder}/.gemini"),
        (None, None) => format!("{}/.gemini", world.home()),
    }
}

/// Everything that has to hold before a session is resumed; the files it stands in.
fn examine(context: &EdgeContext<'_>, target: &Target) -> Result<(Ground, Vec<PathBuf>), Liveness> {
    let ground = ground::survey(context, target, "gemini")?;
    let unavailable = |reason: String| Err(Liveness::Unavailable { reason });
    let root = root(context);
    if context.provider_home.is_some() && !root.ends_with("/.gemini") {
        return unavailable("Gemini can only be told of a folder that is named `.gemini`".into());
    }
    let projects = format!("{root}/tmp");
    let files = context
        .world
        .real_path(&projects)
        .map(|projects| files(&projects, &ground.session))
        .unwrap_or_default();
    if files.is_empty() {
        return unavailable(format!("it is not below {projects} any more"));
    }
    settings::keep_sessions(context.world, &root, &ground.folder)
        .map_err(|reason| Liveness::Unavailable { reason })?;
    if !cfg!(target_os = "linux") {
        return Err(Liveness::Closed {
            reason: "this system does not tell whether Gemini runs in the project".into(),
            remedy: "delivery to Gemini CLI works on Linux only so far".into(),
        });
    }
    match processes::running_in(&ground.folder, is_gemini) {
        Some(pid) => Err(Liveness::Closed {
            reason: format!("Gemini runs in the session's project as process {pid}"),
            remedy: "leave it with /quit and send again".into(),
        }),
        None => Ok((ground, files)),
    }
}

/// A Node that runs Gemini's script.
fn is_gemini(arguments: &[String]) -> bool {
    let named = |text: &String| {
        let name = Path::new(text).file_name().and_then(|name| name.to_str());
        matches!(name, Some("gemini" | "gemini.js")) || text.contains("@google/gemini-cli/")
    };
    arguments.iter().take(4).any(named)
}

/// The files of a session: `<project>/chats/session-<minute>-<first eight of the id>.jsonl`,
/// whose first line has the whole id (A).
fn files(projects: &Path, session: &str) -> Vec<PathBuf> {
    let ending = format!("-{}.jsonl", &session[..8]);
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let chats = entries(projects)
        .into_iter()
        .flat_map(|project| entries(&project.join("chats")));
    chats
        .filter(|file| name(file).starts_with("session-") && name(file).ends_with(&ending))
        .filter(|file| is_of(file, session))
        .collect()
}

fn name(file: &Path) -> &str {
    file.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

fn is_of(file: &Path, session: &str) -> bool {
    let Ok(file) = File::open(file) else {
        return false;
    };
    let mut line = String::new();
    let read = BufReader::new(file.take(FIRST_LINE)).read_line(&mut line);
    let header: Value = serde_json::from_str(&line).unwrap_or_default();
    read.is_ok() && header["sessionId"] == session
}

/// A session that is resumed within the minute it was made in is written over by what Gemini
/// puts down first, since the new file's name is the old one's. False when the time is over.
fn wait_for_another_minute(files: &[PathBuf], delivery: &Delivery<'_>) -> bool {
    let until = follow::stop_at(delivery).min(Instant::now() + Duration::from_secs(62));
    while files.iter().any(|file| is_of_minute(name(file), now())) {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(Duration::from_millis(200));
    }
    true
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

/// Whether a file's name carries the minute of a time: `session-2026-11-30T19-41-…`.
fn is_of_minute(name: &str, now: Timestamp) -> bool {
    let now = now.to_string().replace(':', "-");
    now.get(..16)
        .is_some_and(|minute| name.starts_with(&format!("session-{minute}-")))
}

fn program<'a>(
    context: &EdgeContext<'_>,
    delivery: &Delivery<'_>,
    ground: &'a Ground,
) -> Program<'a> {
    let world = context.world;
    let mut environment = Environment::of(context);
    let root = root(context);
    if context.provider_home.is_some() || world.env("GEMINI_CLI_HOME").is_some() {
        let above = root.strip_suffix("/.gemini").unwrap_or(&root);
        let real = world.real_path(above).map(OsString::from);
        environment.set("GEMINI_CLI_HOME", real.unwrap_or_else(|| above.into()));
    }
    // Else it starts itself again, as a child that outlives what is sent to the first.
    environment.set("GEMINI_CLI_NO_RELAUNCH", "true");
    environment.add_folder_of(&ground.program);
    let arguments = [
        "--resume",
        ground.session.as_str(),
        "--output-format",
        "stream-json",
    ];
    Program {
        file: &ground.program,
        arguments: arguments.iter().map(OsString::from).collect(),
        folder: &ground.folder,
        environment: environment.into_variables(),
        output_cap: delivery.output_cap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_this_minute_is_told_from_older_ones() {
        let now: Timestamp = "2026-11-30T19:41:59.120Z".parse().unwrap();
        assert!(is_of_minute("session-2026-11-30T19-41-a2e8e03b.jsonl", now));
        for other in ["19-40", "19-4", "18-41"] {
            let name = format!("session-2026-11-30T{other}-a2e8e03b.jsonl");
            assert!(!is_of_minute(&name, now), "{name}");
        }
    }

    #[test]
    fn gemini_is_known_by_its_script() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for line in [
            "gemini",
            "node /usr/bin/gemini --resume x",
            "node --a /x/@google/gemini-cli/bundle/gemini.js",
        ] {
            assert!(is_gemini(&words(line)), "{line}");
        }
        for line in ["vim gemini.md", "node server.js", "node a b c gemini"] {
            assert!(!is_gemini(&words(line)), "{line}");
        }
    }
}
