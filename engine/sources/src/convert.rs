//! Turns fields into what rules compare, after a reader took them.
//!
//! One place for every reader. What cannot be converted is absent, as is a field nobody
//! wrote. It must not know which source a field is from.

use crate::read::Table;
use crate::{Row, encoding};
use axiowl_lang::at::At;
use axiowl_lang::source::{Convert, Converts};
use axiowl_model::Timestamp;
use serde_json::Value;

/// Converts the fields of every row of a table and of its document.
pub(crate) fn apply(converts: &Converts, table: &mut Table) {
    if converts.is_empty() {
        return;
    }
    for row in table.rows.iter_mut().chain(&mut table.doc) {
        row_fields(converts, row);
    }
}

/// Converts the fields of one row.
pub(crate) fn row_fields(converts: &Converts, row: &mut Row) {
    for (field, steps) in converts {
        if row[field.as_str()].is_null() {
            continue;
        }
        if let Some(value) = row.get_mut(field) {
            *value = converted(steps, value.take());
        }
    }
}

fn converted(steps: &[At<Convert>], value: Value) -> Value {
    steps.iter().fold(value, |value, step| match value {
        Value::Array(list) => {
            let elements = list
                .iter()
                .filter_map(|element| step_of(step.value, element));
            Value::Array(elements.collect())
        }
        value => step_of(step.value, &value).unwrap_or(Value::Null),
    })
}

fn step_of(step: Convert, value: &Value) -> Option<Value> {
    let text = value.as_str();
    match step {
        Convert::FilePath => encoding::file_path(text?).map(Value::String),
        Convert::PercentDecode => encoding::percent(text?).map(Value::String),
        Convert::LastSegment => {
            let text = text?.trim_end_matches('/');
            let last = text.rsplit('/').next().filter(|last| !last.is_empty())?;
            Some(Value::String(last.to_owned()))
        }
        Convert::Base64 => {
            let bytes = encoding::base64(text?.as_bytes())?;
            String::from_utf8(bytes).ok().map(Value::String)
        }
        Convert::Json => serde_json::from_str(text?).ok(),
        Convert::UnixS => {
            let seconds = match value {
                Value::String(text) => text.trim().parse().ok()?,
                value => value.as_f64()?,
            };
            let millis = (seconds * 1_000.0).round();
            // Beyond these an integer of 53 bits is no longer exact, and no time either.
            (millis.abs() < 9.0e15).then(|| Value::from(millis as i64))
        }
        Convert::Rfc3339 => {
            let time: Timestamp = text?.trim().parse().ok()?;
            Some(Value::from(time.as_millis()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(value: Value) -> Row {
        Row::from(value.as_object().unwrap().clone())
    }

    #[test]
    fn fields_are_converted_one_step_after_the_other() {
        let converts: Converts = serde_yaml::from_str(
            "{ id: [last_segment, base64], folder: file_path, cwd: percent_decode, \
             uris: [json, file_path], seen: unix_s, at: rfc3339, gone: base64 }",
        )
        .unwrap();
        let mut row = row(json!({
            "id": "chat://local/YWItYw", "folder": "file:///a%20b", "cwd": "%2Fx", "n": 1,
            "uris": "[\"file:///a\", 1]", "seen": 1.5, "at": "1970-01-01T00:00:02Z", "gone": "\u{e9}",
        }));
        row_fields(&converts, &mut row);
        assert_eq!(
            row,
            json!({
                "id": "ab-c", "folder": "/a b", "cwd": "/x", "n": 1,
                "uris": ["/a"], "seen": 1500, "at": 2000, "gone": null,
            })
        );
        let converts: Converts = serde_yaml::from_str("{ a: file_path, b: json }").unwrap();
        let mut row =
            self::row(json!({ "a": ["file:///x", "ssh://y/z", 3, "/z"], "b": "{\"c\":[1]}" }));
        row_fields(&converts, &mut row);
        assert_eq!(row, json!({ "a": ["/x", "/z"], "b": {"c": [1]} }));
    }
}
