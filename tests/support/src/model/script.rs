//! The prompt language: what a test writes into a message to decide the model's answer.
//!
//! Knows nothing of wires, HTTP or conversations: text in, [`Script`] out. A directive stands on
//! a line of its own, behind at most a few quoting marks, because AxiOwl quotes message bodies:
//!
//! | line | effect |
//! |---|---|
//! | `@@text T` | the final text is T |
//! | `@@tool NAME {json}` | calls that tool; one line a turn, in order |
//! | `@@slow SECONDS` | the final text is streamed over that time |
//! | `@@hold NAME` | no answer until the test releases NAME |
//! | `@@error CODE` | HTTP CODE with the wire's own error body |

use std::time::Duration;

use serde_json::{Map, Value};

/// AxiOwl puts U+2060 (word joiner) before an `@` that a provider would expand as a file.
const WORD_JOINER: char = '\u{2060}';
/// Quoting marks are short; anything longer before `@@` is prose about a directive.
const MAX_PREFIX: usize = 8;

/// One `@@tool` line.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolLine {
    /// The tool's name as the test wrote it.
    pub name: String,
    /// The arguments: always an object.
    pub arguments: Value,
}

/// Everything one prompt asks of the mock model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// The final text, if the prompt names one.
    pub text: Option<String>,
    /// Tools to call, one a turn.
    pub tools: Vec<ToolLine>,
    /// Time over which the final text is streamed.
    pub slow: Duration,
    /// The answer waits until this name is released.
    pub hold: Option<String>,
    /// HTTP status to answer with.
    pub error: Option<u16>,
    /// A directive that could not be understood; the model answers with it, so that a typing
    /// error in a test is seen where it was made.
    pub fault: Option<String>,
}

impl Script {
    /// Reads the directives of a prompt; lines without one are ignored.
    pub fn parse(prompt: &str) -> Self {
        let mut script = Self::default();
        for line in prompt.lines() {
            if let Some((word, rest)) = directive(line)
                && let Err(fault) = script.take(word, rest)
            {
                script.fault = Some(format!("MOCK: {fault} in line `{line}`"));
            }
        }
        script
    }

    fn take(&mut self, word: &str, rest: &str) -> Result<(), String> {
        match word {
            "text" => self.text = Some(rest.to_owned()),
            "tool" => self.tools.push(tool_line(rest)?),
            "slow" => {
                let seconds: f64 = rest.parse().map_err(|_| "SECONDS is no number")?;
                self.slow = Duration::try_from_secs_f64(seconds)
                    .map_err(|_| "SECONDS is out of range".to_owned())?;
            }
            "hold" if !rest.is_empty() => self.hold = Some(rest.to_owned()),
            "hold" => return Err("NAME is missing".to_owned()),
            "error" => {
                let code = rest.parse().ok().filter(|code| (400..600).contains(code));
                self.error = Some(code.ok_or("CODE is no HTTP error status")?);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Splits a line into directive word and argument, or `None` for ordinary text.
fn directive(line: &str) -> Option<(&str, &str)> {
    let at = line.find('@')?;
    let prefix = &line[..at];
    if prefix.chars().count() > MAX_PREFIX || prefix.chars().any(char::is_alphanumeric) {
        return None;
    }
    let rest = line[at + 1..]
        .trim_start_matches(WORD_JOINER)
        .strip_prefix('@')?;
    let rest = rest.trim_start_matches(WORD_JOINER);
    let end = rest
        .find(|c: char| !c.is_ascii_lowercase())
        .unwrap_or(rest.len());
    let (word, rest) = rest.split_at(end);
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| (word, rest.trim()))
}

fn tool_line(rest: &str) -> Result<ToolLine, String> {
    let (name, json) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() {
        return Err("NAME is missing".to_owned());
    }
    let arguments = match json.trim() {
        "" => Value::Object(Map::new()),
        json => serde_json::from_str(json).map_err(|error| error.to_string())?,
    };
    if !arguments.is_object() {
        return Err("the arguments are no JSON object".to_owned());
    }
    Ok(ToolLine {
        name: name.to_owned(),
        arguments,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn directives_are_found_behind_quoting_marks() {
        for line in [
            "@@text hi",
            "> @@text hi",
            "| @@text hi",
            "  > > @@text hi  ",
            "> \u{2060}@@text hi",
            "\u{2060}@\u{2060}@\u{2060}text hi",
        ] {
            assert_eq!(Script::parse(line).text.as_deref(), Some("hi"), "{line}");
        }
    }

    #[test]
    fn prose_about_a_directive_is_no_directive() {
        for line in [
            "say @@text hi",
            "@text hi",
            "@@textual hi",
            "----------- @@text hi",
            "a@@text b",
        ] {
            assert_eq!(Script::parse(line), Script::default(), "{line}");
        }
    }

    #[test]
    fn tools_keep_their_order_and_arguments() {
        let script = Script::parse("[head]\n> @@tool a {\"x\":\"@y z\"}\n> @@tool b\n> bye");
        assert_eq!(
            script.tools,
            [
                ToolLine {
                    name: "a".to_owned(),
                    arguments: json!({"x": "@y z"})
                },
                ToolLine {
                    name: "b".to_owned(),
                    arguments: json!({})
                },
            ]
        );
    }

    #[test]
    fn numbers_and_names_are_read() {
        let script = Script::parse("@@slow 0.5\n@@hold gate\n@@error 529");
        assert_eq!(script.slow, Duration::from_millis(500));
        assert_eq!(script.hold.as_deref(), Some("gate"));
        assert_eq!(script.error, Some(529));
    }

    #[test]
    fn a_mistake_in_a_directive_is_answered_with_its_line() {
        for line in [
            "@@tool a {",
            "@@tool a [1]",
            "@@slow x",
            "@@slow -1",
            "@@error 42",
            "@@hold",
            "@@tool",
        ] {
            let fault = Script::parse(line).fault.expect(line);
            assert!(fault.contains(line), "{fault}");
        }
    }
}
