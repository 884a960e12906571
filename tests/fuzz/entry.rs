//! The entry functions: arbitrary bytes in, and nothing but an answer out. Each panics when a
//! promise of the rule language is broken, and says whether the bytes were accepted; `main.rs` calls them on bytes by seed, and the
//! libFuzzer targets for as long as somebody wants.

use axiowl_discover::{Options, Report, discover};
use axiowl_lang::load::{Layer, LoadedRule, RuleFolder, load};
use axiowl_lang::template::Template;
use axiowl_lang::world_spec::WorldSpec;
use axiowl_sources::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

/// A rule of every part; `WHEN`, `TEXT` and the policy's name are where bytes go.
const RULE: &str = r#"axiowl: 1
provider: demo
title: Demo
roots: { demo: "~/.demo" }
sources:
  s:
    jsonl:
      path: "{demo}/*.jsonl"
      take: [ { fields: { id: /id, title: /title, cwd: /cwd, n: /n } } ]
rows: { from: s, session: "{id}" }
name: { candidates: [ { from: title, label: title } ] }
status: [ { when: WHEN, is: archived }, { is: active } ]
proof: [ { source: demo_x, when: { id: { present: true } }, grants: [enroll, send] } ]
aliases: [ TEXT ]
"#;

/// A recorded machine with three sessions, made once.
fn machine() -> &'static World {
    static MACHINE: OnceLock<(tempfile::TempDir, World)> = OnceLock::new();
    let (_, world) = MACHINE.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let store = dir.path().join("home/.demo");
        std::fs::create_dir_all(&store).expect("store");
        for (id, title) in [("a", "Alpha"), ("b", "Beta 🛒"), ("c", "Gamma")] {
            let record = json!({ "id": id, "title": title, "cwd": "/home/dev/work", "n": 3 });
            std::fs::write(store.join(format!("{id}.jsonl")), format!("{record}\n"))
                .expect("session");
        }
        let world = "now: 2026-01-01T00:00:00Z\nhome: /home/dev\nmaps: { /home/dev: home }\n";
        let spec = WorldSpec::parse("world.yaml", world).expect("world");
        let world = World::fixture(dir.path(), &spec);
        (dir, world)
    });
    world
}

fn folder(rule: &str) -> RuleFolder {
    RuleFolder::new("demo", Layer::User, "rules/demo", rule)
}

/// Loads a rule; what refuses it has to be said in every form.
fn loaded(folder: &RuleFolder) -> Option<LoadedRule> {
    match load(folder, &|_| None) {
        Ok(loaded) => Some(loaded),
        Err(errors) => {
            assert!(
                errors.iter().any(|e| e.is_error()),
                "refused without an error"
            );
            for error in &errors {
                assert!(!error.plain().is_empty() && !error.one_line().is_empty());
                error.to_json();
            }
            None
        }
    }
}

fn run(loaded: &LoadedRule) -> Report {
    discover(loaded, machine(), &Options::default())
}

fn enrolled(report: &Report) -> BTreeSet<String> {
    let agents = report.agents.iter().filter(|agent| agent.sendable);
    agents.map(|agent| agent.key.to_string()).collect()
}

/// Whole rules, patches' bases, worlds and configurations.
pub fn loader(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let rule = loaded(&folder(&text));
    if let Some(rule) = &rule {
        let report = run(rule);
        // Whatever a rule says, only what lies below its roots was read.
        for agent in &report.agents {
            assert_eq!(agent.key.provider, "demo");
        }
    }
    drop(WorldSpec::parse("world.yaml", &text));
    drop(axiowl_lang::config::Config::parse("config.yaml", &text));
    rule.is_some()
}

/// A condition, in a status that bars: whatever it is, it can bar and not let in.
pub fn conditions(bytes: &[u8]) -> bool {
    // On one line, as a flow value: the rest of the rule stays the rest of the rule.
    let text = String::from_utf8_lossy(bytes).replace(['\n', '\r'], " ");
    let all = enrolled(&run(&loaded(&folder(
        &RULE.replace("WHEN", "{ id: nobody }").replace("TEXT", "x"),
    ))
    .expect("the rule itself")));
    assert_eq!(all.len(), 3);
    let Some(rule) = loaded(&folder(&RULE.replace("WHEN", &text).replace("TEXT", "x"))) else {
        return false;
    };
    let with = enrolled(&run(&rule));
    assert!(with.is_subset(&all), "{text:?} let {with:?} in");
    true
}

/// A template by itself, and as an alias of every row.
pub fn templates(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(template) = Template::parse(&text) {
        assert_eq!(template.as_str(), text);
        template.fields().for_each(drop);
        template.pieces();
    }
    let quoted = Value::from(text.as_ref()).to_string();
    let rule = RULE
        .replace("WHEN", "{ id: nobody }")
        .replace("TEXT", &quoted);
    let rule = loaded(&folder(&rule));
    if let Some(rule) = &rule {
        let report = run(rule);
        let names: Vec<&str> = report
            .agents
            .iter()
            .filter_map(|a| a.display_name.as_deref())
            .collect();
        assert_eq!(
            names,
            ["Alpha", "Beta 🛒", "Gamma"],
            "an alias changed a name"
        );
    }
    rule.is_some()
}

/// The body of a script: whatever it returns, it takes away or does nothing.
pub fn policies(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let rule = RULE.replace("WHEN", "{ id: nobody }").replace("TEXT", "x");
    let script = format!("fn review(row, ctx) {{\n{text}\n}}\n");
    let folder = folder(&format!("{rule}policy: policy.rhai\n")).script("policy.rhai", &script);
    let Some(loaded) = loaded(&folder) else {
        return false;
    };
    let report = run(&loaded);
    assert_eq!(report.agents.len(), 3, "a script made or lost a row");
    for (agent, (id, name)) in
        report
            .agents
            .iter()
            .zip([("a", "Alpha"), ("b", "Beta 🛒"), ("c", "Gamma")])
    {
        assert_eq!(
            (agent.key.session.as_str(), agent.display_name.as_deref()),
            (id, Some(name))
        );
        assert!(
            agent.evidence.iter().map(String::len).sum::<usize>() < 1 << 20,
            "notes without bound"
        );
        assert!(
            agent.aliases.iter().map(String::len).sum::<usize>() < 1 << 20,
            "aliases without bound"
        );
    }
    true
}

/// Where the entry functions' own text comes from, for the generator of `main.rs`.
pub fn seeds() -> Vec<String> {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let read = |path: &str| std::fs::read_to_string(rules.join(path)).unwrap_or_default();
    vec![
        RULE.replace("WHEN", "{ all: [ { cwd: { under: cwd } }, { not: { n: { in: [1, 2] } } } ] }").replace("TEXT", "\"{title} of {cwd}\""),
        read("codex/rule.yaml"),
        read("codex/policy.rhai"),
        "{ any: [ { id: a }, { title: { matches: '^A' } }, { n: 3 } ] }".into(),
        "{title} {{ ${HOME} }} {cwd}".into(),
        "if row.n > 2 { #{ veto: \"n\", notes: [row.title] } } else { #{ aliases: [`${ctx.name}`] } }".into(),
    ]
}
