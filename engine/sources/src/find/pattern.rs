//! Patterns, split at their slashes, so that only wild parts list a folder.

use glob::{MatchOptions, Pattern};

const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// One part of a pattern between two slashes.
pub(super) enum Part {
    Plain(String),
    Wild(Wild),
    /// `**`: any number of folders.
    Deep,
}

/// A part with `*`, `?` or `[` in it.
pub(super) struct Wild(Pattern);

impl Wild {
    /// Whether a name fits.
    pub(super) fn fits(&self, name: &str) -> bool {
        self.0.matches_with(name, OPTIONS)
    }
}

/// Parts of a pattern; `None` when it leads upwards.
pub(super) fn parts(pattern: &str) -> Option<Vec<Part>> {
    let mut out = Vec::new();
    for text in pattern
        .split('/')
        .filter(|text| !text.is_empty() && *text != ".")
    {
        out.push(match text {
            ".." => return None,
            "**" => Part::Deep,
            _ if text.contains(['*', '?', '[']) => Part::Wild(Wild(Pattern::new(text).ok()?)),
            _ => Part::Plain(text.to_owned()),
        });
    }
    Some(out)
}
