//! Looks for one message in a session's transcript, by the rule's description of it.
//!
//! A reader remembers how far it got: asking again reads only what was added since.

use crate::condition::{blank, text, value};
use axiowl_lang::at::At;
use axiowl_lang::cond::Cond;
use axiowl_lang::load::LoadedRule;
use axiowl_lang::rule::{Transcript, TranscriptRecord};
use axiowl_lang::scalar::{OneOrMany, Pointer};
use axiowl_model::VISIBLE_MARK;
use axiowl_sources::{Row, World, jsonl, pointer, record};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// The role of what the agent says.
const ASSISTANT: &str = "assistant";

/// A record of a transcript, by its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the examined world calls it.
    pub path: String,
    /// Byte offset of the record's line (in the decompressed stream of a compressed file).
    pub offset: u64,
    /// What the provider calls the record, where it says.
    pub id: String,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnded {
    /// Well, or not.
    pub completed: bool,
    /// The record that says so.
    pub place: Place,
}

/// Reads one session's transcript.
pub struct TranscriptReader<'a> {
    pub(crate) description: &'a Transcript,
    pub(crate) real: PathBuf,
    shown: String,
    resume: u64,
    message: Option<(Place, Option<String>)>,
    end: Option<TurnEnded>,
}

/// What stands there about a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// The record that holds the message.
    pub message: Option<Place>,
    /// The end of the turn that read it.
    pub end: Option<TurnEnded>,
}

impl<'a> TranscriptReader<'a> {
    /// The reader for a row; `None` when the rule describes no transcript or the row has none.
    pub fn of_row(
        loaded: &'a LoadedRule,
        world: &World,
        row: &Row,
        roots: &BTreeMap<String, String>,
    ) -> Option<Self> {
        let description = &loaded.rule.transcript.as_ref()?.value;
        let shown = description.file.fill(
            |name| {
                let field = value(row, name);
                if blank(field) {
                    return roots.get(name).map(|root| Cow::Borrowed(root.as_str()));
                }
                text(field).map(Cow::Owned)
            },
            |name| world.env(name).map(Cow::Borrowed),
        )?;
        let real = world.real_path(&shown)?;
        Some(Self {
            description,
            real,
            shown,
            resume: 0,
            message: None,
            end: None,
        })
    }

    /// The file it reads, as the examined world calls it.
    pub fn path(&self) -> &str {
        &self.shown
    }

    /// Looks for a message by our id. Reads only what it has not read yet.
    ///
    /// # Errors
    /// When the transcript cannot be read: then nothing is known.
    pub fn look(&mut self, message_id: &str) -> io::Result<Look> {
        if self.message.is_none() {
            self.find_message(message_id)?;
        }
        if self.message.is_some() && self.end.is_none() {
            self.find_end()?;
        }
        Ok(Look {
            message: self.message.as_ref().map(|(place, _)| place.clone()),
            end: self.end.clone(),
        })
    }

    fn find_message(&mut self, message_id: &str) -> io::Result<()> {
        let mut found = None;
        let (description, shown) = (self.description, &self.shown);
        let scanned = jsonl::scan_lines(
            &self.real,
            &description.also,
            self.resume,
            u64::MAX,
            Some(message_id.as_bytes()),
            &mut |offset, line| {
                let Ok(parsed) = serde_json::from_slice::<Value>(line) else {
                    return ControlFlow::Continue(());
                };
                match holds_message(description, &parsed, message_id) {
                    None => ControlFlow::Continue(()),
                    Some((id, turn)) => {
                        found = Some((
                            Place {
                                path: shown.clone(),
                                offset,
                                id,
                            },
                            turn,
                        ));
                        ControlFlow::Break(())
                    }
                }
            },
        )?;
        self.message = found;
        self.resume = scanned.offset;
        Ok(())
    }

    fn find_end(&mut self) -> io::Result<()> {
        let mut found = None;
        let (description, shown) = (self.description, &self.shown);
        let turn = self.message.as_ref().and_then(|(_, turn)| turn.as_deref());
        let scanned = jsonl::scan_lines(
            &self.real,
            &description.also,
            self.resume,
            u64::MAX,
            None,
            &mut |offset, line| {
                let Ok(parsed) = serde_json::from_slice::<Value>(line) else {
                    return ControlFlow::Continue(());
                };
                match ends_turn(description, &parsed, turn) {
                    None => ControlFlow::Continue(()),
                    Some(completed) => {
                        let place = Place {
                            path: shown.clone(),
                            offset,
                            id: String::new(),
                        };
                        found = Some(TurnEnded { completed, place });
                        ControlFlow::Break(())
                    }
                }
            },
        )?;
        self.end = found;
        self.resume = scanned.offset;
        Ok(())
    }
}

/// The record's id and turn when it is the message: by the id the provider keeps for it, or by
/// our header at the start of a line. An id inside somebody's text is no proof, and neither is
/// anything the agent itself says.
fn holds_message(
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
fn ends_turn(description: &Transcript, parsed: &Value, turn: Option<&str>) -> Option<bool> {
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
        .filter_map(|at| text(&pointer::at(at, parsed)?))
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
