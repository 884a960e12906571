//! Conditions on one record of a file.
//!
//! Inside `take` and `transcript`, a name that starts with `/` is a pointer into the
//! record and any other name a field of the file. Facts and targets belong to whole
//! rows, so they never hold here; `engine/discover` evaluates rows and records why.

use crate::{Row, World, pointer};
use axiowl_lang::cond::{Cond, Ops, Test};
use axiowl_lang::scalar::Pointer;
use axiowl_model::is_uuid;
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
            let value = fields.value(name).unwrap_or(Cow::Owned(Value::Null));
            match &test.value {
                Test::Equals(want) => equals(&value, want),
                Test::In(list) => list.iter().any(|want| equals(&value, want)),
                Test::Ops(ops) => passes(ops, &value, fields, world),
            }
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

fn passes(ops: &Ops, value: &Value, fields: &dyn Fields, world: Option<&World>) -> bool {
    let text = value.as_str();
    let path = || text.filter(|text| !text.is_empty());
    let other = |name: &str| fields.value(name).unwrap_or(Cow::Owned(Value::Null));
    let wanted = |want: Option<bool>, is: &dyn Fn() -> bool| want.is_none_or(|want| is() == want);
    let on = |want: Option<bool>, is: &dyn Fn(&World, &str) -> bool| match (want, world) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(want), Some(world)) => path().is_some_and(|path| is(world, path)) == want,
    };
    wanted(ops.present, &|| !blank(value))
        && wanted(ops.blank, &|| blank(value))
        && wanted(ops.uuid, &|| text.is_some_and(is_uuid))
        && ops.equals.as_ref().is_none_or(|want| equals(value, want))
        && ops
            .one_of
            .as_ref()
            .is_none_or(|list| list.iter().any(|want| equals(value, want)))
        && ops
            .matches
            .as_ref()
            .is_none_or(|p| text.is_some_and(|text| p.regex().is_match(text)))
        && ops.under.as_ref().is_none_or(|name| {
            let folders = other(name);
            path().is_some_and(|path| texts(&folders).any(|folder| under(path, folder)))
        })
        && on(ops.exists, &|world, path| world.exists(path))
        && on(ops.dir_exists, &|world, path| world.dir_exists(path))
        && on(ops.lock_held, &|world, path| {
            world.lock_held(path) == Some(true)
        })
        && on(ops.pid_alive, &|world, pid| {
            pid.parse().is_ok_and(|pid| world.pid_alive(pid, None))
        })
        && ops.newer_than.as_ref().is_none_or(|span| {
            let at = value.as_i64().zip(world);
            at.is_some_and(|(at, world)| world.is_newer(at, span.0))
        })
        && ops
            .same_as
            .as_ref()
            .is_none_or(|name| !blank(value) && *other(name) == *value)
        && ops.slug_of.as_ref().is_none_or(|name| {
            let folder = other(name);
            text.zip(folder.as_str())
                .is_some_and(|(path, folder)| slug_matches(path, folder))
        })
        && ops.md5_of.as_ref().is_none_or(|name| {
            let digest = other(name);
            text.zip(digest.as_str())
                .is_some_and(|(text, digest)| md5_matches(text, digest))
        })
        && ops.has.as_ref().is_none_or(|want| match value {
            Value::Array(list) => list.contains(want),
            Value::Object(map) => want.as_str().is_some_and(|key| map.contains_key(key)),
            _ => false,
        })
}

/// Absent, empty, or white space only.
pub(crate) fn blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A list equals a plain value when one of its elements does; numbers compare by value.
fn equals(value: &Value, want: &Value) -> bool {
    match (value, want) {
        (Value::Array(list), want) if !want.is_array() => list.contains(want),
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => value == want,
    }
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let many = value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    many.chain(value.as_str())
}

/// Whether `path` is `folder` or lies below it, with either platform's separators.
fn under(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches(['/', '\\']);
    let rest = path.strip_prefix(folder).filter(|_| !folder.is_empty());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
}

/// At most so many characters of a folder's name stand for a path; what follows is a
/// hash that providers compute in more than one way.
const SLUG: usize = 200;

/// Whether `folder` is the name made of `path` by turning every UTF-16 unit outside
/// `A-Za-z0-9` into `-`. Of a name longer than 200 characters the rest is not compared.
pub fn slug_matches(path: &str, folder: &str) -> bool {
    let flat = |c: char| {
        let kept = if c.is_ascii_alphanumeric() { c } else { '-' };
        std::iter::repeat_n(kept, c.len_utf16())
    };
    let mut slug = path.chars().flat_map(flat);
    let mut name = folder.chars();
    for _ in 0..SLUG {
        match (slug.next(), name.next()) {
            (None, None) => return true,
            (a, b) if a != b => return false,
            _ => {}
        }
    }
    match (slug.next(), name.next()) {
        (None, None) => true,
        (Some(_), Some(mark)) => mark == '-',
        _ => false,
    }
}

/// Whether `digest` is the MD5 of `text`, in hexadecimal digits of either case.
pub fn md5_matches(text: &str, digest: &str) -> bool {
    md5_hex(text).eq_ignore_ascii_case(digest)
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

    #[test]
    fn slugs_are_compared_by_utf16_units_and_cut() {
        assert!(slug_matches(
            "/home/dev/my_app.v2 (x)",
            "-home-dev-my-app-v2--x-"
        ));
        assert!(slug_matches("/n/\u{1F600}", "-n---"), "two units");
        assert!(!slug_matches("/n/x", "-n-X"));
        assert!(!slug_matches("/n/x", "-n-xy"));
        assert!(!slug_matches("/n/xy", "-n-x"));
        let long = "/".repeat(230);
        assert!(slug_matches(&long, &format!("{}-1abc", "-".repeat(200))));
        assert!(!slug_matches(&long, &"-".repeat(200)));
        assert!(!slug_matches(&"/".repeat(200), &"-".repeat(201)));
    }

    #[test]
    fn folders_contain_what_lies_below_them() {
        assert!(under("/a/b", "/a/") && under("/a", "/a") && under(r"C:\a\b", r"C:\a"));
        assert!(!under("/ab", "/a") && !under("/a", ""));
    }
}
