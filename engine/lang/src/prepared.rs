//! Rules that are compiled into the program, read ahead of time.
//!
//! Reading a rule's YAML takes longer than all the rest of a short command, and its reader is a
//! large part of the program. So the build reads each rule once, and the program holds what came
//! of it beside the text. It counts only for that very text and as it was made, which a digest of
//! both tells; where anything is unexpected, the text is read.

use crate::at;
use crate::diag::{Diagnostic, SourceText};
use crate::parse;
use crate::rule::Rule;
use crate::yaml;
use std::fmt;

/// Bytes of the digest, which stands first.
const DIGEST: usize = blake3::OUT_LEN;

/// Why a rule could not be prepared.
#[derive(Debug)]
pub enum Problem {
    /// The text is no rule.
    Rule(Box<Diagnostic>),
    /// A part of it cannot be written down.
    Form(postcard::Error),
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(diagnostic) => write!(out, "{diagnostic}"),
            Self::Form(error) => write!(out, "it cannot be prepared: {error}"),
        }
    }
}

impl std::error::Error for Problem {}

/// Reads the text of a rule, which `name` is the file of, for [`read`].
///
/// # Errors
/// The first thing wrong with it.
pub fn prepare(name: &str, text: &str) -> Result<Vec<u8>, Problem> {
    let rule: Rule = match at::of_known_good(|| yaml::read(text, 0)) {
        Ok(rule) => rule,
        // Once more, with the words for a person.
        Err(_) => {
            let read = parse::whole::<Rule>(&SourceText::new(name, text), 0);
            let mut found = read.err().unwrap_or_default();
            let unknown = || Diagnostic::error(crate::codes::SYNTAX, "it is no rule");
            let first = found.drain(..).next().unwrap_or_else(unknown);
            return Err(Problem::Rule(Box::new(first)));
        }
    };
    let rule = postcard::to_allocvec(&rule).map_err(Problem::Form)?;
    let digest = digest(text, &rule);
    Ok([digest.as_bytes().as_slice(), &rule].concat())
}

/// Names a text together with what was made of it.
fn digest(text: &str, rule: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    // Where the one ends and the other begins is part of it.
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
    hasher.update(rule);
    hasher.finalize()
}

/// The rule that was prepared from this text, as if it were read as file number `number`; `None`
/// where these bytes are of another text, damaged, or no rule.
pub(crate) fn read(prepared: &[u8], text: &str, number: u16) -> Option<Rule> {
    let (first, rule) = prepared.split_first_chunk::<DIGEST>()?;
    if digest(text, rule) != *first {
        return None;
    }
    let read = || at::in_file(number, || postcard::take_from_bytes::<Rule>(rule));
    let (rule, rest) = at::of_known_good(read).ok()?;
    rest.is_empty().then_some(rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled_in;
    use crate::folder::{Layer, RuleFolder};
    use std::path::Path;

    /// The text of every rule that is shipped.
    fn shipped() -> Vec<(String, String)> {
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
        let folders = std::fs::read_dir(rules).unwrap();
        let files = folders.map(|folder| folder.unwrap().path().join("rule.yaml"));
        let texts = files.filter(|file| file.exists()).map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            (file.display().to_string(), text)
        });
        texts.collect()
    }

    #[test]
    fn a_prepared_rule_is_the_rule_that_is_read_with_every_place() {
        let all = shipped();
        assert!(all.len() > 10, "{}", all.len());
        for (name, text) in all {
            let prepared = prepare(&name, &text).unwrap_or_else(|error| panic!("{name}: {error}"));
            for number in [0, 1] {
                let plain = at::of_known_good(|| yaml::read::<Rule>(&text, number)).unwrap();
                let known = read(&prepared, &text, number).unwrap_or_else(|| panic!("{name}"));
                assert_eq!(known, plain, "{name}");
                // Equality says nothing of places.
                assert_eq!(format!("{known:?}"), format!("{plain:?}"), "{name}");
            }
        }
    }

    #[test]
    fn what_was_prepared_from_another_text_or_is_damaged_gives_no_rule() {
        let (name, text) = shipped().swap_remove(0);
        let prepared = prepare(&name, &text).unwrap();
        assert!(read(&prepared, &format!("{text}\n"), 0).is_none());
        for cut in 0..prepared.len() {
            assert!(read(&prepared[..cut], &text, 0).is_none(), "{cut} bytes");
        }
        let mut longer = prepared.clone();
        longer.push(0);
        assert!(read(&longer, &text, 0).is_none());
        for at in 0..prepared.len() {
            let mut damaged = prepared.clone();
            damaged[at] = damaged[at].wrapping_add(97);
            assert!(read(&damaged, &text, 0).is_none(), "byte {at}");
        }
    }

    #[test]
    fn bytes_under_the_right_digest_that_are_no_rule_are_read_without_a_panic() {
        let (name, text) = shipped().swap_remove(0);
        let good = prepare(&name, &text).unwrap();
        let of = |rule: &[u8]| {
            let sealed = [digest(&text, rule).as_bytes().as_slice(), rule].concat();
            read(&sealed, &text, 0)
        };
        let rule = &good[DIGEST..];
        assert!(of(rule).is_some());
        for at in 0..rule.len() {
            let mut damaged = rule.to_vec();
            damaged[at] = damaged[at].wrapping_add(97);
            let _ = of(&damaged);
            assert!(of(&rule[..at]).is_none(), "{at} bytes");
        }
    }

    /// Bytes that say something else than their text show which of the two was read.
    #[test]
    fn a_compiled_in_rule_is_taken_from_its_bytes_and_read_where_they_do_not_count() {
        let (_, text) = shipped().swap_remove(0);
        let parsed = at::of_known_good(|| yaml::read::<Rule>(&text, 0)).unwrap();
        let mut other = parsed.clone();
        other.title = "from the bytes".into();
        let rule = postcard::to_allocvec(&other).unwrap();
        let bytes = [digest(&text, &rule).as_bytes().as_slice(), &rule].concat();
        let title = |bytes: Option<&[u8]>| {
            let mut folder = RuleFolder::new(&parsed.provider, Layer::BuiltIn, "rules/x", &text);
            folder.prepared = bytes.map(|bytes| bytes.to_vec().into());
            let read = compiled_in::read(&folder, 0).unwrap();
            read.title
        };
        assert_eq!(title(Some(&bytes)), "from the bytes");
        assert_eq!(title(Some(&bytes[1..])), parsed.title);
        assert_eq!(title(None), parsed.title);
    }

    #[test]
    fn a_text_that_is_no_rule_is_told_with_its_place() {
        let error = prepare("rules/x/rule.yaml", "axiowl: 1\nprovder: x\n").unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("rules/x/rule.yaml") && text.contains("provder"),
            "{text}"
        );
    }
}
