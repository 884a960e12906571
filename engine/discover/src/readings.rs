//! What was read for one rule, for the others of a run that read the very same.
//!
//! Providers with several surfaces keep them in one store: their rules have the same sources and
//! differ in what they make of the rows. It must not know what a row means.

use axiowl_lang::load::LoadedRule;
use axiowl_sources::read::{ReadOptions, Tables, read_all};
use axiowl_sources::{Witness, World};
use std::sync::{Arc, Mutex, PoisonError};

/// The rules of a run in their order, and what was read that a later one wants as well. They are
/// all run over the same machine.
#[derive(Debug)]
pub struct Readings {
    rules: Vec<Arc<LoadedRule>>,
    kept: Mutex<Vec<Reading>>,
}

/// What was read.
#[derive(Debug)]
struct Reading {
    /// The place of the rule it was read for.
    rule: usize,
    options: ReadOptions,
    tables: Arc<Tables>,
    /// What the reading saw, where somebody notes what a run rests on.
    witness: Option<Arc<Witness>>,
}

impl Readings {
    /// Of the rules of a run, in the order they are run.
    pub fn of(rules: &[Arc<LoadedRule>]) -> Self {
        Self {
            rules: rules.to_vec(),
            kept: Mutex::default(),
        }
    }

    /// Reads what a rule reads, or gives what was read for an earlier one in the same way.
    pub(crate) fn read(
        &self,
        loaded: &LoadedRule,
        world: &World,
        options: ReadOptions,
    ) -> Arc<Tables> {
        let provider = &loaded.rule.provider.value;
        let place = self
            .rules
            .iter()
            .position(|rule| rule.rule.provider.value == *provider);
        let Some(place) = place else {
            return Arc::new(read_all(loaded, world, &options));
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = world.witness().is_some();
        let same = |reading: &Reading| {
            reads_alike(&self.rules[reading.rule], loaded)
                && alike(&reading.options, &options)
                && reading.witness.is_some() == noted
        };
        let found = kept.iter().find(|reading| same(reading));
        let (tables, witness) = match found {
            Some(reading) => (Arc::clone(&reading.tables), reading.witness.clone()),
            None => {
                // The reading is noted apart, for every rule that rests on it.
                let witness = noted.then(|| Arc::new(Witness::default()));
                let tables = match &witness {
                    Some(witness) => {
                        let world = world.witnessed(Arc::clone(witness));
                        read_all(loaded, &world, &options)
                    }
                    None => read_all(loaded, world, &options),
                };
                (Arc::new(tables), witness)
            }
        };
        if let (Some(all), Some(part)) = (world.witness(), &witness) {
            all.adopt(Arc::clone(part));
        }
        // Whatever no later rule wants only takes room.
        let wanted = |rule: &LoadedRule| {
            let mut later = self.rules.iter().skip(place + 1);
            later.any(|later| reads_alike(later, rule))
        };
        kept.retain(|reading| wanted(&self.rules[reading.rule]));
        let whole = !options.cancel.is_cancelled();
        if whole && wanted(loaded) && !kept.iter().any(same) {
            kept.push(Reading {
                rule: place,
                options,
                tables: Arc::clone(&tables),
                witness,
            });
        }
        tables
    }
}

/// Whether two rules read the same.
fn reads_alike(one: &LoadedRule, other: &LoadedRule) -> bool {
    let (one, other) = (&one.rule, &other.rule);
    one.sources == other.sources
        && one.roots == other.roots
        && one.home == other.home
        && one.unread == other.unread
}

/// Whether both are read as far.
fn alike(one: &ReadOptions, other: &ReadOptions) -> bool {
    let ReadOptions {
        deep,
        deep_only,
        strong_fields,
        threads,
        allow_commands,
        copy_bytes,
        cancel: _,
        timings: _,
        only,
    } = one;
    *deep == other.deep
        && *deep_only == other.deep_only
        && *strong_fields == other.strong_fields
        && *threads == other.threads
        && *allow_commands == other.allow_commands
        && *copy_bytes == other.copy_bytes
        && *only == other.only
}
