//! What became of a message, from the transcript first and the program's words second
//! (`providers/claude-code.md` C.1, "Failures").
//!
//! The transcript proves; the program's words can only make the answer worse, never better.

use super::stream::{Heard, TurnResult};
use super::transcript;
use crate::child::Ending;
use axiowl_model::{Evidence, display_safe};
use axiowl_pipeline::edge::{Delivery, EdgeError, LookError, Sighting};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes of another session's transcript that are searched for our message.
const SEARCHED: u64 = 64 * 1024 * 1024;

/// Everything known at the end of one attempt.
pub(super) struct Account {
    /// What stands in the target's transcript.
    pub sighting: Sighting,
    /// Why the transcript could not be read last.
    pub trouble: Option<LookError>,
    /// What the program said.
    pub heard: Heard,
    /// Why we stopped it.
    pub cut: Option<&'static str>,
    /// How it ended.
    pub ending: Ending,
    /// The turn is proven to be done, and was reported.
    pub done: bool,
}

/// The evidence that the turn is done; nothing when the message is seen and no more is known.
pub(super) fn verdict(
    account: &Account,
    delivery: &Delivery<'_>,
    session: &str,
    root: &Path,
) -> Result<Option<Evidence>, EdgeError> {
    let Sighting { message, turn } = &account.sighting;
    match message
        .as_ref()
        .or(turn.as_ref().map(|turn| &turn.evidence))
    {
        Some(place) => seen(account, session, place),
        None => Err(unseen(account, delivery, session, root)),
    }
}

/// It stands in the transcript: what became of its turn?
fn seen(account: &Account, session: &str, place: &Evidence) -> Result<Option<Evidence>, EdgeError> {
    let failed =
        |reason: String, evidence: Evidence| Err(EdgeError::TurnFailed { reason, evidence });
    let result = account.heard.result.as_ref();
    if let Some(result) = result.filter(|result| !result.is_good(session)) {
        return failed(blame(result, session), evidence_of(result));
    }
    let cut = account
        .cut
        .map(|cut| format!("{cut}, and its turn, which had not ended, was stopped"));
    match &account.sighting.turn {
        Some(turn) if turn.completed => return Ok(Some(turn.evidence.clone())),
        Some(turn) => {
            let says = || "the transcript says that the turn failed".to_owned();
            return failed(cut.unwrap_or_else(says), turn.evidence.clone());
        }
        None => {}
    }
    if let Some(cut) = cut {
        return failed(cut, place.clone());
    }
    if result.is_some() || account.ending.is_success() {
        // A good result whose end is not in the transcript, or a message it knew already and
        // ran nothing for (C.1, idempotence): seen, and no more can be said.
        return Ok(None);
    }
    let reason = format!(
        "Claude Code ended in the middle of its turn: {}",
        account.ending.told()
    );
    failed(reason, Evidence::new("exit_code", account.ending.told()))
}

/// It does not stand in the transcript, or the transcript cannot be read.
fn unseen(account: &Account, delivery: &Delivery<'_>, session: &str, root: &Path) -> EdgeError {
    let Account { heard, ending, .. } = account;
    let not_submitted = |reason: String| EdgeError::NotSubmitted { reason };
    let uncertain = |reason: String| EdgeError::Uncertain { reason };
    let said = heard
        .result
        .as_ref()
        .map(TurnResult::told)
        .unwrap_or_default();
    let anywhere = |text: &str| said.contains(text) || ending.stderr.contains(text);
    if !heard.echoed && anywhere("No conversation found") {
        return not_submitted(format!("Claude Code does not find the session {session}"));
    }
    if !heard.echoed && (anywhere("running in the background") || anywhere("background agent")) {
        let reason = format!("it is open in the background: {}", ending.told());
        return EdgeError::Refused { reason };
    }
    if let Some(error) = &account.trouble {
        return uncertain(format!("the transcript cannot be read: {error}"));
    }
    let went_well = heard.result.as_ref().is_none_or(|result| !result.is_error);
    if let Some((other, event)) = heard.elsewhere.as_ref().filter(|_| went_well) {
        return misdelivered(delivery, root, other, event);
    }
    if let Some(cut) = account.cut {
        return uncertain(format!(
            "{cut}; it was stopped, and the transcript lacks the message"
        ));
    }
    if heard.echoed {
        return uncertain("Claude Code took it, and the transcript lacks it".into());
    }
    match &heard.result {
        Some(result) if result.is_error && result.turns == 0 => {
            not_submitted(format!("Claude Code refused it: {}", result.told()))
        }
        Some(result) if !result.is_error && result.turns == 0 => EdgeError::TurnFailed {
            reason: blame(result, session),
            evidence: evidence_of(result),
        },
        Some(result) => uncertain(format!(
            "the transcript lacks it; Claude Code said: {}",
            result.told()
        )),
        // It never got as far as a session, and said why with an exit code of its own.
        None if heard.events == 0 && has_own_error(ending) => not_submitted(format!(
            "Claude Code did not start a turn: {}",
            ending.told()
        )),
        None => uncertain(format!(
            "Claude Code ended without a word about it: {}",
            ending.told()
        )),
    }
}

fn has_own_error(ending: &Ending) -> bool {
    let code = ending.status.and_then(|status| status.code());
    !ending.stopped && code.is_some_and(|code| code != 0)
}

fn blame(result: &TurnResult, session: &str) -> String {
    if result.is_error {
        format!("Claude Code said: {}", result.told())
    } else if result.session != session {
        format!(
            "the turn ended in another session, {}",
            display_safe(&result.session)
        )
    } else {
        "Claude Code ran no turn for it".to_owned()
    }
}

fn evidence_of(result: &TurnResult) -> Evidence {
    let TurnResult {
        session,
        is_error,
        turns,
        ..
    } = result;
    let session = display_safe(session);
    let detail = format!("result is_error={is_error} num_turns={turns} session_id={session}");
    Evidence::new("stream_event", detail)
}

fn misdelivered(delivery: &Delivery<'_>, root: &Path, other: &str, event: &str) -> EdgeError {
    let id = delivery.message_id.to_string();
    let found = axiowl_model::is_uuid(other)
        .then(|| transcript(root, other))
        .flatten();
    let found = found.filter(|path| holds(path, &id));
    let other = display_safe(other);
    let mut evidence = Evidence::new("stream_event", format!("{event} session_id={other}"));
    evidence.path = found.map(|path: PathBuf| path.display().to_string());
    EdgeError::Misdelivered {
        reason: format!("Claude Code answered for session {other}"),
        evidence,
    }
}

/// Whether a transcript speaks of a message anywhere.
pub(super) fn holds(path: &Path, id: &str) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let mut reader = BufReader::new(file.take(SEARCHED));
    let mut line = Vec::new();
    while reader
        .read_until(b'\n', &mut line)
        .is_ok_and(|read| read > 0)
    {
        if String::from_utf8_lossy(&line).contains(id) {
            return true;
        }
        line.clear();
    }
    false
}
