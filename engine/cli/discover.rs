//! `axiowl discover`: each scope is merged as soon as it is done.

use crate::args::{Common, Discover};
use crate::exit::{Exit, Failure, Outcome};
use crate::ground;
use crate::interrupt;
use crate::memo::Memos;
use crate::output;
use crate::pass::{self, Pass, PassOptions};
use crate::progress::Progress;
use crate::setup::{self, Setup};
use crate::verdicts::{self, Last};
use axiowl_discover::Readings;
use axiowl_lang::load::LoadedRule;
use axiowl_lang::nearest::suggest;
use axiowl_lang::rule::Listed;
use axiowl_model::{Verdict, codes, display_safe};
use axiowl_sources::timings::{Timings, timed};
use axiowl_sources::{Witness, threads};
use serde_json::json;
use std::sync::Arc;

/// The scope that runs every local one.
const ALL: &str = "all";
/// The scope that is known and not served.
const REMOTE: &str = "remote";
/// What is said of a provider without any of its folders.
const NOT_HERE: &str = "not here: none of its folders exists";

/// What is said of a provider that keeps no session.
const NOT_USED: &str = "keeps no session: not used yet, or all were removed";

/// Runs one scope or all of them.
pub fn run(arguments: &Discover, common: &Common) -> Outcome {
    if arguments
        .target
        .as_deref()
        .is_some_and(|target| target.trim().is_empty())
    {
        return Err(Failure::new(Exit::Usage, "--target names nothing")
            .hint("give a session id or a name, or leave --target out"));
    }
    if arguments.scope == REMOTE {
        remote(arguments.json);
        return Ok(Exit::Failed);
    }
    threads::work_on_this_one();
    let mut setup = match &arguments.fixture {
        Some(fixture) => setup::open_fixture(common, fixture)?,
        None => setup::open_unasked(common)?,
    };
    if !arguments.dry_run && arguments.fixture.is_none() {
        ground::begin(&mut setup)?;
        for line in ground::overlaid(&setup) {
            anstream::eprintln!(
                "note: in this registry {line}; `axiowl registry ground` says more, and `homes` in \
                 config.yaml names a further folder of a provider"
            );
        }
    }
    let mut memos = match remembers(arguments) && !setup.world.is_fixture() {
        true => Some(Memos::open(&setup)?),
        false => None,
    };
    let mut asked = arguments.fixture.is_some();
    let rules: Vec<Arc<LoadedRule>> = match arguments.scope.as_str() {
        ALL => setup.rules.iter().cloned().collect(),
        scope => vec![one(&setup, scope)?],
    };
    let options = PassOptions {
        target: arguments.target.clone(),
        dry_run: arguments.dry_run,
        with_after: false,
        unread_registry: false,
        deep: arguments.deep,
        allow_commands: arguments.allow_commands,
        cancel: interrupt::cancel(),
        witness: None,
        timings: None,
        readings: (rules.len() > 1).then(|| Arc::new(Readings::of(&rules))),
    };
    let mut fits = true;
    let mut failed = None;
    for rule in &rules {
        let timings = arguments.timings.then(Arc::<Timings>::default);
        let options = PassOptions {
            timings: timings.clone(),
            ..options.clone()
        };
        let recall = |memos: &mut Memos| {
            let recall = || memos.recall(&setup, rule);
            timed(timings.as_deref(), || "compare".into(), recall, |_| 0)
        };
        let (recalled, why) = match memos.as_mut().map(recall) {
            Some(Ok(pass)) => (Some(pass), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        if let Some(why) = &why {
            let provider = &rule.rule.provider.value;
            tracing::debug!(provider, why, "discovered anew");
        }
        let pass = match recalled {
            Some(pass) => Ok(pass),
            None => {
                if !std::mem::replace(&mut asked, true) {
                    setup.know_registered()?;
                }
                let reading = format!("reading {}", rule.rule.scope_word());
                let _progress = Progress::show(&reading);
                anew(&setup, rule, &options, memos.as_mut())
            }
        };
        let pass = match pass {
            Ok(pass) => pass,
            // One scope's failure does not take the others with it.
            Err(failure) if arguments.scope == ALL && !options.cancel.is_cancelled() => {
                anstream::eprintln!("{}: {failure}", rule.rule.provider.value);
                failed = Some(failure);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let unlisted = rule.rule.listed == Listed::WhenPresent && !pass.report.present;
        if arguments.scope == ALL && unlisted {
            continue;
        }
        if !arguments.dry_run && arguments.fixture.is_none() && arguments.target.is_none() {
            keep_verdict(&setup, rule, &pass);
        }
        fits &= matches!(
            pass.summary.verdict,
            Verdict::Verified | Verdict::UnverifiedVersion
        );
        match arguments.json {
            true => print_json(&pass),
            false => match nothing(&pass).filter(|_| arguments.scope == ALL) {
                Some(why) => print_nothing(rule, why),
                None => print(&pass, rule),
            },
        }
        if let Some(timings) = &timings {
            print_timings(rule, timings, why.as_deref(), arguments.json);
        }
    }
    if arguments.scope == ALL {
        remote(arguments.json);
    }
    if let Some(Err(failure)) = memos.map(|memos| memos.keep(&setup)) {
        // The discovery is done all the same.
        let why = display_safe(&failure.message);
        anstream::eprintln!("warning: {why}; without a cache the next discovery takes longer");
    }
    match failed {
        Some(failure) => Err(failure),
        None if arguments.strict && !fits => Ok(Exit::Failed),
        None => Ok(Exit::Done),
    }
}

/// Whether what this run finds may be kept, and said again by the next one: only of whole runs
/// whose words are counts.
fn remembers(arguments: &Discover) -> bool {
    let Discover {
        scope: _,
        target,
        json,
        dry_run,
        deep,
        no_cache,
        timings: _,
        allow_commands,
        fixture,
        strict: _,
    } = arguments;
    target.is_none()
        && fixture.is_none()
        && !(*json || *dry_run || *deep || *no_cache || *allow_commands)
}

/// Discovers a scope, noting what that rests on where it may be kept.
fn anew(
    setup: &Setup,
    rule: &LoadedRule,
    options: &PassOptions,
    memos: Option<&mut Memos>,
) -> Result<Pass, Failure> {
    let Some(memos) = memos else {
        return pass::run(setup, rule, options);
    };
    let witness = Arc::new(Witness::default());
    let options = PassOptions {
        witness: Some(Arc::clone(&witness)),
        ..options.clone()
    };
    let pass = pass::run(setup, rule, &options)?;
    memos.learn(rule, &pass, witness, setup.world.now().as_millis());
    Ok(pass)
}

fn one(setup: &Setup, scope: &str) -> Result<Arc<LoadedRule>, Failure> {
    setup.rules.by_scope(scope).cloned().ok_or_else(|| {
        let known: Vec<String> = setup.rules.scopes().collect();
        Failure::new(Exit::Usage, format!("there is no scope `{scope}`")).hint(
            match known.is_empty() {
                true => "no rule could be loaded, so there is none; `axiowl rules list` shows why"
                    .into(),
                false => suggest(
                    scope,
                    known.iter().map(String::as_str).chain(["all"]),
                    "scopes",
                ),
            },
        )
    })
}

fn print_json(pass: &Pass) {
    for (agent, (decision, reason)) in pass.report.agents.iter().zip(pass::decisions(pass)) {
        let fields = output::discovered_agent(agent, decision.as_str(), &reason);
        output::json_line("discovered_agent", fields);
    }
    output::json_line(
        "discovery_summary",
        output::discovery_summary(&pass.summary),
    );
}

/// For `rules list`; that it cannot be kept is no reason to fail a discovery.
fn keep_verdict(setup: &Setup, rule: &LoadedRule, pass: &Pass) {
    let last = Last {
        verdict: pass.summary.verdict,
        present: pass.report.present,
        at: setup.world.now(),
        digest: rule.digest.clone(),
        line: pass.report.gaps.line(),
    };
    if let Err(error) = verdicts::keep(&setup.state, &pass.summary.provider, &last) {
        anstream::eprintln!(
            "warning: the verdict of {} cannot be kept: {error}",
            pass.summary.provider
        );
    }
}

/// What was not understood, and how to keep it for whoever mends the rule.
pub fn not_understood(pass: &Pass, rule: &LoadedRule) -> Option<String> {
    let line = pass.report.gaps.line();
    if line.is_empty() {
        return None;
    }
    Some(verdicts::way_out(pass.summary.verdict, &line, rule))
}

/// Why nothing is to be said of a provider, of which nothing is known either.
fn nothing(pass: &Pass) -> Option<&'static str> {
    let summary = &pass.summary;
    if summary.found + summary.updated + summary.pruned > 0 {
        return None;
    }
    let mut issues = summary.issues.iter();
    match (pass.report.present, summary.issues.len()) {
        (false, 0) => Some(NOT_HERE),
        (true, 1) if issues.all(|issue| issue.code == codes::NOT_USED) => Some(NOT_USED),
        _ => None,
    }
}

/// One line among many scopes; asked for by name it is told in full.
fn print_nothing(rule: &LoadedRule, why: &str) {
    let provider = &rule.rule.provider.value;
    crate::output::say!("{provider} ({})  {why}", rule.rule.title);
}

fn print(pass: &Pass, rule: &LoadedRule) {
    let summary = &pass.summary;
    crate::output::say!("{} ({})", summary.provider, rule.rule.title);
    crate::output::say!("  node       {}", summary.node_id);
    crate::output::say!("  found      {}", summary.found);
    crate::output::say!("  enrolled   {}", summary.enrolled);
    crate::output::say!("  updated    {}", summary.updated);
    crate::output::say!("  skipped    {}", summary.skipped);
    crate::output::say!("  evidence   {}", summary.evidence);
    if summary.pruned > 0 {
        crate::output::say!("  pruned     {}", summary.pruned);
    }
    for (reason, count) in &pass.report.dropped {
        crate::output::say!("  left out   {count}: {}", display_safe(reason));
    }
    crate::output::say!("  issues     {}", summary.issues.len());
    for issue in &summary.issues {
        crate::output::say!("    {}", output::issue(issue));
    }
    if !pass.report.present {
        crate::output::say!("  verdict    {NOT_HERE}");
    } else {
        crate::output::say!("  verdict    {}", summary.verdict);
    }
    if let Some(line) = not_understood(pass, rule) {
        crate::output::say!("  unknown    {}", display_safe(&line));
    }
    crate::output::say!("  registry   {}", summary.registry);
}

/// What each stage of a scope took: processor time of all threads, time on the clock, and what
/// was done in it.
fn print_timings(rule: &LoadedRule, timings: &Timings, why: Option<&str>, json: bool) {
    if let Some(why) = why.filter(|_| !json) {
        crate::output::say!("  read anew  {}", display_safe(why));
    }
    let milliseconds = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    for stage in timings.stages() {
        let (cpu, wall) = (milliseconds(stage.cpu), milliseconds(stage.wall));
        if json {
            let fields = json!({
                "provider": rule.rule.provider.value,
                "stage": stage.name,
                "cpu_ms": cpu,
                "wall_ms": wall,
                "count": stage.count,
            });
            output::json_line("discovery_timing", fields);
        } else {
            let name = display_safe(&stage.name);
            crate::output::say!(
                "  took       {cpu:8.1} ms cpu {wall:8.1} ms  {name} ({})",
                stage.count
            );
        }
    }
}

/// Remote sessions are out of scope, and that is said rather than left out.
fn remote(json: bool) {
    let message = "remote sessions are out of scope; only this machine was searched";
    if json {
        output::json_line(
            "discovery_excluded",
            json!({ "provider": REMOTE, "status": "out_of_scope", "message": message }),
        );
    } else {
        crate::output::say!("remote  excluded: {message}");
    }
}
