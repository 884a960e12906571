//! What a policy may cost, when a run is ended, and what the verdict says of either.

use super::*;
use axiowl_lang::load::{Layer, RuleFolder, load};
use axiowl_lang::trust::{Withheld, executables};
use axiowl_lang::world_spec::WorldSpec;
use axiowl_model::Verdict;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const RULE: &str = "axiowl: 1
provider: demo
title: Demo
roots: { demo: ~/.demo }
sources:
  s:
    json:
      path: \"{demo}/sessions.json\"
      each: { at: /sessions, fields: { id: /id, title: /id, text: /text, more: /more } }
rows: { from: s, session: \"demo:session:{id}\" }
name: { candidates: [ { from: title, label: id } ] }
proof:
  - { source: demo_proven, grants: [enroll, send] }
policy: policy.rhai
";
/// Few operations, each of which looks through a long text in vain.
const SLOW: &str = "fn review(row, ctx) {
    let s = \"x\";
    while s.len < 8000 { s += s; }
    loop {
        if s.contains(\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxy\") { }
    }
}";
/// Slow within every limit of size: a list sorted again and again.
const SORTING: &str = "fn review(row, ctx) {
    let a = [];
    for i in 0..1000 { a.push((i * 7919) % 1000); }
    loop { let b = a; b.sort(); }
}";

struct Scene {
    folder: tempfile::TempDir,
    rule: LoadedRule,
}

impl Scene {
    fn new(script: &str, sessions: Vec<Value>) -> Self {
        let mut folder = RuleFolder::new("demo", Layer::User, "rules/demo", RULE);
        folder.scripts.insert("policy.rhai".into(), script.into());
        let rule = load(&folder, &|_| None).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home/.demo");
        std::fs::create_dir_all(&home).unwrap();
        let text = json!({ "sessions": sessions }).to_string();
        std::fs::write(home.join("sessions.json"), text).unwrap();
        Self { folder, rule }
    }

    fn world(&self) -> World {
        let text = "now: 2026-11-30T15:00:00Z\nmaps: { /home/dev: home }\n";
        let spec = WorldSpec::parse("world.yaml", text).unwrap();
        World::fixture(self.folder.path(), &spec)
    }

    fn run(&self) -> Report {
        discover(&self.rule, &self.world(), &Options::default())
    }
}

fn sessions(count: usize) -> Vec<Value> {
    let one = |n| json!({ "id": format!("s{n}"), "text": "t", "more": ["m"] });
    (0..count).map(one).collect()
}

fn said(report: &Report, code: &str) -> Vec<String> {
    let issues = report.issues.iter().filter(|issue| issue.code == code);
    issues.map(|issue| issue.message.clone()).collect()
}

fn enrolled(report: &Report) -> usize {
    let agents = report.agents.iter();
    agents
        .filter(|a| a.has_enrollment_proof || a.sendable)
        .count()
}

#[test]
fn a_slow_policy_ends_within_the_time_of_a_run_and_nothing_is_enrolled() {
    for script in [SLOW, SORTING] {
        let scene = Scene::new(script, sessions(400));
        let began = Instant::now();
        let report = scene.run();
        let took = began.elapsed();
        assert!(took < Duration::from_secs(8), "{took:?}\n{script}");
        assert_eq!((report.agents.len(), enrolled(&report)), (400, 0));
        assert_eq!(report.verdict, Verdict::Drift);
    }
    let report = Scene::new(SORTING, sessions(400)).run();
    let failures = said(&report, codes::POLICY_FAILED).join("\n");
    for limit in [
        "longer than 100 ms for a row",
        "longer than 2 s in this run",
    ] {
        assert!(failures.contains(limit), "{failures}");
    }
}

#[test]
fn a_quick_policy_is_asked_about_every_row_and_the_rule_fits() {
    let veto = "fn review(row, ctx) { if row.id == \"s3\" { return #{ veto: \"no\" }; } }";
    let report = Scene::new(veto, sessions(600)).run();
    assert_eq!(enrolled(&report), 599);
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.issues);
}

#[test]
fn long_texts_of_a_row_go_in_clipped() {
    let long = "ä".repeat(100_000);
    let many: Vec<&str> = vec!["mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"; 900];
    let row = json!({ "id": "s0", "text": long, "more": many });
    let script = "fn review(row, ctx) {
        if !(\"text\" in row) || row.len() < 4 || row.keys().len() < 4 { return #{ veto: \"absent\" }; }
        if !row.text.starts_with(\"ä\") || row.text.len() > 4096 { return #{ veto: \"text\" }; }
        return #{ notes: [`${row.text}!`.sub_string(0, 2)] };
    }";
    let report = Scene::new(script, vec![row]).run();
    assert_eq!(enrolled(&report), 1, "{:?}", report.issues);
    assert_eq!(report.verdict, Verdict::Verified);
}

#[test]
fn a_policy_that_fails_or_is_withheld_leaves_the_rule_unverified() {
    let mut scene = Scene::new("fn review(row, ctx) { 1 / 0 }", sessions(3));
    let report = scene.run();
    assert_eq!((enrolled(&report), report.verdict), (0, Verdict::Drift));

    let part = executables(&scene.rule).pop().unwrap();
    scene.rule.policy = None;
    let withheld = |bars| {
        vec![Withheld {
            part: part.clone(),
            bars,
        }]
    };
    scene.rule.withheld = withheld(Some("it is not trusted".into()));
    let report = scene.run();
    assert_eq!((enrolled(&report), report.verdict), (0, Verdict::Drift));

    // What bars nobody says nothing about how the rule fits.
    scene.rule.withheld = withheld(None);
    let report = scene.run();
    assert_eq!((enrolled(&report), report.verdict), (3, Verdict::Verified));
}

#[test]
fn a_run_that_is_ended_judges_no_further_row_and_says_so() {
    // Few rows, and as many as are judged on several threads.
    for count in [5, 700] {
        let scene = Scene::new("fn review(row, ctx) { }", sessions(count));
        let world = scene.world();
        let tables = read_all(&scene.rule, &world, &ReadOptions::default());
        let options = Options::default();
        options.cancel.cancel();
        let judged = judge_read(&scene.rule, &world, &options, None, false, tables.into());
        let report = report(&scene.rule, &world, &options, judged);
        assert!(report.agents.is_empty() && !report.complete);
        assert_eq!(report.verdict, Verdict::Drift);
        let expected = format!("the run was ended before {count} rows were judged");
        assert_eq!(said(&report, codes::CANCELLED), [expected]);
    }
}

#[test]
fn a_provider_with_nothing_but_what_holds_no_session_was_not_used_yet() {
    let mut scene = Scene::new("fn review(row, ctx) { }", Vec::new());
    let text = RULE.replace(
        "roots: { demo: ~/.demo }",
        "roots: { demo: ~/.demo, other: ~/.other }\nbeside: [\"{demo}/settings.json\", \"{demo}/cache\"]",
    );
    let mut folder = RuleFolder::new("demo", Layer::User, "rules/demo", &text);
    folder
        .scripts
        .insert("policy.rhai".into(), "fn review(row, ctx) { }".into());
    scene.rule = load(&folder, &|_| None).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let home = scene.folder.path().join("home");
    std::fs::remove_file(home.join(".demo/sessions.json")).unwrap();
    let judged = || {
        let report = scene.run();
        let (unused, blind) = (said(&report, codes::NOT_USED), said(&report, codes::BLIND));
        (report.verdict, unused.len(), blind.len())
    };
    assert_eq!(judged(), (Verdict::Verified, 1, 0));

    // What the rule names, and whatever lies below other roots.
    for file in [
        ".demo/settings.json",
        ".demo/cache/deep/er.bin",
        ".other/x.json",
    ] {
        let path = home.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "{}").unwrap();
    }
    assert_eq!(judged(), (Verdict::Verified, 1, 0));

    // Nothing is concluded about what was known before.
    assert!(!scene.run().complete);

    // A place that was not looked into may be where the sessions are by now, unless it is named.
    #[cfg(unix)]
    {
        let link = |name: &str| {
            let place = home.join(".demo").join(name);
            std::os::unix::fs::symlink(scene.folder.path(), &place).unwrap();
            place
        };
        link("cache/elsewhere");
        assert_eq!(judged(), (Verdict::Verified, 1, 0));
        let other = link("elsewhere");
        assert_eq!(judged(), (Verdict::Drift, 0, 0));
        std::fs::remove_file(other).unwrap();
    }
    let deep = format!(".demo{}", "/d".repeat(14));
    std::fs::create_dir_all(home.join(&deep)).unwrap();
    std::fs::write(home.join(&deep).join("s.json"), "{}").unwrap();
    assert_eq!(judged(), (Verdict::Drift, 0, 0));
    std::fs::remove_dir_all(home.join(".demo/d")).unwrap();

    // Any other file may be where the sessions are by now.
    std::fs::write(home.join(".demo/threads.json"), "{}").unwrap();
    assert_eq!(judged(), (Verdict::Blind, 0, 1));
}
