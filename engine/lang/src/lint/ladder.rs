//! Ordered parts: statuses, kinds, rungs, name candidates. What can never be reached, and
//! what a rung may grant.

use super::conditions::holds_on_absence;
use super::{Lint, Place};
use crate::at::Span;
use crate::codes;
use crate::cond::Cond;
use crate::diag::Diagnostic;
use crate::rule::{Candidate, Grant, Rung};

pub(super) fn check(lint: &mut Lint) {
    let rule = lint.rule;
    let status = rule.status.iter().map(|s| (s.span, s.when.as_ref()));
    lint.reachable("status", status.collect());
    let kind = rule.rows.kind.iter().flatten();
    let kind = kind.map(|k| (k.span, k.when.as_ref()));
    lint.reachable("kind", kind.collect());
    let proof = rule.proof.iter().map(|r| (r.span, r.when.as_ref()));
    lint.reachable("rung", proof.collect());
    for rung in &rule.proof {
        lint.grants(rung);
    }
    lint.candidates();
}

impl<'a> Lint<'a> {
    /// Everything after an entry without a condition, and every repeated condition.
    fn reachable(&mut self, what: &str, entries: Vec<(Span, Option<&Cond>)>) {
        let always = entries.iter().position(|(_, when)| when.is_none());
        for (i, (span, when)) in entries.iter().enumerate() {
            let (earlier, why) = match (always, when) {
                (Some(at), _) if at < i => (at, "this one always holds"),
                (_, Some(when)) => match entries[..i].iter().position(|(_, w)| *w == Some(*when)) {
                    Some(at) => (at, "this one holds in the same case"),
                    None => continue,
                },
                _ => continue,
            };
            let (file, at) = self.place(*span);
            let (earlier_file, earlier_at) = self.place(entries[earlier].0);
            let message = format!("this {what} can never be reached");
            self.push(
                Diagnostic::error(codes::UNREACHABLE, message)
                    .at(file, at, "never reached")
                    .also(earlier_file, earlier_at, why)
                    .help("the first that holds decides: move it up, or remove it"),
            );
            if always.is_some_and(|at| at < i) {
                // The rest is unreachable for the same reason.
                break;
            }
        }
    }

    fn grants(&mut self, rung: &crate::at::At<Rung>) {
        let at: Place<'a> = self.place(rung.source.span);
        let has = |grant| rung.grants.contains(&grant);
        if has(Grant::Send) && !has(Grant::Enroll) {
            let message = format!(
                "the rung `{}` grants send without enroll",
                rung.source.value
            );
            let help = "write `grants: [enroll, send]`, or `grants: []` for evidence only";
            let label = "only enrolled rows can be sent to";
            self.error(
                codes::SEND_WITHOUT_ENROLL,
                at.clone(),
                label,
                message,
                help.into(),
            );
        }
        if rung.grants.is_empty() {
            return;
        }
        if let Some((name, word)) = rung.when.as_ref().and_then(|c| holds_on_absence(c, false)) {
            let (file, place) = self.place(name.span);
            let message = format!(
                "the rung `{}` grants because of what is missing",
                rung.source.value
            );
            let help = "a source that could not be read looks the same; let a status or kind \
                        bar the other case instead";
            self.push(
                Diagnostic::warning(codes::GRANTS_ON_ABSENCE, message)
                    .at(file, place, format!("`{word}` holds without any evidence"))
                    .also(at.0, at.1, "grants here")
                    .help(help),
            );
        }
    }

    fn candidates(&mut self) {
        let list = self.rule.name.iter().flat_map(|name| &name.candidates);
        let list: Vec<_> = list.collect();
        for (i, candidate) in list.iter().enumerate() {
            let earlier = list[..i].iter().find(|c| same_name(c, candidate));
            if let Some(earlier) = earlier {
                let (file, at) = self.place(candidate.from.span);
                let (first_file, first_at) = self.place(earlier.from.span);
                let message = format!("the candidate `{}` stands twice", candidate.from.value);
                self.push(
                    Diagnostic::error(codes::DUPLICATE_CANDIDATE, message)
                        .at(file, at, "gives nothing new")
                        .also(first_file, first_at, "this one reads the same")
                        .help("remove one of them"),
                );
            }
        }
    }
}

/// Both give the same name, whatever they are called.
fn same_name(a: &Candidate, b: &Candidate) -> bool {
    let text = |c: &Candidate| Candidate {
        label: String::new(),
        weak: false,
        ..c.clone()
    };
    text(a) == text(b)
}
