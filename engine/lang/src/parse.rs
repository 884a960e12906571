//! From a YAML text to a typed value, with every error it has.
//!
//! A reader stops at its first error. To find the next one, the part that was wrong (a key
//! with its value, or an item) is blanked out, byte for byte, and the text is read again:
//! places stay true, and an error is reported once, without consequences.

use crate::codes;
use crate::diag::{Diagnostic, Help, SourceText, tidy};
use crate::nearest::correct;
use crate::tree::{Broken, Part, Tree};
use crate::yaml::{self, Fault, FaultKind};
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::ops::Range;

/// Errors reported of one file at most.
const MAX_ERRORS: usize = 24;

/// What could be read of a file.
pub(crate) struct Read<T> {
    /// The value, without the parts that were wrong; `None` when too little was left.
    pub value: Option<T>,
    /// Every error, in the order found.
    pub found: Vec<Diagnostic>,
    /// The top-level keys in which something was wrong (`""` for the whole).
    pub damaged: BTreeSet<String>,
}

/// Reads a file; all its errors where there are any.
pub(crate) fn whole<T: DeserializeOwned>(
    file: &SourceText,
    number: u16,
) -> Result<T, Vec<Diagnostic>> {
    let read = read(file, &Tree::of(&file.text), number);
    match read.value {
        Some(value) if read.found.is_empty() => Ok(value),
        _ => Err(tidy(read.found)),
    }
}

/// Reads a file; the first of its errors where there are any.
pub(crate) fn single<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Diagnostic> {
    whole(&SourceText::new(name, text), 0).map_err(|mut errors| errors.remove(0))
}

/// Reads as much of a file as can be read.
pub(crate) fn read<T: DeserializeOwned>(file: &SourceText, tree: &Tree, number: u16) -> Read<T> {
    let mut out = Read {
        value: None,
        found: Vec::new(),
        damaged: BTreeSet::new(),
    };
    if file.text.len() > yaml::MAX_RULE_BYTES {
        let message = format!(
            "the file has {} bytes; at most {} are read",
            file.text.len(),
            yaml::MAX_RULE_BYTES
        );
        out.found.push(too_large(message).at(file, 0..0, ""));
        return out;
    }
    if let Some(broken) = &tree.broken {
        out.found.push(describe_broken(broken, file));
        return out;
    }
    let mut text = file.text.to_string();
    // The tree of the text without the parts that were wrong so far.
    let mut rest: Option<Tree> = None;
    // Mappings that lost a key to an earlier error, by their place in the whole tree.
    let mut robbed: BTreeSet<usize> = BTreeSet::new();
    for _ in 0..MAX_ERRORS {
        let fault = match yaml::read(&text, number) {
            Ok(value) => {
                out.value = Some(value);
                return out;
            }
            Err(fault) => fault,
        };
        let span = place(&fault, tree, &text);
        let consequence = matches!(fault.kind, FaultKind::MissingKey { .. })
            && tree
                .mapping_at(fault.span.start)
                .is_some_and(|m| robbed.contains(&m.id));
        if !consequence {
            let found = file.text.get(span.clone()).unwrap_or_default();
            let mut diagnostic = describe(&fault, found).at(file, span.clone(), label(&fault));
            diagnostic.key = tree.path_at(span.start).map(Into::into);
            let section = tree.section_at(span.start);
            out.damaged.insert(section.unwrap_or_default());
            out.found.push(diagnostic);
        }
        if matches!(fault.kind, FaultKind::Syntax | FaultKind::Budget) || tree.entangled {
            return out;
        }
        if let Some(part) = tree.part_at(fault.span.start) {
            robbed.insert(part.container);
        }
        match blank(&text, rest.as_ref().unwrap_or(tree), &fault) {
            Some(blanked) => text = blanked,
            None => return out,
        }
        rest = Some(Tree::of(&text));
    }
    out
}

fn describe_broken(broken: &Broken, file: &SourceText) -> Diagnostic {
    let span = broken.byte..broken.byte + 1;
    if broken.too_deep {
        return too_large("it nests too deep").at(file, span, "from here on");
    }
    syntax(&broken.message).at(file, span, "the reader gave up here")
}

fn syntax(why: &str) -> Diagnostic {
    Diagnostic::error(codes::SYNTAX, format!("this is no YAML: {why}"))
        .help("look at this line and the one before it for a quote, bracket, colon or indentation")
}

fn too_large(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::TOO_LARGE, message)
        .help("no honest file comes near the limits; split it, or write it without aliases")
}

/// The bytes to point at.
fn place(fault: &Fault, tree: &Tree, text: &str) -> Range<usize> {
    let start = fault.span.start.min(text.len());
    let span = match fault.kind {
        FaultKind::MissingKey { .. } => tree.mapping_at(start).map(|mapping| mapping.place),
        FaultKind::Syntax | FaultKind::Budget => None,
        _ if fault.span.is_empty() => tree.part_at(start).map(|part| start..part.span.end),
        _ => None,
    };
    first_line(text, span.unwrap_or(fault.span.clone()))
}

/// A span cut at the end of its first line.
pub(crate) fn first_line(text: &str, span: Range<usize>) -> Range<usize> {
    let start = span.start.min(text.len());
    let end = span.end.clamp(start, text.len());
    let Some(covered) = text.get(start..end) else {
        return start..start;
    };
    start..start + covered.find('\n').unwrap_or(covered.len())
}

/// The words for a fault; `found` is the text it stands at.
fn describe(fault: &Fault, found: &str) -> Diagnostic {
    let message = fault.message.as_str();
    match &fault.kind {
        FaultKind::Syntax => syntax(message),
        FaultKind::UnknownKey { key, allowed } => {
            let message = format!("there is no key `{key}` here");
            let help = correct(key, allowed.iter().copied(), "the keys allowed here");
            Diagnostic::error(codes::UNKNOWN_KEY, message).help(help)
        }
        FaultKind::UnknownWord { word, allowed } => {
            let help = correct(word, allowed.iter().copied(), "the words allowed here");
            Diagnostic::error(
                codes::VALUE,
                format!("`{word}` is not one of the words allowed here"),
            )
            .help(help)
        }
        FaultKind::MissingKey { key } => {
            Diagnostic::error(codes::MISSING_KEY, format!("the key `{key}` is missing"))
                .help(format!("add `{key}:` here"))
        }
        FaultKind::DuplicateKey { .. } => {
            Diagnostic::error(codes::DUPLICATE_KEY, message).help("keep one of them")
        }
        FaultKind::Budget => too_large(message),
        FaultKind::Value if message == "expected `true` or `false`" => {
            Diagnostic::error(codes::VALUE, message).help(truth(found))
        }
        FaultKind::Value => match codes::split(message) {
            Some((code, message)) => Diagnostic::error(code, message).help(value_help(code)),
            None => Diagnostic::error(codes::VALUE, message).help(value_help(message)),
        },
    }
}

/// A truth value as other YAML readers know it, in the spelling of rules.
fn truth(found: &str) -> Help {
    let right = match found.to_ascii_lowercase().as_str() {
        "yes" | "on" | "y" | "true" => Some("true"),
        "no" | "off" | "n" | "false" => Some("false"),
        _ => None,
    };
    Help {
        text: "truth values are written `true` and `false`".into(),
        meant: right.map(|right| Box::new((found.to_owned(), right.to_owned()))),
    }
}

/// What to write instead, by the code or the message of a wrong value.
fn value_help(about: &str) -> &'static str {
    match about {
        codes::BAD_TEMPLATE => "`{field}` and `${VARIABLE}` are filled in",
        codes::BAD_PATTERN => {
            "patterns are those of the Rust regex crate: no look-around, no back-references"
        }
        _ if about.contains("expected a sequence") => "write a list: `[ … ]`, or lines with `- `",
        _ if about.contains("no value where") => "write a value, or leave the key out",
        _ => "change the value, or leave the key out where it may be",
    }
}

fn label(fault: &Fault) -> &'static str {
    match fault.kind {
        FaultKind::Syntax => "the reader gave up here",
        FaultKind::UnknownKey { .. } => "unknown key",
        FaultKind::UnknownWord { .. } => "unknown word",
        FaultKind::MissingKey { .. } => "in this mapping",
        FaultKind::DuplicateKey { .. } => "again here",
        FaultKind::Budget => "from here on",
        FaultKind::Value => "this value",
    }
}

/// The text without the part that is wrong, or `None` where nothing useful would be left.
fn blank(text: &str, tree: &Tree, fault: &Fault) -> Option<String> {
    let at = fault.span.start;
    let mut part = match fault.kind {
        FaultKind::MissingKey { .. } => tree.mapping_at(at)?.part?,
        _ => tree.part_at(at)?,
    };
    // A collection without its only part would be an empty value, and wrong again.
    while part.siblings == 0 {
        part = tree.part_around(&part)?;
    }
    let range = cut(text, &part);
    if text.get(range.clone())?.trim().is_empty() {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    for byte in &mut bytes[range] {
        if *byte != b'\n' && *byte != b'\r' {
            *byte = b' ';
        }
    }
    String::from_utf8(bytes).ok()
}

/// The part with the comma or dash that belongs to it.
fn cut(text: &str, part: &Part) -> Range<usize> {
    let Range { mut start, mut end } = part.span.clone();
    let before = text.get(..start).unwrap_or_default().trim_end();
    if part.flow {
        let after = text.get(end..).unwrap_or_default();
        let skipped = after.len() - after.trim_start().len();
        if after.trim_start().starts_with(',') {
            end += skipped + 1;
        } else if before.ends_with(',') {
            start = before.len() - 1;
        }
    } else if part.item && before.ends_with('-') {
        start = before.len() - 1;
    }
    // A key without a value ends before its colon.
    let after = text.get(end..).unwrap_or_default();
    if !part.item && after.trim_start_matches(' ').starts_with(':') {
        end += after.find(':').unwrap_or(0) + 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        a: u32,
        #[serde(default)]
        list: Vec<Inner>,
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        b: bool,
        c: Option<String>,
    }

    fn found(text: &str) -> (Option<Outer>, Vec<(&'static str, usize)>) {
        let file = SourceText::new("t.yaml", text);
        let read = super::read::<Outer>(&file, &Tree::of(text), 0);
        let found = tidy(read.found);
        let places = found
            .iter()
            .map(|d| (d.code, d.primary().unwrap().line))
            .collect();
        (read.value, places)
    }

    #[test]
    fn every_error_is_reported_once_at_its_place() {
        let text = "a: 1\nx: 2\nlist:\n  - { b: true, d: 4 }\n  - b: yes\n  - c: z\n  - b: false\ninner: { b: true, e: [1, { f: 2 }], g: 3 }\n";
        let (value, places) = found(text);
        assert_eq!(
            places,
            [
                (codes::UNKNOWN_KEY, 2),
                (codes::UNKNOWN_KEY, 4),
                (codes::VALUE, 5),
                (codes::MISSING_KEY, 6),
                (codes::UNKNOWN_KEY, 8),
                (codes::UNKNOWN_KEY, 8),
            ]
        );
        let value = value.unwrap();
        assert_eq!(value.list.len(), 2);
        assert_eq!(value.inner.unwrap(), Inner { b: true, c: None });
    }

    #[test]
    fn what_cannot_be_recovered_stops_with_its_first_error() {
        assert_eq!(found("a: [1\n").1[0].0, codes::SYNTAX);
        assert_eq!(found("b: 1\n").1, [(codes::UNKNOWN_KEY, 1)]);
        assert_eq!(found("").1.len(), 1);
        assert_eq!(found("x: &q 1\na: *q\ny: 2\n").1.len(), 1);
    }
}
