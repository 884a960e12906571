//! Protobuf's wire format without a schema: fields by their numbers.
//!
//! Works on bytes that are already in memory, copies nothing until a value is taken, and
//! goes no deeper than a path does. Bytes that are no message give no value. It must not
//! know what a number means.

use crate::{Row, encoding};
use axiowl_lang::scalar::{ProtoPath, ProtoStep, ReadAs};
use axiowl_lang::source::{ProtoEach, ProtoFields};
use axiowl_model::Timestamp;
use serde_json::Value;
use std::borrow::Cow;

/// Groups within groups that are skipped; deeper ones are no message.
const GROUPS: usize = 32;
/// Bytes of a text or of bytes that are kept.
const KEPT: usize = 1 << 20;
/// Values of a repeated text that are kept.
const LIST: usize = 1_000;

/// A value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wire<'b> {
    /// A number, of any width.
    Number(u64),
    /// A text, bytes, or a message.
    Bytes(&'b [u8]),
}

/// The fields of a message in order; ends after the first thing that is none.
struct Fields<'b> {
    rest: &'b [u8],
    damaged: bool,
}

impl<'b> Fields<'b> {
    fn of(message: &'b [u8]) -> Self {
        Self {
            rest: message,
            damaged: false,
        }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for (at, byte) in self.rest.iter().take(10).enumerate() {
            let part = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if at == 9 && part > 1 {
                return None;
            }
            value |= part << (7 * at);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[at + 1..];
                return Some(value);
            }
        }
        None
    }

    fn bytes(&mut self, length: u64) -> Option<&'b [u8]> {
        let length = usize::try_from(length).ok()?;
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    /// A field's number and value; groups are skipped.
    fn field(&mut self, depth: usize) -> Option<(u32, Option<Wire<'b>>)> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|n| *n > 0)?;
        let value = match key & 7 {
            0 => Wire::Number(self.varint()?),
            1 => {
                let bytes = self.bytes(8)?;
                Wire::Number(u64::from_le_bytes(bytes.try_into().ok()?))
            }
            2 => {
                let length = self.varint()?;
                Wire::Bytes(self.bytes(length)?)
            }
            5 => {
                let bytes = self.bytes(4)?;
                Wire::Number(u32::from_le_bytes(bytes.try_into().ok()?).into())
            }
            3 if depth < GROUPS => {
                self.group(number, depth + 1)?;
                return Some((number, None));
            }
            _ => return None,
        };
        Some((number, Some(value)))
    }

    fn group(&mut self, number: u32, depth: usize) -> Option<()> {
        loop {
            let before = self.rest;
            let key = self.varint()?;
            if key & 7 == 4 {
                return (key >> 3 == u64::from(number)).then_some(());
            }
            self.rest = before;
            self.field(depth)?;
        }
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = (u32, Wire<'b>);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() && !self.damaged {
            match self.field(0) {
                Some((number, Some(value))) => return Some((number, value)),
                Some((_, None)) => {}
                None => self.damaged = true,
            }
        }
        None
    }
}

/// Whether the bytes are a message from their first to their last.
pub(crate) fn is_message(bytes: &[u8]) -> bool {
    let mut fields = Fields::of(bytes);
    fields.by_ref().for_each(drop);
    !fields.damaged
}

/// Calls `visit` for every value a path leads to, until it answers that this is enough.
fn each_value(bytes: &[u8], steps: &[ProtoStep], visit: &mut dyn FnMut(Wire<'_>) -> bool) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return visit(Wire::Bytes(bytes));
    };
    let number = match step {
        ProtoStep::Base64 => {
            let decoded = encoding::base64(bytes);
            return decoded.is_some_and(|decoded| each_value(&decoded, rest, visit));
        }
        ProtoStep::Field(number) => *number,
    };
    for (found, value) in Fields::of(bytes) {
        if found != number {
            continue;
        }
        let enough = match value {
            Wire::Bytes(inner) => each_value(inner, rest, visit),
            value => rest.is_empty() && visit(value),
        };
        if enough {
            return true;
        }
    }
    false
}

/// The value of a path; of a repeated field the first one that can be read.
fn value(bytes: &[u8], path: &ProtoPath) -> Option<Value> {
    let mut list = Vec::new();
    let mut found = None;
    each_value(bytes, &path.steps, &mut |wire| {
        if path.read == ReadAs::Texts {
            list.extend(read(wire, ReadAs::Text));
            return list.len() >= LIST;
        }
        found = read(wire, path.read);
        found.is_some()
    });
    match path.read {
        ReadAs::Texts => (!list.is_empty()).then_some(Value::Array(list)),
        _ => found,
    }
}

fn read(wire: Wire<'_>, read: ReadAs) -> Option<Value> {
    // A negative number is written as its two's complement.
    let number = match wire {
        Wire::Number(number) => Some(number as i64),
        Wire::Bytes(_) => None,
    };
    match (read, wire) {
        (ReadAs::Text | ReadAs::Texts, Wire::Bytes(bytes)) => {
            let kept = &bytes[..bytes.len().min(KEPT)];
            Some(Value::String(String::from_utf8_lossy(kept).into_owned()))
        }
        (ReadAs::Text | ReadAs::Texts, Wire::Number(_)) => {
            number.map(|number| Value::String(number.to_string()))
        }
        (ReadAs::Bytes, Wire::Bytes(bytes)) => {
            let kept = &bytes[..bytes.len().min(KEPT)];
            Some(Value::String(encoding::to_hex(kept)))
        }
        (ReadAs::Bytes, Wire::Number(_)) => None,
        (ReadAs::Int, _) => number.map(Value::from),
        (ReadAs::Bool, _) => number.map(|number| Value::Bool(number != 0)),
        (ReadAs::UnixS, _) => time(number?.checked_mul(1_000)?),
        (ReadAs::UnixMs, _) => time(number?),
    }
}

fn time(millis: i64) -> Option<Value> {
    Some(Value::from(Timestamp::from_millis(millis).as_millis()))
}

/// Puts fields of a message into a row, null where there is no value; true when any has one.
pub(crate) fn take(fields: &ProtoFields, message: &[u8], row: &mut Row) -> bool {
    let mut any = false;
    for (field, paths) in fields {
        let found = paths.iter().find_map(|path| value(message, path));
        any |= found.is_some();
        row.insert(field.into(), found.unwrap_or(Value::Null));
    }
    any
}

/// One row for each message a path leads to, each starting as `base`; at most one more than
/// `most`.
pub(crate) fn elements(each: &ProtoEach, message: &[u8], base: &Row, most: usize) -> Vec<Row> {
    let mut out = Vec::new();
    each_value(message, &each.at.steps, &mut |wire| {
        if let Wire::Bytes(bytes) = wire {
            let mut row = base.clone();
            take(&each.fields, bytes, &mut row);
            out.push(row);
        }
        out.len() > most
    });
    out
}

/// The bytes of a cell as a message, decoded.
pub(crate) fn decoded(
    bytes: &[u8],
    encoding: axiowl_lang::source::Encoding,
) -> Option<Cow<'_, [u8]>> {
    use axiowl_lang::source::Encoding;
    Some(match encoding {
        Encoding::Plain => Cow::Borrowed(bytes),
        Encoding::Hex => Cow::Owned(encoding::hex(bytes)?),
        Encoding::Base64 => Cow::Owned(encoding::base64(bytes)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// A field that holds bytes.
    fn len(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, bytes.len() as u8];
        out.extend(bytes);
        out
    }

    fn taken(message: &[u8], fields: &str) -> Value {
        let fields: ProtoFields = serde_yaml::from_str(fields).unwrap();
        let mut row = Row::new();
        take(&fields, message, &mut row);
        row.into()
    }

    #[test]
    fn paths_lead_to_values_of_every_type() {
        let summary = [
            len(1, "Caf\u{e9}".as_bytes()),
            vec![0x10, 0x02],
            len(3, &[0x08, 0xbc, 0xf7, 0xc4, 0xd5, 0x06]),
            len(9, &len(1, b"file:///a")),
            len(9, &len(1, b"file:///b")),
            // A fixed64, a fixed32 and a group around a varint.
            vec![
                0x21, 1, 0, 0, 0, 0, 0, 0, 0, 0x2d, 7, 0, 0, 0, 0x33, 0x08, 0x05, 0x34,
            ],
            vec![
                0x38, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
            ],
        ]
        .concat();
        let message = [len(1, b"id-1"), len(2, &summary)].concat();
        assert!(is_message(&message));
        assert_eq!(
            taken(
                &message,
                r#"{ id: "1", title: ["2.40", "2.1"], steps: "2.2 as int", at: "2.3.1 as unix_s",
                     first: "2.9.1", all: "2.9.1 as texts", fixed: "2.4 as bool", small: "2.5 as int",
                     minus: "2.7 as int", hex: "1 as bytes", none: "3.1", odd: "1.1.1" }"#
            ),
            json!({
                "id": "id-1", "title": "Caf\u{e9}", "steps": 2, "at": 1_790_000_060_000_i64,
                "first": "file:///a", "all": ["file:///a", "file:///b"], "fixed": true, "small": 7,
                "minus": -1, "hex": "69642d31", "none": null, "odd": null,
            })
        );
        let each: ProtoEach =
            serde_yaml::from_str(r#"{ at: "2.9", fields: { uri: "1" } }"#).unwrap();
        assert_eq!(elements(&each, &message, &Row::new(), 10).len(), 2);
        assert_eq!(
            elements(&each, &message, &Row::new(), 1).len(),
            2,
            "one more says there is more"
        );
    }

    #[test]
    fn base64_on_the_way_is_decoded() {
        use base64::Engine;
        let inner = base64::engine::general_purpose::STANDARD.encode(len(1, b"title"));
        let message = len(2, &len(1, inner.as_bytes()));
        assert_eq!(
            taken(&message, r#"{ t: "2.1.base64.1" }"#),
            json!({ "t": "title" })
        );
        assert_eq!(
            taken(&len(1, b"{}"), r#"{ t: "1.base64.1" }"#),
            json!({ "t": null })
        );
    }

    #[test]
    fn what_is_no_message_is_said() {
        for bytes in [
            &[0x0a, 0x05, b'x'][..],
            &[0x00],
            &[0x08],
            &[
                0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02,
            ],
            &[0x0c],
            &[0x33, 0x08],
            &[0x33, 0x3c],
        ] {
            assert!(!is_message(bytes), "{bytes:?}");
        }
        assert!(
            !is_message(&[0x0b; 4000]),
            "groups within groups have a limit"
        );
        assert!(is_message(b""));
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let fields: ProtoFields =
                serde_yaml::from_str(r#"{ a: "1.1 as texts", b: "1.base64.2", c: "2 as unix_s", d: "1.2.3 as bytes" }"#).unwrap();
            let mut row = Row::new();
            take(&fields, &bytes, &mut row);
            prop_assert_eq!(row.len(), 4);
            is_message(&bytes);
        }

        #[test]
        fn what_was_written_is_read(texts in proptest::collection::vec("[a-z]{0,20}", 1..20), number in any::<i64>()) {
            let mut message: Vec<u8> = texts.iter().flat_map(|t| len(4, &len(1, t.as_bytes()))).collect();
            message.push(0x18);
            let mut rest = number as u64;
            while rest > 0x7f {
                message.push((rest & 0x7f) as u8 | 0x80);
                rest >>= 7;
            }
            message.push(rest as u8);
            prop_assert!(is_message(&message));
            let row = taken(&message, r#"{ t: "4.1 as texts", n: "3 as int" }"#);
            prop_assert_eq!(&row["t"], &json!(texts));
            prop_assert_eq!(&row["n"], &json!(number));
        }
    }
}
