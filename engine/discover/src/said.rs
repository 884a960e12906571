//! What was said in a session, in order, by the rule's description of its transcript.
//!
//! Only what the rule calls a message counts: tools, reasoning and events it does not know stay
//! out, and so does what the person took back. It must not know any provider's records.

use crate::condition::blank;
use crate::transcript::{TranscriptReader, first, fits, texts};
use axiowl_lang::rule::Transcript;
use axiowl_sources::jsonl;
use serde_json::Value;
use std::io;
use std::ops::ControlFlow;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Who speaks, as the rule names it.
    pub role: String,
    /// The text.
    pub text: String,
    /// Byte offset of its record's line.
    pub offset: u64,
}

/// A session's messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conversation {
    /// In the order they were said.
    pub said: Vec<Said>,
    /// Whether the whole transcript was read.
    pub complete: bool,
}

impl TranscriptReader<'_> {
    /// Reads the conversation; of the transcript at most `budget` bytes.
    ///
    /// # Errors
    /// When the transcript cannot be read.
    pub fn conversation(&self, budget: u64) -> io::Result<Conversation> {
        let mut kept = Kept::default();
        let scanned = jsonl::scan_lines(
            &self.real,
            &self.description.also,
            0,
            budget,
            None,
            &mut |offset, line| {
                if let Ok(parsed) = serde_json::from_slice::<Value>(line) {
                    kept.record(self.description, &parsed, offset);
                }
                ControlFlow::Continue(())
            },
        )?;
        Ok(Conversation {
            said: kept.said.into_iter().map(|(said, _)| said).collect(),
            complete: scanned.complete && scanned.too_long == 0,
        })
    }
}

/// Messages with the number of the prompt that each belongs to.
#[derive(Default)]
struct Kept {
    said: Vec<(Said, Option<u64>)>,
    prompt: Option<u64>,
}

impl Kept {
    fn record(&mut self, description: &Transcript, parsed: &Value, offset: u64) {
        let taken_back = description.undo.iter().find(|undo| {
            let filter = undo.filter.as_ref();
            filter.is_none_or(|filter| fits(filter, parsed))
        });
        if let Some(undo) = taken_back {
            if let Some(number) = number(first(&undo.prompt, parsed)) {
                self.take_back(number);
            }
            return;
        }
        let Some(kind) = description.message.iter().find(|kind| {
            let filter = kind.filter.as_ref();
            filter.is_none_or(|filter| fits(filter, parsed))
        }) else {
            return;
        };
        if let Some(number) = number(first(&kind.prompt, parsed)) {
            // Who counts a second time from a lower number has taken back what followed it.
            if self.prompt.is_some_and(|prompt| number < prompt) {
                self.take_back(number);
            }
            self.prompt = Some(number);
        }
        let text = texts(&kind.text, parsed).join("\n");
        if !blank(&Value::String(text.clone())) {
            let role = kind.role.clone().unwrap_or_default();
            let said = Said { role, text, offset };
            self.said.push((said, self.prompt));
        }
    }

    /// Drops the prompt of this number and everything after it.
    fn take_back(&mut self, number: u64) {
        self.said
            .retain(|(_, prompt)| prompt.is_none_or(|prompt| prompt < number));
        self.prompt = self.said.iter().rev().find_map(|(_, prompt)| *prompt);
    }
}

fn number(value: Option<String>) -> Option<u64> {
    value?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const RULE: &str = "
file: \"{path}\"
message:
  - { where: { /t: user }, role: user, text: /text, prompt: /n }
  - { where: { /t: agent }, role: assistant, text: [/text, /parts/*/text] }
undo:
  - { where: { /t: undo }, prompt: /to }
";

    fn told(records: &[Value]) -> Vec<String> {
        let description: Transcript = serde_yaml::from_str(RULE).unwrap();
        let mut kept = Kept::default();
        for (offset, record) in records.iter().enumerate() {
            kept.record(&description, record, offset as u64);
        }
        let said = kept.said.into_iter();
        said.map(|(said, _)| format!("{}@{}: {}", said.role, said.offset, said.text))
            .collect()
    }

    #[test]
    fn only_messages_count_and_parts_are_joined() {
        let records = [
            json!({ "t": "user", "text": "one", "n": 0 }),
            json!({ "t": "tool", "text": "output" }),
            json!({ "t": "agent", "parts": [{ "text": "a" }, { "image": 1 }, { "text": "b" }] }),
            json!({ "t": "agent", "text": "  " }),
            json!([1]),
        ];
        assert_eq!(told(&records), ["user@0: one", "assistant@2: a\nb"]);
    }

    #[test]
    fn what_was_taken_back_is_gone_and_what_follows_stays() {
        let user = |n: u64, text: &str| json!({ "t": "user", "text": text, "n": n });
        let agent = |text: &str| json!({ "t": "agent", "text": text });
        let undo = |to: u64| json!({ "t": "undo", "to": to });
        let first = [
            user(0, "keep"),
            agent("kept"),
            user(1, "undone"),
            agent("gone"),
        ];
        let mut records = first.to_vec();
        records.extend([undo(1), user(1, "again"), agent("answer")]);
        let expected = [
            "user@0: keep",
            "assistant@1: kept",
            "user@5: again",
            "assistant@6: answer",
        ];
        assert_eq!(told(&records), expected);
        // Without a marker, a lower number says the same.
        let mut records = [first.as_slice(), &[user(2, "third")]].concat();
        records.push(user(1, "again"));
        assert_eq!(
            told(&records),
            ["user@0: keep", "assistant@1: kept", "user@5: again"]
        );
        // Several pieces of one prompt, and a number nobody can read.
        let pieces = [
            user(0, "a"),
            user(0, "b"),
            json!({ "t": "undo", "to": "x" }),
        ];
        assert_eq!(told(&pieces), ["user@0: a", "user@1: b"]);
        assert!(told(&[first.as_slice(), &[undo(0)]].concat()).is_empty());
    }
}
