//! What was said in a session, in order, by the rule's description of its transcript.
//!
//! Only what the rule calls a message counts: tools, reasoning and events it does not know stay
//! out, and so does what the person took back. It must not know any provider's records.

use crate::condition::blank;
use crate::transcript::Place;
use crate::transcript::record::{first, fits, texts};
use axiowl_lang::rule::Transcript;
use serde_json::Value;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Who speaks, as the rule names it.
    pub role: String,
    /// The text.
    pub text: String,
    /// Where its record stands, and what the provider calls it.
    pub place: Place,
}

/// A session's messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conversation {
    /// In the order they were said.
    pub said: Vec<Said>,
    /// Whether the whole transcript was read.
    pub complete: bool,
}

impl Conversation {
    /// Records of one id that follow each other are pieces of one message.
    pub(crate) fn joined(mut self) -> Self {
        let mut out: Vec<Said> = Vec::with_capacity(self.said.len());
        for next in self.said {
            match out.last_mut() {
                Some(last) if !next.place.id.is_empty() && last.place.id == next.place.id => {
                    last.text.push('\n');
                    last.text.push_str(&next.text);
                }
                _ => out.push(next),
            }
        }
        self.said = out;
        self
    }
}

/// Messages with the number of the prompt that each belongs to.
#[derive(Default)]
pub(crate) struct Kept {
    said: Vec<(Said, Option<u64>)>,
    prompt: Option<u64>,
}

impl Kept {
    /// What was kept.
    pub(crate) fn conversation(self, complete: bool) -> Conversation {
        Conversation {
            said: self.said.into_iter().map(|(said, _)| said).collect(),
            complete,
        }
    }

    /// Takes a record for what it is; `at` says where it stands.
    pub(crate) fn record(
        &mut self,
        description: &Transcript,
        parsed: &Value,
        at: impl FnOnce() -> Place,
    ) {
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
            let id = first(&kind.id, parsed).unwrap_or_default();
            let place = Place { id, ..at() };
            let said = Said { role, text, place };
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
            let at = || Place {
                offset: Some(offset as u64),
                ..Place::default()
            };
            kept.record(&description, record, at);
        }
        let said = kept.said.into_iter();
        said.map(|(said, _)| {
            let offset = said.place.offset.unwrap();
            format!("{}@{offset}: {}", said.role, said.text)
        })
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
