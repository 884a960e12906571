//! Names of fields, each kept once.

use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::{PoisonError, RwLock};

/// The name of a field. Every row of a source has the same ones, so a name is kept once for the
/// whole process and copied for nothing. It is never given back: names stand in rules and in the
/// statements of rules, not in what is read by them, so there are only so many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(&'static str);

static KNOWN: RwLock<Option<HashSet<&'static str>>> = RwLock::new(None);

impl Name {
    /// A name that stands in the program.
    pub(crate) const fn fixed(name: &'static str) -> Self {
        Self(name)
    }

    /// The name as text.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// Whether it is this name. Asked for every field of a row that is not the one looked for,
    /// which mostly shows in its length or in one of its ends.
    #[inline]
    pub(super) fn is(self, name: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), name.as_bytes());
        own.len() == other.len()
            && (own.as_ptr() == other.as_ptr()
                || own.first() == other.first() && own.last() == other.last() && own == other)
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = known.as_ref().and_then(|known| known.get(name)) {
            return Self(kept);
        }
        drop(known);
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        // Another thread may have been faster.
        let kept = known.get(name).copied().unwrap_or_else(|| {
            let kept: &'static str = Box::leak(name.into());
            known.insert(kept);
            kept
        });
        Self(kept)
    }
}

impl From<&String> for Name {
    fn from(name: &String) -> Self {
        Self::from(name.as_str())
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, out)
    }
}
