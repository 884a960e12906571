//! The edge of Grok Build: a session that nobody has open gets one headless turn
//! (`providers/cursor-antigravity-grok.md` B.5), an open one is refused, since a second process
//! writes the same files and the open window shows nothing of it.
//!
//! Knows Grok's files and words, and neither rules nor the ledger.

use crate::child::{Ending, Program};
use crate::environment::Environment;
use crate::ground::{self, Ground};
use crate::one_turn::{Listener, Printed, Said, Turn, words};
use crate::resume::Resume;
use axiowl_model::{Evidence, display_safe};
use axiowl_pipeline::edge::{Delivery, EdgeContext, EdgeError, Liveness, Progress, Target};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

const ROUTE: &str = "resume (grok --prompt-file … --resume)";
/// A summary and the list of open sessions are small.
const LARGEST: u64 = 8 * 1024 * 1024;

/// The edge of `grok`.
pub(crate) struct Grok;

impl Resume for Grok {
    type Ready = Ground;

    fn provider(&self) -> &'static str {
        "grok"
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
        let body = BodyFile::write(context, delivery).map_err(|error| EdgeError::NotSubmitted {
            reason: format!("the message could not be laid down for Grok: {error}"),
        })?;
        let program = program(context, delivery, &ground, &body.path);
        let mut listener = Words {
            session: ground.session.clone(),
            printed: Printed::new(delivery.output_cap),
            said: Said::default(),
        };
        let turn = Turn {
            name: "Grok",
            context,
            delivery,
        };
        turn.run(&program, None, ROUTE, &mut listener, progress)
    }
}

/// Grok's folder (`providers/cursor-antigravity-grok.md` A.5).
fn root(context: &EdgeContext<'_>) -> PathBuf {
    if let Some(folder) = &context.provider_home {
        return folder.clone();
    }
    let world = context.world;
    let recorded = match world.env("GROK_HOME") {
        Some(folder) => folder.to_owned(),
        None => format!("{}/.grok", world.home()),
    };
    world
        .real_path(&recorded)
        .unwrap_or_else(|| PathBuf::from(recorded))
}

/// Everything that has to hold before a session is resumed. An id that is not on disk goes no
/// further: Grok would try to fetch such a session from elsewhere (conformance X27).
fn examine(context: &EdgeContext<'_>, target: &Target) -> Result<Ground, Liveness> {
    let mut ground = ground::survey(context, target, "grok")?;
    let root = root(context);
    ground.folder = stored(context, &root, &ground.session)
        .map_err(|reason| Liveness::Unavailable { reason })?;
    match open(context, &root.join("active_sessions.json"), &ground.session) {
        Some(reason) => Err(Liveness::Closed {
            reason,
            remedy: "leave it there and send again".into(),
        }),
        None => Ok(ground),
    }
}

/// The folder a stored session works in. Sessions are found by folder, so the one in the
/// session's own summary counts (X17, X19).
fn stored(context: &EdgeContext<'_>, root: &Path, session: &str) -> Result<PathBuf, String> {
    let groups = fs::read_dir(root.join("sessions")).into_iter().flatten();
    let mut known = groups
        .flatten()
        .map(|group| group.path().join(session))
        .filter(|folder| folder.is_dir());
    let Some(folder) = known.next() else {
        return Err(format!("it is not below {} any more", root.display()));
    };
    if known.next().is_some() {
        return Err("it lies in several folders, and which one Grok opens is not known".into());
    }
    let summary = folder.join("summary.json");
    let Some(summary) = read(&summary) else {
        return Err(format!(
            "{} cannot be read, and Grok resumes nothing without it",
            summary.display()
        ));
    };
    if summary["info"]["id"] != session {
        return Err("its summary.json is of another session".into());
    }
    let kind = summary["session_kind"].as_str().unwrap_or_default();
    if summary["hidden"] == true || kind.starts_with("subagent") {
        return Err("it is a sub-agent's session, or hidden".into());
    }
    let cwd = summary["info"]["cwd"].as_str().unwrap_or_default();
    let real = context.world.real_path(cwd).filter(|path| path.is_dir());
    real.ok_or_else(|| format!("the session's folder is gone: {}", display_safe(cwd)))
}

/// Who has the session open: an entry whose process is alive. A dead one is a crashed session
/// (X21).
fn open(context: &EdgeContext<'_>, list: &Path, session: &str) -> Option<String> {
    if !list.exists() {
        return None;
    }
    let entries = read(list).and_then(|list| Some(list.as_array()?.clone()));
    let Some(entries) = entries else {
        let list = list.display();
        return Some(format!(
            "{list} cannot be read, so the session may be open somewhere"
        ));
    };
    let alive = |entry: &Value| {
        let pid = entry["pid"].as_u64();
        let pid = pid.and_then(|pid| u32::try_from(pid).ok())?;
        context.world.pid_alive(pid, None).then_some(pid)
    };
    let own = entries
        .iter()
        .filter(|entry| entry["session_id"] == session);
    let pid = own.filter_map(alive).next()?;
    Some(format!(
        "it is open in process {pid}, as {} says",
        list.display()
    ))
}

fn read(path: &Path) -> Option<Value> {
    let meta = fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Never `--session-id`, which makes new sessions (X18), and the message in a file, so that it
/// stands in no process list.
fn program<'a>(
    context: &EdgeContext<'_>,
    delivery: &Delivery<'_>,
    ground: &'a Ground,
    body: &Path,
) -> Program<'a> {
    let mut environment = Environment::of(context);
    if context.provider_home.is_some() || context.world.env("GROK_HOME").is_some() {
        environment.set("GROK_HOME", root(context));
    }
    environment.set_default("GROK_DISABLE_AUTOUPDATER", "1");
    environment.add_folder_of(&ground.program);
    let mut arguments: Vec<OsString> = vec!["--prompt-file".into(), body.into()];
    arguments.extend(["--resume".into(), ground.session.clone().into()]);
    arguments.extend(["--cwd".into(), ground.folder.clone().into_os_string()]);
    arguments.extend(["--output-format".into(), "json".into()]);
    Program {
        file: &ground.program,
        arguments,
        folder: &ground.folder,
        environment: environment.into_variables(),
        output_cap: delivery.output_cap,
    }
}

/// The message in a file that only this user can read, for as long as the delivery takes.
struct BodyFile {
    path: PathBuf,
}

impl BodyFile {
    fn write(context: &EdgeContext<'_>, delivery: &Delivery<'_>) -> std::io::Result<Self> {
        let folder = context.state_root.join("bodies");
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        let path = folder.join(format!("{}.txt", delivery.message_id));
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = Self { path };
        options
            .open(&file.path)?
            .write_all(delivery.visible_body.as_bytes())?;
        Ok(file)
    }
}

impl Drop for BodyFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a message's file stays");
        }
    }
}

/// One JSON object at the end: `{text, stopReason, sessionId}`, or `{type: "error", message}`.
struct Words {
    session: String,
    printed: Printed,
    said: Said,
}

impl Listener for Words {
    fn line(&mut self, line: &str) -> Option<Vec<u8>> {
        self.said.spoke = true;
        self.printed.line(line);
        None
    }

    fn ended(&mut self, ending: &Ending) {
        let unknown = ending.stderr.lines().find(|line| {
            line.contains("Session not found locally") || line.contains("session not found")
        });
        self.said.unknown = unknown.map(words);
        let Some(document) = self.printed.document() else {
            return;
        };
        if document["type"] == "error" {
            let message = document["message"].as_str().unwrap_or_default();
            self.said.end = Some(Err(words(message)));
            return;
        }
        let reason = document["stopReason"].as_str().unwrap_or_default();
        let evidence = |session: &str| {
            let detail = format!("sessionId={session} stopReason={reason}");
            Evidence::new("program_output", display_safe(&detail))
        };
        // Without an id nothing is known about which session answered (E 20).
        let Some(session) = document["sessionId"].as_str() else {
            return;
        };
        self.said
            .names(session, &self.session, || evidence(session));
        let ended = reason.replace('_', "").eq_ignore_ascii_case("endturn");
        self.said.end = Some(match ending.is_success() && ended {
            true => Ok(Some(evidence(session))),
            false if ending.is_success() => Err(format!("the turn ended with {}", words(reason))),
            false => Err(ending.told()),
        });
    }

    fn said(&self) -> &Said {
        &self.said
    }
}
