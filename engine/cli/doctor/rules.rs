//! How well each rule fits what its provider writes now, and the way to mend one that does not.
//! It reads what discovery reads and changes nothing.

use super::stores::Reading;
use crate::args::Doctor;
use crate::discover::not_understood;
use crate::exit::Failure;
use crate::output;
use crate::pass::{self, PassOptions};
use crate::setup::Setup;
use axiowl_lang::load::LoadedRule;
use axiowl_model::{Verdict, display_safe};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What was seen of the rules.
pub struct Fit {
    /// Every rule that has something to read fits it.
    pub fits: bool,
    /// Providers whose files are here.
    pub present: BTreeSet<String>,
    /// How their stores could be read.
    pub readings: Vec<Reading>,
}

/// Judges the rules of every provider that is here, or the one that was asked for.
pub fn judge(
    setup: &Setup,
    arguments: &Doctor,
    rules: &[&Arc<LoadedRule>],
) -> Result<Fit, Failure> {
    let asked = arguments.provider.as_deref();
    let options = PassOptions {
        dry_run: true,
        unread_registry: true,
        ..PassOptions::default()
    };
    let mut fits = setup.rules.problems().is_empty();
    let mut present_here = BTreeSet::new();
    let mut readings = Vec::new();
    let mut cells = Vec::new();
    let mut lines = Vec::new();
    for rule in rules.iter().copied() {
        let pass = pass::run(setup, rule, &options)?;
        let provider = rule.rule.provider.value.clone();
        let (present, verdict) = (pass.report.present, pass.summary.verdict);
        if present {
            present_here.insert(provider.clone());
        }
        // Shown when it was asked for by name.
        if !present && asked.is_none() {
            continue;
        }
        let tested = rule.rule.tested.as_ref();
        let tested = tested.map_or(String::new(), |t| format!("{} {}", t.program, t.shown()));
        let line = not_understood(&pass, rule);
        fits &= !present || matches!(verdict, Verdict::Verified | Verdict::UnverifiedVersion);
        if arguments.json {
            output::json_line(
                "doctor_rule",
                json!({
                    "provider": provider, "layer": rule.layer.to_string(), "digest": rule.digest,
                    "tested": tested, "present": present, "found": pass.summary.found,
                    "verdict": present.then_some(verdict), "not_understood": line,
                    "issues": pass.summary.issues,
                }),
            );
        }
        let shown = if present {
            verdict.to_string()
        } else {
            "not here".into()
        };
        let found = pass.summary.found.to_string();
        cells.push(vec![
            provider.clone(),
            rule.layer.to_string(),
            tested,
            found,
            shown,
        ]);
        lines.extend(line.map(|line| format!("{provider}: {line}")));
        if present {
            readings.push(Reading {
                provider,
                scope: rule.rule.scope_word(),
                sessions: pass.summary.found,
                issues: pass.summary.issues,
            });
        }
    }
    if !arguments.json {
        if cells.is_empty() {
            crate::output::say!("none of the providers that there are rules for is here");
        } else {
            output::table(&["PROVIDER", "LAYER", "TESTED", "FOUND", "VERDICT"], &cells);
        }
        for line in lines {
            crate::output::say!("{}", display_safe(&line));
        }
    }
    Ok(Fit {
        fits,
        present: present_here,
        readings,
    })
}
