//! What a run did not understand, in numbers, and in one line for a person.

use axiowl_model::{Issue, codes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of what was not understood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaps {
    /// Declared columns that a database does not have, as `source.column`.
    pub columns: Vec<String>,
    /// Expected sources without a file.
    pub sources: Vec<String>,
    /// Files that no part of the rule fits, counted where sessions are missing.
    pub files: usize,
    /// Files and records that a source reads, and in which nothing fits.
    pub unfit: usize,
    /// Records of a sort the rule does not know, by that sort.
    pub records: BTreeMap<String, usize>,
    /// Fields that records of their sort no longer give, as `source.field`.
    pub fields: Vec<String>,
    /// Rows without a session id.
    pub without_id: usize,
    /// Sessions without a usable name.
    pub without_name: usize,
    /// Rows of versions that were not tested.
    pub untested: usize,
    /// Limits that were hit.
    pub caps: usize,
    /// Files, lines and records that are damaged or cannot be read.
    pub damaged: usize,
}

impl Gaps {
    /// Counts the issues of a run that are gaps by themselves.
    pub(crate) fn count(&mut self, issues: &[Issue]) {
        for issue in issues {
            match issue.code.as_str() {
                codes::CAP | codes::TITLE_BEYOND_WINDOW | codes::TOO_LARGE_LIVE => self.caps += 1,
                codes::DAMAGED | codes::UNREADABLE => self.damaged += 1,
                _ => {}
            }
        }
    }

    /// Adds what another home of the provider showed.
    pub fn add(&mut self, other: &Self) {
        let unite = |mine: &mut Vec<String>, theirs: &[String]| {
            mine.extend(theirs.iter().cloned());
            mine.sort();
            mine.dedup();
        };
        unite(&mut self.columns, &other.columns);
        unite(&mut self.sources, &other.sources);
        unite(&mut self.fields, &other.fields);
        for (sort, count) in &other.records {
            *self.records.entry(sort.clone()).or_default() += count;
        }
        self.files += other.files;
        self.unfit += other.unfit;
        self.without_id += other.without_id;
        self.without_name += other.without_name;
        self.untested += other.untested;
        self.caps += other.caps;
        self.damaged += other.damaged;
    }

    /// Everything that is not nought, in one line; empty when there is nothing.
    pub fn line(&self) -> String {
        let mut out = Vec::new();
        let mut named = |names: &[String], one: &str, many: &str| {
            if !names.is_empty() {
                let what = if names.len() == 1 { one } else { many };
                let list = listed(names.iter().map(String::as_str));
                out.push(format!("{} {what} ({list})", names.len()));
            }
        };
        named(&self.columns, "column is gone", "columns are gone");
        named(
            &self.sources,
            "expected source has no file",
            "expected sources have no file",
        );
        named(
            &self.fields,
            "field is given by none of its records",
            "fields are given by none of their records",
        );
        if !self.records.is_empty() {
            let sorts = listed(self.records.keys().map(String::as_str));
            let count: usize = self.records.values().sum();
            out.push(match count {
                1 => format!("1 record of an unknown sort ({sorts})"),
                n => format!("{n} records of an unknown sort ({sorts})"),
            });
        }
        for (count, one, many) in [
            (
                self.files,
                "file that nothing fits",
                "files that nothing fits",
            ),
            (
                self.unfit,
                "file or record in which nothing fits",
                "files or records in which nothing fits",
            ),
            (self.without_id, "row without an id", "rows without an id"),
            (
                self.without_name,
                "session without a name",
                "sessions without a name",
            ),
            (
                self.untested,
                "row of an untested version",
                "rows of an untested version",
            ),
            (self.caps, "limit hit", "limits hit"),
            (self.damaged, "damaged part", "damaged parts"),
        ] {
            match count {
                0 => {}
                1 => out.push(format!("1 {one}")),
                n => out.push(format!("{n} {many}")),
            }
        }
        out.join(", ")
    }
}

/// The first few of many.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const SHOWN: usize = 4;
    let names: Vec<&str> = names.collect();
    let mut out = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        out += ", …";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_there_is_and_nothing_else() {
        assert_eq!(Gaps::default().line(), "");
        let mut gaps = Gaps {
            columns: vec!["threads.archived".into()],
            without_name: 3,
            damaged: 1,
            ..Gaps::default()
        };
        gaps.records.insert("title".into(), 2);
        assert_eq!(
            gaps.line(),
            "1 column is gone (threads.archived), 2 records of an unknown sort (title), \
             3 sessions without a name, 1 damaged part"
        );
        let other = gaps.clone();
        gaps.add(&other);
        assert_eq!(gaps.columns.len(), 1);
        assert_eq!((gaps.without_name, gaps.records["title"]), (6, 4));
    }
}
