//! Evaluates conditions over rows and says what each leaf saw.

use crate::coverage::Coverage;
use crate::folders::Folders;
use axiowl_lang::at::{At, Span};
use axiowl_lang::cond::{Cond, Ops, Targeted, Test};
use axiowl_lang::fields::REGISTERED_AS;
use axiowl_lang::load::LoadedRule;
use axiowl_model::{Timestamp, is_uuid};
use axiowl_sources::{FactQuery, Row, World};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

static NULL: Value = Value::Null;

/// What a condition is evaluated against.
pub struct Scope<'a> {
    pub row: &'a Row,
    pub world: &'a World,
    pub roots: &'a BTreeMap<String, String>,
    pub session: &'a str,
    pub targeted: Targeted,
    /// Whether anybody reads the words of an outcome; without that they stay empty, since
    /// most of the cost of a condition is saying what it saw.
    pub words: bool,
    /// Hears about every leaf that is evaluated.
    pub coverage: Option<(&'a LoadedRule, &'a Coverage)>,
    /// The folders that were looked for before.
    pub folders: Option<&'a Folders>,
    /// The path that was last looked for, and whether it is there: several conditions ask about
    /// the same one.
    pub looked: Cell<Option<(&'a str, bool)>>,
}

/// Whether it holds, and the words of the leaf that settled it.
pub struct Outcome {
    pub holds: bool,
    pub why: String,
}

/// The value of `field` or `join.field`; null when there is none.
pub fn value<'r>(row: &'r Row, name: &str) -> &'r Value {
    if let Some(value) = row.get(name) {
        return value;
    }
    let mut parts = name.split('.');
    let Some(first) = parts.next().filter(|first| first.len() < name.len()) else {
        return &NULL;
    };
    let start = match row.joined(first) {
        Some(joined) => parts.next().and_then(|part| joined.get(part)),
        None => row.get(first),
    };
    let Some(mut current) = start else {
        return &NULL;
    };
    for part in parts {
        match current.get(part) {
            Some(next) => current = next,
            None => return &NULL,
        }
    }
    current
}

/// A value as text for templates and names; `None` for nothing, lists and mappings.
pub fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(flag) => Some(Cow::Borrowed(if *flag { "true" } else { "false" })),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
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

impl<'a> Scope<'a> {
    /// Evaluates, recording the deciding leaf.
    pub fn eval(&self, cond: &Cond) -> Outcome {
        match cond {
            Cond::All(list) => {
                let mut seen = Vec::new();
                for inner in list {
                    let outcome = self.eval(inner);
                    if !outcome.holds {
                        return outcome;
                    }
                    if self.words {
                        seen.push(outcome.why);
                    }
                }
                Outcome {
                    holds: true,
                    why: self.say(|| seen.join(", ")),
                }
            }
            Cond::Any(list) => {
                let mut seen = Vec::new();
                for inner in list {
                    let outcome = self.eval(inner);
                    if outcome.holds {
                        return outcome;
                    }
                    if self.words {
                        seen.push(outcome.why);
                    }
                }
                Outcome {
                    holds: false,
                    why: self.say(|| format!("none of: {}", seen.join("; "))),
                }
            }
            Cond::Not(inner) => {
                let outcome = self.eval(inner);
                Outcome {
                    holds: !outcome.holds,
                    why: self.say(|| format!("not ({})", outcome.why)),
                }
            }
            Cond::Fact(name) => {
                let query = FactQuery {
                    world: self.world,
                    roots: self.roots,
                    row: self.row,
                    session: self.session,
                };
                let answer = self.world.fact(name, &query);
                self.note(name.span, answer == Ok(true));
                match answer {
                    Ok(holds) => Outcome {
                        holds,
                        why: self.say(|| {
                            let does = if holds { "holds" } else { "does not hold" };
                            format!("fact {} {does}", name.value)
                        }),
                    },
                    Err(reason) => Outcome {
                        holds: false,
                        why: self
                            .say(|| format!("fact {} cannot be established: {reason}", name.value)),
                    },
                }
            }
            Cond::Targeted(want) => {
                let holds = match want.value {
                    Targeted::Exact => self.targeted == Targeted::Exact,
                    Targeted::Any => self.targeted != Targeted::None,
                    Targeted::None => self.targeted == Targeted::None,
                };
                self.note(want.span, holds);
                let seen = match self.targeted {
                    Targeted::Exact => "this very session is the target",
                    Targeted::Any => "this session's name is the target",
                    Targeted::None => "the run has no target here",
                };
                Outcome {
                    holds,
                    why: self.say(|| seen.to_owned()),
                }
            }
            Cond::Env(names) => self.any_of(names, "set", |name| self.world.env(name).is_some()),
            Cond::Executable(names) => self.any_of(names, "installed", |name| {
                self.world.executable(name).is_some()
            }),
            Cond::Field { name, test } => {
                let value = value(self.row, name);
                let (holds, wanted) = self.test(test, value);
                self.testify(&name.value, test, holds);
                self.note(name.span, holds);
                Outcome {
                    holds,
                    why: self.say(|| format!("{} {wanted}, saw {}", name.value, shown(value))),
                }
            }
        }
    }

    /// What the registry says is no file whose change would show.
    fn testify(&self, name: &str, test: &Test, holds: bool) {
        let Some(witness) = self.world.witness().filter(|_| name == REGISTERED_AS) else {
            return;
        };
        let session = self.session.rsplit(':').next().unwrap_or_default();
        let only_has = |ops: &Ops| {
            let provider = ops.has.as_ref()?.as_str()?;
            let alone = Ops {
                has: ops.has.clone(),
                ..Ops::default()
            };
            (*ops == alone).then(|| provider.to_owned())
        };
        match test {
            Test::Ops(ops) => match only_has(ops) {
                Some(provider) => witness.registered(session, &provider, holds),
                None => witness.unsure("a rule asks more of the registry"),
            },
            _ => witness.unsure("a rule asks more of the registry"),
        }
    }

    /// Words, where anybody reads them.
    pub fn say(&self, words: impl FnOnce() -> String) -> String {
        if self.words { words() } else { String::new() }
    }

    fn note(&self, leaf: Span, holds: bool) {
        if let Some((loaded, coverage)) = self.coverage {
            coverage.condition(loaded, leaf, holds);
        }
    }

    /// Whether one of several names is there; no more than the name is ever shown.
    fn any_of(&self, names: &[At<String>], what: &str, is: impl Fn(&str) -> bool) -> Outcome {
        for name in names {
            self.note(name.span, is(name));
        }
        match names.iter().find(|name| is(name)) {
            Some(name) => Outcome {
                holds: true,
                why: self.say(|| format!("{} is {what}", name.value)),
            },
            None => Outcome {
                holds: false,
                why: self.say(|| format!("{} is not {what}", listed_names(names))),
            },
        }
    }

    fn exists(&self, path: &'a str) -> bool {
        if let Some((_, exists)) = self.looked.get().filter(|(known, _)| *known == path) {
            return exists;
        }
        let exists = self.world.exists(path);
        self.looked.set(Some((path, exists)));
        exists
    }

    fn test(&self, test: &Test, value: &'a Value) -> (bool, String) {
        match test {
            Test::Equals(want) => (
                equals(value, want),
                self.say(|| format!("is {}", shown(want))),
            ),
            Test::In(list) => (
                list.iter().any(|want| equals(value, want)),
                self.say(|| one_of(list)),
            ),
            Test::Ops(ops) => self.ops(ops, value),
        }
    }

    fn ops(&self, ops: &Ops, value: &'a Value) -> (bool, String) {
        let text = value.as_str();
        let mut holds = true;
        let mut wanted = Vec::new();
        let mut note = |ok: bool, words: &dyn Fn() -> String| {
            holds &= ok;
            if self.words {
                wanted.push(words());
            }
        };
        let yes_no = |want: bool, yes: &str, no: &str| if want { yes.into() } else { no.into() };
        if let Some(want) = ops.present {
            note(blank(value) != want, &|| {
                yes_no(want, "is present", "is absent")
            });
        }
        if let Some(want) = ops.blank {
            note(blank(value) == want, &|| {
                yes_no(want, "is blank", "is not blank")
            });
        }
        if let Some(want) = &ops.equals {
            note(equals(value, want), &|| format!("is {}", shown(want)));
        }
        if let Some(list) = &ops.one_of {
            let ok = list.iter().any(|want| equals(value, want));
            note(ok, &|| one_of(list));
        }
        if let Some(pattern) = &ops.matches {
            let ok = text.is_some_and(|t| pattern.regex().is_match(t));
            note(ok, &|| format!("matches /{}/", pattern.as_str()));
        }
        if let Some(want) = ops.uuid {
            let ok = text.is_some_and(is_uuid) == want;
            note(ok, &|| yes_no(want, "is a UUID", "is no UUID"));
        }
        if let Some(folders) = &ops.under {
            let ok =
                text.is_some_and(|t| listed(self::value(self.row, folders)).any(|d| under(t, d)));
            note(ok, &|| format!("lies under {}", folders.value));
        }
        if let Some(want) = ops.exists {
            let ok = text.is_some_and(|t| !t.is_empty() && self.exists(t)) == want;
            note(ok, &|| yes_no(want, "exists", "does not exist"));
        }
        if let Some(want) = ops.dir_exists {
            let exists = |path: &str| match self.folders {
                Some(folders) => folders.exists(path, self.world),
                None => self.world.dir_exists(path),
            };
            let ok = text.is_some_and(|t| !t.is_empty() && exists(t)) == want;
            note(ok, &|| {
                yes_no(want, "is a folder that exists", "is no folder that exists")
            });
        }
        if let Some(want) = ops.lock_held {
            let held = text
                .filter(|t| !t.is_empty())
                .map(|t| self.world.lock_held(t));
            // Where nobody can tell, neither answer holds.
            let ok = match held {
                Some(None) => false,
                held => held.flatten().unwrap_or(false) == want,
            };
            note(ok, &|| yes_no(want, "is locked", "is not locked"));
        }
        if let Some(want) = ops.pid_alive {
            let ok = pid(value).is_some_and(|pid| self.world.pid_alive(pid, None)) == want;
            note(ok, &|| {
                yes_no(want, "is a running process", "is no running process")
            });
        }
        if let Some(span) = &ops.newer_than {
            let ok = value
                .as_i64()
                .is_some_and(|at| self.world.is_newer(at, span.0));
            note(ok, &|| format!("is newer than {} s", span.0 / 1000));
        }
        if let Some(other) = &ops.same_as {
            let same = !blank(value) && value == self::value(self.row, other);
            note(same, &|| format!("equals {}", other.value));
        }
        if let Some(other) = &ops.slug_of {
            let ok = text
                .zip(self::value(self.row, other).as_str())
                .is_some_and(|(path, folder)| axiowl_sources::record::slug_matches(path, folder));
            note(ok, &|| format!("is the folder that {} names", other.value));
        }
        if let Some(other) = &ops.md5_of {
            let ok = text
                .zip(self::value(self.row, other).as_str())
                .is_some_and(|(text, digest)| axiowl_sources::record::md5_matches(text, digest));
            note(ok, &|| format!("has the MD5 in {}", other.value));
        }
        if let Some(want) = &ops.has {
            let ok = match value {
                Value::Array(list) => list.contains(want),
                Value::Object(map) => want.as_str().is_some_and(|key| map.contains_key(key)),
                _ => false,
            };
            note(ok, &|| format!("holds {}", shown(want)));
        }
        (holds, wanted.join(" and "))
    }
}

fn one_of(list: &[Value]) -> String {
    let list: Vec<String> = list.iter().map(shown).collect();
    format!("is one of {}", list.join(", "))
}

fn listed_names(names: &[At<String>]) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    names.join(" or ")
}

/// A process number, as a number or as text.
fn pid(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => u32::try_from(number.as_u64()?).ok(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn listed(value: &Value) -> impl Iterator<Item = &str> {
    let many = value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    many.chain(value.as_str())
}

/// A list equals a scalar when one of its elements does; numbers compare by value.
fn equals(value: &Value, want: &Value) -> bool {
    match (value, want) {
        (Value::Array(list), want) if !want.is_array() => list.contains(want),
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => value == want,
    }
}

/// Whether `path` is `folder` or lies below it, on either platform's separators.
fn under(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches(['/', '\\']);
    !folder.is_empty()
        && path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
}

/// A condition in words, without any row's values: the reason a filter drops rows for.
pub fn described(cond: &Cond) -> String {
    let joined = |list: &[Cond], word: &str| {
        let parts = list.iter().map(|inner| match inner {
            Cond::All(_) | Cond::Any(_) => format!("({})", described(inner)),
            inner => described(inner),
        });
        parts.collect::<Vec<_>>().join(word)
    };
    match cond {
        Cond::All(list) => joined(list, " and "),
        Cond::Any(list) => joined(list, " or "),
        Cond::Not(inner) => format!("not ({})", described(inner)),
        Cond::Fact(name) => format!("fact {}", name.value),
        Cond::Targeted(_) => "it is the target".into(),
        Cond::Env(names) => format!("{} is set", listed_names(names)),
        Cond::Executable(names) => format!("{} is installed", listed_names(names)),
        Cond::Field { name, test } => match &test.value {
            Test::Equals(want) => format!("{} is {}", name.value, shown(want)),
            Test::In(list) => {
                format!(
                    "{} is one of {}",
                    name.value,
                    list.iter().map(shown).collect::<Vec<_>>().join(", ")
                )
            }
            Test::Ops(ops) => match (&ops.has, ops.present, ops.blank) {
                (Some(want), ..) => format!("{} holds {}", name.value, shown(want)),
                (None, Some(true), _) | (None, _, Some(false)) => {
                    format!("{} is present", name.value)
                }
                (None, Some(false), _) | (None, _, Some(true)) => {
                    format!("{} is absent", name.value)
                }
                (None, None, None) => format!("{} fits", name.value),
            },
        },
    }
}

/// A value in at most 60 characters.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        value => axiowl_model::clip(&axiowl_model::display_safe(&value.to_string()), 60),
    }
}

/// How a run's target relates to one session.
pub fn targeted(target: Option<&str>, session: &str, key: &str, names: &[&str]) -> Targeted {
    let Some(target) = target.map(str::trim) else {
        return Targeted::None;
    };
    let bare = session.rsplit_once(':').map_or(session, |(_, bare)| bare);
    if target == session || target == bare || target == key {
        Targeted::Exact
    } else if names.contains(&target) {
        Targeted::Any
    } else {
        Targeted::None
    }
}

/// The first of several fields that holds a time: milliseconds since the epoch, or text in
/// the form of RFC 3339.
pub fn time<'f>(row: &Row, fields: impl IntoIterator<Item = &'f str>) -> Option<Timestamp> {
    fields
        .into_iter()
        .filter_map(|field| moment(value(row, field)))
        .find(|time| time.as_millis() > 0)
}

fn moment(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Number(_) => value.as_i64().map(Timestamp::from_millis),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}
