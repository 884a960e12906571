//! TOML as JSON: dates and times become text as they are written.

use serde_json::{Map, Number, Value};

/// Nesting of a document.
const DEPTH: usize = 64;

/// Parses a document; the error is a line, where one is known, and what is wrong there.
pub(super) fn to_json(text: &str) -> Result<Value, (Option<u64>, String)> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| {
            let before = text.as_bytes().get(..span.start).unwrap_or_default();
            memchr::memchr_iter(b'\n', before).count() as u64 + 1
        });
        (line, error.message().to_owned())
    })?;
    json(toml::Value::Table(table), 0).ok_or_else(|| (None, format!("nested deeper than {DEPTH}")))
}

fn json(value: toml::Value, depth: usize) -> Option<Value> {
    if depth > DEPTH {
        return None;
    }
    Some(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        // Infinity and not-a-number are no JSON.
        toml::Value::Float(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(time) => Value::String(time.to_string()),
        toml::Value::Array(list) => {
            let list = list.into_iter().map(|element| json(element, depth + 1));
            Value::Array(list.collect::<Option<_>>()?)
        }
        toml::Value::Table(table) => {
            let entries = table
                .into_iter()
                .map(|(key, value)| Some((key, json(value, depth + 1)?)));
            Value::Object(entries.collect::<Option<Map<_, _>>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn every_type_has_a_json_form() {
        let text = "a = 1\nf = 1.5\ninf = inf\nt = 2026-11-30T14:00:00Z\nl = [true, \"x\"]\n[s.\"k.y\"]\nd = 2026-11-30\n";
        assert_eq!(
            to_json(text).unwrap(),
            json!({
                "a": 1, "f": 1.5, "inf": null, "t": "2026-11-30T14:00:00Z",
                "l": [true, "x"], "s": {"k.y": {"d": "2026-11-30"}},
            })
        );
    }

    #[test]
    fn damage_has_a_line_and_depth_a_limit() {
        assert_eq!(to_json("a = 1\n\nb = \n").unwrap_err().0, Some(3));
        let deep = format!("a = {}{}", "[".repeat(50_000), "]".repeat(50_000));
        assert!(to_json(&deep).is_err());
        let dotted = format!("{} = 1", vec!["a"; 5_000].join("."));
        assert!(to_json(&dotted).is_err());
    }

    proptest! {
        #[test]
        fn no_text_is_too_much(text in r#"[\[\]{}"'=a.#,1\-:\n \\\\]{0,80}"#) {
            let _ = to_json(&text);
        }
    }
}
