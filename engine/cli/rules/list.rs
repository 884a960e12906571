//! `axiowl rules list`: every rule in force, where it comes from, how well it fitted last.

use super::{case, shelf};
use crate::args::Common;
use crate::exit::{Exit, Outcome};
use crate::faults::Faults;
use crate::output;
use crate::own::Own;
use crate::verdicts;
use axiowl_lang::layers;
use axiowl_lang::load::LoadedRule;
use axiowl_lang::stack::Stack;
use axiowl_model::display_safe;
use serde_json::json;

/// Lists the rules.
pub fn run(common: &Common, json: bool) -> Outcome {
    let shelf = shelf(common)?;
    let state = Own::of_process()?.state(common)?;
    let sources = shelf.sources();
    let stack = Stack::open(&sources);
    let rules = layers::load_stack(&stack, sources.trusted, |_| true);
    let dirs = shelf.folders();
    let mut cells = Vec::new();
    for loaded in rules.iter() {
        let rule = &loaded.rule;
        let provider = rule.provider.value.as_str();
        let cases: usize = dirs
            .iter()
            .map(|dir| case::find(&dir.join(provider)).len())
            .sum();
        let tested = rule.tested.as_ref();
        let tested = tested.map_or(String::new(), |t| format!("{} {}", t.program, t.shown()));
        let last = verdicts::last(&state, provider);
        let layer = standing(loaded, &stack);
        if json {
            output::json_line(
                "rule",
                json!({
                    "provider": provider, "scope": rule.scope_word(), "title": rule.title,
                    "layer": loaded.layer.to_string(), "over": over(loaded, &stack),
                    "patch": loaded.patched.is_some(), "language": *rule.axiowl,
                    "digest": loaded.digest, "tested": tested, "cases": cases,
                    "verdict": last.as_ref().map(|last| last.verdict),
                    "verdict_at": last.as_ref().map(|last| last.at),
                    "verdict_line": last.as_ref().map(|last| last.line.clone()),
                    "verdict_of_this_rule": last.as_ref().map(|last| last.digest == loaded.digest),
                }),
            );
        }
        cells.push(vec![
            provider.to_owned(),
            rule.scope_word(),
            layer,
            loaded.digest.clone(),
            rule.axiowl.to_string(),
            tested,
            cases.to_string(),
            verdicts::shown(last.as_ref(), loaded),
        ]);
    }
    if !json {
        let head = [
            "PROVIDER", "SCOPE", "LAYER", "DIGEST", "LANGUAGE", "TESTED", "CASES", "VERDICT",
        ];
        let spare = ["LANGUAGE", "DIGEST", "SCOPE", "CASES"];
        crate::table::print(&head, &cells, &spare);
        for loaded in rules.iter() {
            let provider = loaded.rule.provider.value.as_str();
            let last = verdicts::last(&state, provider);
            if let Some(last) = last.filter(|l| !l.line.is_empty() && l.digest == loaded.digest) {
                let line = verdicts::way_out(last.verdict, &last.line, loaded);
                crate::output::say!("{provider}: {}", display_safe(&line));
            }
        }
    }
    let mut faults = Faults::default();
    let problems = rules.problems().iter();
    problems
        .flat_map(|problem| &problem.diagnostics)
        .for_each(|fault| faults.show(fault));
    for notice in rules.notices() {
        anstream::eprintln!("{}", notice.one_line());
    }
    Ok(if rules.problems().is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// The layer, and what lies under it.
fn standing(loaded: &LoadedRule, stack: &Stack) -> String {
    match (&loaded.patched, over(loaded, stack)) {
        (Some(patched), _) => format!("{}, patches {}", loaded.layer, patched.base.layer),
        (None, Some(below)) => format!("{} over {below}", loaded.layer),
        (None, None) => loaded.layer.to_string(),
    }
}

/// The next lower layer that has a rule for the provider.
fn over(loaded: &LoadedRule, stack: &Stack) -> Option<String> {
    let holders = stack.holders(&loaded.rule.provider);
    let mut below = holders
        .iter()
        .rev()
        .skip_while(|h| *h.layer != loaded.layer);
    below.next()?;
    below.next().map(|holder| holder.layer.to_string())
}
