//! Every native fact of this crate behind one door.

use crate::codex_facts::CodexFacts;
use crate::opencode_facts::OpencodeFacts;
use axiowl_sources::{FactQuery, NativeFacts};

const NAMES: [&str; 3] = [
    "codex_writer_locks_and_queue",
    "codex_ipc_owner",
    "opencode_1_installed",
];

/// Asks the provider that knows the answer.
#[derive(Default)]
pub(crate) struct Facts {
    codex: CodexFacts,
    opencode: OpencodeFacts,
}

impl Facts {
    fn all(&self) -> [&dyn NativeFacts; 2] {
        [&self.codex, &self.opencode]
    }
}

impl NativeFacts for Facts {
    fn names(&self) -> &'static [&'static str] {
        &NAMES
    }

    fn of_the_machine(&self, name: &str) -> bool {
        let mut all = self.all().into_iter();
        all.any(|facts| facts.names().contains(&name) && facts.of_the_machine(name))
    }

    fn fact(&self, name: &str, query: &FactQuery<'_>) -> Result<bool, String> {
        match self
            .all()
            .into_iter()
            .find(|facts| facts.names().contains(&name))
        {
            Some(facts) => facts.fact(name, query),
            None => Err(format!("nothing here answers `{name}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_has_a_name_here_and_one_owner() {
        let facts = Facts::default();
        let owned: Vec<&str> = facts
            .all()
            .iter()
            .flat_map(|facts| facts.names())
            .copied()
            .collect();
        assert_eq!(owned, NAMES);
    }
}
