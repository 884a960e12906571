//! What a rule takes from lines, prepared once for all files of a source.
//!
//! A record is walked once for all takes together. It must not know where in a file a
//! record stands.

use super::probes::Probes;
use crate::jsonscan::{Scan, Wanted};
use crate::leaf;
use crate::pointer;
use crate::record::{self, Fields};
use crate::{Name, ReadOptions, Row};
use axiowl_lang::at::At;
use axiowl_lang::cond::Cond;
use axiowl_lang::scalar::{Pattern, Pointer};
use axiowl_lang::source::{Jsonl, Keep, Take};
use serde_json::Value;
use std::borrow::Cow;

/// The takes of a source, ready to run.
pub(super) struct Plan<'r> {
    /// In the order of the rule.
    pub takes: Vec<Planned<'r>>,
    /// Whether any field may give a strong name.
    pub any_strong: bool,
    /// Their probes.
    pub probes: Probes<'r>,
    wanted: Wanted,
    fields: Vec<Name>,
    /// A row of all fields, each null.
    nulls: Row,
}

/// One take.
pub(super) struct Planned<'r> {
    /// The number of the bytes a fitting line has.
    pub probe: Option<usize>,
    /// Whether the first or the last fitting record counts.
    pub keep: Keep,
    /// It reads the first line, cut or not, and no other.
    pub prefix: bool,
    filter: Option<&'r Cond>,
    fields: Vec<(usize, &'r [At<Pointer>], bool)>,
    skip_empty: Option<&'r str>,
    skip_matching: &'r [At<Pattern>],
}

/// Whether a record fits a take.
pub(super) enum Fit {
    /// It does: field number and value.
    Yes(Taken),
    /// It is one of those the rule skips on purpose.
    Skipped,
    /// It does not.
    No,
}

/// Values by field number, only those there are.
pub(super) type Taken = Vec<(usize, Value)>;

impl<'r> Plan<'r> {
    /// Prepares the takes of a source.
    pub(super) fn new(source: &str, rule: &'r Jsonl, options: &ReadOptions) -> Self {
        let mut fields: Vec<&str> = rule
            .take
            .iter()
            .flat_map(|take| take.fields.keys())
            .map(String::as_str)
            .collect();
        fields.sort_unstable();
        fields.dedup();
        let strong = |field: &str| {
            let both = (source.to_owned(), field.to_owned());
            options.strong_fields.contains(&both)
        };
        let names = |field: &str| {
            strong(field) || rule.titled_by.iter().any(|title| title.as_str() == field)
        };
        let mut filters = Vec::new();
        for take in &rule.take {
            if let Some(filter) = &take.filter {
                record::each_pointer(filter, &mut |text| filters.extend(Pointer::parse(text)));
            }
        }
        let own = rule.take.iter().flat_map(|take| take.fields.values());
        let own = own.flat_map(|pointers| pointers.iter().map(|p| &p.value));
        let wanted = Wanted::new(own.chain(&filters));
        let (probes, numbers) = Probes::new(rule.take.iter().map(|take| take.probe.as_deref()));
        let takes = rule.take.iter().zip(numbers);
        let takes = takes
            .map(|(take, probe)| Planned::new(take, probe, &fields, &names))
            .collect();
        let any_strong = fields.iter().any(|field| strong(field));
        let fields: Vec<Name> = fields.into_iter().map(Name::from).collect();
        Self {
            takes,
            any_strong,
            probes,
            wanted,
            nulls: fields.iter().map(|field| (*field, Value::Null)).collect(),
            fields,
        }
    }

    /// Walks a record.
    pub(super) fn scan<'d>(&self, record: &'d [u8]) -> Scan<'d> {
        self.wanted.scan(record)
    }

    /// Whether a walked record fits a take.
    pub(super) fn fit(&self, take: &Planned<'_>, scan: &Scan<'_>, file: &Row) -> Fit {
        let record = Walked {
            wanted: &self.wanted,
            scan,
            file,
        };
        if take
            .filter
            .is_some_and(|filter| !record::evaluate(filter, &record, None))
        {
            return Fit::No;
        }
        let look_up = |p: &Pointer| self.wanted.value(scan, p.as_str()).map(Cow::Owned);
        let mut taken = Taken::new();
        for (number, pointers, _) in &take.fields {
            let value = pointer::pick(pointers.iter().map(|p| &p.value), look_up);
            taken.extend(value.map(|value| (*number, value)));
        }
        if let Some(field) = take.skip_empty {
            let value = taken
                .iter()
                .find(|(number, _)| &*self.fields[*number] == field);
            let Some((_, value)) = value.filter(|(_, value)| !leaf::blank(value)) else {
                return if taken.is_empty() {
                    Fit::No
                } else {
                    Fit::Skipped
                };
            };
            let text = value.as_str().unwrap_or_default();
            if take
                .skip_matching
                .iter()
                .any(|pattern| pattern.regex().is_match(text))
            {
                return Fit::Skipped;
            }
        }
        if taken.is_empty() {
            Fit::No
        } else {
            Fit::Yes(taken)
        }
    }

    /// Puts taken values into a row, null where there are none. An earlier take's value is
    /// not replaced by a later one's.
    pub(super) fn fill(&self, row: &mut Row, taken: impl Iterator<Item = Taken>) {
        let mut values: Vec<Value> = vec![Value::Null; self.fields.len()];
        for (number, value) in taken.flatten() {
            if values[number].is_null() {
                values[number] = value;
            }
        }
        // What is null in all rows stands below them once.
        let given = values.iter().filter(|value| !value.is_null()).count();
        row.lay_over(&self.nulls, given);
        for (field, value) in self.fields.iter().zip(values) {
            if !value.is_null() && row[field.as_str()].is_null() {
                row.insert(*field, value);
            }
        }
    }
}

impl<'r> Planned<'r> {
    fn new(
        take: &'r Take,
        probe: Option<usize>,
        all: &[&str],
        strong: &dyn Fn(&str) -> bool,
    ) -> Self {
        let number = |field: &str| all.binary_search(&field).ok();
        let fields = take
            .fields
            .iter()
            .filter_map(|(field, pointers)| Some((number(field)?, &pointers[..], strong(field))));
        Self {
            probe,
            keep: take.keep,
            prefix: take.prefix,
            filter: take.filter.as_ref(),
            fields: fields.collect(),
            skip_empty: take.skip_empty.as_ref().map(|field| field.as_str()),
            skip_matching: &take.skip_matching,
        }
    }

    /// Whether every record fits that has the fields: then one that does not is strange.
    pub(super) fn unconditional(&self) -> bool {
        self.probe.is_none() && self.filter.is_none()
    }

    /// Whether what it took holds a strong name.
    pub(super) fn is_strong(&self, taken: &Taken) -> bool {
        let strong = |number: &usize| {
            self.fields
                .iter()
                .any(|(n, _, strong)| n == number && *strong)
        };
        taken
            .iter()
            .any(|(number, value)| strong(number) && !leaf::blank(value))
    }
}

/// A walked record and its file.
struct Walked<'a> {
    wanted: &'a Wanted,
    scan: &'a Scan<'a>,
    file: &'a Row,
}

impl Fields for Walked<'_> {
    fn value(&self, name: &str) -> Option<Cow<'_, Value>> {
        if name.starts_with('/') {
            return self.wanted.value(self.scan, name).map(Cow::Owned);
        }
        Fields::value(self.file, name)
    }
}
