//! JSON with comments, made plain: what the grammar does not know becomes white space, so
//! that lines and columns of an error stay true.

/// Comments (`//` to the end of the line, `/*` to `*/`) and commas before a closing bracket
/// as spaces. A comment that does not end reaches to the end.
pub(super) fn blanked(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    let mut at = 0;
    let mut comma = None;
    while at < out.len() {
        let end = match out[at] {
            b'"' => string_end(&out, at),
            b'/' => match out.get(at + 1) {
                Some(b'/') => line_end(&out, at),
                Some(b'*') => block_end(&out, at),
                _ => at + 1,
            },
            _ => at + 1,
        };
        let comment = out[at] == b'/' && end > at + 1;
        match out[at] {
            _ if comment => blank(&mut out[at..end]),
            b',' => comma = Some(at),
            b']' | b'}' => {
                if let Some(comma) = comma.take() {
                    out[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at = end;
    }
    out
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| !byte.is_ascii_whitespace()) {
        *byte = b' ';
    }
}

fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn line_end(text: &[u8], start: usize) -> usize {
    memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |length| start + length)
}

fn block_end(text: &[u8], start: usize) -> usize {
    let inner = start + 2;
    memchr::memmem::find(&text[inner..], b"*/").map_or(text.len(), |length| inner + length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn read(text: &str) -> Option<Value> {
        serde_json::from_slice(&blanked(text.as_bytes())).ok()
    }

    #[test]
    fn comments_and_last_commas_go() {
        let text =
            "// head\n{ \"a\": \"x // no\\\" /*\", /* b */ \"b\": [1, 2, // c\n ], }\n// end";
        assert_eq!(read(text), Some(json!({"a": "x // no\" /*", "b": [1, 2]})));
        assert_eq!(read("[1,,]"), None);
        assert_eq!(read("[1 /"), None);
        assert_eq!(read("{} /* open"), Some(json!({})));
        assert_eq!(blanked(b"a/*x\ny*/b"), b"a   \n   b");
    }

    proptest! {
        #[test]
        fn any_bytes_keep_their_length_and_lines(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let out = blanked(&text);
            prop_assert_eq!(out.len(), text.len());
            let lines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
            prop_assert_eq!(lines(&out), lines(&text));
        }

        #[test]
        fn plain_json_stays_as_it_is(text in r#"[\[\]{}",:/ a*\\\\n]{0,40}"#) {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                prop_assert_eq!(read(&text), Some(value));
            }
        }
    }
}
