//! Collects what a reader could not read or did not understand, within bounds.
//!
//! A home with ten thousand damaged files is one finding, not ten thousand: of each code
//! a source reports the first few and the number of the rest.

use crate::read::NOT_UNDERSTOOD_KEPT;
use axiowl_model::{Issue, codes};
use std::collections::BTreeMap;
use std::io;

/// Issues of one code that a source reports one by one.
const PER_CODE: usize = 20;

/// Findings of one file, or of all files of one source.
#[derive(Debug, Default)]
pub(crate) struct Report {
    issues: Vec<Issue>,
    more: BTreeMap<String, usize>,
    /// An absent row proves nothing.
    pub incomplete: bool,
    /// Path, line (0 for the whole file), what it is.
    pub not_understood: Vec<(String, u64, String)>,
}

impl Report {
    /// Adds an issue that costs nothing beyond what it names.
    pub(crate) fn issue(&mut self, issue: Issue) {
        let same = self
            .issues
            .iter()
            .filter(|known| known.code == issue.code)
            .count();
        if same < PER_CODE {
            self.issues.push(issue);
        } else {
            *self.more.entry(issue.code).or_default() += 1;
        }
    }

    /// Adds an issue after which an absent row proves nothing.
    pub(crate) fn gap(&mut self, issue: Issue) {
        self.incomplete = true;
        self.issue(issue);
    }

    /// A file or folder that could not be opened or read. One that vanished since it was
    /// listed is no issue: it is gone, and that is an answer.
    pub(crate) fn unreadable(&mut self, path: &str, error: &io::Error) {
        let (code, what) = match error.kind() {
            io::ErrorKind::NotFound => return,
            // Compressed content that cannot be inflated.
            io::ErrorKind::InvalidData => (codes::DAMAGED, "is damaged"),
            _ => (codes::UNREADABLE, "cannot be read"),
        };
        self.gap(Issue::new(code, format!("it {what}: {error}")).at(path));
    }

    /// Notes a file or record that nothing in the source fits.
    pub(crate) fn strange(&mut self, path: &str, line: u64, what: &str) {
        if self.not_understood.len() < NOT_UNDERSTOOD_KEPT {
            self.not_understood
                .push((path.to_owned(), line, what.to_owned()));
        }
    }

    /// Adds the findings of another file of the source.
    pub(crate) fn add(&mut self, other: Self) {
        self.incomplete |= other.incomplete;
        for issue in other.issues {
            self.issue(issue);
        }
        for (code, count) in other.more {
            *self.more.entry(code).or_default() += count;
        }
        for (path, line, what) in other.not_understood {
            self.strange(&path, line, &what);
        }
    }

    /// The issues of a source, with a line for those that were only counted.
    pub(crate) fn into_issues(self, source: &str) -> Vec<Issue> {
        let mut issues = self.issues;
        let counted = self.more.into_iter();
        issues.extend(counted.map(|(code, count)| {
            Issue::new(
                &code,
                format!("{count} more of the same in source `{source}`"),
            )
        }));
        issues
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_of_a_kind_become_a_number() {
        let mut all = Report::default();
        for n in 0..50 {
            let mut one = Report::default();
            one.issue(Issue::new(codes::DAMAGED, "bad").at(format!("/f{n}")));
            one.strange("/f", n, "odd");
            all.add(one);
        }
        all.unreadable("/gone", &io::Error::from(io::ErrorKind::NotFound));
        assert!(!all.incomplete);
        all.unreadable("/locked", &io::Error::from(io::ErrorKind::PermissionDenied));
        assert!(all.incomplete);
        assert_eq!(all.not_understood.len(), NOT_UNDERSTOOD_KEPT);
        let issues = all.into_issues("s");
        assert_eq!(issues.len(), PER_CODE + 2);
        assert_eq!(
            issues.last().unwrap().message,
            "30 more of the same in source `s`"
        );
    }
}
