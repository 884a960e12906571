//! A value that remembers where in a rule it stands.
//!
//! The span survives deserialisation because no rule type uses `flatten`,
//! `untagged` or an internally tagged enum: those buffer and lose it.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::cell::Cell;
use std::ops::{Deref, Range};

/// A place in one of the files a rule was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Index into the loaded rule's files.
    pub file: u16,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes of the file it covers.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

thread_local! {
    static FILE: Cell<u16> = const { Cell::new(0) };
    static KNOWN_GOOD: Cell<bool> = const { Cell::new(false) };
}

/// Parses text that is compiled in and that tests have parsed with every check.
pub(crate) fn of_known_good<T>(parse: impl FnOnce() -> T) -> T {
    let before = KNOWN_GOOD.replace(true);
    let out = parse();
    KNOWN_GOOD.set(before);
    out
}

/// Whether such text is being parsed.
pub(crate) fn known_good() -> bool {
    KNOWN_GOOD.get()
}

/// Parses with every [`At`] marked as standing in file number `file`.
pub(crate) fn in_file<T>(file: u16, parse: impl FnOnce() -> T) -> T {
    let before = FILE.replace(file);
    let out = parse();
    FILE.set(before);
    out
}

/// A value and its place.
#[derive(Debug, Clone)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

impl<T> At<T> {
    /// A value that stands in no file, such as a default.
    pub fn unplaced(value: T) -> Self {
        Self {
            value,
            span: Span::default(),
        }
    }
}

impl<T> Deref for At<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for At<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Serialize> Serialize for At<T> {
    /// The file is not written: the reader of a prepared rule knows which one it is. For people
    /// (the schema's defaults) there is the value alone.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return self.value.serialize(serializer);
        }
        (&self.value, self.span.start, self.span.end).serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            let (value, start, end) = Deserialize::deserialize(deserializer)?;
            // What stands in no file, such as a default, has no bytes either.
            let file = if end == 0 { 0 } else { FILE.get() };
            let span = Span { file, start, end };
            return Ok(Self { value, span });
        }
        let spanned = serde_yaml::Spanned::<T>::deserialize(deserializer)?;
        let place = spanned.referenced.span();
        let start = place.byte_offset().unwrap_or(0);
        let len = place.byte_len().unwrap_or(0);
        let clamp = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let span = Span {
            file: FILE.get(),
            start: clamp(start),
            end: clamp(start.saturating_add(len)),
        };
        Ok(Self {
            value: spanned.value,
            span,
        })
    }
}

impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}
