//! Rows from the values of named keys, as editors keep their state.
//!
//! A value is JSON, or a protobuf message, in a text or a blob, as it is or encoded. One
//! that cannot be read says nothing: its sessions would look as if they were gone. It must
//! not know what a key means.

use super::rows::{ELEMENTS, Found, quoted};
use crate::column::JSON;
use crate::document::{Form, elements, take, value};
use crate::file::Hit;
use crate::{Row, encoding, wire};
use axiowl_lang::source::{KEY_FIELD, KeyValue, Sqlite};
use axiowl_model::codes;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};
use serde_json::Value;

/// Reads the first named key that has a value, or every key with the prefix.
pub(super) fn run(
    connection: &Connection,
    keys: &KeyValue,
    rule: &Sqlite,
    hit: &Hit,
    found: &mut Found,
) -> Result<(), Error> {
    let (table, key, value) = (quoted(&keys.table), quoted(&keys.key), quoted(&keys.value));
    let base = hit.fields();
    match &keys.prefix {
        None => {
            let sql = format!("SELECT {value} FROM {table} WHERE {key} = ?1");
            let mut statement = connection.prepare(&sql)?;
            for name in &keys.keys {
                let mut rows = statement.query([name.as_str()])?;
                let Some(row) = rows.next()? else { continue };
                if row.get_ref(0)? != ValueRef::Null {
                    found.value(keys, name, row.get_ref(0)?, base, hit);
                    return Ok(());
                }
            }
        }
        Some(prefix) => {
            // A range, so that the index of the keys is used and not the whole table read.
            let sql = format!(
                "SELECT {key}, {value} FROM {table} WHERE {key} >= ?1 AND {key} < ?2 ORDER BY {key}"
            );
            let mut statement = connection.prepare(&sql)?;
            let beyond = format!("{}\u{10ffff}", prefix.as_str());
            let mut rows = statement.query([prefix.as_str(), beyond.as_str()])?;
            let mut number = 0;
            while let Some(row) = rows.next()? {
                number += 1;
                if number > rule.max_rows {
                    let message =
                        format!("more than {} keys; the rest was not read", rule.max_rows);
                    found.gap(hit, codes::CAP, message);
                    break;
                }
                let name = match row.get_ref(0)? {
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => encoding::text(bytes),
                    _ => continue,
                };
                let rest = name.strip_prefix(prefix.as_str()).unwrap_or(&name);
                let mut base = base.clone();
                base.insert(KEY_FIELD.into(), Value::from(rest));
                found.value(keys, &name, row.get_ref(1)?, base, hit);
            }
        }
    }
    Ok(())
}

impl Found {
    /// The rows of one value.
    fn value(&mut self, keys: &KeyValue, name: &str, cell: ValueRef<'_>, base: Row, hit: &Hit) {
        let bytes = match cell {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => &[],
        };
        if bytes.len() > JSON {
            let message =
                format!("the value of `{name}` has more than {JSON} bytes and was not read");
            return self.gap(hit, codes::CAP, message);
        }
        let Some(bytes) = wire::decoded(bytes, keys.encoding) else {
            let message =
                format!("the value of `{name}` is not written in the encoding of its rule");
            return self.gap(hit, codes::DAMAGED, message);
        };
        match &keys.protobuf {
            Some(message) => self.message_value(message, name, &bytes, base, hit),
            None => self.json_value(keys, name, &bytes, base, hit),
        }
    }

    fn json_value(&mut self, keys: &KeyValue, name: &str, bytes: &[u8], base: Row, hit: &Hit) {
        let text = encoding::text(bytes);
        let document = match value(text.as_bytes(), Form::Json) {
            Ok(document) => document,
            Err((_, what)) => {
                let message = format!("the value of `{name}` is no JSON: {what}");
                return self.gap(hit, codes::DAMAGED, message);
            }
        };
        let mut own = base;
        let known = take(&keys.fields, &document, &mut own);
        self.doc.get_or_insert_with(|| own.clone());
        let Some(each) = &keys.each else {
            if !known {
                let what = format!("none of the fields is in the value of `{name}`");
                self.report.strange(&hit.recorded, 0, &what);
            }
            self.rows.push(own);
            return;
        };
        for value in own.values_mut().filter(|v| v.is_array() || v.is_object()) {
            // A list in every row would cost the square of the value.
            *value = Value::Null;
        }
        match elements(each, &document, &own) {
            Some(rows) => self.extend(rows, hit, name),
            None if known => {}
            None => {
                let what = format!("no list stands in the value of `{name}`");
                self.report.strange(&hit.recorded, 0, &what);
            }
        }
    }

    fn message_value(
        &mut self,
        message: &axiowl_lang::source::Message,
        name: &str,
        bytes: &[u8],
        base: Row,
        hit: &Hit,
    ) {
        if !wire::is_message(bytes) {
            let message = format!("the value of `{name}` is no protobuf message");
            return self.gap(hit, codes::DAMAGED, message);
        }
        let mut own = base;
        let known = wire::take(&message.fields, bytes, &mut own);
        self.doc.get_or_insert_with(|| own.clone());
        match &message.each {
            Some(each) => {
                let rows = wire::elements(each, bytes, &own, ELEMENTS);
                self.extend(rows, hit, name);
            }
            None => {
                if !known {
                    let what = format!("none of the fields is in the value of `{name}`");
                    self.report.strange(&hit.recorded, 0, &what);
                }
                self.rows.push(own);
            }
        }
    }
}

#[cfg(test)]
mod tests;
