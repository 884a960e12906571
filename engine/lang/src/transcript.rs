//! `transcript:`, the part of a rule that says where a target's messages stand.

use crate::at::At;
use crate::cond::Cond;
use crate::scalar::{OneOrMany, Pointer};
use crate::template::Template;
use schemars::JsonSchema;
use serde::Deserialize;

/// Where messages stand in the target's own store.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// The JSON Lines file, from a row's fields.
    pub file: At<Template>,
    /// Suffixes tried when the path itself does not exist.
    #[serde(default)]
    pub also: Vec<String>,
    /// Records that are messages.
    pub message: Vec<At<TranscriptRecord>>,
    /// Records that end a turn well.
    #[serde(default)]
    pub done: Vec<At<TranscriptRecord>>,
    /// Records that end a turn badly.
    #[serde(default)]
    pub failed: Vec<At<TranscriptRecord>>,
    /// Records that take back what was said.
    #[serde(default)]
    pub undo: Vec<At<UndoRecord>>,
}

/// A record that takes back a prompt and everything after it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoRecord {
    /// What it must be, by JSON Pointer.
    #[serde(rename = "where")]
    pub filter: Option<Cond>,
    /// The number of the first prompt that is taken back.
    pub prompt: OneOrMany<At<Pointer>>,
}

/// A record of a transcript.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranscriptRecord {
    /// What it must be, by JSON Pointer.
    #[serde(rename = "where")]
    pub filter: Option<Cond>,
    /// Who speaks, `user` or `assistant`. What an assistant says is never taken for a message
    /// of ours.
    pub role: Option<String>,
    /// Its text: the first pointer that gives one; `*` joins several by line breaks.
    #[serde(default)]
    pub text: OneOrMany<At<Pointer>>,
    /// The id the provider keeps for it, ours where the provider takes one.
    #[serde(default)]
    pub id: OneOrMany<At<Pointer>>,
    /// The turn it belongs to; a `done` record counts only for the message's own turn.
    #[serde(default)]
    pub turn: OneOrMany<At<Pointer>>,
    /// The number of the prompt, counted from 0; a lower one than before takes back what
    /// followed it.
    #[serde(default)]
    pub prompt: OneOrMany<At<Pointer>>,
}
