//! Replaces the texts inside protobuf messages; what is no message becomes zeros.

use super::values::Values;

/// Messages within messages.
const DEPTH: usize = 16;

/// Replaces what can be told to be text; bytes of any other sort lose their content and keep
/// their length.
pub fn replace(bytes: &[u8], values: &mut Values) -> Vec<u8> {
    message(bytes, values, 0).unwrap_or_else(|| vec![0; bytes.len()])
}

/// A message with its texts replaced; nothing when the bytes are none.
fn message(bytes: &[u8], values: &mut Values, depth: usize) -> Option<Vec<u8>> {
    if depth > DEPTH {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        let (tag, after) = varint(rest)?;
        if tag >> 3 == 0 || tag >> 3 > 0x1fff_ffff {
            return None;
        }
        out.extend(&rest[..rest.len() - after.len()]);
        rest = match tag & 7 {
            0 => {
                let (_, after_value) = varint(after)?;
                out.extend(&after[..after.len() - after_value.len()]);
                after_value
            }
            1 => fixed(after, 8, &mut out)?,
            5 => fixed(after, 4, &mut out)?,
            2 => {
                let (len, after_len) = varint(after)?;
                let len = usize::try_from(len).ok()?;
                let part = after_len.get(..len)?;
                let replaced = delimited(part, values, depth);
                put_varint(replaced.len() as u64, &mut out);
                out.extend(replaced);
                &after_len[len..]
            }
            _ => return None,
        };
    }
    Some(out)
}

/// Text, a message within, or bytes.
fn delimited(part: &[u8], values: &mut Values, depth: usize) -> Vec<u8> {
    let shows = |c: char| !c.is_control() || matches!(c, '\n' | '\t' | '\r');
    match std::str::from_utf8(part) {
        Ok(text) if text.chars().all(shows) => values.value("", text).into_bytes(),
        _ => message(part, values, depth + 1).unwrap_or_else(|| vec![0; part.len()]),
    }
}

fn fixed<'b>(bytes: &'b [u8], len: usize, out: &mut Vec<u8>) -> Option<&'b [u8]> {
    out.extend(bytes.get(..len)?);
    Some(&bytes[len..])
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::super::values::tests::values;
    use super::*;

    #[test]
    fn texts_in_messages_are_replaced_and_the_rest_stays() {
        // 1: "Private Ägypten", 2: { 3: 150, 4: "matter" }, 5: fixed32, 6: bytes
        let inner = [&[0x18, 0x96, 0x01, 0x22, 6][..], b"matter"].concat();
        let title = "Private Ägypten".as_bytes();
        let mut bytes = vec![0x0a, title.len() as u8];
        bytes.extend(title);
        bytes.extend([0x12, inner.len() as u8]);
        bytes.extend(&inner);
        bytes.extend([0x2d, 1, 2, 3, 4, 0x32, 3, 0, 0xff, 0xfe]);
        let out = replace(&bytes, &mut values());
        let text = String::from_utf8_lossy(&out);
        assert!(
            !text.contains("Private") && !text.contains("matter"),
            "{text}"
        );
        assert_eq!(out.len(), bytes.len());
        assert_eq!(
            &out[out.len() - 10..out.len() - 3],
            &[0x2d, 1, 2, 3, 4, 0x32, 3]
        );
        assert_eq!(&out[out.len() - 3..], &[0, 0, 0]);
        assert_eq!(replace(&[0xff, 0xff, 0xff], &mut values()), [0, 0, 0]);
    }
}
