//! Which parts of an object are wanted, and reading no more than those.

use axiowl_lang::scalar::Pointer;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

/// The parts of a value that pointers lead to.
#[derive(Debug, Default, Clone)]
pub(super) struct Wanted {
    /// All of it.
    whole: bool,
    /// Members of an object.
    members: BTreeMap<String, Wanted>,
    /// Elements of a list: which one a pointer means is known only at the end.
    element: Option<Box<Wanted>>,
    /// Every member of an object (`*`).
    any_member: Option<Box<Wanted>>,
}

impl Wanted {
    /// What several pointers lead to.
    pub(super) fn of<'p>(pointers: impl Iterator<Item = &'p Pointer>) -> Self {
        let mut root = Self::default();
        for pointer in pointers {
            root.add(pointer.segments());
        }
        root
    }

    fn add(&mut self, segments: &[String]) {
        let Some((first, rest)) = segments.split_first() else {
            self.whole = true;
            return;
        };
        let fans_out = first == "*";
        if fans_out || first == "-" || crate::pointer::index(first).is_some() {
            self.element.get_or_insert_default().add(rest);
        }
        match fans_out {
            true => self.any_member.get_or_insert_default().add(rest),
            false => self.members.entry(first.clone()).or_default().add(rest),
        }
    }

    /// What is wanted of a member; nothing when it is not wanted at all.
    pub(super) fn member(&self, name: &str) -> Option<Part<'_>> {
        if self.whole {
            return Some(Part::Whole);
        }
        // A named member below `*` too is rare; the wider wish then counts for all of it.
        match (self.members.get(name), &self.any_member) {
            (Some(_), Some(_)) => Some(Part::Whole),
            (Some(named), None) => Some(Part::Some(named)),
            (None, any) => any.as_deref().map(Part::Some),
        }
    }

    /// What is wanted of an element.
    pub(super) fn element(&self) -> Option<Part<'_>> {
        if self.whole {
            return Some(Part::Whole);
        }
        self.element.as_deref().map(Part::Some)
    }
}

/// What is wanted of a part.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'w> {
    /// Everything.
    Whole,
    /// What pointers lead to.
    Some(&'w Wanted),
}

impl<'w> Part<'w> {
    pub(super) fn member(self, name: &str) -> Option<Part<'w>> {
        match self {
            Self::Whole => Some(Self::Whole),
            Self::Some(wanted) => wanted.member(name),
        }
    }

    pub(super) fn element(self) -> Option<Part<'w>> {
        match self {
            Self::Whole => Some(Self::Whole),
            Self::Some(wanted) => wanted.element(),
        }
    }

    /// Whether a text or number here is what a pointer leads to.
    fn is_leaf(self) -> bool {
        match self {
            Self::Whole => true,
            Self::Some(wanted) => wanted.whole,
        }
    }

    /// What is left of a value that was read in full.
    pub(super) fn pruned(self, value: Value, budget: &Budget) -> Value {
        match value {
            Value::Array(list) => match self.element() {
                Some(part) => {
                    let kept = list.into_iter().map(|element| part.pruned(element, budget));
                    Value::Array(kept.collect())
                }
                None => Value::Array(Vec::new()),
            },
            Value::Object(map) => {
                let kept = map.into_iter().filter_map(|(name, value)| {
                    let part = self.member(&name)?;
                    Some((name, part.pruned(value, budget)))
                });
                Value::Object(kept.collect())
            }
            Value::String(text) if self.is_leaf() => budget.text(text),
            Value::String(_) => Value::Null,
            other => other,
        }
    }
}

/// Bytes of text that are kept of one file, and places of lists and objects.
pub(super) struct Budget {
    left: Cell<usize>,
}

/// What a text, an element or a member costs beside its letters.
const PLACE: usize = 32;

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            left: Cell::new(bytes),
        }
    }

    /// Whether something had to be left out.
    pub(super) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    fn spend(&self, bytes: usize) -> bool {
        let left = self.left.get().saturating_sub(bytes.saturating_add(PLACE));
        self.left.set(left);
        left > 0
    }

    fn text(&self, text: String) -> Value {
        match self.spend(text.len()) {
            true => Value::String(text),
            false => Value::Null,
        }
    }
}

/// Reads a value, keeping only what is wanted of it.
pub(super) struct Pruned<'a> {
    pub part: Option<Part<'a>>,
    pub budget: &'a Budget,
}

impl<'de> DeserializeSeed<'de> for Pruned<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let Some(part) = self.part else {
            return deserializer
                .deserialize_ignored_any(IgnoredAny)
                .map(|_| Value::Null);
        };
        deserializer.deserialize_any(Keep {
            part,
            budget: self.budget,
        })
    }
}

struct Keep<'a> {
    part: Part<'a>,
    budget: &'a Budget,
}

impl<'de> Visitor<'de> for Keep<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }
    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(match self.part.is_leaf() {
            true => self.budget.text(text.to_owned()),
            false => Value::Null,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let part = self.part.element();
        let mut out = Vec::new();
        loop {
            let seed = Pruned {
                part,
                budget: self.budget,
            };
            let Some(element) = list.next_element_seed(seed)? else {
                break;
            };
            // The number of elements tells which one a pointer means.
            if part.is_some() && self.budget.spend(0) {
                out.push(element);
            }
        }
        Ok(Value::Array(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let part = self.part.member(&name);
            let value = map.next_value_seed(Pruned {
                part,
                budget: self.budget,
            })?;
            if part.is_some() && self.budget.spend(name.len()) {
                out.insert(name, value);
            }
        }
        Ok(Value::Object(out))
    }
}
