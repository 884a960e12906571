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
pub(super) enum Wild {
    /// One `*` between a beginning and an ending, as nearly all are.
    Around(String, String),
    Other(Pattern),
}

impl Wild {
    fn new(text: &str) -> Option<Self> {
        let plain = |part: &str| !part.contains(['*', '?', '[', ']']);
        match text.split_once('*') {
            Some((beginning, ending)) if plain(beginning) && plain(ending) => {
                Some(Self::Around(beginning.to_owned(), ending.to_owned()))
            }
            _ => Pattern::new(text).ok().map(Self::Other),
        }
    }

    /// Whether a name fits.
    pub(super) fn fits(&self, name: &str) -> bool {
        match self {
            Self::Around(beginning, ending) => {
                let rest = name.strip_prefix(beginning.as_str());
                rest.is_some_and(|rest| rest.ends_with(ending.as_str()))
            }
            Self::Other(pattern) => pattern.matches_with(name, OPTIONS),
        }
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
            _ if text.contains(['*', '?', '[']) => Part::Wild(Wild::new(text)?),
            _ => Part::Plain(text.to_owned()),
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_star_fits_what_its_glob_fits() {
        let patterns = [
            "*", "*.jsonl", "*-a.b", "*.j*", "*[a]", "a*", "**x", "a*a", ".h*n", "a*.jsonl", "x-*b",
        ];
        for pattern in patterns {
            let glob = Pattern::new(pattern);
            for name in [
                "", ".", ".hidden", ".jsonl", "a.jsonl", "a.JSONL", "x-a.b", "a", "aa", "[a]",
            ] {
                let Some(wild) = Wild::new(pattern) else {
                    assert!(glob.is_err(), "{pattern}");
                    continue;
                };
                let expected = glob.as_ref().unwrap().matches_with(name, OPTIONS);
                assert_eq!(wild.fits(name), expected, "{pattern} {name}");
            }
        }
    }
}
