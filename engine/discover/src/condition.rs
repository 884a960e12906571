//! Evaluates conditions over rows and says what each leaf saw.

use crate::coverage::Coverage;
use crate::folders::Folders;
use axiowl_lang::at::{At, Span};
use axiowl_lang::cond::{Cond, Ops, Targeted, Test};
use axiowl_lang::fields::REGISTERED_AS;
use axiowl_lang::load::LoadedRule;
use axiowl_model::Timestamp;
pub use axiowl_sources::leaf::blank;
use axiowl_sources::leaf::{Leaf, Machine, leaves};
use axiowl_sources::{FactQuery, Row, World};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::RefCell;
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
    pub looked: RefCell<Option<(String, bool)>>,
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

    /// Whether a value passes every test of a leaf, and what that was, in words.
    fn test(&self, test: &Test, value: &'a Value) -> (bool, String) {
        let other = |name: &str| Cow::Borrowed(self::value(self.row, name));
        let mut holds = true;
        let mut wanted = Vec::new();
        for leaf in leaves(test) {
            holds &= leaf.holds(value, &other, Some(self));
            if self.words {
                wanted.push(in_words(leaf));
            }
        }
        (holds, wanted.join(" and "))
    }
}

/// Asks the world, and remembers what several conditions ask about.
impl Machine for Scope<'_> {
    fn exists(&self, path: &str) -> bool {
        let mut looked = self.looked.borrow_mut();
        if let Some((_, exists)) = looked.as_ref().filter(|(known, _)| known == path) {
            return *exists;
        }
        let exists = self.world.exists(path);
        *looked = Some((path.to_owned(), exists));
        exists
    }

    fn dir_exists(&self, path: &str) -> bool {
        match self.folders {
            Some(folders) => folders.exists(path, self.world),
            None => self.world.dir_exists(path),
        }
    }

    fn lock_held(&self, path: &str) -> Option<bool> {
        self.world.lock_held(path)
    }

    fn pid_alive(&self, pid: u32) -> bool {
        self.world.pid_alive(pid, None)
    }

    fn is_newer(&self, at: i64, span: i64) -> bool {
        self.world.is_newer(at, span)
    }
}

/// What a test wants.
fn in_words(leaf: Leaf<'_>) -> String {
    let either = |want: bool, yes: &str, no: &str| if want { yes.into() } else { no.into() };
    match leaf {
        Leaf::Present(want) => either(want, "is present", "is absent"),
        Leaf::Blank(want) => either(want, "is blank", "is not blank"),
        Leaf::Equals(want) => format!("is {}", shown(want)),
        Leaf::OneOf(list) => one_of(list),
        Leaf::Matches(pattern) => format!("matches /{}/", pattern.as_str()),
        Leaf::Uuid(want) => either(want, "is a UUID", "is no UUID"),
        Leaf::Under(name) => format!("lies under {name}"),
        Leaf::Exists(want) => either(want, "exists", "does not exist"),
        Leaf::DirExists(want) => {
            either(want, "is a folder that exists", "is no folder that exists")
        }
        Leaf::LockHeld(want) => either(want, "is locked", "is not locked"),
        Leaf::PidAlive(want) => either(want, "is a running process", "is no running process"),
        Leaf::NewerThan(span) => format!("is newer than {} s", span / 1000),
        Leaf::SameAs(name) => format!("equals {name}"),
        Leaf::SlugOf(name) => format!("is the folder that {name} names"),
        Leaf::Md5Of(name) => format!("has the MD5 in {name}"),
        Leaf::Has(want) => format!("holds {}", shown(want)),
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
