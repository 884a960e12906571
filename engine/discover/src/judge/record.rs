//! What was decided about a row, step by step, for whoever asks why. It must not decide anything.

use crate::coverage::Coverage;
use axiowl_lang::at::Span;
use axiowl_lang::load::LoadedRule;
use axiowl_model::Step;

/// The recorder: the code that decides writes here, whether anybody reads it or not.
pub(super) struct Record<'a> {
    loaded: &'a LoadedRule,
    coverage: Option<&'a Coverage>,
    on: bool,
    steps: Vec<Step>,
}

/// Words for a step, made only when somebody reads them.
pub(super) trait Words {
    fn words(self) -> String;
}

impl Words for &str {
    fn words(self) -> String {
        self.into()
    }
}

impl<F: FnOnce() -> String> Words for F {
    fn words(self) -> String {
        self()
    }
}

impl<'a> Record<'a> {
    /// Steps are kept where they are wanted.
    pub(super) fn new(
        loaded: &'a LoadedRule,
        coverage: Option<&'a Coverage>,
        wanted: bool,
    ) -> Self {
        Self {
            loaded,
            coverage,
            on: wanted,
            steps: Vec::new(),
        }
    }

    /// What was kept.
    pub(super) fn into_steps(self) -> Vec<Step> {
        self.steps
    }

    /// One step; of an entry of the rule that holds, coverage hears too.
    pub(super) fn note(&mut self, stage: &str, ok: bool, text: impl Words, span: Option<Span>) {
        if let (true, Some(coverage), Some(span)) = (ok, self.coverage, span) {
            coverage.entry(self.loaded, span);
        }
        if self.on {
            let at = span.map_or_else(String::new, |span| self.loaded.place(span));
            self.steps.push(Step {
                stage: stage.into(),
                ok,
                text: text.words(),
                at,
            });
        }
    }
}
