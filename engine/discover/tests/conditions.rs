//! Conditions, times and version ranges, from rule text and a recorded world to rows.

use axiowl_discover::{Options, Report, discover};
use axiowl_lang::load::{Layer, LoadedRule, RuleFolder, load};
use axiowl_lang::world_spec::WorldSpec;
use axiowl_model::{DiscoveredAgent, Status, Verdict};
use axiowl_sources::World;
use serde_json::{Value, json};

/// A recorded home with one document of sessions.
struct Scene {
    folder: tempfile::TempDir,
    world: String,
}

impl Scene {
    fn new(world: &str, sessions: &Value) -> Self {
        let scene = Self {
            folder: tempfile::tempdir().expect("folder"),
            world: format!("now: 2026-11-30T15:00:00Z\nmaps: {{ /home/dev: home }}\n{world}"),
        };
        scene.write("home/.demo/sessions.json", &sessions.to_string());
        scene
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        std::fs::write(path, text).expect("file");
    }

    fn run(&self, rule: &LoadedRule) -> Report {
        let spec = WorldSpec::parse("world.yaml", &self.world).expect("a world");
        let world = World::fixture(self.folder.path(), &spec);
        let options = Options {
            trace: true,
            ..Options::default()
        };
        discover(rule, &world, &options)
    }
}

const FIELDS: [&str; 6] = ["cwd", "hash", "lock", "pid", "seen", "version"];

/// A rule whose granting rung has this condition, with some more keys at its top.
fn rule(when: &str, more: &str) -> LoadedRule {
    let fields: Vec<String> = FIELDS.iter().map(|f| format!("{f}: /{f}")).collect();
    let text = format!(
        "axiowl: 1\nprovider: demo\ntitle: Demo\n{more}roots: {{ demo: ~/.demo }}\nsources:\n  s:\n    json: {{ path: \"{{demo}}/sessions.json\", each: {{ at: /sessions, fields: {{ id: /id, title: /id, {} }} }} }}\nrows: {{ from: s, session: \"demo:session:{{id}}\", seen_at: [seen, mtime] }}\nname: {{ candidates: [ {{ from: title, label: id }} ] }}\nproof:\n  - {{ source: demo_proven, when: {when}, grants: [enroll, send] }}\n  - {{ source: demo_seen }}\n",
        fields.join(", ")
    );
    let folder = RuleFolder::new("demo", Layer::User, "rules/demo", &text);
    load(&folder, &|_| None).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"))
}

fn proven(report: &Report) -> Vec<&str> {
    let proven = report.agents.iter().filter(|agent| agent.sendable);
    proven.map(|agent| agent.key.bare_session()).collect()
}

fn words(agent: &DiscoveredAgent) -> String {
    let steps = agent.trace.iter().filter(|step| step.stage == "proof");
    steps
        .map(|step| step.text.clone())
        .collect::<Vec<_>>()
        .join("\n")
}

fn sessions() -> Value {
    json!({ "sessions": [
        { "id": "a", "cwd": "/w", "hash": "1cce3e60ac2d51100ef178d6509a4972", "lock": "/home/dev/a.lock", "pid": 7 },
        { "id": "b", "cwd": "/w", "hash": "not it", "lock": "/home/dev/b.lock", "pid": "8" },
        { "id": "c", "cwd": null, "hash": null, "lock": null, "pid": null },
    ] })
}

#[test]
fn what_the_world_says_decides() {
    let world = "env: { DEMO_TOKEN: x, EMPTY: '' }\nexecutables: { demo: /bin/demo }\nlocks: [/home/dev/a.lock]\npids: { 8: 1 }\n";
    let scene = Scene::new(world, &sessions());
    for (when, expected) in [
        ("{ env: DEMO_TOKEN }", vec!["a", "b", "c"]),
        ("{ env: [OTHER, DEMO_TOKEN] }", vec!["a", "b", "c"]),
        ("{ env: [OTHER, EMPTY] }", vec![]),
        ("{ executable: demo }", vec!["a", "b", "c"]),
        ("{ executable: [other, none] }", vec![]),
        ("{ executable: demo, env: OTHER }", vec![]),
        ("{ lock: { lock_held: true } }", vec!["a"]),
        ("{ lock: { present: true, lock_held: false } }", vec!["b"]),
        ("{ pid: { pid_alive: true } }", vec!["b"]),
        ("{ pid: { present: true, pid_alive: false } }", vec!["a"]),
    ] {
        let report = scene.run(&rule(when, ""));
        assert_eq!(proven(&report), expected, "{when}");
    }
}

#[test]
fn every_leaf_says_what_it_saw_and_no_value_of_a_variable() {
    let world = "env: { DEMO_TOKEN: hunter2 }\n";
    let scene = Scene::new(world, &sessions());
    let report = scene.run(&rule(
        "{ env: [OTHER, DEMO_TOKEN], executable: [demo, demo2] }",
        "",
    ));
    let said = words(&report.agents[0]);
    assert!(said.contains("demo or demo2 is not installed"), "{said}");
    let report = scene.run(&rule("{ env: [OTHER, DEMO_TOKEN] }", ""));
    let said = words(&report.agents[0]);
    assert!(
        said.contains("DEMO_TOKEN is set") && !said.contains("hunter2"),
        "{said}"
    );
    let report = scene.run(&rule("{ lock: { lock_held: true } }", ""));
    assert!(
        words(&report.agents[0]).contains("is locked"),
        "{}",
        words(&report.agents[0])
    );
}

#[test]
fn a_digest_is_compared_whatever_its_case() {
    let mut list = sessions();
    // What `printf /w | md5sum` prints.
    let digest = "1cce3e60ac2d51100ef178d6509a4972".to_owned();
    list["sessions"][0]["hash"] = digest.clone().into();
    list["sessions"][2]["hash"] = digest.to_uppercase().into();
    list["sessions"][2]["cwd"] = "/w".into();
    let scene = Scene::new("", &list);
    let report = scene.run(&rule("{ cwd: { md5_of: hash } }", ""));
    assert_eq!(proven(&report), ["a", "c"]);
}

#[test]
fn times_may_be_numbers_or_text() {
    let list = json!({ "sessions": [
        { "id": "a", "seen": 1_796_046_950_140_i64 },
        { "id": "b", "seen": "2026-11-30T13:55:50.140+00:00" },
        { "id": "c", "seen": "yesterday" },
        { "id": "d", "seen": 0 },
    ] });
    let scene = Scene::new(
        "mtimes: { /home/dev/.demo/sessions.json: 2026-11-29T00:00:00Z }\n",
        &list,
    );
    let report = scene.run(&rule("{ id: { present: true } }", ""));
    let seen: Vec<String> = report
        .agents
        .iter()
        .map(|agent| {
            agent
                .last_seen_at
                .map(|time| time.to_string())
                .unwrap_or_default()
        })
        .collect();
    let (written, file) = ("2026-11-30T13:55:50.140Z", "2026-11-29T00:00:00.000Z");
    assert_eq!(seen, [written, written, file, file]);
}

#[test]
fn several_ranges_of_versions_were_tested() {
    let list = json!({ "sessions": [
        { "id": "a", "version": "1.19.5" }, { "id": "b", "version": "1.19.6" }, { "id": "c", "version": "2.0.3" },
        { "id": "d", "version": "2.2.0" }, { "id": "e", "version": "2.2.6" }, { "id": "f", "version": null },
    ] });
    let scene = Scene::new("", &list);
    let tested = "tested: { program: demo, field: version, ranges: [ { from: 1.0.0, to: 1.19.5 }, { from: 2.2.0, to: 2.2.5 } ], outside: partial }\n";
    let report = scene.run(&rule("{ id: { present: true } }", tested));
    // What nobody knows the version of is not reviewed either.
    assert_eq!(proven(&report), ["a", "d"]);
    let partial = report
        .agents
        .iter()
        .filter(|agent| agent.status == Status::Partial);
    assert_eq!(partial.count(), 4);
    assert_eq!(report.verdict, Verdict::UnverifiedVersion);
    let said = &report.issues[0].message;
    assert!(
        said.contains("1.0.0 to 1.19.5 and 2.2.0 to 2.2.5"),
        "{said}"
    );
}
