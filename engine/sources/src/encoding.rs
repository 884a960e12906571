//! Bytes and texts that stand for others: Base64, hexadecimal, percent-encoding, UTF-16.
//!
//! Foreign input, so every function answers nothing rather than something wrong. It must
//! not know where the bytes come from or what they mean.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Either padding, and the loose last bits that some writers leave.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes Base64 in the standard or the URL alphabet, padded or not. White space around
/// and within it does not count.
pub(crate) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let plain = |byte: &u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    };
    let text: Vec<u8> = text
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(plain)
        .collect();
    BASE64.decode(text).ok()
}

/// Writes bytes in Base64, in the standard alphabet without padding.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes).trim_end_matches('=').to_owned()
}

/// Decodes hexadecimal digits of either case.
pub(crate) fn hex(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    text.chunks_exact(2)
        .map(|pair| {
            let value = digit(pair[0])? * 16 + digit(pair[1])?;
            u8::try_from(value).ok()
        })
        .collect()
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// Decodes `%2F` and the like; a `%` that starts no pair of digits stays. Nothing when the
/// result is no UTF-8.
pub(crate) fn percent(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = || hex(bytes.get(at + 1..at + 3)?);
        match (bytes[at], pair()) {
            (b'%', Some(byte)) => {
                out.extend(byte);
                at += 3;
            }
            (other, _) => {
                out.push(other);
                at += 1;
            }
        }
    }
    String::from_utf8(out).ok()
}

/// The path that a `file:` URI names, in the form of the platform it was written on.
///
/// A text that is no URI is a path already and stays. A URI of another scheme, or of a host
/// that cannot be a Windows share, names no file here.
pub(crate) fn file_path(text: &str) -> Option<String> {
    let Some((scheme, rest)) = text.split_once(':') else {
        return Some(text.to_owned());
    };
    let word = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    // One letter is a drive.
    if scheme.len() < 2 || !scheme.chars().all(word) {
        return Some(text.to_owned());
    }
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    let path = percent(path)?;
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return Some(format!(r"\\{}{}", percent(host)?, path.replace('/', r"\")));
    }
    let drive = path.strip_prefix('/').filter(|path| {
        let bytes = path.as_bytes();
        bytes.len() > 1 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
    });
    match drive {
        Some(path) => Some(path.replace('/', r"\")),
        None => path.starts_with('/').then_some(path),
    }
}

/// Bytes as text: UTF-8 with damaged bytes replaced, or UTF-16 where a mark or the zero
/// bytes of its first characters say so. A mark is no part of the text.
pub(crate) fn text(bytes: &[u8]) -> String {
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        return String::from_utf8_lossy(rest).into_owned();
    }
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes
            .chunks_exact(2)
            .map(|two| unit([two[0], two[1]]))
            .collect();
        String::from_utf16_lossy(&units)
    };
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return utf16(rest, u16::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return utf16(rest, u16::from_be_bytes);
    }
    match bytes {
        [first, 0, second, 0, ..] if *first != 0 && *second != 0 => {
            utf16(bytes, u16::from_le_bytes)
        }
        [0, first, 0, second, ..] if *first != 0 && *second != 0 => {
            utf16(bytes, u16::from_be_bytes)
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_in_every_spelling() {
        for text in ["Pz8/YQ==", "Pz8_YQ", " Pz8/\nYQ= "] {
            assert_eq!(
                base64(text.as_bytes()).as_deref(),
                Some(&b"???a"[..]),
                "{text}"
            );
        }
        assert_eq!(base64(b"P"), None);
        assert_eq!(base64(b"a{b"), None);
    }

    #[test]
    fn hexadecimal_both_ways() {
        assert_eq!(hex(b" 7bFf\n").as_deref(), Some(&[0x7b, 0xff][..]));
        assert_eq!(hex(b"7b1"), None);
        assert_eq!(hex(b"zz"), None);
        assert_eq!(to_hex(&[0, 0x7b, 0xff]), "007bff");
    }

    #[test]
    fn uris_of_files_become_paths() {
        for (uri, path) in [
            ("file:///home/dev/a%20b", Some("/home/dev/a b")),
            ("file://localhost/x?y#z", Some("/x")),
            ("file:///c%3A/Users/dev", Some(r"c:\Users\dev")),
            ("file://server/share/x", Some(r"\\server\share\x")),
            ("FILE:///x", Some("/x")),
            ("/already/a path", Some("/already/a path")),
            (r"C:\already", Some(r"C:\already")),
            ("vscode-remote://ssh-remote%2Bh/x", None),
            ("file://", None),
            ("file:///%FF", None),
        ] {
            assert_eq!(file_path(uri).as_deref(), path, "{uri}");
        }
        assert_eq!(percent("100% %2Fx%").as_deref(), Some("100% /x%"));
    }

    #[test]
    fn utf16_is_recognised() {
        let wide =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        assert_eq!(
            text(&wide("{\"a\":\"\u{e9}\u{1f600}\"}")),
            "{\"a\":\"\u{e9}\u{1f600}\"}"
        );
        let marked = [b"\xff\xfe".to_vec(), wide("\u{e9}")].concat();
        assert_eq!(text(&marked), "\u{e9}");
        assert_eq!(text(b"\xfe\xff\0a"), "a");
        assert_eq!(text(b"\xef\xbb\xbfa\xff"), "a\u{fffd}");
        assert_eq!(text(b"ab"), "ab");
        assert_eq!(text(b""), "");
    }
}
