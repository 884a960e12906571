//! A row: names and values in their order.
//!
//! Thousands of rows have the same names, lie below the rows that are made of them, and are
//! joined to each other. So names are shared, a row can lie over another one, and a joined row
//! is kept as it is instead of being copied into a value. It must not know what a field means.

mod name;

pub use name::Name;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use std::fmt;
use std::ops::Index;
use std::sync::{Arc, OnceLock};

static NULL: Value = Value::Null;

/// A row of a source: field name to value. Times are milliseconds since the epoch. A clone
/// shares its fields with the row until one of the two is changed.
#[derive(Clone, Default)]
pub struct Row(Arc<Fields>);

#[derive(Clone, Default)]
struct Fields {
    /// The row whose fields show where this one has none of their name.
    below: Option<Row>,
    own: Vec<(Name, Held)>,
}

/// What stands in a field.
#[derive(Debug, Clone, Copy)]
pub enum Field<'r> {
    /// A value of its own.
    Value(&'r Value),
    /// The row that was joined there.
    Row(&'r Row),
}

#[derive(Clone)]
enum Held {
    Value(Value),
    Row(Joined),
}

/// Another row, and the same as a value once somebody asks for it.
#[derive(Clone)]
struct Joined {
    row: Row,
    whole: OnceLock<Box<Value>>,
}

impl Held {
    fn value(&self) -> &Value {
        match self {
            Self::Value(value) => value,
            Self::Row(joined) => joined
                .whole
                .get_or_init(|| Box::new(joined.row.clone().into())),
        }
    }

    fn value_mut(&mut self) -> &mut Value {
        if let Self::Row(joined) = self {
            *self = Self::Value(joined.row.clone().into());
        }
        match self {
            Self::Value(value) => value,
            Self::Row(_) => unreachable!("a joined row was just made a value"),
        }
    }
}

impl Row {
    /// A row without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with room for so many.
    pub fn with_capacity(fields: usize) -> Self {
        Self(Arc::new(Fields {
            below: None,
            own: Vec::with_capacity(fields),
        }))
    }

    /// A row that shows the fields of `below` until it gets others of their names, with room for
    /// so many own ones.
    pub fn over(below: &Self, fields: usize) -> Self {
        Self(Arc::new(Fields {
            below: Some(below.clone()),
            own: Vec::with_capacity(fields),
        }))
    }

    fn held(&self, name: &str) -> Option<&Held> {
        let mut fields = &*self.0;
        loop {
            let own = fields.own.iter().find(|(known, _)| known.is(name));
            match (own, &fields.below) {
                (Some((_, held)), _) => return Some(held),
                (None, Some(below)) => fields = &below.0,
                (None, None) => return None,
            }
        }
    }

    /// The value of a field; `None` where the row has no such field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.held(name).map(Held::value)
    }

    /// The row that was joined under a name.
    pub fn joined(&self, name: &str) -> Option<&Self> {
        match self.held(name)? {
            Held::Row(joined) => Some(&joined.row),
            Held::Value(_) => None,
        }
    }

    /// Whether it has a field, be it null.
    pub fn contains_key(&self, name: &str) -> bool {
        self.held(name).is_some()
    }

    /// Sets a field. One that is there keeps its place.
    pub fn insert(&mut self, name: Name, value: Value) {
        self.put(name, Held::Value(value));
    }

    /// Adds a field that the row does not have yet, unless the row below has it.
    pub(crate) fn add(&mut self, name: Name, value: Value) {
        let own = &mut Arc::make_mut(&mut self.0).own;
        debug_assert!(!own.iter().any(|(known, _)| *known == name), "{name}");
        own.push((name, Held::Value(value)));
    }

    /// A row over `below` with these fields, of different names, and no room for more.
    pub(crate) fn over_with(
        below: &Self,
        fields: impl ExactSizeIterator<Item = (Name, Value)>,
    ) -> Self {
        let mut row = Self::over(below, fields.len());
        fields.for_each(|(name, value)| row.add(name, value));
        row
    }

    /// Gives back room for fields that did not come.
    pub fn shrink(&mut self) {
        if let Some(fields) = Arc::get_mut(&mut self.0) {
            fields.own.shrink_to_fit();
        }
    }

    /// Puts a row that is over none over `below`, with room for so many fields more.
    pub(crate) fn lay_over(&mut self, below: &Self, more: usize) {
        let fields = Arc::make_mut(&mut self.0);
        debug_assert!(fields.below.is_none(), "there is one below");
        fields.below = Some(below.clone());
        fields.own.reserve_exact(more);
    }

    /// Sets a field to another row.
    pub fn join(&mut self, name: Name, row: &Self) {
        let whole = OnceLock::new();
        let row = row.clone();
        self.put(name, Held::Row(Joined { row, whole }));
    }

    fn put(&mut self, name: Name, held: Held) {
        let own = &mut Arc::make_mut(&mut self.0).own;
        match own.iter_mut().find(|(known, _)| known.is(&name)) {
            Some((_, place)) => *place = held,
            None => own.push((name, held)),
        }
    }

    /// The value of a field, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let fields = Arc::make_mut(&mut self.0);
        if !fields.own.iter().any(|(known, _)| known.is(name)) {
            let below = fields.below.as_ref()?;
            let (name, value) = below.iter().find(|(known, _)| known.is(name))?;
            fields.own.push((name, Held::Value(value.clone())));
        }
        let mut own = fields.own.iter_mut();
        own.find(|(known, _)| known.is(name))
            .map(|(_, held)| held.value_mut())
    }

    /// The values, to change them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let fields = Arc::make_mut(&mut self.0);
        if fields.below.is_some() {
            let whole = Self(Arc::new(std::mem::take(fields)));
            let own = whole
                .iter()
                .map(|(name, value)| (name, Held::Value(value.clone())));
            fields.own = own.collect();
        }
        fields.own.iter_mut().map(|(_, held)| held.value_mut())
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Name, &Value)> {
        self.held_in_order()
            .map(|(name, held)| (name, held.value()))
    }

    /// Names and what stands under them, in order, without making values of joined rows.
    pub fn fields(&self) -> impl Iterator<Item = (Name, Field<'_>)> {
        self.held_in_order().map(|(name, held)| match held {
            Held::Value(value) => (name, Field::Value(value)),
            Held::Row(joined) => (name, Field::Row(&joined.row)),
        })
    }

    /// What stands in this row and in those below it, in no order, also where one hides another.
    pub fn everything(&self) -> impl Iterator<Item = Field<'_>> {
        let rows = std::iter::successors(Some(self), |row| row.0.below.as_ref());
        let held = rows.flat_map(|row| &row.0.own);
        held.map(|(_, held)| match held {
            Held::Value(value) => Field::Value(value),
            Held::Row(joined) => Field::Row(&joined.row),
        })
    }

    fn held_in_order(&self) -> impl Iterator<Item = (Name, &Held)> {
        let mut out = Vec::with_capacity(self.0.own.len());
        self.gather(&mut out);
        out.into_iter()
    }

    fn gather<'r>(&'r self, out: &mut Vec<(Name, &'r Held)>) {
        if let Some(below) = &self.0.below {
            below.gather(out);
        }
        let known = out.len();
        for (name, held) in &self.0.own {
            match out[..known].iter_mut().find(|(other, _)| other.is(name)) {
                Some((_, place)) => *place = held,
                None => out.push((*name, held)),
            }
        }
    }

    /// The values, in order.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.iter().map(|(_, value)| value)
    }

    /// How many fields it has.
    pub fn len(&self) -> usize {
        match &self.0.below {
            None => self.0.own.len(),
            Some(_) => self.iter().count(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.own.is_empty() && self.0.below.as_ref().is_none_or(Self::is_empty)
    }
}

impl Index<&str> for Row {
    type Output = Value;

    /// The value of a field; null where there is none.
    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&NULL)
    }
}

impl FromIterator<(Name, Value)> for Row {
    fn from_iter<I: IntoIterator<Item = (Name, Value)>>(fields: I) -> Self {
        let mut row = Self::new();
        for (name, value) in fields {
            row.insert(name, value);
        }
        row
    }
}

impl From<Map<String, Value>> for Row {
    fn from(map: Map<String, Value>) -> Self {
        map.into_iter()
            .map(|(name, value)| (Name::from(name.as_str()), value))
            .collect()
    }
}

impl From<Row> for Value {
    fn from(row: Row) -> Self {
        let fields = row.iter();
        Value::Object(
            fields
                .map(|(name, value)| (name.to_string(), value.clone()))
                .collect(),
        )
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(&*name, value)?;
        }
        map.end()
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .all(|(name, value)| other.get(&name) == Some(value))
    }
}

impl PartialEq<Value> for Row {
    fn eq(&self, other: &Value) -> bool {
        let Some(other) = other.as_object() else {
            return false;
        };
        self.len() == other.len()
            && self
                .iter()
                .all(|(name, value)| other.get(&*name) == Some(value))
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(value: Value) -> Row {
        let Value::Object(map) = value else {
            panic!("a row is an object: {value}")
        };
        Row::from(map)
    }

    #[test]
    fn a_row_over_another_shows_its_fields_in_their_places() {
        let below = row(json!({ "a": 1, "b": 2 }));
        let mut over = Row::over(&below, 2);
        over.insert("c".into(), json!(3));
        over.insert("b".into(), json!(4));
        assert_eq!(
            serde_json::to_string(&over).unwrap(),
            r#"{"a":1,"b":4,"c":3}"#
        );
        assert_eq!((over.len(), over["b"].clone()), (3, json!(4)));
        assert_eq!(below, json!({ "a": 1, "b": 2 }), "the other one stays");
        *over.get_mut("a").unwrap() = json!(9);
        over.values_mut()
            .for_each(|value| *value = json!([value.take()]));
        assert_eq!(over, json!({ "a": [9], "b": [4], "c": [3] }));
        assert_eq!(below["a"], json!(1));
    }

    #[test]
    fn a_joined_row_is_a_value_where_one_is_asked_for() {
        let mut outer = row(json!({ "id": "x" }));
        outer.join("inner".into(), &row(json!({ "n": null, "k": "v" })));
        assert_eq!(outer.joined("inner").unwrap()["k"], "v");
        assert!(outer.joined("id").is_none());
        assert_eq!(outer["inner"], json!({ "n": null, "k": "v" }));
        assert_eq!(
            Value::from(outer),
            json!({ "id": "x", "inner": { "n": null, "k": "v" } })
        );
    }

    #[test]
    fn a_clone_is_a_row_of_its_own() {
        let first = row(json!({ "a": 1 }));
        let mut second = first.clone();
        second.insert("a".into(), json!(2));
        assert_eq!((&first["a"], &second["a"]), (&json!(1), &json!(2)));
        assert_ne!(first, second);
    }
}
