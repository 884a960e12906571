//! Fields named in names, statuses, rungs, sentences and aliases.

use super::Lint;
use crate::fields::TEMPLATE_NAMES;

pub(super) fn check(lint: &mut Lint) {
    let rule = lint.rule;
    let row = lint.row();
    let filled = lint.row().and(TEMPLATE_NAMES);
    for candidate in rule.name.iter().flat_map(|name| &name.candidates) {
        lint.row_field(&candidate.from);
        if let Some(when) = &candidate.when {
            let at = lint.place(candidate.span);
            lint.condition(when, at, &row);
        }
    }
    for kind in rule.rows.kind.iter().flatten() {
        if let Some(when) = &kind.when {
            let at = lint.place(kind.span);
            lint.condition(when, at, &row);
        }
        if let Some(say) = &kind.say {
            lint.template(say, &filled);
        }
    }
    for status in &rule.status {
        if let Some(when) = &status.when {
            let at = lint.place(status.span);
            lint.condition(when, at, &row);
        }
        if let Some(error) = &status.error {
            lint.template(error, &filled);
        }
    }
    for rung in &rule.proof {
        if let Some(when) = &rung.when {
            let at = lint.place(rung.span);
            lint.condition(when, at, &row);
        }
    }
    for sentence in &rule.evidence {
        if let Some(when) = &sentence.when {
            let at = lint.place(sentence.span);
            lint.condition(when, at, &row);
        }
        lint.template(&sentence.say, &filled);
    }
    for alias in &rule.aliases {
        lint.template(alias, &filled);
    }
    if let Some(field) = rule.tested.as_ref().and_then(|t| t.field.as_ref()) {
        lint.row_field(field);
    }
}
