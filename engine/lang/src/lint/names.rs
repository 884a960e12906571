//! Fields named in names, statuses, rungs, sentences, aliases and transcripts.

use super::{Known, Lint};
use crate::at::Span;
use crate::codes;
use crate::cond::Cond;
use crate::fields::TEMPLATE_NAMES;
use crate::rule::Transcript;
use crate::secrets::is_secret_path;
use crate::template::Piece;
use std::collections::BTreeSet;

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
    if let Some(transcript) = &rule.transcript {
        lint.transcript(transcript);
    }
}

impl Lint<'_> {
    fn transcript(&mut self, transcript: &Transcript) {
        let roots = self.rule.roots.keys().map(String::as_str);
        let known = self.row().and(TEMPLATE_NAMES).and(roots);
        self.template(&transcript.file, &known);
        let at = self.place(transcript.file.span);
        let starts_with_field = matches!(transcript.file.pieces().first(), Some(Piece::Field(_)));
        let file = transcript.file.as_str();
        if !starts_with_field || file.split(['/', '\\']).any(|part| part == "..") {
            let message = format!("the transcript `{file}` does not stay below a root");
            let help = "start with a field that holds a path, or with `{root}/`, without `..`";
            self.error(
                codes::PATH_ESCAPES,
                at,
                "leaves the roots",
                message,
                help.into(),
            );
        } else if is_secret_path(file) {
            self.secret(file, at);
        }
        let groups = [&transcript.message, &transcript.done, &transcript.failed];
        for record in groups.into_iter().flatten() {
            self.transcript_record(record.span, record.filter.as_ref());
        }
        for record in &transcript.undo {
            self.transcript_record(record.span, record.filter.as_ref());
        }
    }

    fn transcript_record(&mut self, span: Span, filter: Option<&Cond>) {
        if let Some(filter) = filter {
            let known = Known::of("a record", BTreeSet::new()).and_pointers();
            let at = self.place(span);
            self.condition(filter, at, &known);
        }
    }
}
