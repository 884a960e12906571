//! YAML, bounded. Only this module, `at` and `tree` know the YAML library; nothing of it
//! shows outside this crate.
//!
//! Rules are read strictly, into types with places. Provider documents are read
//! leniently, into JSON values. Both under a budget, so that no text costs more than a
//! small multiple of its size.

use crate::at;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_yaml::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_yaml::{Budget, Error, Location, Options};
use std::fmt;
use std::ops::Range;

/// A rule, world or configuration file may be this many bytes long.
pub const MAX_RULE_BYTES: usize = 256 << 10;
/// Such a file may nest this deep.
pub(crate) const MAX_RULE_DEPTH: usize = 32;

/// Why a provider's document could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct YamlError {
    /// What is wrong.
    pub message: String,
    /// One-based line, where it is known.
    pub line: Option<u64>,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// A provider's YAML document as a JSON value; an empty one is `null`.
///
/// Nesting beyond `max_depth`, aliases that unfold to more than a small multiple of the
/// text, and several documents in one text are errors. Of equal keys the last counts.
/// `NaN` and infinities become text; numbers with leading zeros stay text.
pub fn to_json(text: &str, max_depth: usize) -> Result<Value, YamlError> {
    let mut options = options(text.len(), max_depth);
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    options.non_finite_float_policy = NonFiniteFloatPolicy::AsString;
    options.leading_zero_numbers_as_strings = true;
    serde_yaml::from_str_with_options::<Option<Value>>(text, options)
        .map(Option::unwrap_or_default)
        .map_err(|error| YamlError {
            message: message(&error),
            line: error.location().map(|l| l.line()),
        })
}

/// Reads a rule, world or configuration file; every place in it is marked as standing in
/// file number `file`.
pub(crate) fn read<T: DeserializeOwned>(text: &str, file: u16) -> Result<T, Fault> {
    let mut options = options(text.len(), MAX_RULE_DEPTH);
    options.strict_booleans = true;
    at::in_file(file, || serde_yaml::from_str_with_options(text, options))
        .map_err(|error| Fault::new(&error, text))
}

fn options(len: usize, max_depth: usize) -> Options {
    let mut options = Options::default();
    // Every node of a text costs at least one byte of it; aliases may double that.
    let nodes = len.saturating_mul(2).saturating_add(1_000);
    let mut budget = Budget::default();
    budget.max_depth = max_depth;
    budget.flow_nesting_limit = max_depth;
    budget.max_nodes = nodes;
    budget.max_events = nodes.saturating_mul(2);
    // One more than allowed, so that a second one is told from a breach.
    budget.max_documents = 2;
    budget.max_aliases = 256;
    budget.max_anchors = 256;
    budget.max_merge_keys = 64;
    budget.max_total_scalar_bytes = nodes;
    budget.max_recorded_anchor_events = nodes;
    budget.max_recorded_anchor_bytes = nodes;
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = nodes;
    options.alias_limits.max_replay_stack_depth = 8;
    options.with_snippet = false;
    options
}

/// What is wrong with a rule, world or configuration file, by kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub kind: FaultKind,
    /// One line, without a place.
    pub message: String,
    /// Bytes of the text.
    pub span: Range<usize>,
}

/// The kinds that are told apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FaultKind {
    /// The text is no YAML.
    Syntax,
    /// A mapping has a key that its type does not know.
    UnknownKey {
        key: String,
        allowed: Vec<&'static str>,
    },
    /// A word is none of a closed set.
    UnknownWord {
        word: String,
        allowed: Vec<&'static str>,
    },
    /// A mapping lacks a key.
    MissingKey { key: &'static str },
    /// A mapping has a key twice.
    DuplicateKey { key: Option<String> },
    /// The text nests too deep, is too large, or its aliases unfold too far.
    Budget,
    /// A value of the wrong type or form.
    Value,
}

impl Fault {
    fn new(error: &Error, text: &str) -> Self {
        let error = innermost(error);
        let kind = match error {
            Error::SerdeUnknownField {
                field, expected, ..
            } => FaultKind::UnknownKey {
                key: field.clone(),
                allowed: expected.clone(),
            },
            Error::SerdeUnknownVariant {
                variant, expected, ..
            } => FaultKind::UnknownWord {
                word: variant.clone(),
                allowed: expected.clone(),
            },
            Error::SerdeMissingField { field, .. } => FaultKind::MissingKey { key: field },
            Error::DuplicateMappingKey { key, .. } => FaultKind::DuplicateKey { key: key.clone() },
            Error::Budget { .. }
            | Error::AliasReplayLimitExceeded { .. }
            | Error::AliasExpansionLimitExceeded { .. }
            | Error::AliasReplayStackDepthExceeded { .. } => FaultKind::Budget,
            Error::Message { .. }
            | Error::SerdeInvalidType { .. }
            | Error::SerdeInvalidValue { .. }
            | Error::SerdeInvalidLength { .. }
            | Error::InvalidScalar { .. }
            | Error::InvalidBooleanStrict { .. }
            | Error::Unexpected { .. }
            | Error::NullIntoString { .. }
            | Error::NonFiniteFloat { .. }
            | Error::UnexpectedValueForUnit { .. }
            | Error::UnexpectedValueForUnitEnumVariant { .. }
            | Error::ExpectedStringKeyForExternallyTaggedEnum { .. }
            | Error::ExternallyTaggedEnumExpectedScalarOrMapping { .. }
            | Error::ExpectedMappingEndAfterEnumVariantValue { .. }
            | Error::TaggedScalarCannotDeserializeIntoString { .. } => FaultKind::Value,
            _ => FaultKind::Syntax,
        };
        Self {
            kind,
            message: message(error),
            span: error.location().map_or(0..0, |l| bytes(&l, text)),
        }
    }
}

fn bytes(location: &Location, text: &str) -> Range<usize> {
    let span = location.span();
    let small = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let start = match span.byte_offset() {
        Some(start) => small(start),
        None => crate::diag::byte_at(text, small(location.line()), small(location.column())),
    };
    start..start.saturating_add(small(span.byte_len().unwrap_or(0)))
}

fn innermost(error: &Error) -> &Error {
    match error.without_snippet() {
        Error::AliasError { error, .. } => innermost(error),
        error => error,
    }
}

/// The library's message in one line, without its advice about its own options.
fn message(error: &Error) -> String {
    match innermost(error) {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("the key `{key}` stands twice")
        }
        Error::DuplicateMappingKey { .. } => "a key stands twice".into(),
        Error::MultipleDocuments { .. } => "a second document starts here".into(),
        Error::NullIntoString { .. } => "no value where text is expected".into(),
        Error::InvalidBooleanStrict { .. } => "expected `true` or `false`".into(),
        Error::SerdeInvalidType {
            unexpected,
            expected,
            ..
        }
        | Error::SerdeInvalidValue {
            unexpected,
            expected,
            ..
        } => format!("expected {expected}, found {unexpected}"),
        Error::InvalidScalar { ty, .. } => {
            let what = match *ty {
                "bool" => "`true` or `false`",
                ty if ty.starts_with('u') => "a whole number, zero or more",
                ty if ty.starts_with('i') => "a whole number",
                ty if ty.starts_with('f') => "a number",
                ty => ty,
            };
            format!("expected {what}")
        }
        Error::Message { msg, .. } => msg.replace('\n', " "),
        Error::Eof { .. } => "the text ends where a value is expected".into(),
        Error::Budget { .. } => "it is too large or nests too deep".into(),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => "its aliases unfold too far".into(),
        error => {
            let text = error.render_with_formatter(&serde_yaml::UserMessageFormatter);
            let text = text.lines().next().unwrap_or_default();
            without_place(text).to_owned()
        }
    }
}

/// Cuts `error: line 3 column 4: ` and ` at line 3, column 4`.
fn without_place(text: &str) -> &str {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let text = match text.split_once(": ") {
        Some((head, rest)) if head.starts_with("line ") => rest,
        _ => text,
    };
    match text.rfind(" at line ") {
        Some(at) => &text[..at],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_documents_become_json() {
        let value = to_json("a: 1\nb: [x, 007, .nan]\na: 2\n", 16).unwrap();
        assert_eq!(
            value,
            serde_json::json!({ "a": 2, "b": ["x", "007", ".nan"] })
        );
        assert_eq!(to_json("", 16).unwrap(), Value::Null);
        assert_eq!(to_json("# nothing\n", 16).unwrap(), Value::Null);
        let error = to_json("a: 1\nb: [", 16).unwrap_err();
        assert!(error.line.is_some_and(|l| l >= 2), "{error}");
        assert!(to_json("a: 1\n---\nb: 2\n", 16).is_err());
    }

    #[test]
    fn depth_and_alias_bombs_are_errors() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(to_json(&deep, 64).is_err());
        let deep: String = (0..10_000)
            .map(|i| format!("{}a:\n", " ".repeat(i)))
            .collect();
        assert!(to_json(&deep, 64).is_err());
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for i in 1..12 {
            let alias = format!("*a{},", i - 1).repeat(9);
            bomb += &format!("a{i}: &a{i} [{alias}]\n");
        }
        assert!(to_json(&bomb, 64).is_err());
    }

    #[test]
    fn any_bytes_are_an_answer() {
        let seed = "a: &x {b: [1, 'c', \"d\\n\"], e: |\n  f\n}\n? g\n: *x\n<<: *x\n!!t h: # i\n";
        let mut state = 7u64;
        for _ in 0..3_000 {
            let mut text: Vec<char> = seed.chars().collect();
            for _ in 0..3 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let at = (state >> 33) as usize % text.len();
                text[at] = char::from((state >> 20) as u8 & 0x7f);
            }
            let text: String = text.into_iter().collect();
            let _ = to_json(&text, 32);
            let _ = read::<Value>(&text, 0);
        }
    }
}
