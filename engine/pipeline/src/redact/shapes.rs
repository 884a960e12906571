//! Where secrets stand in a text: known beginnings, names that announce a value, logins in
//! addresses, key blocks. Every range it gives lies on character boundaries.

use aho_corasick::AhoCorasick;
use std::ops::Range;
use std::sync::LazyLock;

/// How keys and tokens of widespread services begin, and how many characters have to follow.
const BEGINNINGS: [(&str, usize); 34] = [
    ("sk-", 16),
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("rk_live_", 8),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("xai-", 16),
    ("AIza", 24),
    ("ya29.", 16),
    ("1//0", 24),
    ("AKIA", 16),
    ("ASIA", 16),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxe-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("hf_", 20),
    ("gsk_", 20),
    ("r8_", 20),
    ("pplx-", 20),
    ("npm_", 24),
    ("pypi-", 24),
    ("dop_v1_", 24),
    ("sess-", 20),
    ("eyJ", 24),
    ("AQ.", 24),
];

/// What the name of a secret ends with, written without `-`, `_` and capitals.
const NAMES: [&str; 16] = [
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "sessionkey",
    "secret",
    "token",
    "password",
    "passwd",
    "passphrase",
    "authorization",
    "credential",
    "credentials",
    "cookie",
    "bearer",
];

/// Further names that mean a secret where an address carries them.
const PARAMETERS: [&str; 4] = ["key", "sig", "signature", "code"];

/// Words before the value in an `Authorization` header.
const SCHEMES: [&str; 4] = ["bearer", "basic", "token", "digest"];

/// Whether a variable of that name holds a secret.
pub(super) fn names_a_secret(name: &str) -> bool {
    let plain = plain(name);
    let more = ["key", "auth", "pat"];
    NAMES.iter().any(|end| plain.ends_with(end)) || more.iter().any(|end| plain.ends_with(end))
}

/// The ranges of everything that looks like a secret, in no order.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !may_hold(text) {
        return found;
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let begins = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        match bytes[at] {
            b':' if text[at..].starts_with("://") => found.extend(login(text, at + 3)),
            b'-' if text[at..].starts_with("-----BEGIN ") => found.extend(key_block(text, at)),
            b if begins && b.is_ascii_alphanumeric() => {
                if let Some(range) = token(text, at) {
                    at = range.end;
                    found.push(range);
                    continue;
                }
                // Also at a word within a name: a key may stand behind another word.
                found.extend(value_of(text, &(at..end_of(bytes, at, is_name))));
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Whether a text has anything in it that a secret or its name is made of. Hardly any has, and
/// one pass tells.
fn may_hold(text: &str) -> bool {
    static SHAPES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let marks = ["://", "-----BEGIN "];
        let all = BEGINNINGS.iter().map(|(begin, _)| *begin).chain(marks);
        AhoCorasick::new(all).ok()
    });
    static WORDS: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasick::new(NAMES.iter().chain(&SCHEMES)).ok());
    // Without the quick look, the long one.
    let holds = |words: &Option<AhoCorasick>, text: &str| {
        words.as_ref().is_none_or(|words| words.is_match(text))
    };
    text.contains(['?', '&']) || holds(&SHAPES, text) || holds(&WORDS, &plain(text))
}

/// A text that begins like a key and goes on long enough. Words do too (`sk-learn-…`), and
/// only keys have digits in them.
fn token(text: &str, at: usize) -> Option<Range<usize>> {
    let (begin, least) = BEGINNINGS
        .iter()
        .find(|(begin, _)| text[at..].starts_with(begin))?;
    let end = end_of(text.as_bytes(), at, is_secret);
    let rest = text.get(at + begin.len()..end)?;
    let is_key = rest.len() >= *least && rest.bytes().any(|b| b.is_ascii_digit());
    is_key.then_some(at..end)
}

/// The value behind a name that announces one: `NAME=value`, `"name": "value"`,
/// `Name: Bearer value`, `?key=value`, `Bearer value`.
fn value_of(text: &str, name: &Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let word = &text[name.clone()];
    let plain = plain(word);
    let scheme = SCHEMES.contains(&plain.as_str());
    let parameter = name.start > 0
        && matches!(bytes[name.start - 1], b'?' | b'&')
        && PARAMETERS.contains(&plain.as_str());
    let announced = NAMES.iter().any(|end| plain.ends_with(end));
    if !(announced || parameter || scheme) {
        return None;
    }
    let quote = |b: u8| matches!(b, b'"' | b'\'' | b'\\' | b'`');
    let mut at = end_of(bytes, name.end, quote);
    at = end_of(bytes, at, |b| b == b' ');
    let sign = bytes.get(at).copied();
    if !matches!(sign, Some(b'=' | b':')) {
        // `Bearer <value>` needs no sign; behind the other words stands mostly prose.
        return matches!(plain.as_str(), "bearer" | "basic")
            .then(|| unquoted(text, at))
            .filter(|value| at > name.end && is_random(&text[value.clone()]));
    }
    let assigned = sign == Some(b'=');
    at = end_of(bytes, at + 1, |b| {
        quote(b) || b == b' ' || b == b'=' || b == b'>'
    });
    if plain.ends_with("cookie") {
        return Some(at..at + text[at..].find(['\n', '"']).unwrap_or(text.len() - at));
    }
    let mut value = unquoted(text, at);
    let schemed = SCHEMES.contains(&text[value.clone()].to_ascii_lowercase().as_str());
    if schemed {
        value = unquoted(text, end_of(bytes, value.end, |b| b == b' '));
    }
    let said = &text[value.clone()];
    let password = plain.contains("pass") && !plain.ends_with("passed");
    let is_secret = !said.is_empty() && (assigned || password || schemed || is_random(said));
    is_secret.then_some(value)
}

/// `user:password` or `token` between `://` and `@`.
fn login(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\''));
    let host = &rest[..end.unwrap_or(rest.len())];
    let login = host.rfind('@')?;
    (login > 0).then_some(at..at + login)
}

/// A private key in its armour, up to its end or the end of the text.
fn key_block(text: &str, at: usize) -> Option<Range<usize>> {
    let head = text[at..].get(..64).unwrap_or(&text[at..]);
    if !head.contains("PRIVATE KEY") {
        return None;
    }
    let body = at + "-----BEGIN ".len();
    let end = text[body..].find("-----END ").map(|end| body + end);
    let end = end.and_then(|end| {
        let tail = end + "-----END ".len();
        text[tail..].find("-----").map(|close| tail + close + 5)
    });
    Some(at..end.unwrap_or(text.len()))
}

/// A value up to what can only stand behind one.
fn unquoted(text: &str, at: usize) -> Range<usize> {
    let rest = &text[at..];
    let ends = |c: char| c.is_whitespace() || "\"'\\`,;&<>()[]{}|".contains(c);
    at..at + rest.find(ends).unwrap_or(rest.len())
}

/// Whether a value looks drawn rather than written. In prose the word behind `token:` is
/// mostly `missing` or `expired`, which the reader needs.
fn is_random(value: &str) -> bool {
    let long = value.len() >= 24;
    value.len() >= 8 && (long || value.bytes().any(|b| b.is_ascii_digit()))
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

fn end_of(bytes: &[u8], from: usize, holds: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|b| holds(**b)).count()
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

fn is_secret(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'~')
}
