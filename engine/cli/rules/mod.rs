//! `axiowl rules`: look at rules, check them, test them, try them on real data.

mod case;
mod check;
mod diff;
mod test;
mod trial;

use crate::args::{Common, Rules, RulesAction};
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::setup::{self, Own};
use serde_json::json;
use std::path::PathBuf;

/// Does one thing with rules.
pub fn run(arguments: &Rules, common: &Common) -> Outcome {
    match &arguments.action {
        RulesAction::List { json } => list(common, *json),
        RulesAction::Check {
            path,
            json,
            explain,
        } => match explain {
            Some(code) => check::explain(code),
            None => check::run(path.as_deref(), *json, common),
        },
        RulesAction::Test {
            provider,
            case,
            update,
            json,
        } => test::run(provider.as_deref(), case.as_deref(), *update, *json, common),
        RulesAction::Try {
            provider,
            against,
            rule,
            json,
        } => trial::run(provider, against.as_deref(), rule.as_deref(), *json, common),
        RulesAction::Schema => {
            let schema = serde_json::to_string_pretty(&axiowl_lang::schema::json_schema())
                .map_err(|error| Failure::caused(&error))?;
            anstream::println!("{schema}");
            Ok(Exit::Done)
        }
    }
}

/// The folders with rules on disk: `--rules`, else the user's own, else `rules` here.
fn folders(common: &Common) -> Result<Vec<PathBuf>, Failure> {
    if let Some(dir) = &common.rules {
        return Ok(vec![dir.clone()]);
    }
    let user = Own::of_process()?.config_dir().join("rules");
    let here = PathBuf::from("rules");
    Ok([user, here]
        .into_iter()
        .filter(|dir| dir.is_dir())
        .collect())
}

/// Rule folders (those with a `rule.yaml`) below a folder of rules, sorted.
fn rule_folders(dir: &std::path::Path) -> Result<Vec<PathBuf>, Failure> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.join("rule.yaml").is_file() {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

fn list(common: &Common, json: bool) -> Outcome {
    let own = Own::of_process()?;
    let rules = setup::load_rules(common, &own, &own.config()?, |_| true);
    let dirs = folders(common)?;
    let mut cells = Vec::new();
    for loaded in rules.iter() {
        let rule = &loaded.rule;
        let provider = rule.provider.value.as_str();
        let cases: usize = dirs
            .iter()
            .map(|dir| case::find(&dir.join(provider)).len())
            .sum();
        let tested = rule
            .tested
            .as_ref()
            .map_or(String::new(), |t| format!("{} {}", t.program, t.shown()));
        if json {
            output::json_line(
                "rule",
                json!({
                    "provider": provider, "scope": rule.scope_word(), "title": rule.title, "layer": loaded.layer.to_string(),
                    "language": *rule.axiowl, "digest": loaded.digest, "tested": tested, "cases": cases,
                }),
            );
        }
        cells.push(vec![
            provider.to_owned(),
            rule.scope_word(),
            loaded.layer.to_string(),
            loaded.digest.clone(),
            tested,
            cases.to_string(),
        ]);
    }
    if !json {
        output::table(
            &["PROVIDER", "SCOPE", "LAYER", "DIGEST", "TESTED", "CASES"],
            &cells,
        );
    }
    for problem in rules.problems() {
        for diagnostic in &problem.diagnostics {
            anstream::eprintln!("{}", diagnostic.coloured());
        }
    }
    Ok(if rules.problems().is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}
