//! `axiowl rules test`: every fixture, compared row by row with what is expected.

use super::case::{self, Case};
use super::{diff, folders, rule_folders};
use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::setup::EMBEDDED;
use axiowl_lang::layers::{self, Sources};
use axiowl_lang::load::LoadedRule;
use serde_json::json;
use std::path::Path;

/// How one case went.
enum Verdict {
    Passed,
    Updated,
    Failed(Vec<String>),
}

/// Runs the cases of one rule or of all that are on disk.
pub fn run(
    provider: Option<&str>,
    only: Option<&str>,
    update: bool,
    json: bool,
    common: &Common,
) -> Outcome {
    let (mut passed, mut failed, mut seen) = (0, 0, false);
    for dir in folders(common)? {
        let sources = Sources {
            built_in: EMBEDDED,
            disk: Some(&dir),
            ..Sources::default()
        };
        let rules = layers::load_all(&sources);
        for folder in rule_folders(&dir)? {
            let name = folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if provider.is_some_and(|provider| provider != name) {
                continue;
            }
            seen = true;
            let Some(rule) = rules.get(&name) else {
                failed += 1;
                for diagnostic in rules
                    .problems()
                    .iter()
                    .filter(|p| p.provider == name)
                    .flat_map(|p| &p.diagnostics)
                {
                    anstream::eprintln!("{}", diagnostic.coloured());
                }
                report(
                    json,
                    &name,
                    "-",
                    &Verdict::Failed(vec!["the rule is broken".into()]),
                );
                continue;
            };
            for (case, verdict) in cases(rule, &folder, only, update)? {
                match &verdict {
                    Verdict::Failed(_) => failed += 1,
                    _ => passed += 1,
                }
                report(json, &name, &case, &verdict);
            }
        }
    }
    if !seen {
        return Err(Failure::new(
            Exit::Failed,
            match provider {
                Some(provider) => format!("there is no rule folder for `{provider}`"),
                None => "there are no rule folders".into(),
            },
        )
        .hint("run it in a checkout, or name a folder of rules with --rules DIR"));
    }
    if passed + failed == 0 {
        return Err(Failure::new(Exit::Failed, "no case ran")
            .hint("a rule needs fixtures/<case>/world.yaml"));
    }
    if !json {
        anstream::println!("{passed} passed, {failed} failed");
    }
    Ok(if failed == 0 {
        Exit::Done
    } else {
        Exit::Failed
    })
}

fn cases(
    rule: &LoadedRule,
    folder: &Path,
    only: Option<&str>,
    update: bool,
) -> Result<Vec<(String, Verdict)>, Failure> {
    let all = case::find(folder);
    if all.is_empty() {
        let why = "it has no fixtures; a rule without one is untested".to_owned();
        return Ok(vec![("-".into(), Verdict::Failed(vec![why]))]);
    }
    let chosen = all
        .into_iter()
        .filter(|case| only.is_none_or(|only| only == case.name));
    chosen
        .map(|case| Ok((case.name.clone(), judge(rule, &case, update)?)))
        .collect()
}

fn judge(rule: &LoadedRule, case: &Case, update: bool) -> Result<Verdict, Failure> {
    let outcome = case::run(rule, case, None)?;
    if case::is_vacuous(&outcome) {
        return Ok(Verdict::Failed(vec![
            "nothing matched: no row was found and none was left out".into(),
        ]));
    }
    let expected = case::expectation(case)?;
    let differences: Vec<String> = match &expected {
        None => {
            vec!["there is no expected.json yet; read the outcome and keep it with --update".into()]
        }
        Some(expected) => diff::between(expected, &outcome)
            .iter()
            .map(ToString::to_string)
            .collect(),
    };
    if differences.is_empty() {
        return Ok(Verdict::Passed);
    }
    if !update {
        return Ok(Verdict::Failed(differences));
    }
    let text = serde_json::to_string_pretty(&outcome).map_err(|error| Failure::caused(&error))?;
    std::fs::write(case.expected(), text + "\n")?;
    for difference in &differences {
        anstream::println!("  {difference}");
    }
    Ok(Verdict::Updated)
}

fn report(json: bool, provider: &str, case: &str, verdict: &Verdict) {
    let (word, differences) = match verdict {
        Verdict::Passed => ("passed", [].as_slice()),
        Verdict::Updated => ("updated", [].as_slice()),
        Verdict::Failed(differences) => ("failed", differences.as_slice()),
    };
    if json {
        output::json_line(
            "rule_case",
            json!({ "provider": provider, "case": case, "verdict": word, "differences": differences }),
        );
        return;
    }
    anstream::println!("{word:<8} {provider}/{case}");
    for difference in differences {
        for line in difference.lines() {
            anstream::println!("    {line}");
        }
    }
}
