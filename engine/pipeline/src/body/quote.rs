//! Quoting and its way back. Every line gets a mark in front, every `@` is kept from being a
//! file reference and every `$` from naming a skill, the header's own mark cannot appear, and
//! no control character stays.

/// In front of every line of the sender's text.
const LINE: &str = "> ";
/// U+2060 WORD JOINER: shows nothing, and is no part of any path, command or mark.
const JOINER: char = '\u{2060}';
/// The word after `[` in a header, in any case.
const MARK_WORD: &str = "axiowl";
/// Variables that no program takes for a skill (found by experiment with Codex 0.171, which
/// reads a skill in wherever its name stands behind a `$`). They stay as they are, so that the
/// commands agents send each other mostly do.
const VARIABLES: [&str; 11] = [
    "HOME",
    "LANG",
    "PATH",
    "PWD",
    "SHELL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "USER",
    "XDG_CONFIG_HOME",
];

/// Brings a text to the form that survives quoting: every kind of line break is `\n`, and
/// control characters other than tab are visible escapes.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                if chars.peek() == Some(&'\n') {
                    chars.next();
                }
                out.push('\n');
            }
            // Whatever some program takes for the start of a line must get a mark there.
            '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Appends the quoted text, each line on a new one.
pub(super) fn quote_into(out: &mut String, text: &str) {
    for line in clean(text).split('\n') {
        out.push('\n');
        out.push_str(LINE);
        defuse_into(out, line);
    }
}

/// Appends one line with every file reference, skill and header mark broken by a joiner.
///
/// Each `@` gets a joiner behind it, and one before it unless it stands within a word. A `[`
/// that is followed by the mark's word, or by joiners and that word, gets one behind it, and so
/// does a `$` that is followed by a name, or by joiners and a name.
pub(super) fn defuse_into(out: &mut String, line: &str) {
    let mut before = None;
    for (at, c) in line.char_indices() {
        match c {
            '@' => {
                if !before.is_some_and(is_word) {
                    out.push(JOINER);
                }
                out.push('@');
                out.push(JOINER);
            }
            '[' if opens_mark(&line[at + 1..]) => {
                out.push('[');
                out.push(JOINER);
            }
            '$' if opens_name(&line[at + 1..]) => {
                out.push('$');
                out.push(JOINER);
            }
            c => out.push(c),
        }
        before = Some(c);
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn opens_mark(rest: &str) -> bool {
    let rest = rest.trim_start_matches(JOINER);
    rest.get(..MARK_WORD.len())
        .is_some_and(|word| word.eq_ignore_ascii_case(MARK_WORD))
}

/// Whether what follows a `$` is, or might be taken for, the name of a skill.
fn opens_name(rest: &str) -> bool {
    let word = rest.trim_start_matches(JOINER);
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    let name = word.split(|c| !in_name(c)).next().unwrap_or_default();
    let is_variable = word.len() == rest.len() && VARIABLES.contains(&name);
    !name.is_empty() && !is_variable
}

/// The sender's text out of a visible body, in its [`clean`] form; `None` when the text is
/// no visible body.
pub fn unquote(visible: &str) -> Option<String> {
    let (header, rest) = visible.split_once('\n')?;
    header.strip_prefix(axiowl_model::VISIBLE_MARK)?;
    let quoted = match rest.strip_prefix(super::HOPS_LABEL) {
        Some(hops) => hops.split_once('\n')?.1,
        None => rest,
    };
    let mut out = String::with_capacity(quoted.len());
    for (i, line) in quoted.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        // A store that trims line ends leaves the bare mark of an empty line.
        let line = match line.strip_prefix(LINE) {
            Some(line) => line,
            None if line == LINE.trim_end() => "",
            None => return None,
        };
        refuse_into(&mut out, line);
    }
    Some(out)
}

/// The way back from [`defuse_into`].
fn refuse_into(out: &mut String, line: &str) {
    let mut rest = line.chars();
    let mut joiners = 0;
    while let Some(c) = rest.next() {
        match c {
            '@' => {
                if joiners > 0 {
                    out.pop();
                }
                out.push('@');
                joiners = 0;
                let mut ahead = rest.clone();
                if ahead.next() == Some(JOINER) {
                    rest = ahead;
                }
                continue;
            }
            '[' if rest.as_str().starts_with(JOINER) && opens_mark(rest.as_str()) => {
                rest.next();
                out.push('[');
            }
            '$' if rest.as_str().starts_with(JOINER) && opens_name(rest.as_str()) => {
                rest.next();
                out.push('$');
            }
            c => out.push(c),
        }
        joiners = if c == JOINER { joiners + 1 } else { 0 };
    }
}
