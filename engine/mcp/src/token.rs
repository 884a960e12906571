//! The secret that opens the HTTP door. It proves that a host was let in by the person who runs
//! the server; who is calling is another question, which it answers for nobody.

use std::fmt;

/// Shorter secrets could be guessed.
const SHORTEST: usize = 32;

/// A token; only its hash is kept, and nothing of it is ever shown.
#[derive(Clone)]
pub struct Token(blake3::Hash);

/// A text that is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeakToken {
    /// It could be guessed.
    #[error("the token has fewer than {SHORTEST} characters")]
    Short,
    /// It could not stand in a header.
    #[error("the token holds something else than letters, digits and -._~+/=")]
    Unfit,
}

impl Token {
    /// Reads a token; blanks and line ends around it are no part of it.
    ///
    /// # Errors
    /// When it could be guessed, or could not be sent in a header.
    pub fn new(text: &str) -> Result<Self, WeakToken> {
        let text = text.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
        if !text.chars().all(fits) {
            return Err(WeakToken::Unfit);
        }
        if text.len() < SHORTEST {
            return Err(WeakToken::Short);
        }
        Ok(Self(blake3::hash(text.as_bytes())))
    }

    /// Whether an `Authorization` header carries it. Hashes are compared, each in the same time,
    /// so that how long a refusal takes tells nothing.
    pub fn opens(&self, authorization: Option<&str>) -> bool {
        let given = authorization.and_then(|header| {
            let (scheme, token) = header.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        given.is_some_and(|given| blake3::hash(given.as_bytes()) == self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789ABCDEF";

    #[test]
    fn only_the_token_itself_opens_and_nothing_shows_it() {
        let token = Token::new(&format!(" {SECRET}\n")).unwrap();
        assert!(token.opens(Some(&format!("Bearer {SECRET}"))));
        assert!(token.opens(Some(&format!("bearer  {SECRET}"))));
        for wrong in [
            None,
            Some(String::new()),
            Some("Bearer ".into()),
            Some(SECRET.into()),
            Some(format!("Basic {SECRET}")),
            Some(format!("Bearer {}", &SECRET[1..])),
            Some(format!("Bearer {SECRET}0")),
            Some(format!("Bearer {}", SECRET.to_lowercase())),
        ] {
            assert!(!token.opens(wrong.as_deref()), "{wrong:?}");
        }
        assert_eq!(format!("{token:?}"), "Token");
    }

    #[test]
    fn what_could_be_guessed_or_not_sent_is_no_token() {
        assert_eq!(Token::new("").unwrap_err(), WeakToken::Short);
        assert_eq!(Token::new(&SECRET[1..]).unwrap_err(), WeakToken::Short);
        let two = format!("{SECRET}\n{SECRET}");
        assert_eq!(Token::new(&two).unwrap_err(), WeakToken::Unfit);
    }
}
