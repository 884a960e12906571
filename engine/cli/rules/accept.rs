//! Asks a person about each change of an expectation, and keeps what was accepted.

use super::changes::{self, Change};
use crate::exit::Failure;
use serde_json::Value;
use std::io::{BufRead, Write as _};

/// What was answered so far; carried from case to case.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Answers {
    /// Nothing more is asked, and nothing more is taken.
    stopped: bool,
    /// There was nobody to answer.
    pub silent: bool,
}

enum Answer {
    Yes,
    No,
    All,
    Stop,
}

impl Answers {
    /// Asks about each change, and gives the expectation with those that were accepted and
    /// how many that were.
    ///
    /// # Errors
    /// When the terminal cannot be written to or read.
    pub fn ask(
        &mut self,
        case: &str,
        expected: Option<&Value>,
        outcome: &Value,
        changes: &[Change],
    ) -> Result<(Value, usize), Failure> {
        let mut kept = expected.cloned().unwrap_or_default();
        let mut taken = 0;
        let mut all = false;
        if expected.is_none() {
            for change in changes {
                show(change);
            }
            let question = format!("{case}: keep all of it as the expectation?");
            if matches!(self.one(&question)?, Answer::Yes | Answer::All) {
                return Ok((outcome.clone(), changes.len()));
            }
            return Ok((kept, 0));
        }
        for change in changes {
            if !all {
                show(change);
                match self.one(&format!("{case}: accept?"))? {
                    Answer::Yes => {}
                    Answer::No => continue,
                    Answer::All => all = true,
                    Answer::Stop => break,
                }
            }
            changes::take(&mut kept, outcome, change);
            taken += 1;
        }
        // With every change taken, what was found is the expectation, in its own order.
        let whole = changes::between(&kept, outcome).is_empty();
        Ok((if whole { outcome.clone() } else { kept }, taken))
    }

    fn one(&mut self, question: &str) -> Result<Answer, Failure> {
        if self.stopped {
            return Ok(Answer::Stop);
        }
        loop {
            crate::output::say_part!("  {question} [y]es, [n]o, [a]ll of this case, [q]uit: ");
            std::io::stdout().flush()?;
            let mut line = String::new();
            if std::io::stdin().lock().read_line(&mut line)? == 0 {
                crate::output::say!();
                (self.stopped, self.silent) = (true, true);
                return Ok(Answer::Stop);
            }
            return Ok(match line.trim().to_lowercase().as_str() {
                "y" | "yes" => Answer::Yes,
                "n" | "no" => Answer::No,
                "a" | "all" => Answer::All,
                "q" | "quit" => {
                    self.stopped = true;
                    Answer::Stop
                }
                _ => continue,
            });
        }
    }
}

fn show(change: &Change) {
    for line in change.to_string().lines() {
        crate::output::say!("  {line}");
    }
}
