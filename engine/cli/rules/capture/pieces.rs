//! Cuts a text into words, ids, and what stands between them or tells nothing by its form:
//! times, versions, escapes. It must not know what becomes of the pieces.

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// A run of letters and digits.
    Word(&'t str),
    /// An id of hexadecimal digits.
    Uuid(&'t str),
    /// Between words, or of a form that tells nothing: times, versions.
    Kept(&'t str),
}

/// The pieces of a text, in order; together they are the text.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        // Ids, times and versions start where no word ends.
        let boundary = !matches!(out.last(), Some(Piece::Word(_)));
        let (piece, len) = match escape(rest) {
            Some(kept) => (Piece::Kept(kept), kept.len()),
            None if boundary => one(rest),
            None => word_or_gap(rest),
        };
        out.push(piece);
        at += len.max(1);
    }
    out
}

fn one(rest: &str) -> (Piece<'_>, usize) {
    if let Some(id) = uuid(rest) {
        return (Piece::Uuid(id), id.len());
    }
    if let Some(kept) = time(rest)
        .or_else(|| version(rest))
        .or_else(|| escape(rest))
    {
        return (Piece::Kept(kept), kept.len());
    }
    word_or_gap(rest)
}

fn word_or_gap(rest: &str) -> (Piece<'_>, usize) {
    let end = |is: &dyn Fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
    match rest.starts_with(is_word) {
        true => {
            // Folder names made of paths keep only ASCII, so a word ends where that does.
            let ascii = rest.starts_with(|c: char| c.is_ascii());
            let len = end(&|c| is_word(c) && c.is_ascii() == ascii);
            (Piece::Word(&rest[..len]), len)
        }
        false => {
            // One character at a time around `%`, which may start an escape.
            let first = rest.chars().next().map_or(1, char::len_utf8);
            let len = match rest.starts_with('%') {
                true => first,
                false => end(&|c| !is_word(c) && c != '%').max(first),
            };
            (Piece::Kept(&rest[..len]), len)
        }
    }
}

/// Whether a character is part of a word.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric()
}

fn ends(text: &str, len: usize) -> bool {
    !text[len..].starts_with(is_word)
}

/// `8-4-4-4-12` hexadecimal digits.
fn uuid(text: &str) -> Option<&str> {
    let id = text.get(..36)?;
    let fits = id.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    (fits && ends(text, 36)).then_some(id)
}

/// `2026-11-30`, `2026-11-30T13-55-55`, `2026-11-30T13:55:55.123Z`.
fn time(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes
            .get(range)
            .is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let separator = |at: usize, of: &[u8]| bytes.get(at).is_some_and(|b| of.contains(b));
    let date = digits(0..4)
        && separator(4, b"-/")
        && digits(5..7)
        && separator(7, b"-/")
        && digits(8..10)
        && matches!(bytes[0], b'1' | b'2');
    if !date {
        return None;
    }
    // The longest that ends where a word does: an id may follow a time, as in
    // `session-2026-11-30T14-20-30f3c047`.
    let mut forms = vec![10];
    if separator(10, b"T ") && digits(11..13) && separator(13, b":-") && digits(14..16) {
        forms.push(16);
        if separator(16, b":-") && digits(17..19) {
            forms.push(19);
            if separator(19, b".") {
                let fraction = bytes[20..].iter().take_while(|b| b.is_ascii_digit());
                forms.push(20 + fraction.count());
            }
        }
        let last = forms.last().copied().unwrap_or(10);
        if separator(last, b"Z") {
            forms.push(last + 1);
        }
    }
    let end = forms.into_iter().rev().find(|end| ends(text, *end))?;
    Some(&text[..end])
}

/// `1.2`, `0.171.0`, `2.1.332-beta`.
fn version(text: &str) -> Option<&str> {
    let mut end = 0;
    let mut parts = 0;
    loop {
        let digits = text[end..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 || digits > 6 {
            return None;
        }
        end += digits;
        parts += 1;
        let dot = text[end..].starts_with('.');
        let next = text[end + usize::from(dot)..].starts_with(|c: char| c.is_ascii_digit());
        match dot && next {
            true => end += 1,
            false => break,
        }
    }
    (parts > 1 && ends(text, end)).then(|| &text[..end])
}

/// `%2F`
fn escape(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let fits = bytes.first() == Some(&b'%')
        && bytes
            .get(1..3)
            .is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    fits.then(|| &text[..3])
}
