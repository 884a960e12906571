//! `axiowl rules check`: every mistake, where it stands, and the way out.

use super::{folders, rule_folders};
use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use axiowl_lang::codes;
use axiowl_lang::diag::Diagnostic;
use axiowl_lang::layers::{self, Sources};
use std::path::{Path, PathBuf};

/// Checks one rule, a folder of rules, or all that are on disk; without any, the built-in ones.
pub fn run(path: Option<&Path>, json: bool, common: &Common) -> Outcome {
    let mut found = Vec::new();
    let mut checked = 0;
    match path {
        Some(path) => {
            let (dir, only) = target(path)?;
            checked += check_dir(&dir, only.as_deref(), &mut found)?;
        }
        None => {
            let dirs = folders(common)?;
            for dir in &dirs {
                checked += check_dir(dir, None, &mut found)?;
            }
            if dirs.is_empty() {
                let sources = Sources {
                    built_in: crate::setup::EMBEDDED,
                    ..Sources::default()
                };
                checked += collect(&sources, &|_| true, &mut found);
            }
        }
    }
    if checked == 0 {
        return Err(Failure::new(Exit::Failed, "no rule was found to check")
            .hint("name a folder with a rule.yaml, or a folder of such folders"));
    }
    let errors = found
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .count();
    for diagnostic in &found {
        if json {
            output::json_line("diagnostic", diagnostic.to_json());
        } else {
            anstream::println!("{}\n", diagnostic.coloured());
        }
    }
    if !json {
        let warnings = found.len() - errors;
        anstream::println!("{checked} rules checked: {errors} errors, {warnings} warnings");
    }
    Ok(if errors == 0 {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// What an error code means.
pub fn explain(code: &str) -> Outcome {
    let Some((title, explanation)) = codes::explain(code) else {
        return Err(
            Failure::new(Exit::Usage, format!("there is no code `{code}`")).hint(format!(
                "codes run from {} to {}",
                codes::ALL[0].0,
                codes::ALL[codes::ALL.len() - 1].0
            )),
        );
    };
    anstream::println!("{code}: {title}\n\n{explanation}");
    Ok(Exit::Done)
}

/// The folder of rules and the one rule in it that a path means.
fn target(path: &Path) -> Result<(PathBuf, Option<String>), Failure> {
    let path = std::path::absolute(path)?;
    let folder = if path.is_file() {
        path.parent().map(Path::to_path_buf).unwrap_or_default()
    } else {
        path
    };
    if !folder.join("rule.yaml").is_file() {
        return Ok((folder, None));
    }
    let name = folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let parent = folder.parent().map(Path::to_path_buf).unwrap_or_default();
    Ok((parent, name))
}

fn check_dir(
    dir: &Path,
    only: Option<&str>,
    found: &mut Vec<Diagnostic>,
) -> Result<usize, Failure> {
    let rules = rule_folders(dir)?;
    if rules.is_empty() {
        return Ok(0);
    }
    let shown = shorten(dir);
    let sources = Sources {
        built_in: crate::setup::EMBEDDED,
        disk: Some(&shown),
        ..Sources::default()
    };
    Ok(collect(
        &sources,
        &|provider| only.is_none_or(|only| only == provider),
        found,
    ))
}

/// Paths below the current folder are shown as a person would type them.
fn shorten(dir: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    match dir.strip_prefix(&here) {
        Ok(rest) if !rest.as_os_str().is_empty() => rest.to_path_buf(),
        _ => dir.to_path_buf(),
    }
}

fn collect(sources: &Sources, wanted: &dyn Fn(&str) -> bool, found: &mut Vec<Diagnostic>) -> usize {
    let set = layers::load_where(sources, wanted);
    let problems = set
        .problems()
        .iter()
        .filter(|problem| problem.provider.is_empty() || wanted(&problem.provider));
    let mut checked = 0;
    for problem in problems {
        checked += 1;
        found.extend(problem.diagnostics.iter().cloned());
    }
    for rule in set.iter().filter(|rule| wanted(&rule.rule.provider.value)) {
        checked += 1;
        found.extend(rule.warnings.iter().cloned());
    }
    checked
}
