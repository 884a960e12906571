//! Layers: which rule is in force, and what happens when one is broken.

use axiowl_lang::codes;
use axiowl_lang::layers::{RuleSet, Sources, load_all, load_where};
use axiowl_lang::load::Layer;
use std::path::{Path, PathBuf};

fn rule(provider: &str, title: &str, more: &str) -> String {
    format!(
        "axiowl: 1\nprovider: {provider}\ntitle: {title}\nroots: {{ r: \"~/.{provider}\" }}\nsources:\n  s: {{ json: {{ path: \"{{r}}/a.json\", fields: {{ id: /id, name: /name }} }} }}\nrows: {{ from: s, session: \"{{id}}\" }}\nname: {{ candidates: [ {{ from: name, label: name }} ] }}\nproof: [ {{ source: {provider}_file, grants: [enroll, send] }} ]\n{more}"
    )
}

fn put(dir: &Path, file: &str, text: &str) {
    let path = dir.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn title<'a>(set: &'a RuleSet, provider: &str) -> (&'a str, &'a Layer) {
    let loaded = set.get(provider).unwrap();
    (&loaded.rule.title, &loaded.layer)
}

struct Home {
    dir: tempfile::TempDir,
    built_in: Vec<(&'static str, &'static str, String)>,
    packs: Vec<PathBuf>,
}

impl Home {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            built_in: vec![
                ("one", "rule.yaml", rule("one", "built-in one", "")),
                (
                    "two",
                    "rule.yaml",
                    rule("two", "built-in two", "policy: policy.rhai\n"),
                ),
                (
                    "two",
                    "policy.rhai",
                    "fn review(row, ctx) { row.id }".into(),
                ),
            ],
            packs: Vec::new(),
        }
    }

    fn load(&self) -> RuleSet {
        let files: Vec<(&str, &str, &str)> = self
            .built_in
            .iter()
            .map(|(p, f, t)| (*p, *f, t.as_str()))
            .collect();
        load_all(&Sources {
            built_in: &files,
            packs: &self.packs,
            user: Some(&self.dir.path().join("user")),
            ..Sources::default()
        })
    }
}

#[test]
fn a_higher_layer_replaces_the_whole_rule() {
    let mut home = Home::new();
    assert_eq!(
        title(&home.load(), "one"),
        ("built-in one", &Layer::BuiltIn)
    );
    assert!(home.load().get("two").unwrap().policy.is_some());

    let pack = home.dir.path().join("vendor");
    put(&pack, "one/rule.yaml", &rule("one", "vendor one", ""));
    put(
        &pack,
        "three/rule.yaml",
        &rule("three", "vendor three", "scope: drei\n"),
    );
    home.packs.push(pack);
    let set = home.load();
    let vendor = Layer::Pack("vendor".into());
    assert_eq!(title(&set, "one"), ("vendor one", &vendor));
    assert_eq!(title(&set, "three"), ("vendor three", &vendor));

    put(
        home.dir.path(),
        "user/one/rule.yaml",
        &rule("one", "my one", ""),
    );
    let set = home.load();
    assert_eq!(title(&set, "one"), ("my one", &Layer::User));
    assert_eq!(title(&set, "two"), ("built-in two", &Layer::BuiltIn));
    assert!(set.problems().is_empty());
    let order: Vec<String> = set.scopes().collect();
    assert_eq!(order, ["one", "drei", "two"]);
    assert_eq!(set.by_scope("drei").unwrap().rule.provider.value, "three");
    assert_eq!(set.by_scope("three").unwrap().rule.provider.value, "three");
    assert!(set.by_scope("four").is_none());
    let place = set
        .get("one")
        .unwrap()
        .place(set.get("one").unwrap().rule.proof[0].span);
    assert!(place.ends_with("user/one/rule.yaml:9"), "{place}");
}

#[test]
fn a_broken_override_is_named_and_the_next_lower_layer_is_used() {
    let home = Home::new();
    let broken = rule("one", "my one", "").replace("grants", "grant");
    put(home.dir.path(), "user/one/rule.yaml", &broken);
    put(
        home.dir.path(),
        "user/new/rule.yaml",
        &rule("new", "t", "").replace("{id}", "{ident}"),
    );
    put(home.dir.path(), "user/two/notes.txt", "no rule");
    put(
        home.dir.path(),
        "user/patch/rule.yaml",
        "axiowl: 1\nprovider: patch\nextends: builtin\nbase: 00000000\noverride: {}\n",
    );
    let set = home.load();
    assert_eq!(title(&set, "one"), ("built-in one", &Layer::BuiltIn));
    assert_eq!(title(&set, "two"), ("built-in two", &Layer::BuiltIn));
    assert!(set.get("new").is_none() && set.get("patch").is_none());
    assert_eq!(set.len(), 2);

    let of = |provider: &str| {
        set.problems()
            .iter()
            .find(|p| p.provider == provider)
            .unwrap()
    };
    let one = of("one");
    assert_eq!(
        (&one.layer, &one.instead),
        (&Layer::User, &Some(Layer::BuiltIn))
    );
    let first = one.diagnostics.iter().find(|d| d.is_error()).unwrap();
    let line = first.one_line();
    assert!(line.contains("user/one/rule.yaml:9:"), "{line}");
    assert!(line.ends_with("(at `proof[0].grant`)"), "{line}");
    assert_eq!(of("new").instead, None);
    let errors = of("new").diagnostics.iter().filter(|d| d.is_error());
    assert!(
        errors
            .map(|d| d.code)
            .all(|code| code == codes::UNKNOWN_FIELD)
    );
    assert_eq!(of("two").diagnostics[0].code, codes::UNREADABLE);
    assert_eq!(of("patch").diagnostics[0].code, codes::PATCH_BASE);
}

#[test]
fn a_shared_rule_is_the_one_in_force_where_it_fits() {
    let mut home = Home::new();
    let sharing = "axiowl: 1\nprovider: cli\ntitle: cli\nshares: one\nproof: [ { source: c, when: { name: x }, grants: [] } ]\n";
    home.built_in.push(("cli", "rule.yaml", sharing.into()));
    let path = |set: &RuleSet| {
        set.get("cli").unwrap().rule.sources["s"].paths()[0]
            .as_str()
            .to_owned()
    };
    assert_eq!(path(&home.load()), "{r}/a.json");

    // An override of the store's rule mends both surfaces.
    put(
        home.dir.path(),
        "user/one/rule.yaml",
        &rule("one", "my one", "").replace("a.json", "b.json"),
    );
    let set = home.load();
    assert_eq!(path(&set), "{r}/b.json");
    assert!(set.problems().is_empty());

    // One that no longer has what the other needs does not break it, and is reported.
    put(
        home.dir.path(),
        "user/one/rule.yaml",
        &rule("one", "my one", "")
            .replace("name: /name", "nom: /name")
            .replace("from: name", "from: nom"),
    );
    let set = home.load();
    assert_eq!(title(&set, "one"), ("my one", &Layer::User));
    assert_eq!(path(&set), "{r}/a.json");
    let problem = &set.problems()[0];
    assert_eq!(problem.provider, "cli");
    assert_eq!(problem.instead, Some(Layer::BuiltIn));
    assert!(problem.diagnostics.iter().all(|d| !d.is_error()));
}

#[test]
fn rules_from_disk_replace_every_other_layer() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "one/rule.yaml", &rule("one", "disk one", ""));
    put(dir.path(), "one/fixtures/x/world.yaml", "");
    put(dir.path(), "rule.schema.json", "{}");
    put(dir.path(), ".git/config", "");
    let built_in = rule("two", "t", "");
    let set = load_all(&Sources {
        built_in: &[("two", "rule.yaml", &built_in)],
        disk: Some(dir.path()),
        ..Sources::default()
    });
    assert_eq!(title(&set, "one"), ("disk one", &Layer::Disk));
    assert_eq!(set.len(), 1);
    assert!(set.problems().is_empty());
}

#[test]
fn a_layer_that_cannot_be_listed_is_a_problem_and_not_the_end() {
    let mut home = Home::new();
    home.packs.push(home.dir.path().join("gone"));
    let set = home.load();
    assert_eq!(set.len(), 2);
    let problem = &set.problems()[0];
    assert_eq!(problem.layer, Layer::Pack("gone".into()));
    assert_eq!(problem.diagnostics[0].code, codes::UNREADABLE);
}

#[test]
fn one_scope_leads_to_one_rule() {
    let mut home = Home::new();
    home.built_in
        .push(("zwei", "rule.yaml", rule("zwei", "t", "scope: two\n")));
    let set = home.load();
    assert_eq!(set.by_scope("two").unwrap().rule.provider.value, "two");
    assert_eq!(set.problems()[0].diagnostics[0].code, codes::SCOPE_TAKEN);
    assert_eq!(set.len(), 3);
}

#[test]
fn only_the_asked_rules_are_loaded() {
    let home = Home::new();
    put(home.dir.path(), "user/broken/rule.yaml", "axiowl: [");
    let files: Vec<(&str, &str, &str)> = home
        .built_in
        .iter()
        .map(|(p, f, t)| (*p, *f, t.as_str()))
        .collect();
    let user = home.dir.path().join("user");
    let set = load_where(
        &Sources {
            built_in: &files,
            user: Some(&user),
            ..Sources::default()
        },
        |provider| provider == "one",
    );
    assert_eq!(set.len(), 1);
    assert!(set.problems().is_empty());
}

#[test]
fn text_that_is_no_utf8_is_refused_with_its_place() {
    let home = Home::new();
    let path = home.dir.path().join("user/one");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("rule.yaml"), b"axiowl: 1\n\xff\n").unwrap();
    let set = home.load();
    assert_eq!(title(&set, "one").1, &Layer::BuiltIn);
    let message = &set.problems()[0].diagnostics[0].message;
    assert!(message.contains("byte 10"), "{message}");
}

/// What a pack can run does not run before it was trusted, and a changed one not again.
#[test]
fn the_policy_of_a_pack_runs_only_when_its_content_is_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let pack = dir.path().join("vendor");
    let with_policy = rule("one", "vendor one", "policy: policy.rhai\n");
    put(&pack, "one/rule.yaml", &with_policy);
    put(&pack, "one/policy.rhai", "fn review(row, ctx) {}\n");
    let packs = [pack.clone()];
    let load = |trusted: &std::collections::BTreeSet<String>| {
        load_all(&Sources {
            packs: &packs,
            trusted: Some(trusted),
            ..Sources::default()
        })
    };
    let set = load(&Default::default());
    let loaded = set.get("one").unwrap();
    assert!(loaded.policy.is_none());
    assert!(loaded.withheld[0].bars.is_some());
    assert_eq!(set.notices()[0].code, codes::UNTRUSTED);

    let digest = loaded.withheld[0].part.hash.clone();
    let trusted = std::collections::BTreeSet::from([digest]);
    let set = load(&trusted);
    let loaded = set.get("one").unwrap();
    assert!(loaded.policy.is_some() && loaded.withheld.is_empty());
    assert!(set.notices().is_empty());

    put(&pack, "one/policy.rhai", "fn review(row, ctx) { }\n");
    let set = load(&trusted);
    assert!(set.get("one").unwrap().policy.is_none());

    // The user's own script was written by the user.
    let user = dir.path().join("vendor");
    let set = load_all(&Sources {
        user: Some(&user),
        ..Sources::default()
    });
    assert!(set.get("one").unwrap().policy.is_some());
}

/// A command is not run before it was trusted, whoever wrote it; a copy of a built-in one may.
#[test]
fn commands_run_only_when_they_are_built_in_or_trusted() {
    let command = |argv: &str| {
        let source = format!(
            "sources:\n  c: {{ command: {{ argv: {argv}, readonly: proven, reason: seen, fields: {{ up: /up }} }} }}\n"
        );
        let joined = "session: \"{id}\", join: [ { with: c, on: \"*\", as: c } ] }";
        rule("one", "t", "")
            .replace("sources:\n", &source)
            .replace("session: \"{id}\" }", joined)
    };
    let built_in = command("[tool, list]");
    let dir = tempfile::tempdir().unwrap();
    let load = |text: &str, trusted: &std::collections::BTreeSet<String>| {
        put(dir.path(), "one/rule.yaml", text);
        let set = load_all(&Sources {
            built_in: &[("one", "rule.yaml", &built_in)],
            user: Some(dir.path()),
            trusted: Some(trusted),
            ..Sources::default()
        });
        assert!(set.problems().is_empty(), "{:?}", set.problems());
        set.get("one").unwrap().clone()
    };
    let nobody = std::collections::BTreeSet::new();
    assert!(load(&built_in, &nobody).commands_trusted());
    let edited = command("[tool, show]");
    let loaded = load(&edited, &nobody);
    assert!(!loaded.commands_trusted());
    // It bars nobody, so the rest of the rule works.
    assert_eq!(loaded.withheld[0].bars, None);
    let digest = loaded.withheld[0].part.hash.clone();
    assert!(load(&edited, &std::collections::BTreeSet::from([digest])).commands_trusted());

    // One whose answer keeps sessions out enrols nobody while it does not run.
    let barring = format!(
        "{edited}status: [ {{ when: {{ c.up: true }}, is: stale, error: gone }}, {{ is: active }} ]\n"
    );
    assert!(load(&barring, &nobody).withheld[0].bars.is_some());

    // A patch that brings the command is what has to be trusted.
    let base = load(&built_in, &nobody).digest.clone();
    let patch = format!(
        "axiowl: 1\nprovider: one\nextends: builtin\nbase: {base}\noverride:\n  sources.c.command.argv: {{ replace: [tool, drop] }}\n"
    );
    let loaded = load(&patch, &nobody);
    assert!(!loaded.commands_trusted());
    let digest = loaded.withheld[0].part.hash.clone();
    assert!(load(&patch, &std::collections::BTreeSet::from([digest])).commands_trusted());
}
