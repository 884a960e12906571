//! Replaces the texts of JSON, whole or damaged, byte for byte in its place: order of keys,
//! white space, numbers, cut records, half records glued together and runs of NULs stay.

use super::values::{Values, is_secret};

/// A run of NULs is kept up to this length.
const NULS: usize = 4_096;

/// Replaces the texts of a document or of one line.
pub fn replace(bytes: &[u8], values: &mut Values) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut key = String::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at + 1);
                let inner = &bytes[at + 1..end];
                let closed = bytes.get(end) == Some(&b'"');
                let is_key = closed && followed_by_colon(bytes, end + 1);
                out.push(b'"');
                out.extend(text(inner, is_key, &mut key, values));
                if closed {
                    out.push(b'"');
                }
                at = end + usize::from(closed);
            }
            0 => {
                let run = bytes[at..].iter().take_while(|b| **b == 0).count();
                out.extend(std::iter::repeat_n(0, run.min(NULS)));
                at += run;
            }
            byte if is_bare(byte) => {
                let run = bytes[at..].iter().take_while(|b| is_bare(**b)).count();
                out.extend(bare(&bytes[at..at + run], &key, values));
                at += run;
            }
            byte => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

/// The place of the quote that ends a string, or of the end of the line.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' | b'\n' | 0 => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn followed_by_colon(bytes: &[u8], from: usize) -> bool {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':')
}

fn text(inner: &[u8], is_key: bool, key: &mut String, values: &mut Values) -> Vec<u8> {
    let quoted = [b"\"", inner, b"\""].concat();
    let Ok(decoded) = serde_json::from_slice::<String>(&quoted) else {
        return damaged(inner, values);
    };
    let replaced = match is_key {
        true => {
            key.clone_from(&decoded);
            values.key(&decoded)
        }
        false => values.value(key, &decoded),
    };
    let encoded = serde_json::Value::from(replaced).to_string();
    encoded.as_bytes()[1..encoded.len() - 1].to_vec()
}

/// A string that is none: bytes that are no text stay no text, escapes stay.
fn damaged(inner: &[u8], values: &mut Values) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in inner.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find('\\') {
            out.extend(values.words.text(&rest[..at]).into_bytes());
            // The character behind a backslash is no part of a word.
            let end = rest[at + 1..]
                .chars()
                .next()
                .map_or(at + 1, |c| at + 1 + c.len_utf8());
            out.extend(&rest.as_bytes()[at..end]);
            rest = &rest[end..];
        }
        out.extend(values.words.text(rest).into_bytes());
        out.extend(std::iter::repeat_n(0xff, chunk.invalid().len()));
    }
    out
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || b"_+-.".contains(&byte)
}

/// Outside strings: numbers and the three words stay; the rest of a broken record does not.
fn bare(run: &[u8], key: &str, values: &mut Values) -> Vec<u8> {
    let number = serde_json::from_slice::<serde_json::Number>(run).is_ok();
    // How many tokens were used is no secret.
    if number && is_secret(key) && !key.to_lowercase().contains("token") {
        values.dropped += 1;
        return b"0".to_vec();
    }
    if number || matches!(run, b"true" | b"false" | b"null") {
        values.words.keep(&String::from_utf8_lossy(run));
        return run.to_vec();
    }
    damaged(run, values)
}

#[cfg(test)]
mod tests {
    use super::super::values::tests::values;
    use super::*;

    fn replaced(text: impl AsRef<[u8]>) -> Vec<u8> {
        replace(text.as_ref(), &mut values())
    }

    #[test]
    fn a_record_keeps_its_shape() {
        let record = "{ \"type\":\"user\", \"cwd\":\"/home/alice/x\",\"n\":-1.5e3 , \"ok\":true,\"list\":[\"Zürich\\n\\u00e9\", null],\"pass_word\":1,\"passwordPin\":4711,\"apiKey\":\"sk-1\"}";
        let out = String::from_utf8(replaced(record)).unwrap();
        assert!(
            out.starts_with("{ \"type\":\"user\", \"cwd\":\"/home/"),
            "{out}"
        );
        assert!(
            out.contains(",\"n\":-1.5e3 , \"ok\":true,\"list\":[\""),
            "{out}"
        );
        assert!(out.ends_with(",\"apiKey\":\"dropped\"}"), "{out}");
        for word in ["alice", "Zürich", "sk-1", "4711"] {
            assert!(!out.contains(word), "{out}");
        }
        let value: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(value["list"][0].as_str().unwrap().contains('\n'));
    }

    #[test]
    fn damage_stays_damage_and_tells_nothing() {
        // Cut within a text, glued to the next, with bytes that are no text, and NULs.
        let cut = replaced("{\"type\":\"user\",\"text\":\"private mat");
        assert!(cut.starts_with(b"{\"type\":\"user\",\"text\":\""));
        assert!(serde_json::from_slice::<serde_json::Value>(&cut).is_err());
        let glued = replaced("{\"text\":\"private{\"type\":\"user\",\"text\":\"matter\"}");
        assert!(serde_json::from_slice::<serde_json::Value>(&glued).is_err());
        let foreign = replaced(b"{\"text\":\"private \xff\xfe matter\"}");
        assert!(foreign.windows(2).any(|two| two == [0xff, 0xff]));
        let nuls = replaced([b"{\"a\":1}\n".as_slice(), &[0; 10_000], b"\n{\"b\":2}"].concat());
        assert_eq!(nuls.iter().filter(|b| **b == 0).count(), NULS);
        for out in [cut, glued, foreign] {
            let out = String::from_utf8_lossy(&out).into_owned();
            assert!(!out.contains("private") && !out.contains("mat"), "{out}");
        }
    }

    #[test]
    fn no_bytes_are_fatal() {
        let seed = b"{\"type\":\"user\",\"t\":\"a\\u00e9\\\"b\",\"n\":[1,2],\"k\":{\"x\":null}}\n";
        let mut state = 11u64;
        for _ in 0..2_000 {
            let mut bytes = seed.to_vec();
            for _ in 0..4 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let at = (state >> 33) as usize % bytes.len();
                bytes[at] = (state >> 21) as u8;
            }
            replace(&bytes, &mut values());
        }
    }
}
