//! One turn in a program that is started for one message and has nothing to do after it: runs
//! it, listens to it, follows its session's transcript, and says what became of the message.
//!
//! The transcript proves. The program's words can only make the answer worse, with one
//! exception: where a provider's store has no record of a turn's end, its word counts for that,
//! and only for a message that stands in the session's own transcript. Knows no provider.

use crate::child::{Ending, Next, Program, Running};
use crate::follow::{Follow, stop_at};
use crate::in_flight::Trace;
use axiowl_model::{Evidence, clip, display_safe};
use axiowl_pipeline::edge::{
    Delivery, EdgeContext, EdgeError, LookError, Progress, Sighting, TurnEnd,
};
use std::io;
use std::time::{Duration, Instant};

/// How long a program may take to end after its last word.
const GOODBYE: Duration = Duration::from_secs(10);
/// How long a transcript may lag behind the program's words.
const LAG: Duration = Duration::from_secs(2);

/// Another session than the one meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    /// Which.
    pub session: String,
    /// Where the program said so.
    pub evidence: Evidence,
}

/// What a program said, as far as it decides something.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// It works on the message in the session that was meant.
    pub confirmed: Option<Evidence>,
    /// It works in another one.
    pub elsewhere: Option<Elsewhere>,
    /// It does not know the session; its words.
    pub unknown: Option<String>,
    /// How the turn ended: well, with a proof where its word is one, or why not.
    pub end: Option<Result<Option<Evidence>, String>>,
    /// The turn is over, though the program may wait for more.
    pub over: bool,
    /// It said something on standard output.
    pub spoke: bool,
}

impl Said {
    /// Takes the session that the program names: the one meant, or another.
    pub fn names(&mut self, session: &str, meant: &str, evidence: impl FnOnce() -> Evidence) {
        if session == meant {
            self.confirmed.get_or_insert_with(evidence);
        } else {
            self.elsewhere.get_or_insert_with(|| Elsewhere {
                session: display_safe(&clip(session, 100)),
                evidence: evidence(),
            });
        }
    }
}

/// Understands one provider's program.
pub(crate) trait Listener {
    /// Takes a line of standard output; what is to be answered on standard input.
    fn line(&mut self, line: &str) -> Option<Vec<u8>>;

    /// Takes how the program ended.
    fn ended(&mut self, ending: &Ending);

    /// What was said so far.
    fn said(&self) -> &Said;
}

/// A delivery and the program that is to do it.
pub(crate) struct Turn<'a> {
    /// The program as people call it.
    pub name: &'static str,
    pub context: &'a EdgeContext<'a>,
    pub delivery: &'a Delivery<'a>,
}

fn start(program: &Program<'_>) -> Result<Running, EdgeError> {
    Running::start(program).map_err(|error| EdgeError::NotSubmitted {
        reason: error.to_string(),
    })
}

/// A delivery that leaves no trace must not begin.
fn unnoted(error: io::Error) -> EdgeError {
    EdgeError::NotSubmitted {
        reason: format!("the delivery could not be noted in the state folder: {error}"),
    }
}

impl Turn<'_> {
    /// Starts the program, which takes the message as `input` or has it from its start on, and
    /// listens to its end.
    pub fn run(
        &self,
        program: &Program<'_>,
        input: Option<&[u8]>,
        route: &str,
        listener: &mut dyn Listener,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        progress(Progress::Starting {
            route: route.to_owned(),
        });
        let mut running = match input {
            Some(input) => {
                let mut running = start(program)?;
                self.note(&mut running)?;
                running.send(input.to_vec());
                running
            }
            None => self.start_with_message(program)?,
        };
        running.close_input();
        self.listen(running, listener, progress)
    }

    /// Starts a program whose arguments are, or lead to, the message.
    fn start_with_message(&self, program: &Program<'_>) -> Result<Running, EdgeError> {
        let message = self.delivery.message_id;
        let session = &self.delivery.target.key;
        let trace = Trace::announce(&self.context.state_root, message, session).map_err(unnoted)?;
        let mut running = start(program)?;
        let named = trace.name(running.id());
        running.keep(trace);
        // It has the message already; ending it takes nothing back for certain.
        named.map_err(|error| EdgeError::Uncertain {
            reason: format!("the program was stopped, since it could not be noted: {error}"),
        })?;
        Ok(running)
    }

    /// Notes in the state folder that the program is about to have the message.
    pub fn note(&self, running: &mut Running) -> Result<(), EdgeError> {
        let message = self.delivery.message_id;
        let session = &self.delivery.target.key;
        let trace = Trace::leave(&self.context.state_root, message, session, running.id());
        running.keep(trace.map_err(unnoted)?);
        Ok(())
    }

    /// Listens to a program that has the message, to the end of the turn.
    pub fn listen(
        &self,
        mut running: Running,
        listener: &mut dyn Listener,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        let mut follow = Follow::new(self.delivery);
        let mut submitted = false;
        let stop = stop_at(self.delivery);
        let cut = loop {
            if Instant::now() >= stop {
                break Some("the time for the delivery was over");
            }
            match running.next(follow.wait_until(stop)) {
                Next::Line(line) => {
                    if let Some(answer) = listener.line(&line) {
                        running.send(answer);
                    }
                }
                Next::Quiet => {}
                Next::End => break None,
                Next::Flooded => break Some("the program printed without end"),
            }
            let said = listener.said();
            if let (false, Some(evidence)) = (submitted, &said.confirmed) {
                submitted = true;
                progress(Progress::Submitted(evidence.clone()));
            }
            if said.elsewhere.is_some() {
                break Some("it worked in another session");
            }
            if said.over {
                break None;
            }
            follow.glance(progress);
        };
        let ending = running.finish(if cut.is_some() {
            Duration::ZERO
        } else {
            GOODBYE
        });
        listener.ended(&ending);
        let said = listener.said();
        if let (false, None, Some(evidence)) = (submitted, &said.elsewhere, &said.confirmed) {
            progress(Progress::Submitted(evidence.clone()));
        }
        let spoke = said.spoke || ending.is_success();
        follow.settle(if spoke { LAG } else { Duration::ZERO }, progress);
        let account = Account {
            name: self.name,
            sighting: follow.sighting(),
            trouble: follow.trouble(),
            said,
            cut,
            ending: &ending,
        };
        if let Some(evidence) = account.verdict()? {
            progress(Progress::TurnDone(evidence));
        }
        Ok(())
    }
}

/// Everything known at the end of one attempt.
struct Account<'a> {
    name: &'static str,
    sighting: &'a Sighting,
    trouble: Option<&'a LookError>,
    said: &'a Said,
    /// Why we stopped it.
    cut: Option<&'static str>,
    ending: &'a Ending,
}

impl Account<'_> {
    /// The evidence that the turn is done; nothing when the message is seen and no more is
    /// known.
    fn verdict(&self) -> Result<Option<Evidence>, EdgeError> {
        if let Some(other) = &self.said.elsewhere {
            return Err(EdgeError::Misdelivered {
                reason: format!("{} worked in the session {}", self.name, other.session),
                evidence: other.evidence.clone(),
            });
        }
        let Sighting { message, turn } = self.sighting;
        match (message, turn) {
            (Some(place), turn) => self.seen(place, turn.as_ref()),
            (None, Some(turn)) => self.seen(&turn.evidence, Some(turn)),
            (None, None) => Err(self.unseen()),
        }
    }

    /// It stands in the transcript: what became of its turn?
    fn seen(
        &self,
        place: &Evidence,
        turn: Option<&TurnEnd>,
    ) -> Result<Option<Evidence>, EdgeError> {
        let failed = |reason: String, evidence: &Evidence| {
            Err(EdgeError::TurnFailed {
                reason,
                evidence: evidence.clone(),
            })
        };
        if let Some(Err(why)) = &self.said.end {
            return failed(format!("{} said: {why}", self.name), place);
        }
        match turn {
            Some(turn) if turn.completed => return Ok(Some(turn.evidence.clone())),
            Some(turn) => {
                return failed("the transcript says that it failed".into(), &turn.evidence);
            }
            None => {}
        }
        if let Some(unknown) = &self.said.unknown {
            return failed(format!("{} said: {unknown}", self.name), place);
        }
        if let Some(cut) = self.cut {
            let reason = format!("{cut}, and its turn, which had not ended, was stopped");
            return failed(reason, place);
        }
        match &self.said.end {
            Some(Ok(proof)) => Ok(proof.clone()),
            _ if self.ending.is_success() => Ok(None),
            _ => {
                let told = self.ending.told();
                let reason = format!("{} ended in the middle of its turn: {told}", self.name);
                failed(reason, &Evidence::new("exit_code", told))
            }
        }
    }

    /// It does not stand in the transcript, or that cannot be read.
    fn unseen(&self) -> EdgeError {
        let uncertain = |reason: String| EdgeError::Uncertain { reason };
        let said = self.said;
        if let Some(unknown) = &said.unknown {
            // With an exit code of its own it stopped there; without, it went on with another
            // session that it did not name.
            if self.has_own_error() && said.confirmed.is_none() {
                let reason = format!("{} does not find the session: {unknown}", self.name);
                return EdgeError::NotSubmitted { reason };
            }
            let reason = format!(
                "{} did not find the session and went on: {unknown}",
                self.name
            );
            let evidence = Evidence::new("stderr", unknown.clone());
            return EdgeError::TurnFailed { reason, evidence };
        }
        if let Some(error) = self.trouble {
            let told = self.told();
            return uncertain(format!("the transcript cannot be read: {error} ({told})"));
        }
        if let Some(cut) = self.cut {
            return uncertain(format!(
                "{cut}; it was stopped, and the transcript lacks the message"
            ));
        }
        match &said.end {
            Some(Err(why)) if said.confirmed.is_none() && self.has_own_error() => {
                EdgeError::NotSubmitted {
                    reason: format!("{} said: {why}", self.name),
                }
            }
            Some(Err(why)) => EdgeError::TurnFailed {
                reason: format!("{} said: {why}", self.name),
                evidence: Evidence::new("program_output", why.clone()),
            },
            None if !said.spoke && self.has_own_error() => EdgeError::NotSubmitted {
                reason: format!("{} did not start a turn: {}", self.name, self.ending.told()),
            },
            _ => uncertain(format!(
                "the transcript lacks the message ({})",
                self.told()
            )),
        }
    }

    fn told(&self) -> String {
        let name = self.name;
        match &self.said.end {
            Some(Ok(_)) => format!("{name} said that it answered"),
            Some(Err(why)) => format!("{name} said: {why}"),
            None => format!("{name}: {}", self.ending.told()),
        }
    }

    fn has_own_error(&self) -> bool {
        let code = self.ending.status.and_then(|status| status.code());
        !self.ending.stopped && code.is_some_and(|code| code != 0)
    }
}

/// Words of a program for a reason: on one line, and not without end.
pub(crate) fn words(text: &str) -> String {
    let shown = display_safe(&clip(text.trim(), 600));
    if shown.is_empty() {
        "no reason given".into()
    } else {
        shown
    }
}

/// Everything a program printed, for one that prints a single document at its end.
#[derive(Debug)]
pub(crate) struct Printed {
    text: String,
    cap: usize,
}

impl Printed {
    /// Keeps at most `cap` bytes.
    pub fn new(cap: usize) -> Self {
        Self {
            text: String::new(),
            cap,
        }
    }

    /// Takes one line.
    pub fn line(&mut self, line: &str) {
        if self.text.len() + line.len() < self.cap {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// The document: all of it, or, when something else was printed too, the last line that is
    /// an object.
    pub fn document(&self) -> Option<serde_json::Value> {
        let object = |text: &str| {
            let value: serde_json::Value = serde_json::from_str(text.trim()).ok()?;
            value.is_object().then_some(value)
        };
        object(&self.text).or_else(|| self.text.lines().rev().find_map(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_found_over_several_lines_and_behind_other_words() {
        let printed = |text: &str| {
            let mut printed = Printed::new(1000);
            text.lines().for_each(|line| printed.line(line));
            printed.document()
        };
        assert_eq!(printed("{\n \"a\":\n 1}").unwrap()["a"], 1);
        assert_eq!(printed("hello\n{\"a\":1}\n{\"a\":2}\nbye").unwrap()["a"], 2);
        for text in ["", "hello", "[1]", "{\"a\":"] {
            assert_eq!(printed(text), None, "{text}");
        }
        let mut small = Printed::new(8);
        small.line("{\"a\":\"too long\"}");
        assert_eq!(small.document(), None);
    }

    #[test]
    fn the_first_session_that_is_named_counts() {
        let evidence = || Evidence::new("stream_event", "x");
        let mut said = Said::default();
        said.names("a", "a", evidence);
        assert!(said.confirmed.is_some() && said.elsewhere.is_none());
        said.names("b\n", "a", evidence);
        said.names("c", "a", evidence);
        assert!(said.elsewhere.unwrap().session.starts_with('b'));
    }
}
