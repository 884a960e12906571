//! `axiowl rules try`: an edited rule on real data, beside the rule now in force.

use super::diff::{self, Change};
use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::pass::{self, Pass, PassOptions};
use crate::setup::{self, EMBEDDED, Setup};
use axiowl_lang::layers::{self, Sources};
use axiowl_lang::load::LoadedRule;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Runs both rules without writing anything, and shows what the edited one would change.
pub fn run(
    provider: &str,
    against: Option<&Path>,
    file: Option<&Path>,
    json: bool,
    common: &Common,
) -> Outcome {
    let mut common = common.clone();
    if let Some(dir) = against {
        common.home = Some(dir.to_path_buf());
    }
    let setup = setup::open(&common)?;
    let in_force = setup.rules.get(provider).cloned().ok_or_else(|| {
        Failure::new(Exit::Usage, format!("no rule for `{provider}` is in force"))
    })?;
    let edited = match file {
        Some(file) => read(file, provider)?,
        None => in_force.clone(),
    };
    let options = PassOptions {
        dry_run: true,
        ..PassOptions::default()
    };
    let now = pass::run(&setup, &in_force, &options)?;
    let then = pass::run(&setup, &edited, &options)?;
    let (before, after) = (outcome(&now), outcome(&then));
    let changes = diff::between(&before, &after);
    if json {
        print_json(&in_force, &edited, &now, &then, &changes);
    } else {
        print(&setup, &in_force, &edited, &now, &then, &changes);
    }
    Ok(Exit::Done)
}

/// Reads an edited rule file as the rule it is a version of, whatever folder it lies in.
fn read(file: &Path, provider: &str) -> Result<Arc<LoadedRule>, Failure> {
    let file = std::path::absolute(file)?;
    let folder = if file.is_dir() {
        file.clone()
    } else {
        file.parent().map(Path::to_path_buf).unwrap_or_default()
    };
    let rule = if file.is_dir() {
        folder.join("rule.yaml")
    } else {
        file
    };
    // Layers are read by folder name, so the files are laid out under the provider's.
    let stage = tempfile::tempdir()?;
    let staged = stage.path().join(provider);
    std::fs::create_dir_all(&staged)?;
    std::fs::copy(&rule, staged.join("rule.yaml"))
        .map_err(|error| Failure::new(Exit::Usage, format!("{}: {error}", rule.display())))?;
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ext| ext == "rhai") {
            std::fs::copy(&path, staged.join(path.file_name().unwrap_or_default()))?;
        }
    }
    let sources = Sources {
        built_in: EMBEDDED,
        user: Some(stage.path()),
        ..Sources::default()
    };
    let set = layers::load_where(&sources, |name| name == provider);
    if !set.problems().is_empty() {
        for diagnostic in set
            .problems()
            .iter()
            .flat_map(|problem| &problem.diagnostics)
        {
            let shown = diagnostic.coloured().replace(
                &staged.join("rule.yaml").display().to_string(),
                &rule.display().to_string(),
            );
            anstream::eprintln!("{shown}");
        }
        return Err(Failure::new(
            Exit::Failed,
            format!("{} cannot be used", rule.display()),
        ));
    }
    set.get(provider)
        .cloned()
        .ok_or_else(|| Failure::new(Exit::Failed, format!("{} is no rule", rule.display())))
}

/// A pass in the form that differences are made of.
fn outcome(pass: &Pass) -> Value {
    let rows: Vec<Value> = pass
        .report
        .agents
        .iter()
        .zip(pass::decisions(pass))
        .map(|(agent, (decision, reason))| {
            output::discovered_agent(agent, decision.as_str(), &reason)
        })
        .collect();
    json!({
        "rows": rows,
        "left_out": pass.report.dropped,
        "issues": pass.summary.issues,
        "verdict": pass.summary.verdict,
    })
}

fn print(
    setup: &Setup,
    in_force: &LoadedRule,
    edited: &LoadedRule,
    now: &Pass,
    then: &Pass,
    changes: &[Change],
) {
    anstream::println!("home      {}", setup.world.home());
    anstream::println!(
        "in force  {} {}: {} found, {} would enrol",
        in_force.layer,
        in_force.digest,
        now.summary.found,
        now.summary.enrolled + now.summary.updated
    );
    anstream::println!(
        "edited    {}: {} found, {} would enrol",
        edited.digest,
        then.summary.found,
        then.summary.enrolled + then.summary.updated
    );
    for change in changes {
        anstream::println!("{change}");
    }
    if changes.is_empty() {
        anstream::println!("no difference");
    }
    anstream::println!("nothing was written");
}

fn print_json(
    in_force: &LoadedRule,
    edited: &LoadedRule,
    now: &Pass,
    then: &Pass,
    changes: &[Change],
) {
    for change in changes {
        let fields = match change {
            Change::Found(what) => json!({ "change": "found", "what": what }),
            Change::Lost(what) => json!({ "change": "lost", "what": what }),
            Change::Changed {
                what,
                field,
                before,
                after,
            } => {
                json!({ "change": "changed", "what": what, "field": field, "before": before, "after": after })
            }
        };
        output::json_line("rule_change", fields);
    }
    output::json_line(
        "rule_trial",
        json!({
            "in_force": in_force.digest, "edited": edited.digest,
            "found_before": now.summary.found, "found_after": then.summary.found,
            "changes": changes.len(),
        }),
    );
}
