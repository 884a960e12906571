//! Looking for, adding and taking out one entry of a text, whatever its format; and the checks
//! that hold for every format. Knows no files.

use crate::error::Why;
use crate::recipe::{Entry, Format, Place};
use crate::{json, toml, whole};
use serde_json::{Map, Value};

/// Takes an entry out of a text, with the containers it leaves empty.
type Way = fn(&str, &Entry, &[Vec<String>]) -> Result<String, Why>;

/// What stands where an entry belongs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    /// Nothing.
    Absent,
    /// The entry.
    Same,
    /// Something else.
    Other(Value),
}

/// A text, read.
pub(crate) struct Document<'t> {
    format: Format,
    text: &'t str,
    value: Value,
}

impl<'t> Document<'t> {
    /// Reads a text; one without anything in it is an empty document.
    pub fn read(format: Format, text: &'t str) -> Result<Self, Why> {
        let value = match format {
            Format::Toml => toml::value(text)?,
            Format::Json | Format::Jsonc => json::value(text, format)?,
            Format::Whole => whole::value(text),
        };
        Ok(Self {
            format,
            text,
            value,
        })
    }

    /// Whether nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.value.as_object().is_some_and(Map::is_empty)
    }

    /// What stands where an entry belongs.
    pub fn find(&self, entry: &Entry) -> Result<Found, Why> {
        let mut at = &self.value;
        for (depth, key) in entry.path.iter().enumerate() {
            let Some(table) = at.as_object() else {
                let shown = entry.path[..depth].join(".");
                return Err(Why::Shape(shown, "a table"));
            };
            match table.get(key) {
                Some(next) => at = next,
                None => return Ok(Found::Absent),
            }
        }
        match entry.place {
            Place::Key if *at == entry.value => Ok(Found::Same),
            Place::Key => Ok(Found::Other(at.clone())),
            Place::Element => {
                let list = at
                    .as_array()
                    .ok_or_else(|| Why::Shape(entry.path.join("."), "a list"))?;
                let there = list.contains(&entry.value);
                Ok(if there { Found::Same } else { Found::Absent })
            }
        }
    }

    /// The text with the entry, and the paths of the tables and lists that came with it, the
    /// outermost first.
    pub fn add(&self, entry: &Entry) -> Result<(String, Vec<Vec<String>>), Why> {
        let made = self.missing(entry);
        let new = match self.format {
            Format::Toml => toml::add(self.text, entry)?,
            Format::Json | Format::Jsonc => json::add(self.text, entry)?,
            Format::Whole => whole::text(entry),
        };
        let mut expected = self.value.clone();
        put(&mut expected, entry);
        let exact = is_subsequence(self.text, &new);
        self.check(exact, &new, &expected, entry)?;
        Ok((new, made))
    }

    /// The text without the entry, and without those of `made` that are empty then.
    pub fn take(&self, entry: &Entry, made: &[Vec<String>]) -> Result<String, Why> {
        let mut expected = self.value.clone();
        let emptied = take_value(&mut expected, entry, made);
        // The text's own way may not get along with what others made of it; the library's does.
        let ways: &[Way] = match self.format {
            Format::Toml => &[toml::cut, toml::take],
            Format::Json | Format::Jsonc => &[json::take],
            Format::Whole => &[|_, _, _| Ok(String::new())],
        };
        let mut last = Why::NotAlone(entry.shown());
        for way in ways {
            let tried = way(self.text, entry, &emptied).and_then(|new| {
                let exact = is_subsequence(&new, self.text);
                self.check(exact, &new, &expected, entry)?;
                Ok(new)
            });
            match tried {
                Ok(new) => return Ok(new),
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    /// Nothing but the entry may have changed, neither in bytes nor in what they mean.
    fn check(&self, exact: bool, new: &str, expected: &Value, entry: &Entry) -> Result<(), Why> {
        let read = Document::read(self.format, new);
        let right = read.is_ok_and(|read| read.value == *expected);
        if exact && right {
            Ok(())
        } else {
            Err(Why::NotAlone(entry.shown()))
        }
    }

    /// The tables and lists on an entry's way that are not there.
    fn missing(&self, entry: &Entry) -> Vec<Vec<String>> {
        let last = entry.path.len() - usize::from(entry.place == Place::Key);
        let paths = (1..=last).map(|depth| &entry.path[..depth]);
        paths
            .filter(|path| at(&self.value, path).is_none())
            .map(<[String]>::to_vec)
            .collect()
    }
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |at, key| at.get(key))
}

fn at_mut<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |at, key| at.get_mut(key))
}

fn put(value: &mut Value, entry: &Entry) {
    let mut at = value;
    for key in &entry.path {
        at = &mut at[key];
    }
    match (entry.place, at) {
        (Place::Key, at) => *at = entry.value.clone(),
        (Place::Element, Value::Array(list)) => list.push(entry.value.clone()),
        (Place::Element, at) => *at = Value::Array(vec![entry.value.clone()]),
    }
}

/// Takes an entry out of a value; the containers that were emptied and go too, the innermost
/// first.
fn take_value(value: &mut Value, entry: &Entry, made: &[Vec<String>]) -> Vec<Vec<String>> {
    let (key, parent) = match (entry.place, entry.path.split_last()) {
        (Place::Key, Some((key, parent))) => (Some(key), parent),
        _ => (None, entry.path.as_slice()),
    };
    match (key, at_mut(value, parent)) {
        (Some(key), Some(Value::Object(table))) => drop(table.shift_remove(key)),
        (None, Some(Value::Array(list))) => {
            if let Some(index) = list.iter().position(|one| *one == entry.value) {
                list.remove(index);
            }
        }
        _ => {}
    }
    let mut gone = Vec::new();
    for path in made.iter().rev() {
        let empty = match at(value, path) {
            Some(Value::Object(table)) => table.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            _ => false,
        };
        let Some((key, parent)) = path.split_last().filter(|_| empty) else {
            break;
        };
        if let Some(Value::Object(table)) = at_mut(value, parent) {
            table.shift_remove(key);
        }
        gone.push(path.clone());
    }
    gone
}

/// Whether the first is the second with pieces left out.
fn is_subsequence(new: &str, old: &str) -> bool {
    let mut rest = old.bytes();
    new.bytes().all(|byte| rest.any(|other| other == byte))
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
