//! What is wrong with the rules in force, for people. Finds nothing itself.

use axiowl_lang::diag::{Diagnostic, Label};
use axiowl_lang::layers::RuleSet;
use std::collections::HashSet;

/// Prints faults. One in a file that several rules share is a problem of each of them, and
/// said once.
#[derive(Debug, Default)]
pub struct Faults(HashSet<Said>);

/// A place and what is wrong there.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Said {
    file: String,
    line: usize,
    column: usize,
    what: String,
}

impl Faults {
    /// Prints a fault, unless it was printed before, or does nothing but cite one that was.
    pub fn show(&mut self, fault: &Diagnostic) {
        let said = |label: &Label| Said {
            file: label.file.to_string(),
            line: label.line,
            column: label.column,
            what: match label.primary {
                true => fault.message.clone(),
                false => label.label.clone(),
            },
        };
        if fault
            .labels
            .iter()
            .any(|label| self.0.contains(&said(label)))
        {
            return;
        }
        anstream::eprintln!("{}", fault.coloured());
        self.0.extend(fault.primary().map(said));
    }
}

/// A broken layer is never silent: it is named, and so is what is used in its place.
pub fn report(rules: &RuleSet) {
    let mut faults = Faults::default();
    for problem in rules.problems() {
        let broken = problem.diagnostics.iter().any(Diagnostic::is_error);
        for diagnostic in &problem.diagnostics {
            if diagnostic.is_error() || !broken {
                faults.show(diagnostic);
            }
        }
        match &problem.instead {
            // A whole layer, which has no provider to name.
            _ if problem.provider.is_empty() => {
                anstream::eprintln!(
                    "warning: the folder of {} rules cannot be read",
                    problem.layer
                )
            }
            // The rule itself is good; what it shares is not.
            Some(layer) if !broken && *layer == problem.layer => anstream::eprintln!(
                "warning: the rule for {} uses the shared rule of a lower layer",
                problem.provider
            ),
            Some(layer) => anstream::eprintln!(
                "warning: the {} rule for {} is broken; the {} one is used",
                problem.layer,
                problem.provider,
                layer
            ),
            None => anstream::eprintln!(
                "warning: the {} rule for {} is broken, and there is no other",
                problem.layer,
                problem.provider
            ),
        }
    }
    for notice in rules.notices() {
        anstream::eprintln!("{}", notice.one_line());
        if let Some(help) = &notice.help {
            anstream::eprintln!("  {help}");
        }
    }
}
