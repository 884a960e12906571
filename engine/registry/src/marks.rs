//! Facts about a row that only the merge needs, kept as words in one optional column,
//! `marks`, after the documented ones. A table in which no row has any lacks the column.
//! Words of a newer AxiOwl are kept.

use axiowl_model::AgentRecord;

const COLUMN: &str = "marks";

/// One such fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The display name is generated or derived; any strong name may replace it.
    WeakName,
    /// A person gave the name; discovery adds its own only as an alias.
    PinnedName,
    /// Only a targeted run has proven the row so far, so that an ordinary run that merely
    /// sees it is no reason to stop trusting it.
    Targeted,
}

impl Mark {
    fn word(self) -> &'static str {
        match self {
            Self::WeakName => "weak_name",
            Self::PinnedName => "pinned_name",
            Self::Targeted => "targeted",
        }
    }

    /// Whether a row carries it.
    pub(crate) fn on(self, row: &AgentRecord) -> bool {
        let words = row.extra.iter().find(|(column, _)| column == COLUMN);
        words.is_some_and(|(_, words)| words.split(' ').any(|word| word == self.word()))
    }

    /// Puts it on a row, or takes it off.
    pub(crate) fn set(self, row: &mut AgentRecord, on: bool) {
        if self.on(row) == on {
            return;
        }
        let at = row.extra.iter().position(|(column, _)| column == COLUMN);
        let before = at.map_or("", |at| row.extra[at].1.as_str());
        let mut words: Vec<&str> = before
            .split(' ')
            .filter(|word| !word.is_empty() && *word != self.word())
            .collect();
        if on {
            words.push(self.word());
            words.sort_unstable();
        }
        let words = words.join(" ");
        match at {
            Some(at) if words.is_empty() => {
                row.extra.remove(at);
            }
            Some(at) => row.extra[at].1 = words,
            None => row.extra.push((COLUMN.into(), words)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_model::SessionKey;

    #[test]
    fn marks_come_and_go_and_leave_foreign_words_alone() {
        let mut row = AgentRecord::new(SessionKey::local("some_cli", "s1"), "A");
        Mark::WeakName.set(&mut row, true);
        Mark::Targeted.set(&mut row, true);
        assert_eq!(
            row.extra,
            [("marks".to_owned(), "targeted weak_name".to_owned())]
        );
        Mark::WeakName.set(&mut row, false);
        Mark::Targeted.set(&mut row, false);
        assert!(row.extra.is_empty());

        row.extra.push(("marks".into(), "from_the_future".into()));
        Mark::PinnedName.set(&mut row, true);
        assert!(Mark::PinnedName.on(&row) && !Mark::WeakName.on(&row));
        Mark::PinnedName.set(&mut row, false);
        assert_eq!(
            row.extra,
            [("marks".to_owned(), "from_the_future".to_owned())]
        );
    }
}
