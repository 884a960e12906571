//! `axiowl rules test`: every fixture, compared row by row with what is expected.

use super::accept::Answers;
use super::args::{Test, Update};
use super::case::{self, Case};
use super::{changes, coverage, junit, rule_folders, shelf};
use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use axiowl_discover::coverage::Coverage;
use axiowl_lang::layers;
use axiowl_lang::load::LoadedRule;
use axiowl_model::display_safe;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// How one case went.
enum Verdict {
    Passed,
    Updated(usize),
    Failed(Vec<String>),
}

/// One command: what was asked for, and what came of it so far.
struct Run<'a> {
    arguments: &'a Test,
    answers: Answers,
    coverage: Arc<Coverage>,
    results: Vec<junit::Result>,
    tested: Vec<Arc<LoadedRule>>,
}

/// Runs the cases of one rule or of all that are on disk.
pub fn run(arguments: &Test, common: &Common) -> Outcome {
    let shelf = shelf(common)?;
    let mut run = Run {
        arguments,
        answers: Answers::default(),
        coverage: Arc::default(),
        results: Vec::new(),
        tested: Vec::new(),
    };
    let mut seen = false;
    for dir in shelf.folders() {
        let folders = rule_folders(&dir)?;
        let name = |folder: &Path| {
            let name = folder.file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        let asked = |name: &str| arguments.provider.as_deref().is_none_or(|p| p == name);
        let names: Vec<String> = folders.iter().map(|f| name(f)).collect();
        let rules = layers::load_where(&shelf.of_folder(&dir), |provider| {
            names.iter().any(|name| name == provider)
        });
        for folder in folders {
            let name = name(&folder);
            if !asked(&name) {
                continue;
            }
            seen = true;
            let problems = rules.problems().iter().filter(|p| p.provider == name);
            let broken = problems.filter(|p| p.instead.as_ref() != Some(&p.layer));
            let broken: Vec<_> = broken.flat_map(|p| &p.diagnostics).collect();
            match rules.get(&name) {
                Some(rule) if !broken.iter().any(|d| d.is_error()) => run.rule(rule, &folder)?,
                _ => {
                    for diagnostic in broken {
                        anstream::eprintln!("{}", diagnostic.coloured());
                    }
                    let why = vec!["the rule is broken".to_owned()];
                    run.note(&name, "-", Instant::now(), Verdict::Failed(why));
                }
            }
        }
    }
    if !seen {
        return Err(Failure::new(
            Exit::Failed,
            match &arguments.provider {
                Some(provider) => format!("there is no rule folder for `{provider}`"),
                None => "there are no rule folders".into(),
            },
        )
        .hint("run it in a checkout, or name a folder of rules with --rules DIR"));
    }
    if run.results.is_empty() {
        return Err(Failure::new(Exit::Failed, "no case ran")
            .hint("a rule needs fixtures/<case>/world.yaml"));
    }
    run.finish()
}

impl Run<'_> {
    fn rule(&mut self, rule: &Arc<LoadedRule>, folder: &Path) -> Result<(), Failure> {
        let provider = rule.rule.provider.value.clone();
        let all = case::find(folder);
        if all.is_empty() {
            let why = "it has no fixtures; a rule without one is untested".to_owned();
            self.note(&provider, "-", Instant::now(), Verdict::Failed(vec![why]));
            return Ok(());
        }
        self.tested.push(rule.clone());
        let only = self.arguments.case.as_deref();
        for case in all
            .iter()
            .filter(|case| only.is_none_or(|only| only == case.name))
        {
            let started = Instant::now();
            let verdict = self.judge(rule, case, &provider)?;
            self.note(&provider, &case.name, started, verdict);
        }
        Ok(())
    }

    fn judge(
        &mut self,
        rule: &LoadedRule,
        case: &Case,
        provider: &str,
    ) -> Result<Verdict, Failure> {
        let outcome = case::run(rule, case, Some(&self.coverage))?;
        if case::is_vacuous(&outcome) {
            return Ok(Verdict::Failed(vec![
                "nothing matched: no row was found and none was left out".into(),
            ]));
        }
        let expected = case::expectation(case)?;
        let empty = json!({});
        let found = changes::between(expected.as_ref().unwrap_or(&empty), &outcome);
        if expected.is_some() && found.is_empty() {
            return Ok(Verdict::Passed);
        }
        let shown = |list: &[changes::Change]| changes::lines(list);
        let (kept, taken) = match self.arguments.update {
            None if expected.is_none() => {
                return Ok(Verdict::Failed(vec![
                    "there is no expected.json yet; --update shows the outcome and keeps it".into(),
                ]));
            }
            None => return Ok(Verdict::Failed(shown(&found))),
            Some(Update::All) => (outcome.clone(), found.len()),
            Some(Update::Ask) if self.arguments.yes => (outcome.clone(), found.len()),
            Some(Update::Ask) => {
                let name = format!("{provider}/{}", case.name);
                self.answers
                    .ask(&name, expected.as_ref(), &outcome, &found)?
            }
        };
        if taken > 0 {
            let text = serde_json::to_string_pretty(&kept).map_err(|e| Failure::caused(&e))?;
            super::fix::write(&case.expected(), &(text + "\n"))?;
        }
        let rest = changes::between(&kept, &outcome);
        if rest.is_empty() && taken > 0 {
            if self.arguments.update == Some(Update::All) || self.arguments.yes {
                for line in changes::lines(&found) {
                    anstream::eprintln!("    {}", display_safe(&line));
                }
            }
            return Ok(Verdict::Updated(taken));
        }
        Ok(Verdict::Failed(shown(&rest)))
    }

    fn note(&mut self, provider: &str, case: &str, started: Instant, verdict: Verdict) {
        report(self.arguments.json, provider, case, &verdict);
        self.results.push(junit::Result {
            provider: provider.to_owned(),
            case: case.to_owned(),
            took: started.elapsed(),
            failures: match verdict {
                Verdict::Failed(differences) => differences,
                Verdict::Passed | Verdict::Updated(_) => Vec::new(),
            },
        });
    }

    fn finish(self) -> Outcome {
        if self.arguments.coverage {
            self.coverage();
        }
        if let Some(file) = &self.arguments.junit {
            super::fix::write(file, &junit::document(&self.results)).map_err(|error| {
                Failure::new(Exit::Failed, format!("{}: {error}", file.display()))
            })?;
        }
        let failed = self
            .results
            .iter()
            .filter(|r| !r.failures.is_empty())
            .count();
        if !self.arguments.json {
            let passed = self.results.len() - failed;
            crate::output::say!("{passed} passed, {failed} failed");
        }
        if self.answers.silent {
            anstream::eprintln!(
                "hint: nobody answered; `--update=all` (or `--yes`) takes every change"
            );
        }
        Ok(if failed == 0 {
            Exit::Done
        } else {
            Exit::Failed
        })
    }

    fn coverage(&self) {
        let seen = self.coverage.seen();
        for rule in &self.tested {
            let provider = &rule.rule.provider.value;
            let coverage::Report { total, never } = coverage::report(rule, &seen);
            let reached = total - never.len();
            if self.arguments.json {
                let never: Vec<_> = never
                    .iter()
                    .map(|(what, at)| json!({ "what": what, "at": at }))
                    .collect();
                output::json_line(
                    "rule_coverage",
                    json!({ "provider": provider, "parts": total, "reached": reached, "never": never }),
                );
                continue;
            }
            crate::output::say!("coverage of {provider}: {reached} of {total} parts are reached");
            for (what, at) in never {
                crate::output::say!("  never  {}  [{at}]", display_safe(&what));
            }
        }
    }
}

fn report(json: bool, provider: &str, case: &str, verdict: &Verdict) {
    let (word, differences) = match verdict {
        Verdict::Passed => ("passed", [].as_slice()),
        Verdict::Updated(_) => ("updated", [].as_slice()),
        Verdict::Failed(differences) => ("failed", differences.as_slice()),
    };
    if json {
        output::json_line(
            "rule_case",
            json!({ "provider": provider, "case": case, "verdict": word, "differences": differences }),
        );
        return;
    }
    match verdict {
        Verdict::Updated(1) => crate::output::say!("{word:<8} {provider}/{case}: 1 change"),
        Verdict::Updated(n) => crate::output::say!("{word:<8} {provider}/{case}: {n} changes"),
        _ => crate::output::say!("{word:<8} {provider}/{case}"),
    }
    for difference in differences {
        for line in difference.lines() {
            crate::output::say!("    {}", display_safe(line));
        }
    }
}
