//! Conditions on one record of a file.
//!
//! Inside `take` and `transcript`, a name that starts with `/` is a pointer into the
//! record and any other name a field of the file. Facts and targets belong to whole
//! rows, so they never hold here; `engine/discover` evaluates rows and records why.

use crate::leaf::{Machine, leaves};
use crate::{Row, World, pointer};
use axiowl_lang::cond::{Cond, Test};
use axiowl_lang::scalar::Pointer;
use serde_json::Value;
use std::borrow::Cow;

/// Whether a record fits.
///
/// Tests that ask about the machine (`exists`, `dir_exists`, `newer_than`) do not hold,
/// whichever answer they want.
pub fn holds(cond: &Cond, record: &Value, file_row: &Row) -> bool {
    evaluate(cond, &Whole { record, file_row }, None)
}

/// Where the values that a condition names come from.
pub(crate) trait Fields {
    /// The value under a field name or pointer; nothing for null.
    fn value(&self, name: &str) -> Option<Cow<'_, Value>>;
}

/// A parsed record and the file it stands in.
struct Whole<'a> {
    record: &'a Value,
    file_row: &'a Row,
}

impl Fields for Whole<'_> {
    fn value(&self, name: &str) -> Option<Cow<'_, Value>> {
        if name.starts_with('/') {
            return pointer::find(Pointer::parse(name)?.segments(), self.record);
        }
        self.file_row.value(name)
    }
}

impl Fields for Row {
    fn value(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.get(name)
            .filter(|value| !value.is_null())
            .map(Cow::Borrowed)
    }
}

/// Evaluates over any fields; with a world, its tests hold too.
pub(crate) fn evaluate(cond: &Cond, fields: &dyn Fields, world: Option<&World>) -> bool {
    match cond {
        Cond::All(list) => list.iter().all(|c| evaluate(c, fields, world)),
        Cond::Any(list) => list.iter().any(|c| evaluate(c, fields, world)),
        Cond::Not(inner) => !evaluate(inner, fields, world),
        Cond::Fact(_) | Cond::Targeted(_) => false,
        Cond::Env(names) => world.is_some_and(|w| names.iter().any(|n| w.env(n).is_some())),
        Cond::Executable(names) => {
            world.is_some_and(|w| names.iter().any(|n| w.executable(n).is_some()))
        }
        Cond::Field { name, test } => {
            let other = |name: &str| fields.value(name).unwrap_or(Cow::Owned(Value::Null));
            let value = other(name);
            let machine = world.map(|world| world as &dyn Machine);
            leaves(test).all(|leaf| leaf.holds(&value, &other, machine))
        }
    }
}

/// Calls `visit` for every pointer a condition reads.
pub(crate) fn each_pointer(cond: &Cond, visit: &mut dyn FnMut(&str)) {
    cond.each_field(&mut |name, test| {
        let Test::Ops(ops) = &test.value else {
            return visit_pointer(name, visit);
        };
        visit_pointer(name, visit);
        for other in [&ops.same_as, &ops.slug_of, &ops.md5_of, &ops.under]
            .into_iter()
            .flatten()
        {
            visit_pointer(other, visit);
        }
    });
}

fn visit_pointer(name: &str, visit: &mut dyn FnMut(&str)) {
    if name.starts_with('/') {
        visit(name);
    }
}

/// The MD5 of a text, as lower-case hexadecimal digits.
pub fn md5_hex(text: &str) -> String {
    format!("{:x}", md5::compute(text))
}

/// A text in Base64, without padding.
pub fn base64_of(text: &str) -> String {
    crate::encoding::to_base64(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fits(cond: &str, record: &Value, row: &Value) -> bool {
        let cond: Cond = serde_yaml::from_str(cond).unwrap();
        holds(&cond, record, &Row::from(row.as_object().unwrap().clone()))
    }

    #[test]
    fn pointers_read_the_record_and_names_the_file() {
        let record = json!({"type": "user", "sessionId": "a", "meta": null, "n": 3, "tags": ["x"]});
        let row = json!({"stem": "a", "folder": "-home-dev-a-b"});
        for (cond, expected) in [
            ("{ /type: user }", true),
            ("{ /type: [assistant, user], /n: 3.0 }", true),
            ("{ /sessionId: { same_as: stem } }", true),
            ("{ /type: { same_as: /sessionId } }", false),
            ("{ not: { /isSidechain: true } }", true),
            ("{ /meta: { present: false, blank: true } }", true),
            ("{ /tags: x, /tags: { has: x } }", true),
            (
                "{ any: [ { /type: nobody }, { stem: { matches: \"^a$\" } } ] }",
                true,
            ),
            ("{ /sessionId: { uuid: true } }", false),
            ("{ /sessionId: { uuid: false } }", true),
            ("{ fact: anything }", false),
            ("{ targeted: exact }", false),
            ("{ /type: { exists: false } }", false),
            ("{ /n: { newer_than: 5s } }", false),
        ] {
            // The second key of the same name needs a list in YAML.
            let cond = cond.replace("/tags: x, /tags", "/tags");
            assert_eq!(fits(&cond, &record, &row), expected, "{cond}");
        }
    }
}
