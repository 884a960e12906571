//! The tests of a condition's leaf, for rows and for records of a file alike: what each asks of a
//! value, and the order in which they are asked. What an answer means to a person is said
//! elsewhere.

use crate::World;
use axiowl_lang::cond::{OPS, Ops, Test};
use axiowl_lang::scalar::Pattern;
use axiowl_model::is_uuid;
use serde_json::Value;
use std::borrow::Cow;

/// One test of a leaf, with what it wants.
#[derive(Debug, Clone, Copy)]
pub enum Leaf<'o> {
    /// There is a value, and it is not blank; or not.
    Present(bool),
    /// Absent, empty, or white space only; or not.
    Blank(bool),
    /// This value.
    Equals(&'o Value),
    /// One of these.
    OneOf(&'o [Value]),
    /// A text of this form.
    Matches(&'o Pattern),
    /// The form of a UUID, or another.
    Uuid(bool),
    /// In or below a folder that this field lists.
    Under(&'o str),
    /// A path of something that exists, or does not.
    Exists(bool),
    /// A path of a folder that exists, or does not.
    DirExists(bool),
    /// A path of a file that is locked, or not.
    LockHeld(bool),
    /// The number of a running process, or not.
    PidAlive(bool),
    /// A time not longer ago than so many milliseconds.
    NewerThan(i64),
    /// What this field has.
    SameAs(&'o str),
    /// The path that this field is a folder's name for.
    SlugOf(&'o str),
    /// The text whose MD5 this field has.
    Md5Of(&'o str),
    /// A list or mapping that holds this.
    Has(&'o Value),
}

/// What a leaf may ask about the machine.
pub trait Machine {
    /// Whether there is something at a path.
    fn exists(&self, path: &str) -> bool;
    /// Whether there is a folder at a path.
    fn dir_exists(&self, path: &str) -> bool;
    /// Whether a file is locked; `None` where nobody can tell.
    fn lock_held(&self, path: &str) -> Option<bool>;
    /// Whether a process runs.
    fn pid_alive(&self, pid: u32) -> bool;
    /// Whether a time is not longer ago than a span.
    fn is_newer(&self, at: i64, span: i64) -> bool;
}

impl Machine for World {
    fn exists(&self, path: &str) -> bool {
        self.exists(path)
    }

    fn dir_exists(&self, path: &str) -> bool {
        self.dir_exists(path)
    }

    fn lock_held(&self, path: &str) -> Option<bool> {
        self.lock_held(path)
    }

    fn pid_alive(&self, pid: u32) -> bool {
        self.pid_alive(pid, None)
    }

    fn is_newer(&self, at: i64, span: i64) -> bool {
        self.is_newer(at, span)
    }
}

/// The tests of a leaf, in the order in which they are asked.
pub fn leaves(test: &Test) -> impl Iterator<Item = Leaf<'_>> {
    let (plain, ops) = match test {
        Test::Equals(want) => (Some(Leaf::Equals(want)), None),
        Test::In(list) => (Some(Leaf::OneOf(list)), None),
        Test::Ops(ops) => (None, Some(ops.as_ref())),
    };
    plain.into_iter().chain(ops.into_iter().flat_map(of_ops))
}

/// One after the other, since most have one test and this is asked for every row.
fn of_ops(ops: &Ops) -> impl Iterator<Item = Leaf<'_>> {
    (0..OPS.len()).filter_map(|number| nth(ops, number))
}

/// The test of that number, in the order of [`OPS`]. Every field of [`Ops`] is named here, so that
/// a new one cannot be forgotten: a test that is never asked would hold.
fn nth(ops: &Ops, number: usize) -> Option<Leaf<'_>> {
    let Ops {
        present,
        blank,
        equals,
        one_of,
        matches,
        uuid,
        under,
        exists,
        dir_exists,
        lock_held,
        pid_alive,
        newer_than,
        same_as,
        slug_of,
        md5_of,
        has,
    } = ops;
    match number {
        0 => present.map(Leaf::Present),
        1 => blank.map(Leaf::Blank),
        2 => equals.as_ref().map(Leaf::Equals),
        3 => one_of.as_deref().map(Leaf::OneOf),
        4 => matches.as_deref().map(Leaf::Matches),
        5 => uuid.map(Leaf::Uuid),
        6 => under.as_ref().map(|name| Leaf::Under(name)),
        7 => exists.map(Leaf::Exists),
        8 => dir_exists.map(Leaf::DirExists),
        9 => lock_held.map(Leaf::LockHeld),
        10 => pid_alive.map(Leaf::PidAlive),
        11 => newer_than.as_ref().map(|span| Leaf::NewerThan(span.0)),
        12 => same_as.as_ref().map(|name| Leaf::SameAs(name)),
        13 => slug_of.as_ref().map(|name| Leaf::SlugOf(name)),
        14 => md5_of.as_ref().map(|name| Leaf::Md5Of(name)),
        15 => has.as_ref().map(Leaf::Has),
        _ => None,
    }
}

impl Leaf<'_> {
    /// Whether a value passes. `other` gives the values of other fields. What is asked about a
    /// machine that is not there does not hold, whichever answer is wanted.
    pub fn holds<'v>(
        self,
        value: &Value,
        other: &dyn Fn(&str) -> Cow<'v, Value>,
        machine: Option<&dyn Machine>,
    ) -> bool {
        let text = value.as_str();
        // No path leads nowhere: it does not exist.
        let path = |want: bool, is: &dyn Fn(&dyn Machine, &str) -> bool| {
            machine.is_some_and(|machine| {
                let path = text.filter(|text| !text.is_empty());
                path.is_some_and(|path| is(machine, path)) == want
            })
        };
        let with = |name: &str, fits: &dyn Fn(&str, &str) -> bool| {
            let other = other(name);
            let both = text.zip(other.as_str());
            both.is_some_and(|(text, other)| fits(text, other))
        };
        match self {
            Self::Present(want) => blank(value) != want,
            Self::Blank(want) => blank(value) == want,
            Self::Equals(want) => equals(value, want),
            Self::OneOf(list) => list.iter().any(|want| equals(value, want)),
            Self::Matches(pattern) => text.is_some_and(|text| pattern.regex().is_match(text)),
            Self::Uuid(want) => text.is_some_and(is_uuid) == want,
            Self::Under(name) => {
                let folders = other(name);
                text.is_some_and(|text| texts(&folders).any(|folder| under(text, folder)))
            }
            Self::Exists(want) => path(want, &|machine, path| machine.exists(path)),
            Self::DirExists(want) => path(want, &|machine, path| machine.dir_exists(path)),
            Self::LockHeld(want) => {
                // Where nobody can tell, neither answer holds.
                let held = |machine: &dyn Machine| match text.filter(|text| !text.is_empty()) {
                    Some(path) => machine.lock_held(path),
                    None => Some(false),
                };
                machine.and_then(held) == Some(want)
            }
            Self::PidAlive(want) => machine.is_some_and(|machine| {
                pid(value).is_some_and(|pid| machine.pid_alive(pid)) == want
            }),
            Self::NewerThan(span) => {
                let at = value.as_i64().zip(machine);
                at.is_some_and(|(at, machine)| machine.is_newer(at, span))
            }
            Self::SameAs(name) => !blank(value) && *other(name) == *value,
            Self::SlugOf(name) => with(name, &slug_matches),
            Self::Md5Of(name) => with(name, &md5_matches),
            Self::Has(want) => match value {
                Value::Array(list) => list.contains(want),
                Value::Object(map) => want.as_str().is_some_and(|key| map.contains_key(key)),
                _ => false,
            },
        }
    }
}

/// Absent, empty, or white space only.
pub fn blank(value: &Value) -> bool {
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

/// A process number, as a number or as text.
fn pid(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => u32::try_from(number.as_u64()?).ok(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
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
fn slug_matches(path: &str, folder: &str) -> bool {
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
    crate::record::md5_hex(text).eq_ignore_ascii_case(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
    fn every_test_that_a_rule_may_write_is_asked() {
        for name in OPS {
            let value = match name {
                "in" => "[a]",
                "newer_than" => "5s",
                "equals" | "has" | "matches" | "under" | "same_as" | "slug_of" | "md5_of" => "a",
                _ => "true",
            };
            let test: Test = serde_yaml::from_str(&format!("{{ {name}: {value} }}")).unwrap();
            assert_eq!(leaves(&test).count(), 1, "{name}");
        }
    }

    #[test]
    fn folders_contain_what_lies_below_them() {
        assert!(under("/a/b", "/a/") && under("/a", "/a") && under(r"C:\a\b", r"C:\a"));
        assert!(!under("/ab", "/a") && !under("/a", ""));
    }

    /// Knows one path, one lock it can tell of and one it cannot, and one process.
    struct Small;

    impl Machine for Small {
        fn exists(&self, path: &str) -> bool {
            path == "/here"
        }
        fn dir_exists(&self, path: &str) -> bool {
            path == "/here"
        }
        fn lock_held(&self, path: &str) -> Option<bool> {
            (path != "/unknown").then_some(path == "/here")
        }
        fn pid_alive(&self, pid: u32) -> bool {
            pid == 7
        }
        fn is_newer(&self, at: i64, span: i64) -> bool {
            100 - at <= span
        }
    }

    #[test]
    fn what_a_machine_says_is_taken_one_way_and_without_one_nothing_holds() {
        let none = |_: &str| Cow::Owned(Value::Null);
        for (leaf, value, expected) in [
            (Leaf::Exists(true), json!("/here"), true),
            (Leaf::Exists(false), json!("/gone"), true),
            (Leaf::Exists(false), json!(null), true),
            (Leaf::Exists(true), json!(""), false),
            (Leaf::DirExists(true), json!("/here"), true),
            (Leaf::LockHeld(true), json!("/here"), true),
            (Leaf::LockHeld(false), json!("/gone"), true),
            (Leaf::LockHeld(false), json!(""), true),
            (Leaf::LockHeld(true), json!("/unknown"), false),
            (Leaf::LockHeld(false), json!("/unknown"), false),
            (Leaf::PidAlive(true), json!(7), true),
            (Leaf::PidAlive(true), json!(" 7 "), true),
            (Leaf::PidAlive(false), json!("x"), true),
            (Leaf::NewerThan(10), json!(95), true),
            (Leaf::NewerThan(10), json!(85), false),
            (Leaf::NewerThan(10), json!("95"), false),
        ] {
            assert_eq!(
                leaf.holds(&value, &none, Some(&Small)),
                expected,
                "{leaf:?} {value}"
            );
            assert!(!leaf.holds(&value, &none, None), "{leaf:?} {value}");
        }
    }
}
