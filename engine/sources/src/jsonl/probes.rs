//! The probes of a source, searched one by one or all in one pass.
//!
//! One probe is found at memory speed, so a record near the end that is looked at is
//! found at once. Probes of records a file does not have cost a pass each, which one pass
//! for all of them avoids. It must not know what a probe stands for.

use aho_corasick::packed::Searcher;
use memchr::memmem::Finder;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// So many probes fit into a [`Set`]; more are searched one by one.
const MOST: usize = 64;

/// The different probes of a source.
pub(super) struct Probes<'r> {
    finders: Vec<Finder<'r>>,
    /// Searchers for the sets that were asked for.
    together: Mutex<HashMap<u64, Option<Arc<Searcher>>>>,
}

/// Some probes of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Set(u64);

/// Where each probe of a set was found, in order; `None` for one that was not looked for.
pub(super) type Hits = Vec<Option<Vec<usize>>>;

impl Set {
    /// Adds a probe; one beyond those a set can hold is left out.
    pub(super) fn add(&mut self, probe: usize) {
        if probe < MOST {
            self.0 |= 1 << probe;
        }
    }

    fn has(self, probe: usize) -> bool {
        probe < MOST && self.0 & (1 << probe) != 0
    }
}

impl<'r> Probes<'r> {
    /// The probes, and for each text its number; equal ones share it.
    pub(super) fn new(texts: impl Iterator<Item = Option<&'r str>>) -> (Self, Vec<Option<usize>>) {
        let mut known: Vec<&str> = Vec::new();
        let numbers = texts
            .map(|text| {
                let text = text.filter(|text| !text.is_empty())?;
                Some(known.iter().position(|k| *k == text).unwrap_or_else(|| {
                    known.push(text);
                    known.len() - 1
                }))
            })
            .collect();
        let finders = known
            .iter()
            .map(|text| Finder::new(text.as_bytes()))
            .collect();
        (
            Self {
                finders,
                together: Mutex::default(),
            },
            numbers,
        )
    }

    /// The finder of one probe.
    pub(super) fn one(&self, probe: usize) -> &Finder<'r> {
        &self.finders[probe]
    }

    /// Finds several probes in one pass. Empty where that gains nothing.
    pub(super) fn pass(&self, set: Set, data: &[u8]) -> Hits {
        if set.0.count_ones() < 2 {
            return Hits::new();
        }
        let Some(searcher) = self.searcher(set) else {
            return Hits::new();
        };
        let in_set = |probe: usize| set.has(probe).then(Vec::new);
        let mut hits: Hits = (0..self.finders.len()).map(in_set).collect();
        let mut at = 0;
        while let Some(found) = searcher.find_in(data, (at..data.len()).into()) {
            let start = found.start();
            // One probe may be the beginning of another, and one may start inside another.
            for (probe, list) in hits.iter_mut().enumerate() {
                if let Some(list) = list
                    && data[start..].starts_with(self.finders[probe].needle())
                {
                    list.push(start);
                }
            }
            at = start + 1;
        }
        hits
    }

    /// The searcher for a set; `None` where the processor has none.
    fn searcher(&self, set: Set) -> Option<Arc<Searcher>> {
        let mut together = self.together.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let members = self
                .finders
                .iter()
                .enumerate()
                .filter(|(probe, _)| set.has(*probe));
            Searcher::new(members.map(|(_, finder)| finder.needle())).map(Arc::new)
        };
        together.entry(set.0).or_insert_with(make).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_probes_share_a_number() {
        let (_, numbers) =
            Probes::new([Some("a"), None, Some("b"), Some("a"), Some("")].into_iter());
        assert_eq!(numbers, [Some(0), None, Some(1), Some(0), None]);
    }

    proptest! {
        #[test]
        fn one_pass_finds_what_single_searches_find(
            data in "[abc]{0,200}", texts in prop::collection::vec("[abc]{1,4}", 1..12)) {
            let (probes, numbers) = Probes::new(texts.iter().map(|text| Some(text.as_str())));
            let mut set = Set::default();
            numbers.iter().flatten().for_each(|probe| set.add(*probe));
            for (probe, hits) in probes.pass(set, data.as_bytes()).iter().enumerate() {
                let needle = probes.one(probe).needle();
                let single: Vec<usize> =
                    (0..data.len()).filter(|at| data.as_bytes()[*at..].starts_with(needle)).collect();
                prop_assert_eq!(hits.as_ref(), Some(&single));
            }
        }
    }
}
