//! What the mock model answers, decided once for every wire.
//!
//! A wire reads its request into a [`Turn`]; [`Turn::reply`] decides; the wire writes the
//! [`Reply`] in its own shape. Knows no HTTP and no JSON field names.

use std::time::Duration;

use serde_json::{Value, json};

use super::script::Script;

/// Longest piece of foreign text that an answer repeats, in characters.
const MAX_QUOTED: usize = 2_000;

/// The wire-neutral view of one model call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turn {
    /// The newest text of the user.
    pub prompt: String,
    /// Number of user turns in the conversation.
    pub user_turns: usize,
    /// Tool calls made since the newest user text.
    pub calls_made: usize,
    /// The newest tool result since the newest user text.
    pub last_result: Option<String>,
    /// A side call that wants a JSON title for the session instead of an answer.
    pub wants_title: bool,
}

/// What to send back.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Final text, streamed over the given time.
    Text(String, Duration),
    /// A call of the named tool.
    Call(String, Value),
    /// An HTTP error.
    Error(u16),
}

impl Turn {
    /// Decides the answer by the prompt's script.
    pub fn reply(&self, script: &Script) -> Reply {
        if self.wants_title {
            let words: Vec<&str> = self.prompt.split_whitespace().take(6).collect();
            let title = json!({ "title": format!("Mock title: {}", words.join(" ")) });
            return Reply::Text(title.to_string(), Duration::ZERO);
        }
        if let Some(code) = script.error {
            return Reply::Error(code);
        }
        if let Some(fault) = &script.fault {
            return Reply::Text(fault.clone(), Duration::ZERO);
        }
        if let Some(tool) = script.tools.get(self.calls_made) {
            return Reply::Call(tool.name.clone(), tool.arguments.clone());
        }
        let text = match (&script.text, script.tools.is_empty()) {
            (Some(text), _) => text.clone(),
            (None, false) => format!(
                "DONE: {}",
                quoted(self.last_result.as_deref().unwrap_or(""))
            ),
            (None, true) => format!("ECHO[{}]: {}", self.user_turns, quoted(&self.prompt)),
        };
        Reply::Text(text, script.slow)
    }
}

fn quoted(text: &str) -> &str {
    text.char_indices()
        .nth(MAX_QUOTED)
        .map_or(text, |(end, _)| &text[..end])
}

/// The plain text of a message's content: a string, or a list of parts.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// Cuts a text into the pieces of a slow stream: about twenty, never empty.
pub fn pieces(text: &str, over: Duration) -> Vec<(Duration, String)> {
    let chars: Vec<char> = text.chars().collect();
    if over.is_zero() || chars.len() < 2 {
        return vec![(over, text.to_owned())];
    }
    let size = chars.len().div_ceil(20);
    let count = chars.len().div_ceil(size);
    let pause = over / u32::try_from(count).unwrap_or(u32::MAX);
    chars
        .chunks(size)
        .map(|piece| (pause, piece.iter().collect()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_run_one_a_turn_and_end_with_the_last_result() {
        let script = Script::parse("@@tool a\n@@tool b");
        let mut turn = Turn::default();
        assert_eq!(turn.reply(&script), Reply::Call("a".to_owned(), json!({})));
        turn.calls_made = 1;
        assert_eq!(turn.reply(&script), Reply::Call("b".to_owned(), json!({})));
        turn.calls_made = 2;
        turn.last_result = Some("fine".to_owned());
        assert_eq!(
            turn.reply(&script),
            Reply::Text("DONE: fine".to_owned(), Duration::ZERO)
        );
    }

    #[test]
    fn a_slow_text_keeps_every_character() {
        let text = "naïve 日本 ".repeat(9);
        let parts = pieces(&text, Duration::from_secs(2));
        assert!(parts.len() > 10 && parts.len() <= 20, "{}", parts.len());
        assert_eq!(
            parts
                .iter()
                .map(|(_, piece)| piece.as_str())
                .collect::<String>(),
            text
        );
        let total: Duration = parts.iter().map(|(pause, _)| *pause).sum();
        assert!(total > Duration::from_millis(1_990) && total <= Duration::from_secs(2));
    }
}
