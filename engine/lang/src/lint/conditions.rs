//! Conditions: fields that exist, tests that test something.

use super::{Known, Lint, Place};
use crate::at::At;
use crate::codes;
use crate::cond::{Cond, Ops, Test};
use crate::guard::other_fields;

impl<'a> Lint<'a> {
    /// Checks a condition; `at` is the part it belongs to, for findings without a place of
    /// their own.
    pub(super) fn condition(&mut self, cond: &Cond, at: Place<'a>, known: &Known) {
        match cond {
            Cond::All(list) | Cond::Any(list) => {
                if list.is_empty() {
                    let (word, what) = match cond {
                        Cond::Any(_) => ("any", "never holds"),
                        _ => ("all", "always holds"),
                    };
                    self.tests_nothing(at.clone(), format!("an empty `{word}` {what}"));
                }
                for inner in list {
                    self.condition(inner, at.clone(), known);
                }
            }
            Cond::Not(inner) => self.condition(inner, at, known),
            Cond::Fact(_) | Cond::Targeted(_) => {}
            Cond::Env(names) | Cond::Executable(names) => self.names(names, at),
            Cond::Field { name, test } => {
                let place = self.place(name.span);
                self.known_field(name, place, known);
                self.test(name, test, known);
            }
        }
    }

    /// Names of variables or programs.
    fn names(&mut self, names: &[At<String>], at: Place<'a>) {
        if names.is_empty() {
            self.tests_nothing(at, "an empty list of names never holds".into());
        }
        for name in names {
            let good = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            if name.is_empty() || !name.chars().all(good) {
                let place = self.place(name.span);
                let message = format!("`{}` names no variable and no program", name.value);
                let help = "write the bare name".into();
                self.error(codes::VALUE, place, "not a name", message, help);
            }
        }
    }

    fn test(&mut self, name: &At<String>, test: &At<Test>, known: &Known) {
        let place = self.place(name.span);
        match &test.value {
            test if tests_nothing(test) => {
                let message = format!("`{}` is not tested for anything", name.value);
                self.tests_nothing(place, message);
            }
            Test::Equals(_) | Test::In(_) => {}
            Test::Ops(ops) => {
                for other in other_fields(ops) {
                    let place = self.place(other.span);
                    self.known_field(other, place, known);
                }
            }
        }
    }

    fn tests_nothing(&mut self, at: Place, message: String) {
        let help = "leave the condition out for always, or name what it is to test";
        self.error(
            codes::EMPTY_CONDITION,
            at,
            "tests nothing",
            message,
            help.into(),
        );
    }
}

/// The first leaf that holds because something is missing: a file that could not be read
/// would look the same. `denied` is whether an odd number of `not` stands around it.
pub(super) fn holds_on_absence(cond: &Cond, denied: bool) -> Option<(&At<String>, &'static str)> {
    match cond {
        Cond::All(list) | Cond::Any(list) => list.iter().find_map(|c| holds_on_absence(c, denied)),
        Cond::Not(inner) => holds_on_absence(inner, !denied),
        Cond::Fact(name) if denied => Some((name, "not")),
        Cond::Env(names) | Cond::Executable(names) if denied => Some((names.first()?, "not")),
        Cond::Fact(_) | Cond::Targeted(_) | Cond::Env(_) | Cond::Executable(_) => None,
        Cond::Field { test, .. } if tests_nothing(&test.value) => None,
        Cond::Field { name, test } => match (asks_for_absence(&test.value), denied) {
            (Some(word), false) => Some((name, word)),
            (None, true) => Some((name, "not")),
            _ => None,
        },
    }
}

fn tests_nothing(test: &Test) -> bool {
    match test {
        Test::Equals(_) => false,
        Test::In(values) => values.is_empty(),
        Test::Ops(ops) => **ops == Ops::default(),
    }
}

fn asks_for_absence(test: &Test) -> Option<&'static str> {
    match test {
        Test::Equals(value) => value.is_null().then_some("null"),
        Test::In(values) => values
            .iter()
            .any(serde_json::Value::is_null)
            .then_some("null"),
        Test::Ops(ops) => [
            (ops.present == Some(false), "present: false"),
            (ops.blank == Some(true), "blank: true"),
            (ops.exists == Some(false), "exists: false"),
            (ops.dir_exists == Some(false), "dir_exists: false"),
            (ops.uuid == Some(false), "uuid: false"),
            (ops.lock_held == Some(false), "lock_held: false"),
            (ops.pid_alive == Some(false), "pid_alive: false"),
        ]
        .into_iter()
        .find_map(|(asks, word)| asks.then_some(word)),
    }
}
