//! The object a log is about, rebuilt change by change.

use super::wanted::{Budget, Part, Pruned, Wanted};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::io::{self, Read};

/// Bytes of text that are kept of one file.
const TEXT: usize = 16 << 20;
/// Steps of a change's path.
const STEPS: usize = 64;

/// What keeps an object from being known to the end.
#[derive(Debug, PartialEq)]
pub(super) enum Trouble {
    /// A line is no change.
    Damaged {
        /// One-based.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// A change of a kind that is not known.
    Strange {
        /// One-based.
        line: u64,
        /// What it is.
        what: &'static str,
    },
    /// More text than is kept.
    Full,
}

/// The wanted parts of the object as they are now.
pub(super) struct Object<'w> {
    pub value: Value,
    wanted: &'w Wanted,
    budget: Budget,
}

/// One change. `v` holds what is wanted of it.
struct Change {
    kind: u64,
    path: Vec<Step>,
    value: Option<Value>,
    length: Option<u64>,
}

/// A step of a change's path.
#[derive(Debug)]
enum Step {
    Member(String),
    Element(usize),
}

impl<'w> Object<'w> {
    pub(super) fn new(wanted: &'w Wanted) -> Self {
        Self {
            value: Value::Null,
            wanted,
            budget: Budget::new(TEXT),
        }
    }

    /// Reads the object as one document.
    pub(super) fn whole(&mut self, input: impl Read) -> io::Result<Option<Trouble>> {
        let mut reader = serde_json::Deserializer::from_reader(input);
        let seed = Pruned {
            part: Some(Part::Some(self.wanted)),
            budget: &self.budget,
        };
        let read = seed
            .deserialize(&mut reader)
            .and_then(|value| reader.end().map(|()| value));
        match read {
            Ok(value) => {
                self.value = value;
                Ok(self.full())
            }
            Err(error) => damaged(error).map(Some),
        }
    }

    /// Applies every change of a log. The changes before one that cannot be read count.
    pub(super) fn replay(&mut self, input: impl Read) -> io::Result<Option<Trouble>> {
        let mut reader = serde_json::Deserializer::from_reader(input);
        let mut line = 0;
        loop {
            if let Err(error) = reader.end() {
                // Something follows that is no white space: the next change.
                if error.is_io() {
                    return Err(error.into());
                }
            } else {
                return Ok(self.full().or_else(|| self.never_begun()));
            }
            line += 1;
            let seed = ChangeSeed {
                wanted: self.wanted,
                budget: &self.budget,
            };
            let change = match seed.deserialize(&mut reader) {
                Ok(change) => change,
                Err(error) => return damaged(error).map(Some),
            };
            if let Err(what) = self.apply(change) {
                return Ok(Some(Trouble::Strange { line, what }));
            }
        }
    }

    fn full(&self) -> Option<Trouble> {
        self.budget.is_spent().then_some(Trouble::Full)
    }

    fn never_begun(&self) -> Option<Trouble> {
        self.value.is_null().then(|| Trouble::Damaged {
            line: 1,
            what: "it does not start with the whole object".into(),
        })
    }

    fn apply(&mut self, change: Change) -> Result<(), &'static str> {
        let Change {
            kind,
            path,
            value,
            length,
        } = change;
        match kind {
            0 => self.value = value.unwrap_or_default(),
            1 => {
                if let Some(place) = place(&mut self.value, self.wanted, &path, true)? {
                    *place = value.unwrap_or_default();
                }
            }
            2 => {
                let Some(place) = place(&mut self.value, self.wanted, &path, true)? else {
                    return Ok(());
                };
                if place.is_null() {
                    *place = Value::Array(Vec::new());
                }
                let Value::Array(list) = place else {
                    return Err("a change appends to something that is no list");
                };
                if let Some(length) = length {
                    list.truncate(usize::try_from(length).unwrap_or(usize::MAX));
                }
                match value {
                    Some(Value::Array(more)) => list.extend(more),
                    None | Some(Value::Null) => {}
                    Some(_) => return Err("a change appends something that is no list"),
                }
            }
            3 => remove(&mut self.value, self.wanted, &path)?,
            _ => return Err("a change of a kind that is not known"),
        }
        Ok(())
    }
}

fn damaged(error: serde_json::Error) -> io::Result<Trouble> {
    if error.is_io() {
        return Err(error.into());
    }
    Ok(Trouble::Damaged {
        line: error.line() as u64,
        what: error.to_string(),
    })
}

/// The place a path leads to; `None` where nothing of it is wanted. Members that are not
/// there yet are made with `make`.
fn place<'v>(
    value: &'v mut Value,
    wanted: &Wanted,
    path: &[Step],
    make: bool,
) -> Result<Option<&'v mut Value>, &'static str> {
    let mut part = Part::Some(wanted);
    let mut current = value;
    for step in path {
        let next = match step {
            Step::Member(name) => part.member(name),
            Step::Element(_) => part.element(),
        };
        let Some(next) = next else {
            return Ok(None);
        };
        part = next;
        current = match (step, current) {
            (Step::Member(name), Value::Object(map)) => {
                if !make && !map.contains_key(name) {
                    return Ok(None);
                }
                map.entry(name.clone()).or_insert(Value::Null)
            }
            (Step::Member(name), place @ Value::Null) if make => {
                *place = Value::Object(Map::new());
                let Value::Object(map) = place else {
                    return Ok(None);
                };
                map.entry(name.clone()).or_insert(Value::Null)
            }
            (Step::Element(at), Value::Array(list)) => {
                let length = list.len();
                if *at == length && make {
                    list.push(Value::Null);
                }
                match list.get_mut(*at) {
                    Some(element) => element,
                    None => return Err("a change names an element that is not there"),
                }
            }
            (_, Value::Null) if !make => return Ok(None),
            _ => return Err("a change leads into something of another type"),
        };
    }
    Ok(Some(current))
}

/// Deletes a member; an element of a list becomes nothing and keeps its place.
fn remove(value: &mut Value, wanted: &Wanted, path: &[Step]) -> Result<(), &'static str> {
    let Some((last, parents)) = path.split_last() else {
        *value = Value::Null;
        return Ok(());
    };
    let Some(parent) = place(value, wanted, parents, false)? else {
        return Ok(());
    };
    match (last, parent) {
        (Step::Member(name), Value::Object(map)) => {
            map.shift_remove(name);
        }
        (Step::Element(at), Value::Array(list)) => {
            if let Some(element) = list.get_mut(*at) {
                *element = Value::Null;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Reads one change; what is not wanted of its value is read over when its path stands
/// before its value, as it does in every log seen.
struct ChangeSeed<'a> {
    wanted: &'a Wanted,
    budget: &'a Budget,
}

impl<'de> DeserializeSeed<'de> for ChangeSeed<'_> {
    type Value = Change;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Change, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ChangeSeed<'_> {
    type Value = Change;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a change: an object with `kind`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Change, A::Error> {
        let mut kind = None;
        let mut path: Option<Vec<Step>> = None;
        let mut value = None;
        let mut early = None;
        let mut length = None;
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "kind" => kind = Some(map.next_value::<u64>()?),
                "k" => path = Some(steps(map.next_value()?).map_err(de::Error::custom)?),
                "i" => length = map.next_value::<Option<u64>>()?,
                "v" => match (kind, &path) {
                    (Some(0), _) | (Some(_), Some(_)) => {
                        let path = path
                            .as_deref()
                            .filter(|_| kind != Some(0))
                            .unwrap_or_default();
                        let seed = Pruned {
                            part: self.part(path),
                            budget: self.budget,
                        };
                        value = Some(map.next_value_seed(seed)?);
                    }
                    _ => early = Some(map.next_value::<Value>()?),
                },
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let kind = kind.ok_or_else(|| de::Error::missing_field("kind"))?;
        let path = match kind {
            0 => Vec::new(),
            _ => path.ok_or_else(|| de::Error::missing_field("k"))?,
        };
        if let Some(early) = early {
            value = self.part(&path).map(|part| part.pruned(early, self.budget));
        }
        Ok(Change {
            kind,
            path,
            value,
            length,
        })
    }
}

impl ChangeSeed<'_> {
    fn part(&self, path: &[Step]) -> Option<Part<'_>> {
        path.iter()
            .try_fold(Part::Some(self.wanted), |part, step| match step {
                Step::Member(name) => part.member(name),
                Step::Element(_) => part.element(),
            })
    }
}

fn steps(path: Vec<Value>) -> Result<Vec<Step>, &'static str> {
    if path.len() > STEPS {
        return Err("a path of too many steps");
    }
    path.into_iter()
        .map(|step| match step {
            Value::String(name) => Ok(Step::Member(name)),
            Value::Number(number) => number
                .as_u64()
                .and_then(|at| usize::try_from(at).ok())
                .map(Step::Element)
                .ok_or("a path with a step that is no index"),
            _ => Err("a path with a step that is neither name nor index"),
        })
        .collect()
}
