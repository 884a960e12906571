//! `axiowl rules try`: an edited rule on real data, beside the rule now in force.

use super::args::Try;
use super::changes::{self, Change, Kind};
use super::effect::Effect;
use super::{edited, no_rule, shelf, watch};
use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::pass::{self, Pass, PassOptions};
use crate::setup::{self, Setup};
use axiowl_lang::layers;
use axiowl_lang::load::{Layer, LoadedRule};
use axiowl_model::display_safe;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// Runs both rules without writing anything, and shows what the edited one would change.
pub fn run(arguments: &Try, common: &Common) -> Outcome {
    let mut common = common.clone();
    if let Some(dir) = &arguments.against {
        common.home = Some(dir.clone());
    }
    let setup = setup::open(&common)?;
    let provider = &arguments.provider;
    let trial = Trial::new(arguments, &common, &setup)?;
    if !arguments.watch {
        trial.once(arguments.json)?;
        return Ok(Exit::Done);
    }
    let Some(file) = &trial.file else {
        return Err(
            Failure::new(Exit::Usage, format!("the rule of `{provider}` is built in")).hint(
                format!("`axiowl rules eject {provider}` makes a copy to edit"),
            ),
        );
    };
    watch::each_save(file, &mut || {
        if let Err(failure) = trial.once(arguments.json) {
            anstream::eprintln!("{failure}");
        }
        if !arguments.json {
            crate::output::say!(
                "watching {}; stop with Ctrl-C",
                display_safe(&file.display().to_string())
            );
        }
    })?;
    Ok(Exit::Done)
}

/// What is compared with what.
struct Trial<'a> {
    provider: &'a str,
    common: &'a Common,
    setup: &'a Setup,
    /// The rule it is compared with.
    now: Arc<LoadedRule>,
    /// The file of the edited rule; none when it is built in.
    file: Option<PathBuf>,
}

impl<'a> Trial<'a> {
    fn new(arguments: &'a Try, common: &'a Common, setup: &'a Setup) -> Result<Self, Failure> {
        let provider = arguments.provider.as_str();
        let in_force = setup.rules.get(provider).cloned();
        let shelf = shelf(common)?;
        let own = shelf.user().join(provider).join("rule.yaml");
        let file = match &arguments.rule {
            Some(path) => Some(edited::file(path)?),
            None => Some(own.clone()).filter(|file| file.is_file()),
        };
        // The user's own rule is in force already: what it changes is seen against the rule
        // it stands over.
        let is_own = file.as_ref() == Some(&own);
        let now = match is_own {
            false => in_force,
            true => {
                let mut sources = shelf.sources();
                sources.user = None;
                let below = layers::load_where(&sources, |name| name == provider);
                below.get(provider).cloned().or(in_force)
            }
        };
        let known = || {
            setup
                .rules
                .iter()
                .map(|rule| rule.rule.provider.value.clone())
        };
        Ok(Self {
            provider,
            common,
            setup,
            now: now.ok_or_else(|| no_rule(provider, known()))?,
            file,
        })
    }

    fn once(&self, json: bool) -> Result<(), Failure> {
        let edited = match &self.file {
            Some(file) => edited::load(file, self.provider, &shelf(self.common)?)?,
            None => self.now.clone(),
        };
        let options = PassOptions {
            dry_run: true,
            with_after: true,
            ..PassOptions::default()
        };
        let now = pass::run(self.setup, &self.now, &options)?;
        let then = pass::run(self.setup, &edited, &options)?;
        let changes = changes::between(&outcome(&now), &outcome(&then));
        let effect = Effect::between(&now.after, &then.after);
        let shown = Shown {
            now: (&self.now, &now),
            then: (&edited, &then),
            changes: &changes,
            effect: &effect,
        };
        match json {
            true => shown.print_json(),
            false => shown.print(self.setup),
        }
        Ok(())
    }
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

struct Shown<'a> {
    now: (&'a LoadedRule, &'a Pass),
    then: (&'a LoadedRule, &'a Pass),
    changes: &'a [Change],
    effect: &'a Effect,
}

impl Shown<'_> {
    fn print(&self, setup: &Setup) {
        let line = |(rule, pass): (&LoadedRule, &Pass)| {
            let proven = pass.report.agents.iter().filter(|a| a.has_enrollment_proof);
            format!(
                "{} {}: {} found, {} proven, {}",
                rule.layer,
                rule.digest,
                pass.summary.found,
                proven.count(),
                pass.summary.verdict
            )
        };
        crate::output::say!("home      {}", display_safe(setup.world.home()));
        crate::output::say!("in force  {}", line(self.now));
        crate::output::say!("edited    {}", line(self.then));
        for warning in &self.then.0.warnings {
            crate::output::say!("warning   {}", display_safe(&warning.one_line()));
        }
        for line in changes::lines(self.changes) {
            crate::output::say!("{}", display_safe(&line));
        }
        if self.changes.is_empty() {
            crate::output::say!("no row would be different");
        }
        for line in self.effect.lines() {
            crate::output::say!("registry  {}", display_safe(&line));
        }
        crate::output::say!("nothing was written");
    }

    fn print_json(&self) {
        for change in self.changes {
            let what = &change.what;
            let fields = match &change.kind {
                Kind::Found => json!({ "change": "found", "what": what }),
                Kind::Lost => json!({ "change": "lost", "what": what }),
                Kind::Listed { gone, new } => {
                    json!({ "change": "changed", "what": what, "gone": gone, "new": new })
                }
                Kind::Changed {
                    field,
                    before,
                    after,
                } => {
                    json!({ "change": "changed", "what": what, "field": field, "before": before, "after": after })
                }
            };
            output::json_line("rule_change", fields);
        }
        let layer = |layer: &Layer| layer.to_string();
        output::json_line(
            "rule_trial",
            json!({
                "in_force": self.now.0.digest, "edited": self.then.0.digest,
                "in_force_layer": layer(&self.now.0.layer), "edited_layer": layer(&self.then.0.layer),
                "found_before": self.now.1.summary.found, "found_after": self.then.1.summary.found,
                "verdict_before": self.now.1.summary.verdict, "verdict_after": self.then.1.summary.verdict,
                "changes": self.changes.len(), "registry": self.effect.to_json(),
            }),
        );
    }
}
