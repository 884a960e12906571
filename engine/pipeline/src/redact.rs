//! Takes keys, tokens and passwords out of texts that come from a provider, before they are
//! kept. Programs print their environment, their requests and their configuration when they
//! fail, and receipts are copied into tickets.
//!
//! Pure text in, text out. Knows no provider: it looks for the shapes that secrets have, for
//! names that announce one, and for values it was told about. A body is never redacted: it
//! belongs to its sender and its reader.

mod shapes;

#[cfg(test)]
mod tests;

use axiowl_model::Evidence;
use std::borrow::Cow;
use std::ops::Range;

/// Stands where a secret stood.
pub const REDACTED: &str = "[redacted]";

/// A value shorter than this is no secret worth the name, and may stand in any text.
const SHORTEST_VALUE: usize = 6;

/// Replaces everything that looks like a secret.
pub fn redact(text: &str) -> Cow<'_, str> {
    replace(text, shapes::find(text))
}

/// Redaction that also knows values: the secrets a provider's program was given.
#[derive(Clone, Default)]
pub struct Redactor {
    /// The longest first, so that one which begins like another is replaced as a whole.
    values: Vec<String>,
}

impl Redactor {
    /// Knows the variables of an environment whose names announce a secret.
    pub fn of_env(env: &[(String, String)]) -> Self {
        let mut values: Vec<String> = env
            .iter()
            .filter(|(name, value)| shapes::names_a_secret(name) && value.len() >= SHORTEST_VALUE)
            .map(|(_, value)| value.clone())
            .collect();
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self { values }
    }

    /// Replaces the known values and everything that looks like a secret.
    pub fn clean(&self, text: String) -> String {
        let mut found = shapes::find(&text);
        for value in &self.values {
            found.extend(
                text.match_indices(value.as_str())
                    .map(|(at, value)| at..at + value.len()),
            );
        }
        match replace(&text, found) {
            Cow::Borrowed(_) => text,
            Cow::Owned(cleaned) => cleaned,
        }
    }

    /// The same for what proves a stage.
    pub fn evidence(&self, evidence: Evidence) -> Evidence {
        Evidence {
            path: evidence.path.map(|path| self.clean(path)),
            detail: self.clean(evidence.detail),
            ..evidence
        }
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} values)", self.values.len())
    }
}

/// Replaces ranges of a text; those that touch become one.
fn replace(text: &str, mut found: Vec<Range<usize>>) -> Cow<'_, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_by_key(|range| (range.start, range.end));
    let mut out = String::with_capacity(text.len());
    let mut kept_to = 0;
    let mut ranges = found.into_iter().peekable();
    while let Some(mut range) = ranges.next() {
        while let Some(next) = ranges.next_if(|next| next.start <= range.end) {
            range.end = range.end.max(next.end);
        }
        out.push_str(&text[kept_to..range.start]);
        out.push_str(REDACTED);
        kept_to = range.end;
    }
    out.push_str(&text[kept_to..]);
    Cow::Owned(out)
}
