//! What one record of a transcript is: a message, the end of a turn, or nothing to us.

use crate::condition::text;
use axiowl_lang::at::At;
use axiowl_lang::cond::Cond;
use axiowl_lang::rule::{Transcript, TranscriptRecord};
use axiowl_lang::scalar::{OneOrMany, Pointer};
use axiowl_model::VISIBLE_MARK;
use axiowl_sources::{Row, pointer, record};
use serde_json::Value;

/// The role of what the agent says.
const ASSISTANT: &str = "assistant";

/// The record's id and turn when it is the message: by the id the provider keeps for it, or by
/// our header at the start of a line. An id inside somebody's text is no proof, and neither is
/// anything the agent itself says.
pub(super) fn holds_message(
    description: &Transcript,
    parsed: &Value,
    message_id: &str,
) -> Option<(String, Option<String>)> {
    let mark = format!("{VISIBLE_MARK}{message_id}]");
    description.message.iter().find_map(|kind| {
        if kind.role.as_deref() == Some(ASSISTANT) || !is_of(kind, parsed) {
            return None;
        }
        let id = first(&kind.id, parsed);
        let by_id = ids(&kind.id, parsed).any(|id| id == message_id);
        let by_header = || {
            texts(&kind.text, parsed)
                .iter()
                .any(|text| text.lines().any(|line| line.starts_with(&mark)))
        };
        (by_id || by_header()).then(|| (id.unwrap_or_default(), first(&kind.turn, parsed)))
    })
}

/// Whether the record ends the turn, and how.
pub(super) fn ends_turn(
    description: &Transcript,
    parsed: &Value,
    turn: Option<&str>,
) -> Option<bool> {
    let of_turn = |kind: &TranscriptRecord| {
        is_of(kind, parsed)
            && match (turn, first(&kind.turn, parsed)) {
                (Some(turn), Some(other)) => turn == other,
                _ => true,
            }
    };
    if description.done.iter().any(|kind| of_turn(kind)) {
        return Some(true);
    }
    description
        .failed
        .iter()
        .any(|kind| of_turn(kind))
        .then_some(false)
}

fn is_of(kind: &TranscriptRecord, parsed: &Value) -> bool {
    let filter = kind.filter.as_ref();
    filter.is_none_or(|filter| fits(filter, parsed))
}

/// Whether a record fits a condition.
pub(crate) fn fits(filter: &Cond, parsed: &Value) -> bool {
    record::holds(filter, parsed, &Row::new())
}

fn ids<'v>(
    pointers: &'v OneOrMany<At<Pointer>>,
    parsed: &'v Value,
) -> impl Iterator<Item = String> + 'v {
    pointers
        .iter()
        .filter_map(|at| Some(text(&pointer::at(at, parsed)?)?.into_owned()))
}

/// The first value that one of the pointers gives.
pub(crate) fn first(pointers: &OneOrMany<At<Pointer>>, parsed: &Value) -> Option<String> {
    ids(pointers, parsed).next()
}

/// Every text that the pointers give.
pub(crate) fn texts(pointers: &OneOrMany<At<Pointer>>, parsed: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for at in pointers.iter() {
        match pointer::at(at, parsed) {
            Some(Value::String(text)) => out.push(text),
            Some(Value::Array(list)) => {
                out.extend(
                    list.into_iter()
                        .filter_map(|item| item.as_str().map(str::to_owned)),
                );
            }
            _ => {}
        }
    }
    out
}
