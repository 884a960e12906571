//! Places in a text: bytes, lines and columns. It must not know what the text means.

use std::ops::Range;

/// One-based line, and column in characters, of a byte.
pub fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..boundary(text, byte)];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

/// The byte at a one-based line, and column in characters; clamped to the text.
pub(crate) fn byte_at(text: &str, line: usize, column: usize) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match text[start..].find('\n') {
            Some(at) => start += at + 1,
            None => return text.len(),
        }
    }
    let rest = &text[start..];
    let rest = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let offset = rest
        .char_indices()
        .nth(column.saturating_sub(1))
        .map_or(rest.len(), |(at, _)| at);
    start + offset
}

/// The nearest character boundary at or before a byte.
pub(crate) fn boundary(text: &str, byte: usize) -> usize {
    let mut at = byte.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A span forced into the text, never past the text of its last line's break.
pub(crate) fn within(text: &str, span: Range<usize>) -> Range<usize> {
    let start = boundary(text, span.start);
    let end = boundary(text, span.end.max(start));
    let trimmed = text[start..end].trim_end().len();
    let end = if trimmed == 0 { end } else { start + trimmed };
    start..end
}
