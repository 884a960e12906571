//! What became of a message, from the rollout first and the server's words second.
//!
//! The rollout proves; the server's words can only make the answer worse, never better.

use super::app_server::TurnEnded;
use crate::child::Ending;
use axiowl_model::Evidence;
use axiowl_pipeline::edge::{EdgeError, LookError, Sighting};

/// Everything known at the end of one attempt.
pub(super) struct Account {
    /// What stands in the target's rollout.
    pub sighting: Sighting,
    /// Why the rollout could not be read last.
    pub trouble: Option<LookError>,
    /// How the server said the turn ended; else why we stopped waiting, empty when it died.
    pub end: Result<TurnEnded, &'static str>,
    /// Another thread that our message showed up in.
    pub stray: Option<String>,
    /// The provider would not take it.
    pub refused: Option<EdgeError>,
    /// How the process ended.
    pub ending: Ending,
}

/// The evidence that the turn is done; nothing when the message is seen and no more is known.
pub(super) fn verdict(account: &Account) -> Result<Option<Evidence>, EdgeError> {
    let Sighting { message, turn } = &account.sighting;
    match message
        .as_ref()
        .or(turn.as_ref().map(|turn| &turn.evidence))
    {
        Some(place) => seen(account, place),
        None => Err(unseen(account)),
    }
}

/// It stands in the rollout: what became of its turn?
fn seen(account: &Account, place: &Evidence) -> Result<Option<Evidence>, EdgeError> {
    let failed =
        |reason: String, evidence: Evidence| Err(EdgeError::TurnFailed { reason, evidence });
    if let Ok(ended) = &account.end
        && ended.status != "completed"
    {
        return failed(blame(ended), evidence_of(ended));
    }
    let cut = match &account.end {
        Err(cut) if !cut.is_empty() => Some(stopped(cut)),
        _ => None,
    };
    match &account.sighting.turn {
        Some(turn) if turn.completed => return Ok(Some(turn.evidence.clone())),
        Some(turn) => {
            let aborted = || "the rollout says that the turn was aborted".to_owned();
            return failed(cut.unwrap_or_else(aborted), turn.evidence.clone());
        }
        None => {}
    }
    if let Some(refused) = &account.refused {
        return failed(refused.to_string(), place.clone());
    }
    if let Some(cut) = cut {
        return failed(cut, place.clone());
    }
    if account.end.is_ok() {
        return Ok(None);
    }
    let told = account.ending.told();
    let reason = format!("Codex ended in the middle of its turn: {told}");
    failed(reason, Evidence::new("exit_code", told))
}

fn stopped(cut: &str) -> String {
    format!("{cut}, and its turn, which had not ended, was stopped")
}

/// It does not stand in the rollout, or the rollout cannot be read.
fn unseen(account: &Account) -> EdgeError {
    let uncertain = |reason: String| EdgeError::Uncertain { reason };
    if let Some(error) = &account.trouble {
        return uncertain(format!("the rollout cannot be read: {error}"));
    }
    if let Some(other) = &account.stray {
        let reason = format!("Codex put it into thread {other}");
        let evidence = Evidence::new("stream_event", format!("item of thread {other}"));
        return EdgeError::Misdelivered { reason, evidence };
    }
    if let Some(refused) = &account.refused {
        return refused.clone();
    }
    match &account.end {
        Ok(ended) if ended.status == "completed" => {
            uncertain("Codex completed the turn, and the rollout lacks the message".into())
        }
        Ok(ended) => EdgeError::TurnFailed {
            reason: blame(ended),
            evidence: evidence_of(ended),
        },
        Err("") => uncertain(format!(
            "Codex ended with the message in its hands: {}",
            account.ending.told()
        )),
        Err(cut) => uncertain(format!(
            "{cut}; it was stopped, and the rollout lacks the message"
        )),
    }
}

fn blame(ended: &TurnEnded) -> String {
    match ended.error.as_str() {
        "" => format!("Codex says that the turn was {}", ended.status),
        error => format!("Codex said: {error}"),
    }
}

fn evidence_of(ended: &TurnEnded) -> Evidence {
    let detail = match ended.turn.as_str() {
        // `codex exec` names no turn.
        "" => format!("turn.{}", ended.status),
        turn => format!("turn/completed turn={turn} status={}", ended.status),
    };
    Evidence::new("stream_event", axiowl_model::display_safe(&detail))
}
