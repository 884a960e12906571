//! The edge of the Antigravity CLI: a conversation that no terminal has open gets one turn of
//! `agy` in print mode (`providers/cursor-antigravity-grok.md` B.4). An open one is refused: the
//! way into a running `agy` needs a token that only its own children have.
//!
//! Knows `agy`'s files and words, and neither rules nor the ledger.

use crate::child::{Ending, Program};
use crate::environment::Environment;
use crate::ground::{self, Ground};
use crate::one_turn::{Listener, Printed, Said, Turn, words};
use crate::resume::Resume;
use axiowl_model::{Evidence, display_safe};
use axiowl_pipeline::edge::{Delivery, EdgeContext, EdgeError, Liveness, Progress, Target};
use std::ffi::OsString;

const ROUTE: &str = "resume (agy --conversation … -p)";

/// The edge of `antigravity_cli`.
pub(crate) struct AntigravityCli;

impl Resume for AntigravityCli {
    type Ready = Ground;

    fn provider(&self) -> &'static str {
        "antigravity_cli"
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
        let mut listener = Words {
            session: ground.session.clone(),
            printed: Printed::new(delivery.output_cap),
            said: Said::default(),
        };
        let turn = Turn {
            name: "agy",
            context,
            delivery,
        };
        turn.run(&program, None, ROUTE, &mut listener, progress)
    }
}

/// Everything that has to hold before a conversation is resumed. `agy` starts a new one for an
/// id it does not have in its own tree, the app's ids among them (X09, X11).
fn examine(context: &EdgeContext<'_>, target: &Target) -> Result<Ground, Liveness> {
    let ground = ground::survey(context, target, "agy")?;
    let unavailable = |reason: String| Err(Liveness::Unavailable { reason });
    if context.provider_home.is_some() {
        return unavailable(
            "agy keeps its conversations in one folder and can be told of no other".into(),
        );
    }
    let world = context.world;
    let below = |rest: String| format!("{}/.gemini/antigravity-cli/{rest}", world.home());
    let store = below(format!("conversations/{}.db", ground.session));
    if !world.real_path(&store).is_some_and(|path| path.is_file()) {
        return unavailable(format!("its file is gone: {store}"));
    }
    // The file stays behind when agy exits; only a held lock means that a terminal is attached
    // (X12, X13).
    let lock = below(format!("presence/{}.lock", ground.session));
    match world.lock_held(&lock) {
        Some(false) => Ok(ground),
        Some(true) => Err(Liveness::Closed {
            reason: format!("it is open in a terminal, which holds {lock}"),
            remedy: "leave it there and send again".into(),
        }),
        None => Err(Liveness::Closed {
            reason: format!("this system does not tell whether {lock} is held"),
            remedy: "delivery to agy works on Linux only so far".into(),
        }),
    }
}

/// `-p` takes the message as its value, in its place at the end: no other way in is known to
/// exist in every version (B.4). It runs in the conversation's folder, since it may take a
/// scratch folder elsewhere.
fn program<'a>(
    context: &EdgeContext<'_>,
    delivery: &Delivery<'_>,
    ground: &'a Ground,
) -> Program<'a> {
    let mut environment = Environment::of(context);
    environment.set_default("AGY_CLI_DISABLE_AUTO_UPDATE", "1");
    environment.add_folder_of(&ground.program);
    // Its own time must not be over before ours: it calls half an answer a success then (B.4).
    let seconds = delivery.remaining().as_secs() + 60;
    let mut arguments: Vec<OsString> = vec!["--print-timeout".into(), format!("{seconds}s").into()];
    arguments.extend(["--output-format".into(), "json".into()]);
    arguments.extend(["--conversation".into(), ground.session.clone().into()]);
    arguments.extend(["-p".into(), delivery.visible_body.into()]);
    Program {
        file: &ground.program,
        arguments,
        folder: &ground.folder,
        environment: environment.into_variables(),
        output_cap: delivery.output_cap,
    }
}

/// One JSON object at the end: `{conversation_id, status, response, error?}`.
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
        self.said.unknown = ending.stderr.lines().find_map(not_found).map(words);
        let Some(document) = self.printed.document() else {
            return;
        };
        let text = |name: &str| document[name].as_str().unwrap_or_default();
        let status = text("status");
        let conversation = text("conversation_id");
        if !conversation.is_empty() {
            self.said.names(conversation, &self.session, || {
                let detail = format!("conversation_id={conversation} status={status}");
                Evidence::new("program_output", display_safe(&detail))
            });
        }
        self.said.end = match (status, text("error")) {
            // A success is no proof: an expired time is called one too (B.4).
            ("SUCCESS", "") if ending.is_success() => Some(Ok(None)),
            ("SUCCESS", "") => Some(Err(ending.told())),
            ("", "") => None,
            (status, "") => Some(Err(format!("status {}", words(status)))),
            (_, error) => Some(Err(words(error))),
        };
    }

    fn said(&self) -> &Said {
        &self.said
    }
}

/// `warning: conversation "…" not found`, with whatever exit code (X10). Other words that sound
/// alike are about other things (E 21).
fn not_found(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("conversation \"")?;
    let (_, rest) = rest.split_once('"')?;
    rest.trim_start().starts_with("not found").then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_words_mean_an_unknown_conversation() {
        for (line, is_it) in [
            ("warning: conversation \"bbbb-1\" not found", true),
            ("conversation \"x y\" not found, starting a new one", true),
            ("model not found", false),
            ("conversation not found", false),
            (
                "conversation \"x\" was rate limited; quota not found",
                false,
            ),
            ("conversation \"x", false),
        ] {
            assert_eq!(not_found(line).is_some(), is_it, "{line}");
        }
    }
}
