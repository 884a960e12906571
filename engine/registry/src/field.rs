//! One field of a TSV line: how text that holds tabs and line ends is written so that a
//! line stays a line. Knows nothing of columns.

use std::borrow::Cow;

/// A backslash that starts no escape of ours.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadEscape(pub(crate) Option<char>);

impl std::fmt::Display for BadEscape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(c) => write!(
                f,
                "`\\{}` is no escape (a backslash is written `\\\\`)",
                c.escape_debug()
            ),
            None => f.write_str("it ends in a single backslash (one is written `\\\\`)"),
        }
    }
}

/// Appends a text with tab, line feed, carriage return and backslash escaped.
pub(crate) fn escape_into(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = first_special(rest.as_bytes()) {
        out.push_str(&rest[..at]);
        out.push_str(match rest.as_bytes()[at] {
            b'\t' => "\\t",
            b'\n' => "\\n",
            b'\r' => "\\r",
            _ => "\\\\",
        });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

fn first_special(text: &[u8]) -> Option<usize> {
    let control = memchr::memchr3(b'\t', b'\n', b'\r', text);
    let before = control.map_or(text, |at| &text[..at]);
    memchr::memchr(b'\\', before).or(control)
}

/// The text a field stands for. Anything but our own four escapes is damage: a guess would
/// turn `C:\temp` into a tab.
pub(crate) fn unescape(field: &str) -> Result<Cow<'_, str>, BadEscape> {
    let Some(first) = memchr::memchr(b'\\', field.as_bytes()) else {
        return Ok(Cow::Borrowed(field));
    };
    let mut out = String::with_capacity(field.len());
    out.push_str(&field[..first]);
    let mut chars = field[first..].chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('t') => '\t',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('\\') => '\\',
            other => return Err(BadEscape(other)),
        });
    }
    Ok(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_foreign_escape_is_damage_and_not_a_guess() {
        assert_eq!(unescape(r"C:\work"), Err(BadEscape(Some('w'))));
        assert_eq!(unescape("a\\"), Err(BadEscape(None)));
        assert_eq!(unescape(r"C:\\work").unwrap(), r"C:\work");
    }

    proptest! {
        #[test]
        fn any_text_comes_back_and_never_breaks_its_line(text in any::<String>()) {
            let mut field = String::new();
            escape_into(&mut field, &text);
            prop_assert!(!field.contains(['\t', '\n', '\r']));
            prop_assert_eq!(unescape(&field).unwrap(), text);
        }
    }
}
