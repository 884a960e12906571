//! Replaces text word by word, so that what is left tells nothing and still behaves the same:
//! the same word always becomes the same token of the same length and sort of characters, and
//! everything between words stays.
//!
//! Paths, folder names made of paths, ids and names keep fitting together that way, and
//! patterns that ask for hexadecimal digits still find them.

use super::pieces::{Piece, is_word, pieces};
use std::collections::{BTreeMap, BTreeSet};

/// Words of so few characters tell nothing and stay.
const SHORT: usize = 2;

/// The words replaced so far.
#[derive(Debug, Default)]
pub struct Words {
    /// Words that stay, in lower case: those the rule itself knows.
    known: BTreeSet<String>,
    /// Word to token.
    tokens: BTreeMap<String, String>,
    /// Shape to how many tokens of it there are.
    counts: BTreeMap<String, u64>,
    /// Every token given, so that none is given twice.
    given: BTreeSet<String>,
    /// Words that stay somewhere because of what they are there: keys, sorts, columns.
    kept: BTreeSet<String>,
}

impl Words {
    /// With the words that stay.
    pub fn knowing(known: impl IntoIterator<Item = String>) -> Self {
        Self {
            known: known.into_iter().map(|word| word.to_lowercase()).collect(),
            ..Self::default()
        }
    }

    /// Gives a word a token of our choice, unless the rule knows the word.
    pub fn become_(&mut self, word: &str, token: &str) {
        if !self.known.contains(&word.to_lowercase()) {
            self.tokens.insert(word.to_owned(), token.to_owned());
            self.given.insert(token.to_owned());
        }
    }

    /// Whether the rule knows a word, so that it tells nothing.
    pub fn knows(&self, word: &str) -> bool {
        self.known.contains(&word.to_lowercase())
    }

    /// Says that a text stays as it is where it stands.
    pub fn keep(&mut self, text: &str) {
        let words = text.split(|c: char| !is_word(c));
        self.kept.extend(words.map(str::to_owned));
    }

    /// The words that were replaced, that no token happens to be, and that stay nowhere.
    pub fn replaced(&self) -> impl Iterator<Item = &str> {
        let words = self.tokens.iter().filter(|(word, token)| word != token);
        let words = words.map(|(word, _)| word.as_str());
        words.filter(|word| !self.given.contains(*word) && !self.kept.contains(*word))
    }

    /// How many different words were replaced.
    pub fn count(&self) -> usize {
        self.replaced().count()
    }

    /// Replaces every word of a text that is not known.
    pub fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                Piece::Word(word) => out.push_str(&self.word(word)),
                Piece::Uuid(id) => out.push_str(&self.uuid(id)),
                Piece::Kept(kept) => {
                    if kept.len() > 3 {
                        self.keep(kept);
                    }
                    out.push_str(kept);
                }
            }
        }
        out
    }

    fn word(&mut self, word: &str) -> String {
        if let Some(token) = self.tokens.get(word) {
            return token.clone();
        }
        let short = word.is_ascii() && word.len() <= SHORT;
        let stays = short || self.known.contains(&word.to_lowercase());
        if stays {
            return word.to_owned();
        }
        let shape: String = word.chars().map(class).collect();
        let token = loop {
            let count = self.counts.entry(shape.clone()).or_default();
            let number = *count;
            *count += 1;
            let token = fill(word, number);
            // A token must not be a word that stays, nor one that stood in the text.
            let taken = self.given.contains(&token)
                || self.known.contains(&token.to_lowercase())
                || token == word;
            if !taken || number > 100_000 {
                break token;
            }
        };
        self.given.insert(token.clone());
        self.tokens.insert(word.to_owned(), token.clone());
        token
    }

    /// An id keeps its version and variant, which some readers look at.
    fn uuid(&mut self, id: &str) -> String {
        if let Some(token) = self.tokens.get(id) {
            return token.clone();
        }
        let count = self.counts.entry("uuid".into()).or_default();
        *count += 1;
        let token = format!(
            "{:08x}-0000-{}000-{}000-{:012x}",
            *count,
            &id[14..15],
            &id[19..20],
            *count
        );
        let token = match id.contains(|c: char| c.is_ascii_uppercase()) {
            true => token.to_uppercase(),
            false => token,
        };
        self.tokens.insert(id.to_owned(), token.clone());
        self.given.extend(token.split('-').map(str::to_owned));
        // Files are also called after the start of an id, or after all its digits.
        let digits = |id: &str| id.replace('-', "");
        for (word, token) in [
            (id[..8].to_owned(), token[..8].to_owned()),
            (digits(id), digits(&token)),
        ] {
            if !self.tokens.contains_key(&word) {
                self.become_(&word, &token);
            }
        }
        token
    }
}

/// The sort of a character: tokens keep it, place by place.
fn class(c: char) -> char {
    match c {
        '0'..='9' => '9',
        'a'..='f' => 'f',
        'g'..='z' => 'z',
        'A'..='F' => 'F',
        'G'..='Z' => 'Z',
        c => alphabet(c).0,
    }
}

/// For a character of another script: one that stands for its alphabet, its first character
/// and how many follow.
fn alphabet(c: char) -> (char, u32, u32) {
    match u32::from(c) {
        0x0370..=0x03ff => ('α', 0x03b1, 17),
        0x0400..=0x04ff => ('а', 0x0430, 32),
        0x0590..=0x05ff => ('א', 0x05d0, 22),
        0x0600..=0x06ff => ('ب', 0x0628, 19),
        0x0900..=0x097f => ('क', 0x0915, 37),
        0x3040..=0x309f => ('か', 0x304b, 60),
        0x30a0..=0x30ff => ('カ', 0x30ab, 60),
        0x2e80..=0x9fff => ('一', 0x4e00, 900),
        0xac00..=0xd7a3 => ('가', 0xac00, 900),
        0x1_0000.. => ('𝒶', 0x1_d4d0, 52),
        _ => ('é', 0x00e0, 23),
    }
}

/// The `number`th token of a word's shape.
fn fill(word: &str, number: u64) -> String {
    let mut rest = number;
    // From the end, so that neighbours differ where a reader looks last.
    let mut out: Vec<char> = word
        .chars()
        .rev()
        .map(|c| {
            let (first, count) = match class(c) {
                '9' => (u32::from('0'), 10),
                'f' => (u32::from('a'), 6),
                'z' => (u32::from('g'), 20),
                'F' => (u32::from('A'), 6),
                'Z' => (u32::from('G'), 20),
                _ => {
                    let (_, first, count) = alphabet(c);
                    (first, count)
                }
            };
            let step = u32::try_from(rest % u64::from(count)).unwrap_or(0);
            rest /= u64::from(count);
            char::from_u32(first + step).unwrap_or(c)
        })
        .collect();
    out.reverse();
    out.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_tokens_of_their_shape_and_stay_the_same() {
        let mut words = Words::knowing(["Untitled".to_owned()]);
        let first = words.text("Payments for Müller, untitled (v2.1.332)");
        assert_eq!(
            first,
            words.text("Payments for Müller, untitled (v2.1.332)")
        );
        assert!(
            first.ends_with(", untitled (gg2.1.332)") || first.ends_with(", untitled (v2.1.332)"),
            "{first}"
        );
        assert!(!first.contains("Payments") && !first.contains("Müller"));
        assert_eq!(
            first.chars().count(),
            "Payments for Müller, untitled (v2.1.332)".chars().count()
        );
        // Paths and the folder names made of them still fit together.
        let path = words.text("/home/alice/projects/web-shop");
        let slug = words.text("-home-alice-projects-web-shop");
        assert_eq!(path.replace('/', "-"), slug);
        assert!(!slug.contains("alice"));
    }

    #[test]
    fn ids_times_and_versions_keep_their_form() {
        let mut words = Words::default();
        let name = "rollout-2026-11-30T13-55-55-01a22cbd-a1e8-7a93-ac5a-2bcb9e103879";
        let token = words.text(name);
        assert!(
            token.contains("-2026-11-30T13-55-55-00000001-0000-7000-a000-"),
            "{token}"
        );
        assert_eq!(
            words.text("01a22cbd-a1e8-7a93-ac5a-2bcb9e103879"),
            token[28..]
        );
        assert_eq!(
            words.text("2026-11-30T13:55:55.123Z"),
            "2026-11-30T13:55:55.123Z"
        );
        let short = words.text("session-2026-11-30T14-20-01a22cbd");
        assert!(short.ends_with("-2026-11-30T14-20-00000001"), "{short}");
        let digits = words.text("01a22cbda1e87a93ac5a2bcb9e103879");
        assert_eq!(digits, token[28..].replace('-', ""));
        assert_eq!(words.text("0.171.0"), "0.171.0");
        assert_eq!(words.text("a%2Fb"), "a%2Fb");
        let encoded = words.text("%2Fhome%2Falice%2Fweb-shop");
        let path = words.text("/home/alice/web-shop");
        assert_eq!(encoded.replace("%2F", "/"), path);
        // Ten hexadecimal digits stay ten hexadecimal digits.
        let hash = words.text("9f86d081ab");
        assert!(hash.len() == 10 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
        assert_ne!(hash, "9f86d081ab");
    }

    #[test]
    fn different_words_become_different_tokens_in_any_script() {
        let mut words = Words::default();
        let list = [
            "alpha",
            "bravo",
            "gamma",
            "Кошка",
            "Мышка",
            "支付",
            "支付宝",
            "猫猫猫",
            "𝒳𝒴𝒵",
            "كتاب",
        ];
        let tokens: BTreeSet<String> = list.iter().map(|word| words.text(word)).collect();
        assert_eq!(tokens.len(), list.len());
        for (word, token) in list.iter().zip(list.iter().map(|word| words.text(word))) {
            assert_eq!(
                word.encode_utf16().count(),
                token.encode_utf16().count(),
                "{word}"
            );
        }
        for word in words.replaced() {
            assert!(!tokens.contains(word), "{word}");
        }
    }
}
