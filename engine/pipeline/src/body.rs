//! What the target reads: one header line that AxiOwl vouches for, and the sender's text
//! quoted so that it can neither imitate that line nor act on the program it is shown to.
//!
//! Pure text in, text out. Knows no provider: the hazards are those of all of them
//! together (`providers/claude-code.md` C.1: a leading `/` runs a command, `@path` inlines a
//! file even in quotes and fences; Gemini CLI reads a path after any `@`; OpenCode reads one
//! after any `@` that follows no word; Codex reads a skill in wherever `$` and its name stand,
//! which a test with the real client shows).

mod quote;

use crate::sender::{Hop, Sender};
use axiowl_model::{MessageId, VISIBLE_MARK, clip, display_safe};
use std::fmt::Write as _;

pub use quote::{clean, unquote};

/// Characters of a name that are shown.
const NAME_CHARS: usize = 120;
/// Stations that are shown, the last ones.
const HOPS_SHOWN: usize = 8;
/// What the optional second line starts with.
const HOPS_LABEL: &str = "hops: ";

/// Builds the visible body of a message.
pub fn visible(message: MessageId, sender: &Sender, hops: &[Hop], body: &str) -> String {
    let mut out = String::with_capacity(body.len() + body.len() / 16 + 256);
    let _ = write!(
        out,
        "{VISIBLE_MARK}{message}] from \"{}\" ({}, {}); answer with axiowl_send_message, reply_to={message}",
        shown(&sender.name),
        shown(sender.provider()),
        sender.kind.standing(),
    );
    if !hops.is_empty() {
        out.push('\n');
        out.push_str(HOPS_LABEL);
        let hidden = hops.len().saturating_sub(HOPS_SHOWN);
        if hidden > 0 {
            let _ = write!(out, "({hidden} more) > ");
        }
        for (i, hop) in hops[hidden..].iter().enumerate() {
            let arrow = if i == 0 { "" } else { " > " };
            let _ = write!(
                out,
                "{arrow}\"{}\" ({})",
                shown(&hop.name),
                shown(&hop.provider)
            );
        }
    }
    quote::quote_into(&mut out, body);
    out
}

/// A foreign name inside a header line: one line, no quotes, no mark, no file reference.
pub(crate) fn shown(name: &str) -> String {
    let safe = clip(&display_safe(name.trim()), NAME_CHARS).replace('"', "'");
    let mut out = String::with_capacity(safe.len());
    quote::defuse_into(&mut out, &safe);
    out
}

/// A header line of AxiOwl found at the start of a text somebody wants to send on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayHeader {
    /// The message it belonged to.
    pub message: MessageId,
    /// The name it shows, as shown.
    pub name: String,
    /// The provider it shows; AxiOwl itself where the sender has no session.
    pub provider: String,
}

impl RelayHeader {
    /// Reads the first line of a text. `None` when it is no header of ours; `Some(Err)` when it
    /// starts like one and is none.
    pub fn read(text: &str) -> Option<Result<Self, MalformedHeader>> {
        let rest = text.trim_start().strip_prefix(VISIBLE_MARK)?;
        let line = rest.lines().next().unwrap_or_default();
        Some(Self::parse(line).ok_or(MalformedHeader))
    }

    fn parse(line: &str) -> Option<Self> {
        let (id, rest) = line.split_once(']')?;
        let message = id.parse().ok()?;
        let (name, rest) = rest.strip_prefix(" from \"")?.split_once("\" (")?;
        let (shown, rest) = rest.split_once("); answer with axiowl_send_message, reply_to=")?;
        let (provider, _) = shown.rsplit_once(", ")?;
        (rest.trim_end() == id).then(|| Self {
            message,
            name: name.to_owned(),
            provider: provider.to_owned(),
        })
    }

    /// Whether that header was made for a sender.
    pub fn shows(&self, sender: &Sender) -> bool {
        shown(&sender.name) == self.name
    }
}

/// A text that starts with the mark of a header and goes on otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body starts like an AxiOwl header and is none")]
pub struct MalformedHeader;

#[cfg(test)]
#[path = "body/tests.rs"]
mod tests;
