//! Facts that only native code can establish, offered to rules by name.

use crate::{Row, World};
use std::collections::BTreeMap;

/// What a fact is asked about.
pub struct FactQuery<'a> {
    /// The machine.
    pub world: &'a World,
    /// The rule's roots: name to folder, as recorded in the examined world.
    pub roots: &'a BTreeMap<String, String>,
    /// The row.
    pub row: &'a Row,
    /// The provider session id.
    pub session: &'a str,
}

/// Native facts, implemented beside the delivery edges. They read, and nothing else:
/// discovery starts no program.
pub trait NativeFacts: Send + Sync {
    /// The names it answers.
    fn names(&self) -> &'static [&'static str];

    /// Whether a fact is about the machine and the rule's roots alone, whatever the row: then
    /// the answer for one row is that for all.
    fn of_the_machine(&self, _name: &str) -> bool {
        false
    }

    /// The answer; the error says why it cannot be known, which counts as no.
    fn fact(&self, name: &str, query: &FactQuery) -> Result<bool, String>;
}
