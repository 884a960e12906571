//! Values of a database column in the types a rule declares.
//!
//! SQLite lets any cell hold any type, so a value is read as what it is and turned into
//! what was asked for; what cannot be turned is null. Times become milliseconds.

use axiowl_lang::scalar::ColumnKind;
use axiowl_model::Timestamp;
use rusqlite::types::ValueRef;
use serde_json::Value;

/// Bytes of a text cell that are kept.
pub(crate) const TEXT: usize = 1 << 20;
/// Bytes of a JSON cell that are parsed; a cut one would be none.
pub(crate) const JSON: usize = 16 << 20;

/// A value, and what was lost in reading it.
#[derive(Debug, PartialEq)]
pub(crate) struct Read {
    pub value: Value,
    pub loss: Option<Loss>,
}

/// What was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// A text was cut.
    Cut,
    /// A JSON cell is too big to be parsed.
    TooBig,
    /// A JSON cell is no JSON.
    NotJson,
}

/// Reads a cell.
pub(crate) fn read(cell: ValueRef<'_>, kind: ColumnKind) -> Read {
    let (value, loss) = match kind {
        ColumnKind::Text => text(cell),
        ColumnKind::Json => json(cell),
        ColumnKind::Int => (integer(cell).map_or(Value::Null, Value::from), None),
        ColumnKind::Real => (number(cell).map_or(Value::Null, Value::from), None),
        ColumnKind::Bool => (boolean(cell).map_or(Value::Null, Value::from), None),
        ColumnKind::UnixS => (millis(cell, 1_000.0), None),
        ColumnKind::UnixMs => (millis(cell, 1.0), None),
        ColumnKind::Rfc3339 => (written(cell), None),
        ColumnKind::Blob => (
            Value::Bool(bytes(cell).is_some_and(|b| !b.is_empty())),
            None,
        ),
    };
    Read { value, loss }
}

fn bytes(cell: ValueRef<'_>) -> Option<&[u8]> {
    match cell {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    }
}

fn text(cell: ValueRef<'_>) -> (Value, Option<Loss>) {
    match cell {
        ValueRef::Null => (Value::Null, None),
        ValueRef::Integer(number) => (Value::String(number.to_string()), None),
        ValueRef::Real(number) => (Value::String(number.to_string()), None),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            let kept = &bytes[..bytes.len().min(TEXT)];
            let mut text = String::from_utf8_lossy(kept).into_owned();
            let cut = bytes.len() > TEXT;
            if cut && text.ends_with('\u{fffd}') {
                // The cut went through a character.
                text.pop();
            }
            (Value::String(text), cut.then_some(Loss::Cut))
        }
    }
}

fn json(cell: ValueRef<'_>) -> (Value, Option<Loss>) {
    match cell {
        ValueRef::Null => (Value::Null, None),
        ValueRef::Integer(number) => (Value::from(number), None),
        ValueRef::Real(number) => (Value::from(number), None),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            if bytes.len() > JSON {
                return (Value::Null, Some(Loss::TooBig));
            }
            if bytes.iter().all(u8::is_ascii_whitespace) {
                return (Value::Null, None);
            }
            match serde_json::from_slice(bytes) {
                Ok(value) => (value, None),
                Err(_) => (Value::Null, Some(Loss::NotJson)),
            }
        }
    }
}

fn number(cell: ValueRef<'_>) -> Option<f64> {
    match cell {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        cell => std::str::from_utf8(bytes(cell)?).ok()?.trim().parse().ok(),
    }
    .filter(|number| number.is_finite())
}

fn integer(cell: ValueRef<'_>) -> Option<i64> {
    match cell {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) => whole(number),
        cell => {
            let text = std::str::from_utf8(bytes(cell)?).ok()?.trim();
            text.parse().ok().or_else(|| whole(text.parse().ok()?))
        }
    }
}

/// A floating point number without its fraction, where an integer can hold it.
fn whole(number: f64) -> Option<i64> {
    let limit = 9_223_372_036_854_774_784.0;
    (number.is_finite() && number.abs() <= limit).then_some(number as i64)
}

fn boolean(cell: ValueRef<'_>) -> Option<bool> {
    match cell {
        ValueRef::Integer(number) => Some(number != 0),
        ValueRef::Real(number) => Some(number != 0.0),
        cell => match std::str::from_utf8(bytes(cell)?).ok()?.trim() {
            text if text.eq_ignore_ascii_case("true") => Some(true),
            text if text.eq_ignore_ascii_case("false") => Some(false),
            text => Some(text.parse::<f64>().ok()? != 0.0),
        },
    }
}

/// A time counted from the epoch; `unit` is its length in milliseconds.
fn millis(cell: ValueRef<'_>, unit: f64) -> Value {
    let exact = || integer(cell).filter(|_| !matches!(cell, ValueRef::Real(_)));
    let millis = match exact() {
        Some(count) => count.checked_mul(unit as i64),
        None => number(cell).and_then(|count| whole((count * unit).round())),
    };
    millis.map_or(Value::Null, |millis| {
        Timestamp::from_millis(millis).as_millis().into()
    })
}

/// A written time: RFC 3339, or the form SQLite's own functions write, which is UTC.
fn written(cell: ValueRef<'_>) -> Value {
    let parse = || {
        let text = std::str::from_utf8(bytes(cell)?).ok()?.trim();
        let bare = || format!("{}Z", text.replacen(' ', "T", 1));
        let time: Option<Timestamp> = text.parse().ok().or_else(|| bare().parse().ok());
        Some(time?.as_millis())
    };
    parse().map_or(Value::Null, Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(cell: ValueRef<'_>, kind: ColumnKind) -> Value {
        read(cell, kind).value
    }

    #[test]
    fn cells_become_what_was_declared() {
        use ColumnKind::*;
        let text = |t: &'static str| ValueRef::Text(t.as_bytes());
        for (cell, kind, expected) in [
            (ValueRef::Integer(7), Text, json!("7")),
            (ValueRef::Blob(b"b\xff"), Text, json!("b\u{fffd}")),
            (text(" 12 "), Int, json!(12)),
            (ValueRef::Real(3.9), Int, json!(3)),
            (text("x"), Int, json!(null)),
            (text("1e400"), Real, json!(null)),
            (ValueRef::Integer(2), Bool, json!(true)),
            (text("False"), Bool, json!(false)),
            (text("yes"), Bool, json!(null)),
            (
                ValueRef::Integer(1_796_046_950),
                UnixS,
                json!(1_796_046_950_000_i64),
            ),
            (ValueRef::Real(1.5), UnixS, json!(1500)),
            (ValueRef::Integer(i64::MAX), UnixS, json!(null)),
            (
                ValueRef::Integer(1_796_046_950_140),
                UnixMs,
                json!(1_796_046_950_140_i64),
            ),
            (
                text("2026-11-30T13:55:50.14Z"),
                Rfc3339,
                json!(1_796_046_950_140_i64),
            ),
            (
                text("2026-11-30 13:55:50"),
                Rfc3339,
                json!(1_796_046_950_000_i64),
            ),
            (text("soon"), Rfc3339, json!(null)),
            (text("{\"a\":[1]}"), Json, json!({"a": [1]})),
            (text(""), Json, json!(null)),
            (ValueRef::Null, Bool, json!(null)),
        ] {
            assert_eq!(of(cell, kind), expected, "{cell:?} as {kind:?}");
        }
    }

    #[test]
    fn what_is_lost_is_said() {
        let long = "\u{e9}".repeat(TEXT);
        let read_long = read(ValueRef::Text(&long.as_bytes()[1..]), ColumnKind::Text);
        assert_eq!(read_long.loss, Some(Loss::Cut));
        let kept = read_long.value.as_str().unwrap();
        assert!(kept.len() <= TEXT + 3 && kept.ends_with('\u{e9}'));
        assert_eq!(
            read(ValueRef::Text(b"{"), ColumnKind::Json).loss,
            Some(Loss::NotJson)
        );
    }
}
