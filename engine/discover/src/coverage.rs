//! What of a rule the runs so far have reached: entries that decided, conditions that held
//! and that did not, fields that had a value.
//!
//! It counts what the deciding code itself does; it decides nothing and knows no fixture.

use axiowl_lang::at::Span;
use axiowl_lang::load::LoadedRule;
use axiowl_sources::read::Tables;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A place in a rule: the file it stands in as it is shown, and the byte it starts at. Rules
/// that share a file share its places.
pub type Spot = (String, u32);

/// Counts over one or more runs of rules.
#[derive(Debug, Default)]
pub struct Coverage {
    seen: Mutex<Seen>,
}

/// What was reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Kinds, statuses, rungs, name candidates and sentences that were chosen.
    pub entries: BTreeSet<Spot>,
    /// Conditions on a field, a fact or the target: whether one held, whether one did not.
    pub conditions: BTreeMap<Spot, (bool, bool)>,
    /// Source and field of which some row had a value.
    pub fields: BTreeSet<(String, String)>,
}

impl Coverage {
    /// What was reached so far.
    pub fn seen(&self) -> Seen {
        self.lock().clone()
    }

    pub(crate) fn entry(&self, loaded: &LoadedRule, span: Span) {
        if let Some(spot) = spot(loaded, span) {
            self.lock().entries.insert(spot);
        }
    }

    pub(crate) fn condition(&self, loaded: &LoadedRule, span: Span, holds: bool) {
        if let Some(spot) = spot(loaded, span) {
            let mut seen = self.lock();
            let (held, failed) = seen.conditions.entry(spot).or_default();
            *held |= holds;
            *failed |= !holds;
        }
    }

    pub(crate) fn tables(&self, tables: &Tables) {
        let mut seen = self.lock();
        for (source, table) in &tables.tables {
            for row in table.rows.iter().chain(&table.doc) {
                for (field, _) in row.iter().filter(|(_, value)| !value.is_null()) {
                    seen.fields.insert((source.clone(), field.to_string()));
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        // Sets of places cannot be left half changed.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The spot of a place in a rule.
pub fn spot(loaded: &LoadedRule, span: Span) -> Option<Spot> {
    let file = loaded.files.get(usize::from(span.file))?;
    Some((file.name.clone(), span.start))
}
