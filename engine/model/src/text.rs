//! Small facts about names and texts that come from foreign files.

/// Shows a foreign text on a terminal without letting it act on the terminal: control
/// characters, line breaks, bidirectional overrides and what nobody can see become visible
/// escapes, so that two names that look alike are alike.
pub fn display_safe(text: &str) -> String {
    // Most texts are plain, and lists show tens of thousands.
    if is_plain(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        let acts = c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        if acts || (is_invisible(c) && !joins(before, c)) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        before = Some(c);
    }
    out
}

/// The same for a text that is not needed any more: one that is safe stays as it is.
pub fn into_display_safe(text: String) -> String {
    match is_plain(&text) {
        true => text,
        false => display_safe(&text),
    }
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' '..=b'~'))
}

/// Whether a character leaves no mark of its own: Unicode's default ignorable code points (the
/// bidirectional controls and tags among them), interlinear marks and the empty Braille cell.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether an invisible character has work to do where it stands: the joiners of scripts and
/// emoji, and the choice between an emoji's two forms.
fn joins(before: Option<char>, c: char) -> bool {
    let Some(before) = before else { return false };
    let emoji = !before.is_ascii() && !is_invisible(before);
    match c {
        '\u{200c}' => emoji,
        '\u{200d}' => emoji || before == '\u{fe0f}',
        '\u{fe0e}' | '\u{fe0f}' => emoji || matches!(before, '0'..='9' | '#' | '*'),
        _ => false,
    }
}

/// Cuts a text to at most `max` characters, the last one an ellipsis when anything was cut.
pub fn clip(text: &str, max: usize) -> String {
    // No text has more characters than bytes.
    if text.len() <= max || text.chars().count() <= max {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(max.saturating_sub(1)).collect();
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// True for the 36-character hexadecimal form, in either case.
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// What a session without a usable name is shown as. It names nothing: it is no alias and
/// enrols nobody.
pub const UNTITLED: &str = "Untitled session";

/// True when nothing of the text would show.
pub fn is_blank_name(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || c.is_control() || is_invisible(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_shown_and_do_nothing() {
        assert_eq!(
            display_safe("a\u{1b}[2Jb\nc\u{202e}d"),
            "a\\u{1b}[2Jb\\u{a}c\\u{202e}d"
        );
        assert_eq!(
            display_safe("De\u{200b}sk\u{e0041}"),
            "De\\u{200b}sk\\u{e0041}"
        );
        assert_eq!(display_safe("Kasse 结账 🛒"), "Kasse 结账 🛒");
        assert_eq!(
            display_safe("👩\u{200d}🔧 نیم\u{200c}فاصله"),
            "👩\u{200d}🔧 نیم\u{200c}فاصله"
        );
    }

    #[test]
    fn clipping_counts_characters_not_bytes() {
        assert_eq!(clip("结账结账", 4), "结账结账");
        assert_eq!(clip("结账结账!", 4), "结账结…");
    }

    #[test]
    fn uuids_in_either_case_only() {
        assert!(is_uuid("01A22CBD-4a74-7c92-bbd7-ad9fc007bfa2"));
        assert!(!is_uuid("01a22cbd4a747c92bbd7ad9fc007bfa2"));
        assert!(!is_uuid("agent-a4a39dc"));
    }

    #[test]
    fn invisible_names_are_blank() {
        assert!(is_blank_name(" \t\u{200b}\u{feff}"));
        assert!(!is_blank_name(" x "));
    }
}
