//! `axiowl doctor`: how well each rule fits what its provider writes now, and the way to mend
//! one that does not. It reads what discovery reads and changes nothing.

use crate::args::{Common, Doctor};
use crate::discover::not_understood;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::pass::{self, PassOptions};
use crate::setup;
use axiowl_model::{Verdict, display_safe};
use serde_json::json;

/// Judges one rule, or those of every provider that is here.
pub fn run(arguments: &Doctor, common: &Common) -> Outcome {
    let setup = setup::open(common)?;
    let asked = arguments.provider.as_deref();
    let rules: Vec<_> = setup
        .rules
        .iter()
        .filter(|rule| {
            asked.is_none_or(|asked| {
                asked == rule.rule.provider.value || asked == rule.rule.scope_word()
            })
        })
        .collect();
    if rules.is_empty() {
        let known: Vec<&str> = setup
            .rules
            .iter()
            .map(|rule| &*rule.rule.provider.value)
            .collect();
        let asked = asked.unwrap_or_default();
        return Err(
            Failure::new(Exit::Usage, format!("there is no rule for `{asked}`"))
                .hint(format!("providers: {}", known.join(", "))),
        );
    }
    let options = PassOptions {
        dry_run: true,
        ..PassOptions::default()
    };
    let mut fits = setup.rules.problems().is_empty();
    let mut cells = Vec::new();
    let mut lines = Vec::new();
    for rule in rules {
        let pass = pass::run(&setup, rule, &options)?;
        let provider = rule.rule.provider.value.clone();
        let (present, verdict) = (pass.report.present, pass.summary.verdict);
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
    Ok(if arguments.strict && !fits {
        Exit::Failed
    } else {
        Exit::Done
    })
}
