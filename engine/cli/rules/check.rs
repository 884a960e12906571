//! `axiowl rules check`: every mistake, where it stands, and the way out.

use super::args::{Check, Format};
use super::{fix, rule_folders, sarif, shelf, short, sql};
use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::shelf::Shelf;
use axiowl_lang::codes;
use axiowl_lang::diag::Diagnostic;
use axiowl_lang::layers::{self, Sources};
use axiowl_lang::load::{Layer, LoadedRule};
use axiowl_lang::stack::Stack;
use axiowl_lang::widen;
use axiowl_lang::world_spec::WorldSpec;
use std::path::{Path, PathBuf};

/// Mending one mistake can uncover the next; more rounds than that mean something circles.
const ROUNDS: usize = 8;

/// Checks one rule, a folder of rules, or all that are on disk; without any, the built-in ones.
pub fn run(arguments: &Check, common: &Common) -> Outcome {
    if let Some(code) = &arguments.explain {
        return explain(code);
    }
    let shelf = shelf(common)?;
    let targets = targets(arguments.path.as_deref(), &shelf)?;
    let format = match arguments.json {
        true => Format::Json,
        false => arguments.format,
    };
    let mut fixed = Vec::new();
    let mut checked = check_all(&targets, &shelf)?;
    for _ in 0..ROUNDS {
        if !arguments.fix {
            break;
        }
        let mut now = Vec::new();
        for target in targets.iter().filter_map(|target| target.dir.as_deref()) {
            now.extend(fix::apply(&checked.found, target)?);
        }
        if now.is_empty() {
            break;
        }
        fixed.extend(now);
        checked = check_all(&targets, &shelf)?;
    }
    if checked.rules == 0 {
        return Err(Failure::new(Exit::Failed, "no rule was found to check")
            .hint("name a folder with a rule.yaml, or a folder of such folders"));
    }
    let errors = checked.found.iter().filter(|d| d.is_error()).count();
    match format {
        Format::Text => text(&checked, errors, &fixed),
        Format::Json => {
            for diagnostic in &checked.found {
                output::json_line("diagnostic", diagnostic.to_json());
            }
        }
        Format::Sarif => {
            let log = serde_json::to_string_pretty(&sarif::log(&checked.found))
                .map_err(|error| Failure::caused(&error))?;
            crate::output::say!("{log}");
        }
    }
    Ok(if errors == 0 {
        Exit::Done
    } else {
        Exit::Failed
    })
}

fn text(checked: &Checked, errors: usize, fixed: &[String]) {
    for line in fixed {
        crate::output::say!("mended {line}");
    }
    for diagnostic in &checked.found {
        crate::output::say!("{}\n", diagnostic.coloured());
    }
    let warnings = checked.found.len() - errors;
    let rules = checked.rules;
    crate::output::say!("{rules} rules checked: {errors} errors, {warnings} warnings");
    let mendable = checked.found.iter().filter(|d| d.fix().is_some()).count();
    if mendable > 0 && fixed.is_empty() {
        crate::output::say!("{mendable} can be mended with --fix");
    }
}

/// What an error code means.
fn explain(code: &str) -> Outcome {
    let Some((title, explanation)) = codes::explain(code) else {
        return Err(
            Failure::new(Exit::Usage, format!("there is no code `{code}`")).hint(format!(
                "codes run from {} to {}",
                codes::ALL[0].0,
                codes::ALL[codes::ALL.len() - 1].0
            )),
        );
    };
    crate::output::say!("{code}: {title}\n\n{explanation}");
    Ok(Exit::Done)
}

/// A folder of rules, and the rules of it that are checked.
struct Target {
    /// None for the rules that are compiled in.
    dir: Option<PathBuf>,
    providers: Vec<String>,
}

/// What was checked, and everything that was found.
#[derive(Default)]
struct Checked {
    rules: usize,
    found: Vec<Diagnostic>,
}

fn targets(path: Option<&Path>, shelf: &Shelf) -> Result<Vec<Target>, Failure> {
    let named = |folder: &Path| {
        let name = folder.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let of_dir = |dir: &Path| -> Result<Target, Failure> {
        Ok(Target {
            providers: rule_folders(dir)?.iter().map(|f| named(f)).collect(),
            dir: Some(short(dir)),
        })
    };
    let Some(path) = path else {
        let mut out = Vec::new();
        for dir in shelf.folders() {
            out.push(of_dir(&dir)?);
        }
        if out.iter().all(|target| target.providers.is_empty()) {
            out = vec![Target {
                dir: None,
                providers: Stack::open(&built_in(shelf))
                    .providers()
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            }];
        }
        return Ok(out);
    };
    let path = std::path::absolute(path)?;
    if !path.exists() {
        let message = format!("there is no file or folder {}", path.display());
        return Err(Failure::new(Exit::Usage, message)
            .hint("name a folder with a rule.yaml, or a folder of such folders"));
    }
    let folder = match path.is_file() {
        true => path.parent().map(Path::to_path_buf).unwrap_or_default(),
        false => path,
    };
    if !folder.join("rule.yaml").is_file() {
        return Ok(vec![of_dir(&folder)?]);
    }
    let parent = folder.parent().map(Path::to_path_buf).unwrap_or_default();
    Ok(vec![Target {
        providers: vec![named(&folder)],
        dir: Some(short(&parent)),
    }])
}

fn built_in(shelf: &Shelf) -> Sources<'_> {
    Sources {
        built_in: shelf.sources().built_in,
        prepared: shelf.sources().prepared,
        ..Sources::default()
    }
}

fn check_all(targets: &[Target], shelf: &Shelf) -> Result<Checked, Failure> {
    let mut out = Checked::default();
    for target in targets {
        let sources = match &target.dir {
            Some(dir) => shelf.of_folder(dir),
            None => built_in(shelf),
        };
        check(target, &sources, &mut out)?;
    }
    let mut seen: Vec<String> = Vec::new();
    out.found.retain(|diagnostic| {
        let line = diagnostic.one_line();
        let new = !seen.contains(&line);
        seen.push(line);
        new
    });
    Ok(out)
}

fn check(target: &Target, sources: &Sources, out: &mut Checked) -> Result<(), Failure> {
    let wanted = |provider: &str| target.providers.iter().any(|p| p == provider);
    let stack = Stack::open(sources);
    let set = layers::load_stack(&stack, sources.trusted, wanted);
    for problem in set.problems() {
        if problem.provider.is_empty() || wanted(&problem.provider) {
            out.rules += 1;
            out.found.extend(problem.diagnostics.iter().cloned());
        }
    }
    for loaded in set.iter() {
        // A broken override leaves the rule below in force, which is not what is checked.
        let broken = set.problems().iter().any(|p| {
            p.provider == loaded.rule.provider.value && p.instead.as_ref() != Some(&p.layer)
        });
        if broken {
            continue;
        }
        out.rules += 1;
        out.found.extend(loaded.warnings.iter().cloned());
        out.found.extend(sql::check(loaded));
        out.found.extend(widened(loaded, &stack));
    }
    out.found.extend(set.notices().iter().cloned());
    if let Some(dir) = &target.dir {
        for provider in &target.providers {
            worlds(&dir.join(provider), &mut out.found)?;
        }
    }
    out.found.sort_by_key(Diagnostic::order);
    Ok(())
}

/// Where a whole override of the user lets in more than the rule it stands over. (A patch says
/// so itself.)
fn widened(loaded: &LoadedRule, stack: &Stack) -> Vec<Diagnostic> {
    if loaded.layer != Layer::User || loaded.patched.is_some() {
        return Vec::new();
    }
    let holders = stack.holders(&loaded.rule.provider);
    let below = holders.iter().rev().skip(1).find_map(|h| h.folder.ok());
    let below = below.and_then(|folder| layers::load_folder(folder, stack).ok());
    below.map_or(Vec::new(), |below| widen::warnings(&below, loaded))
}

/// The world files of a rule's cases.
fn worlds(folder: &Path, found: &mut Vec<Diagnostic>) -> Result<(), Failure> {
    for case in super::case::find(folder) {
        let path = case.dir.join("world.yaml");
        let text = std::fs::read_to_string(&path)?;
        if let Err(diagnostic) = WorldSpec::parse(&path.display().to_string(), &text) {
            found.push(diagnostic);
        }
    }
    Ok(())
}
